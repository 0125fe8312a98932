//! Sources of the other kinds, each from a real server on this machine. The program is killed during the first run.

use super::{ended, source, until};
use e2e::s3::S3;
use e2e::{Dovecot, GitServer, KnowledgeClient, Nginx, Repository, Stoa};
use serde_json::{Value, json};
use std::fs;
use std::time::Duration;

const ITEMS: usize = 30;

fn note(number: usize) -> String {
    format!("Note {number} is about valve V-{number}.")
}

/// The program after a first run during which it was killed.
struct Synced {
    _stoa: Stoa,
    admin: KnowledgeClient,
    id: String,
    last: Value,
}

impl Synced {
    async fn new(settings: Value, secret: Option<&str>) -> Synced {
        let start = |lease: &str| {
            Stoa::start_knowledge()
                .set("ALLOW_PRIVATE_ADDRESSES", true)
                .set("JOB_LEASE", lease)
                .set("SOURCES_KEY", "k".repeat(32))
        };
        // A short one for the process that is killed; later runs must not lose theirs on a busy machine.
        let stoa = start("1s").serve();
        let data = stoa.data.clone();
        let admin = KnowledgeClient::admin(&stoa).await;
        let id = source(&admin, json!({ "name": "Source", "secret": secret, "settings": settings })).await;
        until(&admin, &id, |source| source["items"]["stored"].as_i64() > Some(0)).await;
        stoa.signal("KILL");
        stoa.wait();
        let stoa = start("60s").data(&data).serve();
        let admin = KnowledgeClient::admin(&stoa).await;
        let last = ended(&admin, &id, &Value::Null).await;
        let synced = Synced { _stoa: stoa, admin, id, last };
        assert_eq!(synced.last["lastRun"]["error"], Value::Null, "{}", synced.last);
        assert_eq!(synced.documents().await.len(), ITEMS, "each item is one document: {}", synced.last);
        assert!(synced.finds("valve V-7").await);
        synced
    }

    async fn run(&mut self) {
        let started = self.admin.post(&format!("/api/sources/{}/run", self.id)).await;
        assert_eq!(started.status, 202, "{started:?}");
        self.last = ended(&self.admin, &self.id, &self.last).await;
    }

    /// Runs it, and checks how many items were added, changed and removed.
    async fn run_to(&mut self, added: u32, changed: u32, removed: u32) {
        self.run().await;
        let run = &self.last["lastRun"];
        assert_eq!(
            (&run["added"], &run["changed"], &run["removed"], &run["error"]),
            (&json!(added), &json!(changed), &json!(removed), &Value::Null),
            "{}",
            self.last
        );
    }

    async fn documents(&self) -> Vec<Value> {
        let documents = self.admin.settled(Duration::from_secs(60)).await;
        assert!(documents.iter().all(|document| document["status"] == "indexed"), "{documents:?}");
        documents
    }

    /// Whether what is found first says all these words.
    async fn finds(&self, words: &str) -> bool {
        self.documents().await;
        let query = words.replace(' ', "+");
        let answer = self.admin.get(&format!("/api/search?query={query}")).await.json();
        answer["results"][0]["text"].as_str().is_some_and(|text| text.contains(words))
    }

    /// Runs it while its place is away: it says so, and no document is removed.
    async fn fails(&mut self, documents: usize) {
        self.run().await;
        assert_eq!(self.last["status"], "failed", "{}", self.last);
        assert!(self.last["lastRun"]["error"].as_str().unwrap().len() > 10, "{}", self.last);
        assert_eq!(self.documents().await.len(), documents);
    }
}

#[tokio::test]
async fn a_bucket() {
    let s3 = S3::start().await;
    let folder = s3.folder().join(&s3.bucket).join("manuals");
    fs::create_dir(&folder).unwrap();
    for number in 0..ITEMS {
        fs::write(folder.join(format!("{number}.txt")), note(number)).unwrap();
    }
    let settings = json!({ "kind": "s3", "bucket": s3.bucket, "prefix": "manuals/", "endpoint": s3.endpoint,
        "accessKeyId": s3.access_key_id });
    let mut synced = Synced::new(settings, Some(&s3.secret_access_key)).await;
    synced.run_to(0, 0, 0).await;
    fs::write(folder.join("7.txt"), "The bearing of the mixer is greased weekly.").unwrap();
    fs::remove_file(folder.join("8.txt")).unwrap();
    fs::remove_file(folder.join("9.txt")).unwrap();
    fs::write(folder.join("new.txt"), "The okapi valve is new.").unwrap();
    synced.run_to(1, 1, 2).await;
    assert!(synced.finds("bearing of the mixer").await && synced.finds("okapi valve").await);
    assert_eq!(synced.documents().await.len(), ITEMS - 1);
    drop(s3);
    synced.fails(ITEMS - 1).await;
}

