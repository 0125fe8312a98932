//! The same service on PostgreSQL and S3, and two processes of it on one database.

use e2e::postgres::Postgres;
use e2e::s3::S3;
use e2e::{KnowledgeClient, Stoa};

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_share_postgres_and_s3_and_see_the_same_at_once() {
    let (database, s3) = (Postgres::shared().await.database().await, S3::start().await);
    let start = || {
        Stoa::start_knowledge()
            .set("DATABASE_URL", &database)
            .set("OBJECT_STORE_URL", format!("s3://{}/stoa", s3.bucket))
            .set("AWS_ENDPOINT_URL", &s3.endpoint)
            .set("AWS_ACCESS_KEY_ID", &s3.access_key_id)
            .set("AWS_SECRET_ACCESS_KEY", &s3.secret_access_key)
            .serve()
    };
    let (one, other) = (start(), start());
    let admin = KnowledgeClient::admin(&one).await;
    let ada = admin.invite(&one, "ada").await;
    let there = KnowledgeClient::sign_in(&other, "ada@example.org", "correct horse").await;

    let first = ada.ingest_text("a.txt", "Alice Munro works for Acme Industries in Rotterdam.").await;
    assert_eq!(there.find("Rotterdam").await, [first.as_str()]);
    let second = there.ingest_text("b.txt", "Bob Dahl works for Acme Industries in Bergen.").await;
    assert_eq!(ada.find("who works in Bergen").await, [second.clone(), first.clone()]);
    assert_eq!(ada.get("/api/graph").await.body, there.get("/api/graph").await.body);
    assert_eq!(ada.get(&format!("/api/documents/{second}/content")).await.status, 200);
    assert_eq!(ada.post("/api/documents/reindex").await.json()["documentsReindexed"], 2);
    assert_eq!(there.delete(&format!("/api/documents/{first}")).await.status, 200);
    assert_eq!(ada.find("Rotterdam").await, [second]);

    // A process that dies leaves its work to the other.
    let long: String =
        (0..3_000).map(|n| format!("Sentence {n} is about pumps of kind {}. ", n % 97)).collect();
    for number in 0..3 {
        let text = format!("File {number}. {long}");
        let form = e2e::Form::new().file("file", &format!("{number}.txt"), text.as_bytes());
        let request = form.into_request(ada.request(reqwest::Method::POST, "/api/ingest"));
        assert_eq!(e2e::reply(request.header("prefer", "respond-async")).await.status, 202);
    }
    drop(one);
    let documents = there.settled(std::time::Duration::from_secs(60)).await;
    assert!(documents.iter().all(|document| document["status"] == "indexed"), "{documents:?}");
    assert_eq!(documents.len(), 4);
}
