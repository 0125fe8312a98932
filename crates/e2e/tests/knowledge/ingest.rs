//! Files on their way in: what is accepted, what is refused, and what stays.

use e2e::{Form, KnowledgeClient, Stoa, get, reply};
use reqwest::Method;
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn what_can_be_added_is_said_before_a_file_is_sent() {
    let stoa = Stoa::start_knowledge().set("MAX_UPLOAD_MIB", 2).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let ada = admin.invite(&stoa, "ada").await;
    let (for_admin, for_ada) =
        (admin.get("/api/capabilities").await.json(), ada.get("/api/capabilities").await.json());
    assert_eq!(
        (&for_admin["maxUploadBytes"], &for_ada["maxUploadBytes"]),
        (&json!(2 << 20), &json!(2 << 20))
    );
    // Whatever is installed here: an administrator is told what to install, and others are not.
    let groups = |said: &serde_json::Value| -> Vec<serde_json::Value> {
        said["unreadable"].as_array().unwrap().iter().map(|one| one["files"].clone()).collect()
    };
    assert_eq!(groups(&for_admin), groups(&for_ada));
    assert!(for_admin["unreadable"].as_array().unwrap().iter().all(|one| one["packages"][0].is_string()));
    assert!(for_ada["unreadable"].as_array().unwrap().iter().all(|one| one["packages"].is_null()));
    let too_large = ada.ingest("big.txt", &vec![b'x'; (2 << 20) + 1]).await;
    assert_eq!(
        (too_large.status, too_large.json()["error"].clone()),
        (413, json!("the file is larger than 2 MB"))
    );
}

