//! What becomes of documents that several places have, of those of a place that is away, and of secrets.

use super::{ended, folder_body, source, until};
use crate::archives::zip;
use crate::spaces::{add, patch, space};
use e2e::{KnowledgeClient, Stoa};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const SEAL: &str = "The shaft seal is replaced every month.";

/// The program with folders that sources may read.
struct Folders {
    stoa: Stoa,
    admin: KnowledgeClient,
    root: PathBuf,
    _folder: TempDir,
}

impl Folders {
    async fn new(names: &[&str]) -> Folders {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in names {
            fs::create_dir(root.join(name)).unwrap();
        }
        let start = Stoa::start_knowledge().set("FOLDER_ROOTS", root.display().to_string());
        let stoa = start.set("ALLOW_PRIVATE_ADDRESSES", true).serve();
        let admin = KnowledgeClient::admin(&stoa).await;
        Folders { stoa, admin, root, _folder: folder }
    }

    /// Adds a source, and waits for its first run.
    async fn source(&self, name: &str) -> String {
        let id = source(&self.admin, folder_body(&self.root.join(name))).await;
        ended(&self.admin, &id, &Value::Null).await;
        self.admin.settled(Duration::from_secs(60)).await;
        id
    }

    async fn run(&self, id: &str) -> Value {
        let before = self.admin.get(&format!("/api/sources/{id}")).await.json();
        self.admin.post(&format!("/api/sources/{id}/run")).await;
        let source = ended(&self.admin, id, &before).await;
        self.admin.settled(Duration::from_secs(60)).await;
        source
    }

    async fn texts(&self) -> Vec<String> {
        let mut texts = Vec::new();
        for document in self.admin.settled(Duration::from_secs(60)).await {
            let path = format!("/api/documents/{}/content", document["id"].as_str().unwrap());
            texts.push(self.admin.get(&path).await.body);
        }
        texts.sort();
        texts
    }
}

fn write(folder: &Path, name: &str, text: impl AsRef<[u8]>) {
    fs::write(folder.join(name), text).unwrap();
}

#[tokio::test]
async fn a_file_of_two_places_stays_as_long_as_one_has_it() {
    let folders = Folders::new(&["one", "two"]).await;
    let (one, two) = (folders.root.join("one"), folders.root.join("two"));
    write(&one, "keep.txt", "Kept.");
    write(&one, "a.txt", SEAL);
    write(&two, "b.txt", SEAL);
    let (first, second) = (folders.source("one").await, folders.source("two").await);
    assert_eq!(folders.texts().await, ["Kept.", SEAL], "the same content is stored once");
    fs::remove_file(one.join("a.txt")).unwrap();
    folders.run(&first).await;
    assert_eq!(folders.texts().await, ["Kept.", SEAL], "the second folder has it");
    write(&two, "other.txt", "Another.");
    fs::remove_file(two.join("b.txt")).unwrap();
    folders.run(&second).await;
    assert_eq!(folders.texts().await, ["Another.", "Kept."]);

    // What a person uploads stays, although a folder had it first.
    write(&one, "c.txt", SEAL);
    folders.run(&first).await;
    let uploaded = folders.admin.ingest("mine.txt", SEAL.as_bytes()).await.json();
    assert_eq!(uploaded["duplicateOf"], uploaded["documentId"], "{uploaded}");
    fs::remove_file(one.join("c.txt")).unwrap();
    folders.run(&first).await;
    assert_eq!(folders.texts().await, ["Another.", "Kept.", SEAL]);
    // If the person deletes it, a folder that has it brings it back.
    write(&one, "c.txt", SEAL);
    folders.run(&first).await;
    let id = uploaded["documentId"].as_str().unwrap();
    assert_eq!(folders.admin.delete(&format!("/api/documents/{id}")).await.status, 200);
    folders.run(&first).await;
    assert_eq!(folders.texts().await, ["Another.", "Kept.", SEAL]);

    // A file that becomes the same as another leaves nothing of what it was.
    write(&one, "keep.txt", SEAL);
    folders.run(&first).await;
    assert_eq!(folders.texts().await, ["Another.", SEAL]);
}

