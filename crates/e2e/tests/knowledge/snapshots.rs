//! Large indexes and graphs are kept in the object store: a start reads only what has changed since.

use e2e::passages::{add_documents, count, database_of, execute};
use e2e::{KnowledgeClient, Stoa};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Passages that make a snapshot due, and more.
const PASSAGES: usize = 1_500;
const TAKEN: &str = "SELECT COUNT(*) FROM index_snapshots WHERE object_key <> ''";

/// Uploads a file, by which the passages that are in the database already are noticed: a snapshot is due.
async fn make_due(stoa: &Stoa, user: &KnowledgeClient, name: &str) {
    execute(&database_of(stoa), "UPDATE index_snapshots SET changed = 5000").await;
    user.ingest_text(&format!("{name}.txt"), &format!("The word of this file is {name}word.")).await;
}

async fn taken(stoa: &Stoa) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while count(&database_of(stoa), TAKEN).await == 0 {
        assert!(Instant::now() < deadline, "no snapshot: {}", stoa.log());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

fn restarted(stoa: Stoa, data: &Arc<TempDir>) -> Stoa {
    drop(stoa);
    Stoa::start_knowledge().data(data).serve()
}

fn objects(stoa: &Stoa, user: &KnowledgeClient) -> usize {
    let folder = stoa.data.path().join("objects/users").join(&user.id).join("indexes");
    std::fs::read_dir(folder).map_or(0, |entries| entries.count())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_reads_the_snapshot_and_what_has_changed_since() {
    let mut stoa = Stoa::start_knowledge().serve();
    let data = stoa.data.clone();
    let admin = KnowledgeClient::admin(&stoa).await;
    admin.ingest_text("first.txt", "The word of this file is firstword.").await;
    let ids = add_documents(&database_of(&stoa), &admin.id, 2, PASSAGES).await;
    make_due(&stoa, &admin, "second").await;
    let before = admin.get("/api/search?query=passage+17+of+pump&topK=20").await.json();
    taken(&stoa).await;
    assert_eq!(objects(&stoa, &admin), 2, "an index and a graph");
    let in_memory = admin.get("/api/search?query=passage+17+of+pump&topK=20").await.json();
    assert!(in_memory["results"] == before["results"], "a mapped index answers as before");
    let graph = admin.get("/api/graph").await.json();

    let late = add_documents(&database_of(&stoa), &admin.id, 1, 10).await;
    assert_eq!(admin.delete(&format!("/api/documents/{}", ids[0])).await.status, 200);
    stoa = restarted(stoa, &data);
    let admin = KnowledgeClient::admin(&stoa).await;

    assert!(admin.find("passage 9 of document 3").await.contains(&late[0]), "what came later");
    assert!(admin.find("passage 1499 of document 2").await.contains(&ids[1]), "what was there");
    assert!(!admin.find("passage 1499 of document 1").await.contains(&ids[0]), "what was removed");
    assert!(!admin.find("secondword").await.is_empty() && !admin.find("firstword").await.is_empty());
    let metrics = e2e::get(format!("http://{}/metrics", stoa.ops)).await.body;
    assert!(metrics.contains("knowledge_snapshots_read_total 1"), "{metrics}");
    let again = admin.get("/api/graph").await;
    assert_eq!(again.status, 200);
    assert_eq!(graph["nodes"].as_array().map(Vec::len), again.json()["nodes"].as_array().map(Vec::len));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_that_is_gone_or_damaged_costs_time_and_nothing_else() {
    let mut stoa = Stoa::start_knowledge().serve();
    let data = stoa.data.clone();
    let admin = KnowledgeClient::admin(&stoa).await;
    admin.ingest_text("first.txt", "The word of this file is firstword.").await;
    let ids = add_documents(&database_of(&stoa), &admin.id, 2, PASSAGES).await;
    make_due(&stoa, &admin, "second").await;
    taken(&stoa).await;
    let folder = stoa.data.path().join("objects/users").join(&admin.id).join("indexes");
    for damage in [0, 100, 5_000] {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            // Replaced, never changed in place: the program has the old one mapped.
            std::fs::write(path.with_extension("new"), &bytes[..damage.min(bytes.len())]).unwrap();
            std::fs::rename(path.with_extension("new"), &path).unwrap();
        }
        stoa = restarted(stoa, &data);
        let admin = KnowledgeClient::admin(&stoa).await;
        assert!(admin.find("passage 1499 of document 2").await.contains(&ids[1]), "{damage}");
        assert_eq!(admin.get("/api/graph").await.status, 200, "{damage}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
    stoa = restarted(stoa, &data);
    let admin = KnowledgeClient::admin(&stoa).await;
    assert!(admin.find("passage 1499 of document 2").await.contains(&ids[1]));
    assert_eq!(admin.get("/api/graph").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_snapshot_of_another_version_is_written_again() {
    let mut stoa = Stoa::start_knowledge().serve();
    let data = stoa.data.clone();
    let admin = KnowledgeClient::admin(&stoa).await;
    admin.ingest_text("first.txt", "The word of this file is firstword.").await;
    let ids = add_documents(&database_of(&stoa), &admin.id, 2, PASSAGES).await;
    make_due(&stoa, &admin, "second").await;
    taken(&stoa).await;
    let folder = stoa.data.path().join("objects/users").join(&admin.id).join("indexes");
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        if let Some(stamp) = bytes.windows(11).position(|bytes| bytes == b"stoa index ") {
            bytes[stamp + 11] = b'1';
            std::fs::write(path.with_extension("new"), &bytes).unwrap();
            std::fs::rename(path.with_extension("new"), &path).unwrap();
        }
    }
    execute(&database_of(&stoa), "UPDATE index_snapshots SET changed = 0").await;
    stoa = restarted(stoa, &data);
    let admin = KnowledgeClient::admin(&stoa).await;
    assert!(admin.find("passage 1499 of document 2").await.contains(&ids[1]));
    // The old objects stay a minute for processes that are about to read them.
    let deadline = Instant::now() + Duration::from_secs(60);
    while objects(&stoa, &admin) < 4 {
        assert!(Instant::now() < deadline, "no further snapshot: {}", stoa.log());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_snapshots_of_a_removed_user_are_removed() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let user = admin.invite(&stoa, "ann").await;
    user.ingest_text("first.txt", "The word of this file is firstword.").await;
    add_documents(&database_of(&stoa), &user.id, 2, PASSAGES).await;
    make_due(&stoa, &user, "second").await;
    taken(&stoa).await;
    assert_eq!(objects(&stoa, &user), 2);
    assert_eq!(admin.delete(&format!("/api/users/{}", user.id)).await.status, 200);
    let deadline = Instant::now() + Duration::from_secs(30);
    while objects(&stoa, &user) > 0 {
        assert!(Instant::now() < deadline, "the objects are still there");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
