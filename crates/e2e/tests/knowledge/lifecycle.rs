//! From here to gone: deleting, running again, and what is left of it.

use e2e::{KnowledgeClient, Stoa};
use std::path::PathBuf;
use std::time::{Duration, Instant};

pub fn files(stoa: &Stoa) -> Vec<PathBuf> {
    let mut folders = vec![stoa.data.path().join("objects/users")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else {
                files.push(entry.path());
            }
        }
    }
    files
}

/// Files go by a job: soon, not at once.
pub async fn only_these_files_are_left(stoa: &Stoa, count: usize) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while files(stoa).len() != count {
        assert!(Instant::now() < deadline, "{:?}", files(stoa));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

pub async fn no_files_are_left(stoa: &Stoa) {
    only_these_files_are_left(stoa, 0).await;
}

#[tokio::test]
async fn a_deleted_document_is_gone_from_everything() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let kept = admin.ingest_text("a.txt", "Alice Munro works for Acme Industries in Rotterdam.").await;
    let before = admin.get("/api/graph").await.body;
    let gone = admin.ingest_text("b.txt", "Bob Dahl works for Acme Industries in Bergen.").await;
    assert_ne!(admin.get("/api/graph").await.body, before);
    assert_eq!(admin.find("Bergen").await[0], gone);

    assert_eq!(admin.delete(&format!("/api/documents/{gone}")).await.status, 200);
    assert_eq!(admin.find("Bergen").await, [kept]);
    assert_eq!(admin.get("/api/graph").await.body, before, "the graph is what it was");
    assert_eq!(admin.documents().await.len(), 1);
    for path in ["", "/content"] {
        assert_eq!(admin.get(&format!("/api/documents/{gone}{path}")).await.status, 404);
    }
    assert_eq!(admin.delete(&format!("/api/documents/{gone}")).await.status, 404);
    only_these_files_are_left(&stoa, 1).await;
}

#[tokio::test]
async fn a_document_deleted_while_it_is_indexed_leaves_nothing() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let text: String =
        (0..20_000).map(|n| format!("Sentence {n} is about pumps of kind {}. ", n % 97)).collect();
    let form = e2e::Form::new().file("file", "long.txt", text.as_bytes());
    let request = form.into_request(admin.request(reqwest::Method::POST, "/api/ingest"));
    let answer = e2e::reply(request.header("prefer", "respond-async")).await;
    let id = answer.json()["documentId"].as_str().unwrap().to_owned();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(admin.documents().await[0]["status"], "processing", "it is too long to be done by now");
    assert_eq!(admin.delete(&format!("/api/documents/{id}")).await.status, 200);
    assert!(admin.documents().await.is_empty());
    no_files_are_left(&stoa).await;
    // The encoder is free again at once.
    let started = Instant::now();
    admin.ingest_text("a.txt", "The pump circulates coolant.").await;
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert_eq!(admin.find("pumps of kind").await.len(), 1);
}

#[tokio::test]
async fn reindexing_keeps_ids_results_and_graph() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    admin.ingest_text("a.txt", "Alice Munro works for Acme Industries in Rotterdam.").await;
    admin.ingest_text("b.txt", "Bob Dahl works for Acme Industries in Bergen.").await;
    let look = async || {
        let search = admin.get("/api/search?query=who+works+in+Bergen").await.body;
        (search, admin.get("/api/graph").await.body)
    };
    let before = look().await;
    assert_eq!(admin.post("/api/documents/reindex").await.json()["documentsReindexed"], 2);
    assert_eq!(look().await, before);
    assert!(admin.documents().await.iter().all(|document| document["status"] == "indexed"));
}