#[tokio::test]
async fn a_folder_that_is_empty_all_at_once_keeps_its_documents() {
    let folders = Folders::new(&["one"]).await;
    let one = folders.root.join("one");
    write(&one, "a.txt", SEAL);
    let id = folders.source("one").await;
    fs::remove_file(one.join("a.txt")).unwrap();
    let source = folders.run(&id).await;
    assert_eq!(source["status"], "failed", "{source}");
    assert!(
        source["lastRun"]["error"].as_str().unwrap().starts_with("nothing is there any more"),
        "{source}"
    );
    assert_eq!(folders.texts().await, [SEAL]);
    write(&one, "b.txt", "Mounted again.");
    let source = folders.run(&id).await;
    assert_eq!(
        (&source["status"], &source["lastRun"]["removed"]),
        (&json!("waiting"), &json!(1)),
        "{source}"
    );
    assert_eq!(folders.texts().await, ["Mounted again."]);
}

#[tokio::test]
async fn what_the_quota_refused_is_stored_when_there_is_room() {
    let folders = Folders::new(&["one"]).await;
    let one = folders.root.join("one");
    write(&one, "a.txt", SEAL);
    let admin = format!("/api/users/{}", folders.admin.id);
    assert_eq!(patch(&folders.admin, &admin, json!({ "quota": 10 })).await.status, 200);
    let id = folders.source("one").await;
    let errors = folders.admin.get(&format!("/api/sources/{id}/items?status=error")).await.json();
    assert!(errors["items"][0]["message"].as_str().unwrap().contains("10 bytes"), "{errors}");
    assert_eq!(patch(&folders.admin, &admin, json!({ "quota": 1000 })).await.status, 200);
    let source = folders.run(&id).await;
    assert_eq!(source["items"], json!({ "stored": 1, "skipped": 0, "error": 0 }), "{source}");
    assert_eq!(folders.texts().await, [SEAL]);
}

