//! Archives: each file in one becomes a document of its own.

use e2e::{Form, KnowledgeClient, Stoa};
use serde_json::{Value, json};
use std::io::Write;
use std::time::Duration;

pub fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in files {
        writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[tokio::test]
async fn each_file_of_an_archive_is_a_document() {
    let stoa = Stoa::start_knowledge().serve();
    let ada = KnowledgeClient::admin(&stoa).await.invite(&stoa, "ada").await;
    let inner = zip(&[("x.txt", b"hidden")]);
    let archive = zip(&[
        ("manuals/pump.txt", b"The shaft seal of the pump is replaced every month."),
        ("manuals/valve.md", b"# Valve\n\nThe valve is closed at night."),
        ("manuals/inner.zip", &inner),
        ("__MACOSX/._pump.txt", b"noise"),
        ("../escape.txt", b"outside"),
    ]);
    let form = Form::new().text("metadata", r#"{"category": "plant", "title": "All manuals"}"#);
    let added = ada.submit("/api/ingest", form.file("file", "plant.zip", &archive)).await;
    assert_eq!(added.status, 200, "{added:?}");
    let documents = ada.settled(Duration::from_secs(60)).await;
    let of = |name: &str| {
        let found = documents.iter().find(|document| document["filename"] == name);
        found.unwrap_or_else(|| panic!("no {name} in {documents:?}"))
    };
    assert_eq!(documents.len(), 3, "{documents:?}");
    let pump = of("pump.txt");
    assert_eq!((&pump["status"], &pump["metadata"]["category"]), (&json!("indexed"), &json!("plant")));
    assert_eq!(
        (&pump["metadata"]["folder"], &pump["metadata"]["title"]),
        (&json!("plant.zip/manuals"), &Value::Null)
    );
    assert_eq!(of("valve.md")["title"], json!("Valve"));
    // The archive says what is in it, and what was left out.
    let archive_id = of("plant.zip")["id"].as_str().unwrap().to_owned();
    let text = ada.get(&format!("/api/documents/{archive_id}/text")).await.json()["text"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(text.contains("manuals/pump.txt") && text.contains("inner.zip"), "{text}");
    assert!(!text.contains("__MACOSX"), "{text}");
    assert_eq!(json!(ada.find("shaft seal replaced every month").await[0]), pump["id"]);
    // The same archive again adds nothing; one without a readable file is refused.
    assert_eq!(ada.ingest("plant.zip", &archive).await.json()["duplicateOf"], json!(archive_id));
    assert_eq!(ada.post(&format!("/api/documents/{archive_id}/reindex")).await.status, 202);
    assert_eq!(ada.settled(Duration::from_secs(60)).await.len(), 3);
    let empty = ada.ingest("nested.zip", &zip(&[("a.zip", &inner)])).await;
    assert_eq!(empty.status, 400, "{empty:?}");
    assert!(empty.body.contains("no file that could be read"), "{empty:?}");
}
