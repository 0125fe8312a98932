//! A program with something of everything in it, and what it answers.

use crate::database::open;
use crate::post_lead;
use e2e::stoa::Start;
use e2e::{KnowledgeClient, PortalClient, Stoa, SupervisorClient, reply};
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sqlx::Connection;
use std::path::Path;
use std::time::{Duration, Instant};

const TEXTS: [(&str, &str); 3] = [
    ("harbour.txt", "The harbour of Bergen was full of ships. Captain Solberg counted them."),
    ("light.txt", "The lighthouse of Bergen shines again since the repair of its lamp."),
    ("pump.md", "# Pump P-204\n\nThe pump P-204 circulates coolant for the reactor hall."),
];

/// All services, with their models.
pub fn start() -> Start {
    Stoa::start().only("gateway,knowledge,supervisor,portal,leads").with_models()
}

/// Makes documents, users, entries, leads, a project and a conversation through the front doors.
pub async fn fill(stoa: &Stoa) {
    let admin = KnowledgeClient::admin(stoa).await;
    for (name, text) in TEXTS {
        admin.ingest_text(name, text).await;
    }
    admin.ingest("empty.txt", b"").await;
    let ada = admin.invite(stoa, "ada").await;
    ada.ingest_text("own.txt", "Ada keeps her own notes about tides.").await;
    let conversation = admin.post_json("/api/conversations", &json!({ "title": "Ships" })).await;
    assert_eq!(conversation.status, 201, "{conversation:?}");
    SupervisorClient::local(stoa).project().await;
    PortalClient::direct(stoa, "admin")
        .make("/api/portal/updates", &json!({ "title": "Moved", "body": "to another place" }))
        .await;
    assert_eq!(post_lead(stoa, "ada@example.org").await.status, 202);
}

/// Returns what clients see: lists, search results, files.
pub async fn answers(stoa: &Stoa) -> Vec<Value> {
    let admin = KnowledgeClient::admin(stoa).await;
    let ada = KnowledgeClient::sign_in(stoa, "ada@example.org", "correct horse").await;
    let mut answers = Vec::new();
    for client in [&admin, &ada] {
        for document in client.documents().await {
            let id = document["id"].as_str().expect("an id").to_owned();
            answers.push(document);
            answers.push(json!(client.get(&format!("/api/documents/{id}/content")).await.body));
            answers.push(json!(client.get(&format!("/api/documents/{id}/text")).await.body));
        }
        for query in ["ships in the harbour", "coolant", "tides"] {
            answers.push(json!(client.find(query).await));
        }
    }
    answers.push(admin.get("/api/conversations").await.json());
    let portal = PortalClient::direct(stoa, "admin");
    answers.push(portal.get("/api/portal/updates").await.json());
    answers.push(reply(portal.request(Method::GET, "/api/leads?limit=100")).await.json());
    answers
}

/// Adds documents that could not be indexed, with their files, and events to the data folder of a program that has run: enough to
/// interrupt a copy of them. They belong to a user of their own, and come before all others.
pub async fn add_many(data: &Path, number: usize) {
    let mut connection = open(&data.join("stoa.db")).await;
    let mut tx = connection.begin().await.expect("a transaction");
    let user = "INSERT INTO users (id, username, email, name, is_admin, goals, goals_summary, created_at, last_login)
        VALUES ('many', 'many', 'many@example.org', 'Many', 0, '', '', 1, 1)";
    sqlx::query(user).execute(&mut *tx).await.expect("a user");
    let folder = data.join("objects/users/many/documents");
    std::fs::create_dir_all(&folder).expect("a folder");
    for number in 0..number {
        let text = format!("document number {number} of many");
        let hash: String = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
        let (id, name) = (format!("00-{number:06}"), format!("00-{number:06}-a.txt"));
        std::fs::write(folder.join(&name), &text).expect("a file");
        let insert = "INSERT INTO documents (id, user_id, title, filename, object_key, content_hash, size, uploaded_at,
                metadata, status, progress, revision) VALUES ($1, 'many', 'a', 'a.txt', $2, $3, $4, 1, '{}', 'error', 0, 1)";
        let query = sqlx::query(insert).bind(id).bind(format!("users/many/documents/{name}"));
        query.bind(hash).bind(text.len() as i64).execute(&mut *tx).await.expect("a document");
    }
    let events = "INSERT INTO event_streams VALUES ('many', 8000);
        WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 8000)
        INSERT INTO events SELECT 'many', x, 'kind', '{}', x FROM n";
    sqlx::raw_sql(events).execute(&mut *tx).await.expect("events");
    tx.commit().await.expect("a commit");
    connection.close().await.expect("a closed connection");
}

/// Runs a command of the program, which must succeed, and returns what it prints.
pub fn succeed(start: &Start, arguments: &[&str]) -> String {
    let (code, out, error) = start.run(arguments);
    assert_eq!(code, 0, "{arguments:?}: {out}{error}");
    out
}

/// Runs a command of the program, which must fail, and returns why.
pub fn fail(start: &Start, arguments: &[&str]) -> String {
    let mut child = start.command(arguments).spawn().expect("the program can be started");
    let deadline = Instant::now() + Duration::from_secs(30);
    while child.try_wait().expect("a child").is_none() {
        if Instant::now() > deadline {
            child.kill().expect("a child that runs");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().expect("its output");
    let error = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {error}");
    error
}

/// Returns what a deep check says of all that is stored. The address of the storage is not part of it, nor is what the
/// program makes by itself.
pub fn deep_check(start: &Start) -> String {
    let out = succeed(start, &["check", "--deep"]);
    let lines = out.lines().skip_while(|line| !line.contains("event streams"));
    let lines = lines.filter(|line| !line.contains("made objects"));
    lines.collect::<Vec<&str>>().join("\n")
}
