//! A database and an object store that cannot be reached for a while.

use crate::{becomes, fault, post_lead, readiness};
use e2e::postgres::Postgres;
use e2e::s3::S3;
use e2e::{FaultProxy, KnowledgeClient, PortalClient, Server, Stoa, SupervisorClient, reply};
use reqwest::{Client, Method};
use serde_json::json;
use std::time::Duration;

fn away() -> (u16, String, bool) {
    (503, "STORAGE_UNAVAILABLE".to_owned(), true)
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_database_every_service_says_so_and_goes_on_when_it_is_back() {
    let (proxy, database) = Postgres::shared().await.database_behind_proxy().await;
    let start = Stoa::start().only("gateway,knowledge,supervisor,portal,leads").with_models();
    let stoa = start.set("DATABASE_URL", database).set("DATABASE_CONNECTIONS", 5).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let (portal, supervisor) = (PortalClient::direct(&stoa, "admin"), SupervisorClient::local(&stoa));
    assert_eq!(post_lead(&stoa, "before@example.org").await.status, 202);
    assert_eq!(readiness(&stoa).await.status, 200);

    proxy.cut();
    let login = json!({ "username": "admin", "password": "password" });
    let answers = [
        post_lead(&stoa, "during@example.org").await,
        admin.get("/api/documents").await,
        admin.get("/api/search?query=ship").await,
        admin.ingest("a.txt", b"text").await,
        portal.get("/api/portal/updates").await,
        supervisor.get("/api/projects").await,
        reply(Client::new().post(stoa.url("/auth/login")).json(&login)).await,
    ];
    for answer in answers {
        assert_eq!(fault(&answer), away(), "{answer:?}");
    }
    assert_eq!(readiness(&stoa).await.status, 503);

    proxy.mend();
    becomes(200, async || readiness(&stoa).await).await;
    assert_eq!(post_lead(&stoa, "after@example.org").await.status, 202);
    assert_eq!(admin.get("/api/documents").await.status, 200);
    assert_eq!(portal.get("/api/portal/updates").await.status, 200);
}

/// What is known of a token is used for a minute; a token that is not known yet waits, and is not refused.
#[tokio::test(flavor = "multi_thread")]
async fn no_token_is_refused_because_the_database_is_away() {
    let (proxy, database) = Postgres::shared().await.database_behind_proxy().await;
    let stoa = Stoa::start().only("gateway,knowledge").set("DATABASE_URL", database).serve();
    let ada = KnowledgeClient::admin(&stoa).await.invite(&stoa, "ada").await;
    let again = KnowledgeClient::sign_in(&stoa, "ada@example.org", "correct horse").await;
    let token = async |client: &KnowledgeClient| {
        client.post("/api/auth/token").await.json()["token"].as_str().unwrap().to_owned()
    };
    let (known, new) = (token(&ada).await, token(&again).await);
    let health =
        async |token: &str| reply(Client::new().get(stoa.url("/core/api/health")).bearer_auth(token)).await;
    assert_eq!(health(&known).await.status, 200);
    proxy.cut();
    // Longer than a token is taken without asking again.
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(health(&known).await.status, 200);
    assert_eq!(fault(&health(&new).await), away());
    proxy.mend();
    becomes(200, async || health(&new).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_object_store_uploads_and_logins_say_so_and_go_on_when_it_is_back() {
    let s3 = S3::start().await;
    let proxy = FaultProxy::start(Server::Tcp(s3.endpoint.replace("http://", ""))).await;
    let stoa = Stoa::start_knowledge()
        .set("OBJECT_STORE_URL", format!("s3://{}/stoa", s3.bucket))
        .set("AWS_ENDPOINT_URL", format!("http://{}", proxy.address))
        .set("AWS_ACCESS_KEY_ID", &s3.access_key_id)
        .set("AWS_SECRET_ACCESS_KEY", &s3.secret_access_key)
        .serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let before = admin.ingest_text("before.txt", "The harbour of Bergen was full of ships.").await;

    proxy.cut();
    let login = json!({ "username": "admin", "password": "password" });
    let login = async || reply(Client::new().post(stoa.url("/auth/login")).json(&login)).await;
    let answers = [
        admin.ingest("during.txt", b"text").await,
        admin.get(&format!("/api/documents/{before}/content")).await,
        login().await,
    ];
    for answer in answers {
        assert_eq!(fault(&answer), away(), "{answer:?}");
    }

    // Indexed before, and run again while the file cannot be read.
    let reindex =
        reply(admin.request(Method::POST, "/api/documents/reindex").header("prefer", "respond-async"));
    let reindex = tokio::time::timeout(Duration::from_secs(8), reindex).await;
    assert!(reindex.is_err() || admin.documents().await[0]["status"] == "processing", "{reindex:?}");

    proxy.mend();
    becomes(200, login).await;
    let settled = admin.settled(Duration::from_secs(60)).await;
    assert_eq!(settled[0]["status"], "indexed", "an outage is no fault of the document: {settled:?}");
    let after = admin.ingest_text("after.txt", "The lighthouse of Bergen shines again.").await;
    assert_eq!(admin.find("lighthouse").await.first(), Some(&after));
    assert_eq!(admin.documents().await.len(), 2, "nothing is left of the upload that failed");
}
