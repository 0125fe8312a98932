//! Users and documents that are large go at once for everybody, and in portions from the database.

use e2e::passages::{add_documents, count, database_of};
use e2e::postgres::Postgres;
use e2e::{Person, Stoa};
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
    let admin = Person::admin(stoa).await;
    let ada = admin.invite(stoa, "ada").await;
    let ids = add_documents(database, &ada.id, 2, 5_000).await;
    let own = ada.ingest_text("own.txt", "The zeppelin landed in Friedrichshafen.").await;
    assert_eq!(ada.find("zeppelin").await[0], own);
    assert_eq!(admin.delete(&format!("/api/users/{}", ada.id)).await.status, 200);

    assert!(count(database, CHUNKS).await > 0, "the rows are deleted by a job");
    assert_eq!(ada.get("/api/documents").await.status, 401);
    let users = admin.get("/api/users").await.json();
    assert_eq!(users["users"].as_array().unwrap().len(), 1, "{users}");
    for path in [
        format!("/api/documents?userId={}", ada.id),
        format!("/api/search?query=zeppelin&userId={}", ada.id),
        format!("/api/graph?userId={}", ada.id),
        format!("/api/documents/{own}"),
        format!("/api/documents/{own}/content"),
        format!("/api/documents/{}", ids[0]),
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
    let stoa = Stoa::start_knowledge().serve();
    a_removed_user_is_gone_at_once(&stoa, &database_of(&stoa)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_user_is_gone_at_once_on_postgres() {
    let database = Postgres::shared().await.database().await;
    let stoa = Stoa::start_knowledge().set("DATABASE_URL", &database).serve();
    a_removed_user_is_gone_at_once(&stoa, &database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_that_is_killed_goes_on() {
    let stoa = Stoa::start_knowledge().set("JOB_LEASE", "1s").serve();
    let (data, database) = (stoa.data.clone(), database_of(&stoa));
    let admin = Person::admin(&stoa).await;
    let ada = admin.invite(&stoa, "ada").await;
    add_documents(&database, &ada.id, 2, 10_000).await;
    add_documents(&database, &admin.id, 1, 10).await;
    assert_eq!(admin.delete(&format!("/api/users/{}", ada.id)).await.status, 200);
    let before = count(&database, CHUNKS).await;
    until_none(&database, CHUNKS, before - 1).await;
    drop(stoa);
    assert!(count(&database, CHUNKS).await > 10, "killed in the middle");

    let stoa = Stoa::start_knowledge().set("JOB_LEASE", "1s").data(&data).serve();
    let admin = Person::admin(&stoa).await;
    let users = admin.get("/api/users").await.json();
    assert_eq!(users["users"].as_array().unwrap().len(), 1, "{users}");
    until_none(&database, USERS, 1).await;
    assert_eq!(count(&database, CHUNKS).await, 10, "and no more than that");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_document_is_gone_at_once() {
    let stoa = Stoa::start_knowledge().serve();
    let database = database_of(&stoa);
    let admin = Person::admin(&stoa).await;
    let ids = add_documents(&database, &admin.id, 2, 10_000).await;
    assert!(admin.find("passage 9999 of document 1").await.contains(&ids[1]));
    assert_eq!(admin.delete(&format!("/api/documents/{}", ids[1])).await.status, 200);
    assert!(count(&database, CHUNKS).await > 10_000, "the rows are deleted by a job");

    let found = admin.find("passage 9999 of document 1").await;
    assert!(!found.contains(&ids[1]) && found.contains(&ids[0]), "{found:?}");
    assert_eq!(admin.documents().await.len(), 1);
    assert_eq!(admin.get(&format!("/api/documents/{}", ids[1])).await.status, 404);
    assert_eq!(admin.delete(&format!("/api/documents/{}", ids[1])).await.status, 404);
    let users = admin.get("/api/users").await.json();
    assert_eq!(users["users"].as_array().unwrap().len(), 1, "nobody else is listed: {users}");
    until_none(&database, CHUNKS, 10_000).await;
    until_none(&database, USERS, 1).await;
    assert_eq!(count(&database, DOCUMENTS).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_in_work_of_a_removed_user_is_not_indexed() {
    let stoa = Stoa::start_knowledge().serve();
    let database = database_of(&stoa);
    let admin = Person::admin(&stoa).await;
    let ada = admin.invite(&stoa, "ada").await;
    let long: String =
        (0..3_000).map(|n| format!("Sentence {n} is about pumps of kind {}. ", n % 97)).collect();
    let form = e2e::Form::new().file("file", "long.txt", long.as_bytes());
    let request = form.into_request(ada.request(reqwest::Method::POST, "/api/ingest"));
    assert_eq!(e2e::reply(request.header("prefer", "respond-async")).await.status, 202);
    assert_eq!(admin.delete(&format!("/api/users/{}", ada.id)).await.status, 200);
    until_none(&database, USERS, 1).await;
    until_none(&database, "SELECT COUNT(*) FROM jobs WHERE state IN ('queued', 'running')", 0).await;
    assert_eq!((count(&database, CHUNKS).await, count(&database, DOCUMENTS).await), (0, 0));
}