#[tokio::test]
async fn the_files_of_an_archive_are_what_the_archive_is() {
    let folders = Folders::new(&["one"]).await;
    let one = folders.root.join("one");
    write(&one, "keep.txt", "Kept.");
    write(&one, "all.zip", zip(&[("a.txt", b"Pump one."), ("b.txt", b"Pump two.")]));
    let id = folders.source("one").await;
    let names = || async {
        let documents = folders.admin.settled(Duration::from_secs(60)).await;
        let mut names: Vec<String> =
            documents.iter().map(|document| document["filename"].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(names().await, ["a.txt", "all.zip", "b.txt", "keep.txt"]);
    write(&one, "all.zip", zip(&[("b.txt", b"Pump two, changed."), ("c.txt", b"Pump three.")]));
    folders.run(&id).await;
    assert_eq!(names().await, ["all.zip", "b.txt", "c.txt", "keep.txt"]);
    assert_eq!(folders.admin.find("pump two changed").await.len(), 4);
    let changed = &folders.admin.get("/api/documents?title=b.txt").await.json()["documents"][0];
    assert_eq!((&changed["version"], &changed["sourceId"]), (&json!(2), &json!(id)), "{changed}");
    fs::remove_file(one.join("all.zip")).unwrap();
    folders.run(&id).await;
    let deadline = Instant::now() + Duration::from_secs(30);
    while names().await != ["keep.txt"] {
        assert!(Instant::now() < deadline, "{:?}", names().await);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn a_secret_is_sent_only_to_the_server_that_it_was_given_for() {
    let folders = Folders::new(&[]).await;
    let admin = &folders.admin;
    let ada = admin.invite(&folders.stoa, "ada").await;
    let mailbox = |host: &str, mailbox: &str| json!({ "kind": "imap", "host": host, "port": 993, "username": "a", "mailbox": mailbox });
    let body =
        json!({ "name": "Mail", "secret": "tell-no-one", "settings": mailbox("imap.example.org", "INBOX") });
    let pumps = space(admin, json!({ "name": "Pumps" })).await;
    add(admin, &pumps, &ada, "reader").await;
    let mut of_space = body.clone();
    of_space["spaceId"] = json!(pumps);
    let id = source(admin, of_space).await;
    let path = format!("/api/sources/{id}");
    let elsewhere = json!({ "settings": mailbox("evil.example.org", "INBOX") });
    let refused = patch(admin, &path, elsewhere.clone()).await;
    assert_eq!(refused.status, 400, "{refused:?}");
    assert!(refused.body.contains("`secret` is missing"), "{refused:?}");
    let other_kind = json!({ "settings": { "kind": "git", "url": "https://evil.example.org/x" } });
    assert_eq!(patch(admin, &path, other_kind).await.status, 400);
    let same = json!({ "settings": mailbox("imap.example.org", "Archive") });
    assert_eq!(patch(admin, &path, same).await.json()["source"]["hasSecret"], json!(true));
    let mut with_secret = elsewhere;
    with_secret["secret"] = json!("another");
    assert_eq!(patch(admin, &path, with_secret).await.status, 200);

    // Readers see that there is a mailbox, and not where.
    let seen = ada.get(&path).await;
    assert_eq!((seen.status, &seen.json()["settings"]["kind"]), (200, &json!("imap")), "{seen:?}");
    assert!(!seen.body.contains("example.org"), "{seen:?}");
    let failed = until(admin, &id, |source| source["status"] == "failed").await;
    assert!(failed["lastRun"]["error"].as_str().unwrap().len() > 10, "{failed}");
    // Another run may have begun meanwhile, which has no error yet.
    let unsaid = json!("it could not be read: editors of the space see why");
    until(&ada, &id, |source| source["lastRun"]["error"] == unsaid).await;
}

#[tokio::test]
async fn a_new_name_does_not_end_a_run() {
    let folders = Folders::new(&["one"]).await;
    for number in 0..100 {
        write(&folders.root.join("one"), &format!("{number}.txt"), format!("Note {number} on valves."));
    }
    let id = source(&folders.admin, folder_body(&folders.root.join("one"))).await;
    let path = format!("/api/sources/{id}");
    until(&folders.admin, &id, |source| source["items"]["stored"].as_i64() > Some(0)).await;
    for number in 0..3 {
        let changed = patch(&folders.admin, &path, json!({ "name": format!("Notes {number}") })).await;
        assert_eq!(changed.status, 200, "{changed:?}");
    }
    assert_eq!(patch(&folders.admin, &path, json!({ "every": 3600 })).await.status, 200);
    let source = ended(&folders.admin, &id, &Value::Null).await;
    assert_eq!((&source["items"]["stored"], &source["name"]), (&json!(100), &json!("Notes 2")), "{source}");
}

#[tokio::test]
async fn many_sources_of_one_user_all_run_and_leave_room_for_others() {
    let folders = Folders::new(&[]).await;
    let ada = folders.admin.invite(&folders.stoa, "ada").await;
    // A server that takes connections and says nothing.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap();
    for number in 0..20 {
        let settings = json!({ "kind": "imap", "host": "127.0.0.1", "port": address.port(), "username": "a", "tls": false });
        let body = json!({ "name": format!("{number}"), "secret": "x", "settings": settings });
        source(&ada, body).await;
    }
    fs::create_dir(folders.root.join("one")).unwrap();
    write(&folders.root.join("one"), "a.txt", SEAL);
    let id = folders.source("one").await;
    let source = folders.admin.get(&format!("/api/sources/{id}")).await.json();
    assert_eq!(source["items"]["stored"], json!(1), "{source}");
    let listed = ada.get("/api/sources").await.json()["sources"].as_array().unwrap().clone();
    let running = listed.iter().filter(|source| source["status"] == "running").count();
    assert_eq!(running, 4, "{listed:?}");
}