#[tokio::test]
async fn a_site() {
    let Some(nginx) = Nginx::start().await else { return };
    let page = |text: &str| format!("<title>Page</title><nav>Home</nav><main><p>{text}</p></main>");
    let links: String =
        (1..ITEMS).map(|number| format!("<a href=page/{number}.html>{number}</a> ")).collect();
    nginx.write("docs/index.html", &page(&format!("{} {links}", note(0))));
    for number in 1..ITEMS {
        nginx.write(&format!("docs/page/{number}.html"), &page(&note(number)));
    }
    let settings = json!({ "kind": "web", "mode": "crawl", "addresses": [nginx.url("/docs/")], "delay": 50 });
    let mut synced = Synced::new(settings, None).await;
    synced.run_to(0, 0, 0).await;
    nginx.write("docs/page/7.html", &page("The bearing of the mixer is greased weekly."));
    nginx.write("docs/page/8.html", &page("A page with <a href=new.html>a link</a>."));
    nginx.write("docs/page/new.html", &page("The okapi valve is new."));
    synced.run_to(1, 2, 0).await;
    assert!(synced.finds("bearing of the mixer").await && synced.finds("okapi valve").await);
    assert_eq!(synced.documents().await.len(), ITEMS + 1);
    let document = &synced.admin.get("/api/documents?title=new.html").await.json()["documents"][0];
    assert_eq!(document["metadata"]["url"], nginx.url("/docs/page/new.html"), "{document}");
    drop(nginx);
    synced.fails(ITEMS + 1).await;
}

#[tokio::test]
async fn a_repository() {
    let repository = Repository::new();
    let files: Vec<(String, String)> =
        (0..ITEMS).map(|number| (format!("docs/{number}.md"), note(number))).collect();
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
    repository.commit(&files);
    let server = GitServer::start(&repository.path(), "ada:s3cret").await;
    let settings = json!({ "kind": "git", "url": server.url(), "username": "ada" });
    let mut synced = Synced::new(settings, Some("s3cret")).await;
    synced.run_to(0, 0, 0).await;
    repository.git(&["rm", "--quiet", "docs/8.md", "docs/9.md"]);
    repository.commit(&[
        ("docs/7.md", b"The bearing of the mixer is greased weekly."),
        ("new.md", b"The okapi valve is new."),
    ]);
    synced.run_to(1, 1, 2).await;
    assert!(synced.finds("bearing of the mixer").await && synced.finds("okapi valve").await);
    drop(server);
    synced.fails(ITEMS - 1).await;
}

#[tokio::test]
async fn a_mailbox() {
    let Some(dovecot) = Dovecot::start().await else { return };
    let mail = |text: &str| {
        let head =
            "From: Ada <ada@example.org>\r\nTo: bob@example.org\r\nDate: Tue, 17 Nov 2026 07:00:00 +0000";
        format!("{head}\r\nSubject: {text}\r\n\r\n{text}\r\n").into_bytes()
    };
    let names: Vec<String> = (0..ITEMS).map(|number| format!("m{number}")).collect();
    dovecot.deliver("", names.iter().enumerate().map(|(number, name)| (name.as_str(), mail(&note(number)))));
    let settings = json!({ "kind": "imap", "host": "127.0.0.1", "port": dovecot.port,
        "username": "ada@example.org", "tls": false });
    let mut synced = Synced::new(settings, Some("s3cret")).await;
    synced.run_to(0, 0, 0).await;
    dovecot.deliver("", [("new", mail("The okapi valve is new."))]);
    for file in dovecot.files() {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        if name == "m8" || name.starts_with("m8:") {
            fs::remove_file(file).unwrap();
        }
    }
    synced.run_to(1, 0, 1).await;
    assert!(synced.finds("okapi valve").await);
    drop(dovecot);
    synced.fails(ITEMS).await;
}
