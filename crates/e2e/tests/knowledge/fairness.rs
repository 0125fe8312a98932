//! Nobody waits for somebody else's heap of files.

use super::answers::{PUMP, ask};
use e2e::{Form, KnowledgeClient, Stoa};
use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use reqwest::Method;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

fn text(number: usize) -> String {
    (0..300).map(|n| format!("Sentence {n} of file {number} is about pumps of kind {}. ", n % 97)).collect()
}

/// Uploads files several at a time, which is faster than they are indexed.
pub async fn queue(user: &KnowledgeClient, files: usize) {
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

/// A question of nearly as many bytes as a request may have.
fn longest_question(number: usize) -> Value {
    let words = |from: usize| (from..from + 5_000).map(|n| format!("word{n} "));
    let sources: Vec<Value> =
        (0..100).map(|n| json!({ "text": words(n * 7).collect::<String>()[..39_000].to_owned() })).collect();
    let query: String = words(number).collect();
    json!({ "query": format!("Which is the seal? {}", &query[..30_000]), "sources": sources })
}

#[tokio::test]
async fn one_users_long_questions_do_not_delay_anothers() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let (flooder, other) = (admin.invite(&stoa, "flooder").await, admin.invite(&stoa, "other").await);
    other.ingest_text("pump.md", PUMP).await;
    let done = AtomicUsize::new(0);
    let flood = join_all((0..2).map(async |number| {
        let answer = ask(&flooder, longest_question(number)).await;
        done.fetch_add(1, Ordering::SeqCst);
        answer
    }));
    let asking = async {
        // Until all of them are being read, or wait to be.
        tokio::time::sleep(Duration::from_secs(4)).await;
        let before = done.load(Ordering::SeqCst);
        for _ in 0..3 {
            let answer = ask(&other, json!({ "query": "How often must the shaft seal be replaced?" })).await;
            assert!(answer["response"].as_str().unwrap().contains("every year"), "{answer}");
            assert!(!other.find("noise of the pump").await.is_empty());
        }
        (before, done.load(Ordering::SeqCst))
    };
    let (answers, (before, after)) = tokio::join!(flood, asking);
    assert!(after < 2, "the other's three answers came after both long ones ({before} were done before)");
    for answer in answers {
        let notices: Vec<&str> =
            answer["notices"].as_array().unwrap().iter().flat_map(Value::as_str).collect();
        assert!(
            notices.iter().any(|notice| notice.contains("Only a part of the sources was read")),
            "{notices:?}"
        );
        assert!(notices.iter().any(|notice| notice.contains("4 KB of the question")), "{notices:?}");
    }
}
