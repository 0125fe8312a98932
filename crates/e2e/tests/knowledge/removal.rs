//! Users and documents that are large go at once for everybody, and in portions from the database.

use e2e::passages::{add_documents, count, database_of, execute};
use e2e::postgres::Postgres;
use e2e::{KnowledgeClient, Stoa};
use std::time::{Duration, Instant};

const CHUNKS: &str = "SELECT COUNT(*) FROM chunks";
const DOCUMENTS: &str = "SELECT COUNT(*) FROM documents";
const USERS: &str = "SELECT COUNT(*) FROM users";

async fn until_none(database: &str, query: &'static str, left: i64) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while count(database, query).await > left {
        assert!(Instant::now() < deadline, "{query}: still {}", count(database, query).await);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn a_removed_user_is_gone_at_once(stoa: &Stoa, database: &str) {
    let admin = KnowledgeClient::admin(stoa).await;
    let ada = admin.invite(stoa, "ada").await;
    let ids = add_documents(database, &ada.id, 2, 1_250).await;
    assert!(ada.find("passage 1249 of document 1").await.contains(&ids[1]));
    assert_eq!(admin.delete(&format!("/api/users/{}", ada.id)).await.status, 200);

    assert_eq!(ada.get("/api/documents").await.status, 401);
    let users = admin.get("/api/users").await.json();
    assert_eq!(users["users"].as_array().unwrap().len(), 1, "{users}");
    for path in [
        format!("/api/documents?userId={}", ada.id),
        format!("/api/search?query=pump&userId={}", ada.id),
        format!("/api/graph?userId={}", ada.id),
        format!("/api/documents/{}", ids[0]),
        format!("/api/documents/{}/content", ids[0]),
    ] {
        let answer = admin.get(&path).await;
        assert_eq!(answer.status, 404, "{path}: {answer:?}");
    }
    for path in [format!("/api/users/{}", ada.id), format!("/api/documents/{}", ids[1])] {
        assert_eq!(admin.delete(&path).await.status, 404, "{path}");
    }
    // The name is free, and whoever gets it has nothing of the other.
    let next = admin.invite(stoa, "ada").await;
    assert_ne!(next.id, ada.id);
    assert!(next.documents().await.is_empty());
    until_none(database, CHUNKS, 0).await;
    until_none(database, USERS, 2).await;
    assert_eq!(count(database, DOCUMENTS).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_user_is_gone_at_once_on_sqlite() {
    let stoa = Stoa::start_knowledge().set("INDEX_TIMEOUT", "2m").serve();
    a_removed_user_is_gone_at_once(&stoa, &database_of(&stoa)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_user_is_gone_at_once_on_postgres() {
    let database = Postgres::shared().await.database().await;
    let stoa = Stoa::start_knowledge().set("DATABASE_URL", &database).set("INDEX_TIMEOUT", "2m").serve();
    a_removed_user_is_gone_at_once(&stoa, &database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_that_is_killed_goes_on() {
    let stoa = Stoa::start_knowledge().set("JOB_LEASE", "1s").serve();
    let (data, database) = (stoa.data.clone(), database_of(&stoa));
    let admin = KnowledgeClient::admin(&stoa).await;
    let ada = admin.invite(&stoa, "ada").await;
    add_documents(&database, &ada.id, 2, 10_000).await;
    add_documents(&database, &admin.id, 1, 10).await;
    assert_eq!(admin.delete(&format!("/api/users/{}", ada.id)).await.status, 200);
    let before = count(&database, CHUNKS).await;
    assert!(before > 10, "the rows are deleted by a job");
    until_none(&database, CHUNKS, before - 1).await;
    drop(stoa);
    assert!(count(&database, CHUNKS).await > 10, "killed in the middle");

    let stoa = Stoa::start_knowledge().set("JOB_LEASE", "1s").data(&data).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let users = admin.get("/api/users").await.json();
    assert_eq!(users["users"].as_array().unwrap().len(), 1, "{users}");
    until_none(&database, USERS, 1).await;
    assert_eq!(count(&database, CHUNKS).await, 10, "and no more than that");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_document_is_gone_at_once() {
    let stoa = Stoa::start_knowledge().set("INDEX_TIMEOUT", "2m").serve();
    let database = database_of(&stoa);
    let admin = KnowledgeClient::admin(&stoa).await;
    let mut ids = add_documents(&database, &admin.id, 1, 20).await;
    ids.extend(add_documents(&database, &admin.id, 1, 6_000).await);
    assert!(admin.find("passage 5999 of document 1").await.contains(&ids[1]));
    assert_eq!(admin.delete(&format!("/api/documents/{}", ids[1])).await.status, 200);
    assert!(count(&database, CHUNKS).await > 20, "the rows are deleted by a job");

    let found = admin.find("passage 5 of document 1").await;
    assert!(!found.contains(&ids[1]) && found.contains(&ids[0]), "{found:?}");
    assert_eq!(admin.documents().await.len(), 1);
    assert_eq!(admin.get(&format!("/api/documents/{}", ids[1])).await.status, 404);
    assert_eq!(admin.delete(&format!("/api/documents/{}", ids[1])).await.status, 404);
    let users = admin.get("/api/users").await.json();
    assert_eq!(users["users"].as_array().unwrap().len(), 1, "nobody else is listed: {users}");
    until_none(&database, CHUNKS, 20).await;
    until_none(&database, USERS, 1).await;
    assert_eq!(count(&database, DOCUMENTS).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_work_on_documents_of_a_removed_user_ends() {
    let stoa = Stoa::start_knowledge().serve();
    let database = database_of(&stoa);
    let admin = KnowledgeClient::admin(&stoa).await;
    let ada = admin.invite(&stoa, "ada").await;
    let ids = add_documents(&database, &ada.id, 3, 600).await;
    // As if a reindex waited, due in an hour.
    let waits = format!(
        "INSERT INTO jobs (id, kind, payload, priority, state, max_attempts, due_at, created_at)
             VALUES (1000, 'ingest', '{{}}', 0, 'queued', 5, 4000000000000, 0);
         UPDATE documents SET status = 'processing', job_id = 1000 WHERE id = '{}'",
        ids[1]
    );
    execute(&database, &waits).await;
    assert_eq!(admin.delete(&format!("/api/users/{}", ada.id)).await.status, 200);
    until_none(&database, USERS, 1).await;
    until_none(&database, "SELECT COUNT(*) FROM jobs WHERE state IN ('queued', 'running')", 0).await;
    assert_eq!((count(&database, CHUNKS).await, count(&database, DOCUMENTS).await), (0, 0));
    let cancelled = "SELECT COUNT(*) FROM jobs WHERE id = 1000 AND state = 'cancelled'";
    assert_eq!(count(&database, cancelled).await, 1);
    let discarded = "SELECT COUNT(*) FROM jobs WHERE kind = 'discard' AND state = 'done'";
    assert_eq!(count(&database, discarded).await, 3, "and their files go");
}
