//! Indexing one document again, ending the work on one, and the stages in between.

use e2e::{Form, KnowledgeClient, Stoa, reply};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const STAGES: [&str; 5] = ["queued", "reading", "embedding", "graph", "finishing"];

/// A text that takes seconds to index.
fn long_text() -> String {
    let sentence = |n: usize| format!("Sentence {n} tells of pump P-{} in the hall of Rotterdam. ", n % 997);
    (0..30_000).map(sentence).collect()
}

async fn queue(user: &KnowledgeClient, text: &str) -> String {
    let form = Form::new().file("file", "long.txt", text.as_bytes());
    let request = form.into_request(user.request(Method::POST, "/api/ingest"));
    let queued = reply(request.header("prefer", "respond-async")).await;
    assert_eq!(queued.status, 202, "{queued:?}");
    queued.json()["documentId"].as_str().unwrap().to_owned()
}

async fn document(user: &KnowledgeClient, id: &str) -> Value {
    user.get(&format!("/api/documents/{id}")).await.json()
}

/// Waits until the document is at this stage.
async fn at_stage(user: &KnowledgeClient, id: &str, stage: &str) {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let document = document(user, id).await;
        if document["stage"] == stage {
            return;
        }
        assert!(document["status"] == "processing" && Instant::now() < deadline, "{document}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn cancel(user: &KnowledgeClient, id: &str) -> e2e::Reply {
    user.post(&format!("/api/documents/{id}/cancel")).await
}

#[tokio::test]
async fn a_document_in_work_is_cancelled_and_can_be_indexed_again() {
    let stoa = Stoa::start_knowledge().serve();
    let user = KnowledgeClient::admin(&stoa).await;
    let id = queue(&user, &long_text()).await;
    at_stage(&user, &id, "embedding").await;
    // Several at once: one of them ends it.
    let answers = futures_util::future::join_all((0..4).map(|_| cancel(&user, &id))).await;
    let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409, 409, 409]);
    let ended = answers.iter().find(|answer| answer.status == 200).unwrap().json();
    assert_eq!((&ended["success"], &ended["document"]["status"]), (&json!(true), &json!("error")));
    assert_eq!(ended["document"]["metadata"]["error"], "cancelled");
    assert_eq!(ended["document"]["stage"], Value::Null);
    // What the worker still does of it is not seen.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let after = document(&user, &id).await;
    assert_eq!((&after["status"], &after["chunkCount"]), (&json!("error"), &json!(0)));
    assert!(user.find("pump").await.is_empty());
    let short = user.ingest_text("short.txt", "The varroa mite weakens colonies.").await;

    let again = user.post(&format!("/api/documents/{id}/reindex")).await;
    assert_eq!(again.status, 202, "{again:?}");
    assert_eq!(again.json()["document"]["status"], "processing");
    assert!(again.json()["document"]["metadata"]["error"].is_null(), "{again:?}");
    assert_eq!(user.post(&format!("/api/documents/{id}/reindex")).await.status, 409);
    assert_eq!(cancel(&user, &id).await.status, 200);
    assert_eq!(cancel(&user, &short).await.status, 409, "an indexed one is not in work");
    assert_eq!(document(&user, &short).await["status"], "indexed");
    assert_eq!(user.delete("/api/documents/purge-errors").await.json()["documentsPurged"], 1);
    assert_eq!(cancel(&user, &id).await.status, 404);
}

#[tokio::test]
async fn the_upload_that_waits_is_told_of_the_cancellation() {
    let stoa = Stoa::start_knowledge().serve();
    let user = KnowledgeClient::admin(&stoa).await;
    let text = long_text();
    let cancelling = async {
        loop {
            match user.documents().await.first() {
                Some(document) => return cancel(&user, document["id"].as_str().unwrap()).await.status,
                None => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    };
    let (answer, cancelled) = tokio::join!(user.ingest("long.txt", text.as_bytes()), cancelling);
    assert_eq!((cancelled, answer.status), (200, 400));
    assert_eq!((&answer.json()["error"], &answer.json()["status"]), (&json!("cancelled"), &json!("error")));
}

#[tokio::test]
async fn a_cancellation_survives_a_kill() {
    let stoa = Stoa::start_knowledge().serve();
    let user = KnowledgeClient::admin(&stoa).await;
    let id = queue(&user, &long_text()).await;
    assert_eq!(cancel(&user, &id).await.status, 200);
    let data = stoa.data.clone();
    drop(stoa);
    let stoa = Stoa::start_knowledge().data(&data).set("JOB_LEASE", "1s").serve();
    let user = KnowledgeClient::admin(&stoa).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let document = document(&user, &id).await;
    assert_eq!((&document["status"], &document["metadata"]["error"]), (&json!("error"), &json!("cancelled")));
}

#[tokio::test]
async fn one_document_is_indexed_again_and_found_all_the_time() {
    let stoa = Stoa::start_knowledge().serve();
    let user = KnowledgeClient::admin(&stoa).await;
    let id = user.ingest_text("a.txt", "The varroa mite weakens colonies of honey bees.").await;
    let other = user.ingest_text("b.txt", "The pump circulates coolant.").await;
    let before = (document(&user, &id).await, document(&user, &other).await);
    assert_eq!(before.0["stage"], Value::Null);
    let answer = user.post(&format!("/api/documents/{id}/reindex")).await;
    assert_eq!((answer.status, &answer.json()["success"]), (202, &json!(true)));
    assert_eq!(answer.json()["document"]["id"], json!(id));
    assert_eq!(user.find("varroa").await.first(), Some(&id));
    user.settled(Duration::from_secs(30)).await;
    assert_eq!((document(&user, &id).await, document(&user, &other).await), before);
    assert_eq!(user.post("/api/documents/nothing/reindex").await.status, 404);
    assert_eq!(user.post("/api/documents/nothing/cancel").await.status, 404);
}

#[tokio::test]
async fn stages_come_in_their_order() {
    let stoa = Stoa::start_knowledge().serve();
    let user = KnowledgeClient::admin(&stoa).await;
    let text = long_text();
    let id = queue(&user, &text[..text.len() / 4]).await;
    let mut seen: Vec<usize> = Vec::new();
    loop {
        let document = document(&user, &id).await;
        let Some(stage) = document["stage"].as_str() else {
            assert_eq!(document["status"], "indexed");
            break;
        };
        let place = STAGES.iter().position(|known| *known == stage).unwrap();
        if seen.last() != Some(&place) {
            seen.push(place);
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(seen.is_sorted() && seen.contains(&2), "{seen:?}");
}
