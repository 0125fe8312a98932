//! An object store that takes connections and never answers, that fails, or that is slow.

use e2e::s3::{Health, S3};
use e2e::{FaultProxy, KnowledgeClient, Server, Stoa};
use std::time::{Duration, Instant};

#[tokio::test(flavor = "multi_thread")]
async fn uploads_against_a_store_that_hangs_end_with_a_time_to_come_back() {
    let s3 = S3::start().await;
    let proxy = FaultProxy::start(Server::Tcp(s3.endpoint.replace("http://", ""))).await;
    let stoa = Stoa::start_knowledge()
        .set("OBJECT_STORE_URL", format!("s3://{}/stoa", s3.bucket))
        .set("AWS_ENDPOINT_URL", format!("http://{}", proxy.address))
        .set("AWS_ACCESS_KEY_ID", &s3.access_key_id)
        .set("AWS_SECRET_ACCESS_KEY", &s3.secret_access_key)
        .serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    proxy.hang();
    let large = vec![b'x'; 20 << 20];
    let timed = async |name: &str, bytes: &[u8]| {
        let started = Instant::now();
        let answer = admin.ingest(name, bytes).await;
        (started.elapsed(), answer)
    };
    let (small, large) = tokio::join!(timed("a.txt", b"The pump."), timed("large.txt", &large));
    for (took, answer) in [small, large] {
        assert!(took < Duration::from_secs(15), "{took:?}: {answer:?}");
        assert_eq!(
            (answer.status, &answer.json()["code"]),
            (503, &"STORAGE_UNAVAILABLE".into()),
            "{answer:?}"
        );
        assert_eq!(answer.header("retry-after").len(), 1, "{answer:?}");
    }
    assert!(admin.documents().await.is_empty(), "nothing was taken");
    proxy.mend();
    admin.ingest_text("a.txt", "The pump.").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_fails_or_is_slow_costs_time_and_loses_nothing() {
    let s3 = S3::start().await;
    let stoa = Stoa::start_knowledge()
        .set("OBJECT_STORE_URL", format!("s3://{}/stoa", s3.bucket))
        .set("AWS_ENDPOINT_URL", &s3.endpoint)
        .set("AWS_ACCESS_KEY_ID", &s3.access_key_id)
        .set("AWS_SECRET_ACCESS_KEY", &s3.secret_access_key)
        .serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let id = admin.ingest_text("before.txt", "The valve is closed at night.").await;
    s3.set_health(Health::Failing);
    let started = Instant::now();
    let refused = admin.ingest("a.txt", b"The pump.").await;
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    assert_eq!(
        (refused.status, &refused.json()["code"]),
        (503, &"STORAGE_UNAVAILABLE".into()),
        "{refused:?}"
    );
    // What is in the database is found and answered meanwhile.
    assert_eq!(admin.find("valve closed").await, std::slice::from_ref(&id));
    let content = admin.get(&format!("/api/documents/{id}/content")).await;
    assert_eq!(content.status, 503, "{content:?}");
    s3.set_health(Health::Slow);
    admin.ingest_text("slow.txt", "The bearing is greased every week.").await;
    s3.set_health(Health::Well);
    admin.ingest_text("a.txt", "The pump.").await;
    assert_eq!(admin.documents().await.len(), 3);
    assert_eq!(
        admin.get(&format!("/api/documents/{id}/content")).await.body,
        "The valve is closed at night."
    );
}
