//! A disk without space, and with space again.

use crate::{becomes, fault, post_lead, readiness};
use e2e::{KnowledgeClient, PortalClient, Stoa, reply};
use reqwest::{Client, Method};
use serde_json::json;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// Writes until nothing fits any more.
fn fill(path: &Path) {
    let mut file = File::create(path).expect("a file");
    for size in [64 * 1024, 1] {
        while file.write_all(&vec![7; size]).is_ok() {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_write_says_that_the_disk_is_full_and_works_again_with_space() {
    let stoa = Stoa::start().only("gateway,knowledge,portal,leads").with_models().on_disk_of(24).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let portal = PortalClient::direct(&stoa, "admin");
    let before = admin.ingest_text("before.txt", "The harbour of Bergen was full of ships.").await;
    assert_eq!(post_lead(&stoa, "before@example.org").await.status, 202);

    let filler = stoa.data_folder().join("filler");
    fill(&filler);
    let full = (507, "INSUFFICIENT_STORAGE".to_owned(), false);
    // What is left of a page that was written before may still take one.
    let lead = becomes(507, async || post_lead(&stoa, "during@example.org").await).await;
    assert_eq!(fault(&lead), full, "{lead:?}");
    let update = portal.post("/api/portal/updates", &json!({ "title": "No space", "body": "at all" })).await;
    assert_eq!(fault(&update), full, "{update:?}");
    let upload = admin.ingest("during.txt", &[b'x'; 200_000]).await;
    assert_eq!(fault(&upload), full, "{upload:?}");
    let login = json!({ "username": "admin", "password": "wrong" });
    let login = reply(Client::new().post(stoa.url("/auth/login")).json(&login)).await;
    assert_eq!(fault(&login), full, "{login:?}");
    let ready = readiness(&stoa).await;
    assert_eq!(ready.status, 503, "{ready:?}");
    assert!(ready.body.contains("database"), "{ready:?}");
    assert_eq!(admin.find("harbour").await, [before.as_str()], "what is there can be read");

    fs::remove_file(&filler).unwrap();
    becomes(200, async || readiness(&stoa).await).await;
    for number in 0..20 {
        let lead = post_lead(&stoa, &format!("after-{number}@example.org")).await;
        assert_eq!(lead.status, 202, "{lead:?}");
    }
    portal.make("/api/portal/updates", &json!({ "title": "Space again", "body": "at last" })).await;
    let after = admin.ingest_text("after.txt", "The lighthouse of Bergen shines again.").await;
    assert_eq!(admin.find("lighthouse").await.first(), Some(&after));
    admin.settled(Duration::from_secs(10)).await;
    let leads = PortalClient::direct(&stoa, "admin").request(Method::GET, "/api/leads?limit=100");
    assert_eq!(reply(leads).await.json().as_array().unwrap().len(), 21, "each that was taken, and no other");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_cannot_be_written_is_said_at_the_start_and_left_as_it_is() {
    let stoa = Stoa::start_knowledge().serve();
    let data = stoa.data.clone();
    let id = KnowledgeClient::admin(&stoa).await.ingest_text("a.txt", "The harbour of Bergen.").await;
    stoa.signal("TERM");
    stoa.wait();
    let start = Stoa::start_knowledge().data(&data).on_read_only_disk();
    let started = tokio::task::spawn_blocking(move || start.run(&["serve"]));
    let (code, _, said) =
        tokio::time::timeout(Duration::from_secs(30), started).await.expect("it ends").unwrap();
    assert_ne!(code, 0);
    assert!(
        said.contains(&data.path().display().to_string()) && said.to_lowercase().contains("read-only"),
        "{said}"
    );
    let stoa = Stoa::start_knowledge().data(&data).serve();
    assert_eq!(KnowledgeClient::admin(&stoa).await.find("harbour").await, [id.as_str()]);
}