#[tokio::test]
async fn bad_requests_are_refused_before_anything_is_kept() {
    let stoa = Stoa::start_knowledge().set("MAX_UPLOAD_MIB", 1).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let file = || Form::new().file("file", "a.txt", b"The pump circulates coolant.");
    for (form, status) in [
        (Form::new().text("userId", &admin.id), 400),
        (file().file("file", "b.txt", b"Another."), 400),
        (file().text("metadata", "{"), 400),
        (file().text("metadata", "[]"), 400),
        (file().text("metadata", r#"{"author": {"name": "x"}}"#), 400),
        (file().text("metadata", &format!(r#"{{"title": "{}"}}"#, "x".repeat(301))), 400),
        (file().text("metadata", r#"{"author": "a\u0000b"}"#), 400),
        (file().text("userId", "a\0b"), 400),
        (file().text("userId", "nobody"), 404),
        (Form::new().file("file", "big.txt", &vec![b'x'; (1 << 20) + 1]), 413),
        (file().text("metadata", &format!(r#"{{"a": "{}"}}"#, "x".repeat(300_000))), 413),
    ] {
        let answer = admin.submit("/api/ingest", form).await;
        assert_eq!(answer.status, status, "{answer:?}");
        assert_eq!(answer.json()["success"], false);
    }
    let cut =
        Form::new().file("file", "a.txt", b"x").into_request(admin.request(Method::POST, "/api/ingest"));
    let (client, request) = cut.build_split();
    let mut request = request.unwrap();
    let body = request.body().unwrap().as_bytes().unwrap().to_vec();
    *request.body_mut() = Some(body[..body.len() - 20].to_vec().into());
    assert_eq!(client.execute(request).await.unwrap().status(), 400, "a form that ends early");
    assert!(admin.documents().await.is_empty());
    super::lifecycle::no_files_are_left(&stoa).await;
}

#[tokio::test]
async fn files_without_text_are_listed_as_errors_until_purged() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    for (name, bytes) in [
        ("empty.txt", &b""[..]),
        ("blank.txt", b" \n\t\n "),
        ("noise.bin", &[0, 159, 146, 150, 0, 1, 2, 3, 255, 254, 9, 0]),
        ("cut.pdf", b"%PDF-1.7\n1 0 obj\n<< /Type"),
        ("cut.docx", b"PK\x03\x04\x14\x00"),
    ] {
        let answer = admin.ingest(name, bytes).await;
        assert_eq!(answer.status, 400, "{name}: {answer:?}");
        assert_eq!((&answer.json()["success"], &answer.json()["status"]), (&json!(false), &json!("error")));
        let id = answer.json()["documentId"].as_str().unwrap().to_owned();
        let document = admin.get(&format!("/api/documents/{id}")).await.json();
        assert_eq!(document["status"], "error", "{name}");
        assert_eq!(document["metadata"]["error"], answer.json()["error"], "{name}");
        assert_eq!(document["chunkCount"], 0);
    }
    let kept = admin.ingest_text("good.txt", "The pump circulates coolant.").await;
    // Run again from its file, an error stays what it is; the good one counts.
    assert_eq!(admin.post("/api/documents/reindex").await.json()["documentsReindexed"], 1);
    assert_eq!(admin.delete("/api/documents/purge-errors").await.json()["documentsPurged"], 5);
    let left = admin.documents().await;
    assert_eq!((left.len(), &left[0]["id"]), (1, &json!(kept)));
    super::lifecycle::only_these_files_are_left(&stoa, 1).await;
}

#[tokio::test]
async fn asked_to_it_answers_at_once_and_indexes_afterwards() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let form = Form::new().file("file", "a.txt", b"The pump circulates coolant.");
    let request = form.into_request(admin.request(Method::POST, "/api/ingest"));
    let answer = reply(request.header("prefer", "respond-async")).await;
    assert_eq!((answer.status, &answer.json()["status"]), (202, &json!("processing")), "{answer:?}");
    let documents = admin.settled(Duration::from_secs(20)).await;
    assert_eq!(documents[0]["status"], "indexed");
    assert_eq!(admin.find("coolant").await, [answer.json()["documentId"].as_str().unwrap()]);
}

#[tokio::test]
async fn the_same_file_kept_twice_is_two_documents_and_embedded_once() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let text = "The pump circulates coolant. ".repeat(100);
    let first = admin.ingest_text("a.txt", &text).await;
    let embedded = embedded(&stoa).await;
    assert!(embedded > 1);
    let form = Form::new().file("file", "a.txt", text.as_bytes()).text("duplicate", "keep");
    let second = admin.submit("/api/ingest", form).await;
    assert_ne!(second.json()["documentId"], first.as_str());
    assert_eq!(super::ingest::embedded(&stoa).await, embedded, "not once more");
    let mut found = admin.find("coolant").await;
    found.sort();
    found.dedup();
    assert_eq!(found.len(), 2);
    // Another's same file is none of theirs.
    let ada = admin.invite(&stoa, "ada").await;
    ada.ingest_text("a.txt", &text).await;
    assert_eq!(super::ingest::embedded(&stoa).await, 2 * embedded);
}

/// Passages embedded so far.
pub async fn embedded(stoa: &Stoa) -> u64 {
    let figures = get(format!("http://{}/metrics", stoa.ops)).await.body;
    let line = figures.lines().find_map(|line| line.strip_prefix("knowledge_passages_embedded_total "));
    line.map_or(0, |number| number.parse().unwrap())
}

#[tokio::test]
async fn the_title_is_the_one_given_or_the_documents_own_or_the_files_name() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let markdown = |name: &str| format!("# The cooling circuit\n\nThe pump of {name} circulates coolant.");
    for (metadata, filename, title) in
        [(r#"{"title": "Circuit manual"}"#, "a.md", "Circuit manual"), ("{}", "b.md", "The cooling circuit")]
    {
        let form =
            Form::new().text("metadata", metadata).file("file", filename, markdown(filename).as_bytes());
        let answer = admin.submit("/api/ingest", form).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(admin.documents().await[0]["title"], title);
    }
    admin.ingest_text("C:\\manuals\\pump notes.txt", "The pump circulates coolant.").await;
    let newest = &admin.documents().await[0];
    assert_eq!(newest["title"], "pump notes.txt");
    assert!(newest["objectKey"].as_str().unwrap().ends_with("-pump notes.txt"), "{newest}");
    // Names that take more room in a key than they have letters.
    admin.ingest_text(&format!("{}.txt", "%D0%9F".repeat(60)), "The pump leaks.").await;
    let form =
        Form::new().text("metadata", r#"{"title": ""}"#).file("file", "c.md", markdown("c").as_bytes());
    assert_eq!(admin.submit("/api/ingest", form.text("unknown", "part")).await.status, 200);
    assert_eq!(admin.documents().await[0]["title"], "The cooling circuit", "an empty title is none");
}

#[tokio::test]
async fn the_original_file_comes_back_byte_for_byte() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let text = "Ein Satz über Kühlmittel. ".repeat(12_000);
    let id = admin.ingest_text("kühl \"mittel\".txt", &text).await;
    let content = admin.get(&format!("/api/documents/{id}/content")).await;
    assert_eq!(content.status, 200);
    assert!(content.body == text, "{} bytes", content.body.len());
    assert_eq!(content.header("content-type"), ["text/plain; charset=utf-8"]);
    assert!(content.header("content-disposition")[0].starts_with("inline; filename*=UTF-8''k%C3%BChl"));
}
