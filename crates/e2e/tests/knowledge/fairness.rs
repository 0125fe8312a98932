//! Nobody waits for somebody else's heap of files.

use e2e::{Form, KnowledgeClient, Stoa};
use futures_util::stream::{self, StreamExt};
use reqwest::Method;
use std::time::{Duration, Instant};

fn text(number: usize) -> String {
    (0..300).map(|n| format!("Sentence {n} of file {number} is about pumps of kind {}. ", n % 97)).collect()
}

/// Uploads files several at a time, which is faster than they are indexed.
async fn queue(user: &KnowledgeClient, files: usize) {
    let upload = async |number: usize| {
        let form = Form::new().file("file", &format!("{number}.txt"), text(number).as_bytes());
        let request = form.into_request(user.request(Method::POST, "/api/ingest"));
        assert_eq!(e2e::reply(request.header("prefer", "respond-async")).await.status, 202);
    };
    stream::iter(0..files).for_each_concurrent(8, upload).await;
}

async fn still_waiting(user: &KnowledgeClient) -> usize {
    let documents = user.documents().await;
    documents.iter().filter(|document| document["status"] == "processing").count()
}

#[tokio::test]
async fn one_users_backlog_delays_neither_anothers_file_nor_any_search() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let (heaper, other) = (admin.invite(&stoa, "heaper").await, admin.invite(&stoa, "other").await);
    other.ingest_text("a.txt", "The varroa mite weakens colonies of honey bees.").await;
    queue(&heaper, 80).await;

    let before = still_waiting(&heaper).await;
    assert!(before > 40, "the heap is large enough to matter: {before}");
    let mut times = Vec::new();
    for _ in 0..15 {
        let asked = Instant::now();
        assert_eq!(other.find("parasites of insects").await.len(), 1);
        times.push(asked.elapsed());
    }
    times.sort();
    assert!(times[7] < Duration::from_millis(250), "searches while another's files are indexed: {times:?}");

    other.ingest_text("b.txt", "The pump circulates coolant.").await;
    let after = still_waiting(&heaper).await;
    assert!(after > 10, "the other's one file was not the last: {before} waited, then {after}");
    let documents = heaper.settled(Duration::from_secs(120)).await;
    assert!(documents.iter().all(|document| document["status"] == "indexed"));
}
