//! Archives: each file in one becomes a document of its own.

use e2e::{Form, KnowledgeClient, Stoa};
use serde_json::{Value, json};
use std::io::Write;
use std::time::{Duration, Instant};

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

#[tokio::test(flavor = "multi_thread")]
async fn others_write_while_archives_are_unpacked() {
    const ARCHIVES: usize = 100;
    const NOTES: usize = 20;
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let ada = admin.invite(&stoa, "ada").await;
    for archive in 0..ARCHIVES {
        let notes: Vec<(String, String)> = (0..NOTES)
            .map(|note| (format!("{note}.txt"), format!("Note {note} of {archive} is about a valve.")))
            .collect();
        let notes: Vec<(&str, &[u8])> =
            notes.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
        let form = Form::new().file("file", &format!("{archive}.zip"), &zip(&notes));
        let request = form.into_request(ada.request(reqwest::Method::POST, "/api/ingest"));
        assert_eq!(e2e::reply(request.header("prefer", "respond-async")).await.status, 202);
    }
    let unpacked = async || {
        let listed = ada.get("/api/documents?limit=1").await.json();
        let counts = listed["counts"].as_object().unwrap().values();
        counts.map(|count| count.as_u64().unwrap() as usize).sum::<usize>()
    };
    let (mut longest, mut writes) = (Duration::ZERO, 0);
    while unpacked().await < ARCHIVES * (NOTES + 1) {
        let started = Instant::now();
        let written = admin.post("/api/conversations").await;
        assert_eq!(written.status, 201, "{written:?}");
        (longest, writes) = (longest.max(started.elapsed()), writes + 1);
    }
    println!("the longest of {writes} writes took {longest:?}");
    // One that starves waits for 30 seconds. On a busy machine, one that does not may take some.
    assert!(writes > 20 && longest < Duration::from_secs(10), "{longest:?} of {writes}");
}
