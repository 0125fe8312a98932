//! Files and pictures in conversations, what is written to order, and conversations without documents.

use super::{Talk, start};
use e2e::{Form, KnowledgeClient, Reply, Stoa, Vendor};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const LEASE: &str = "The tenant of the flat in Oslo may keep one cat. The rent is 900 euros a month.";
/// One pixel.
const PICTURE: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0,
    0, 1, 8, 2, 0, 0, 0, 0x90, 0x77, 0x53, 0xde, 0, 0, 0, 0x0c, b'I', b'D', b'A', b'T', 8, 0xd7, 0x63, 0xf8,
    0xcf, 0xc0, 0, 0, 3, 1, 1, 0, 0x18, 0xdd, 0x8d, 0xb0, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42,
    0x60, 0x82,
];

impl Talk<'_> {
    async fn attach(&self, filename: &str, bytes: &[u8]) -> Reply {
        self.user.submit(&self.path("/files"), Form::new().file("file", filename, bytes)).await
    }

    async fn files(&self) -> Vec<Value> {
        self.user.get(&self.path("/files")).await.json()["files"].as_array().unwrap().clone()
    }

    /// Waits until all files are read, and returns them.
    async fn read_files(&self) -> Vec<Value> {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let files = self.files().await;
            if files.iter().all(|file| file["status"] != "processing") {
                return files;
            }
            assert!(Instant::now() < deadline, "{files:?}");
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }
}

#[tokio::test]
async fn a_file_belongs_to_its_conversation_and_is_what_its_questions_are_about() {
    let stoa = Stoa::start_knowledge().set("CHAT_REQUESTS_PER_MINUTE", 100).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let ada = admin.invite(&stoa, "ada").await;
    let eve = admin.invite(&stoa, "eve").await;
    ada.ingest_text("pump.md", "The rent of the pump is 12 euros a day.").await;
    let talk = Talk::start(&ada).await;
    let attached = talk.attach("lease.md", LEASE.as_bytes()).await;
    assert_eq!(
        (attached.status, &attached.json()["file"]["status"]),
        (201, &json!("processing")),
        "{attached:?}"
    );
    let id = attached.json()["file"]["id"].as_str().unwrap().to_owned();
    assert_eq!(talk.read_files().await[0]["status"], "indexed");
    // The same file again is the same one.
    assert_eq!(talk.attach("lease.md", LEASE.as_bytes()).await.json()["file"]["id"], json!(id));

    let answer = talk.ask(&json!({ "query": "How much is the rent?" })).await;
    assert!(answer["content"].as_str().unwrap().contains("900 euros"), "{answer}");
    let sources = answer["sources"].as_array().unwrap();
    assert!(sources.iter().all(|source| source["documentId"] == json!(id)), "{sources:?}");
    // In other conversations, searches and lists it is not there.
    let other = Talk::start(&ada).await.ask(&json!({ "query": "How much is the rent?" })).await;
    assert!(other["content"].as_str().unwrap().contains("12 euros"), "{other}");
    assert!(!ada.find("cat in Oslo").await.contains(&id));
    assert_eq!(ada.documents().await.len(), 1);
    assert_eq!(admin.get("/api/users").await.json()["users"].as_array().unwrap().len(), 3);

    // A citation leads to it, for its user alone.
    let content = format!("/api/documents/{id}/content");
    assert_eq!(ada.get(&content).await.body, LEASE);
    assert_eq!(eve.get(&content).await.status, 404);
    let theirs = talk.through(&eve);
    assert_eq!(theirs.attach("x.md", b"Of Eve.").await.status, 404);
    assert_eq!(eve.get(&theirs.path("/files")).await.status, 404);
    assert_eq!(eve.delete(&theirs.path(&format!("/files/{id}"))).await.status, 404);
    assert_eq!(ada.delete(&talk.path("/files/%00")).await.status, 404);

    // One of several files can be named, by whom it belongs to and in its conversation.
    let garage =
        talk.attach("garage.md", b"The rent of the garage is 70 euros a month.").await.json()["file"]["id"]
            .clone();
    talk.read_files().await;
    let named = talk.ask(&json!({ "query": "How much is the rent?", "documentIds": [garage] })).await;
    assert!(named["content"].as_str().unwrap().contains("70 euros"), "{named}");
    let elsewhere = Talk::start(&ada).await;
    let of_garage = json!({ "query": "How much is the rent?", "documentIds": [garage] });
    assert_eq!(ada.post_json(&elsewhere.path("/messages"), &of_garage).await.status, 404);
    assert_eq!(eve.post_json(&talk.through(&eve).path("/messages"), &of_garage).await.status, 404);
    assert_eq!(ada.delete(&talk.path(&format!("/files/{}", garage.as_str().unwrap()))).await.status, 200);

    assert_eq!(ada.delete(&talk.path(&format!("/files/{id}"))).await.status, 200);
    assert_eq!(talk.files().await, [Value::Null; 0]);
    let after = talk.ask(&json!({ "query": "How much is the rent of the pump?" })).await;
    assert!(after["content"].as_str().unwrap().contains("12 euros"), "{after}");

    // It goes with its conversation, and with its user.
    let last = talk.attach("lease.md", LEASE.as_bytes()).await.json()["file"]["id"].clone();
    assert_eq!(ada.delete(&talk.path("")).await.status, 200);
    gone(&admin, &last).await;
    let kept =
        Talk::start(&ada).await.attach("lease.md", LEASE.as_bytes()).await.json()["file"]["id"].clone();
    assert_eq!(admin.delete(&format!("/api/users/{}", ada.id)).await.status, 200);
    gone(&admin, &kept).await;
}

/// Waits until a document is gone.
async fn gone(admin: &KnowledgeClient, id: &Value) {
    let path = format!("/api/documents/{}", id.as_str().unwrap());
    let deadline = Instant::now() + Duration::from_secs(30);
    while admin.get(&path).await.status != 404 {
        assert!(Instant::now() < deadline, "still there: {path}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn files_of_conversations_count_for_the_quota_of_their_user() {
    let stoa = Stoa::start_knowledge().set("USER_QUOTA_MIB", 1).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let ada = admin.invite(&stoa, "ada").await;
    let text = |name: &str| format!("{name} has a long text. ").repeat(30_000);
    let (one, two) = (Talk::start(&ada).await, Talk::start(&ada).await);
    assert_eq!(one.attach("one.txt", text("One").as_bytes()).await.status, 201);
    let refused = two.attach("two.txt", text("Two").as_bytes()).await;
    assert_eq!((refused.status, &refused.json()["code"]), (413, &json!("QUOTA_EXCEEDED")), "{refused:?}");
    let storage = ada.get("/api/documents").await.json()["storage"].clone();
    assert!(storage["bytes"].as_i64().unwrap() > 500_000, "{storage}");
}

#[tokio::test]
async fn pictures_are_shown_to_models_that_can_look_at_them() {
    let vendor = Vendor::start("A red pixel.").await;
    let stoa = start(&vendor).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let talk = Talk::start(&admin).await;
    assert_eq!(talk.attach("pixel.png", PICTURE).await.status, 201);
    talk.read_files().await;
    let ask = |provider: &str| json!({ "query": "What is in the picture?", "llmConfig": { "provider": provider, "model": "eye" } });
    let answer = talk.ask(&ask("openai")).await;
    assert_eq!(answer["content"], "A red pixel.", "{answer}");
    let asked = vendor.asked().pop().unwrap();
    let last = asked["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    let picture = last.as_array().unwrap().iter().find(|part| part["type"] == "image_url").unwrap();
    assert!(
        picture["image_url"]["url"].as_str().unwrap().starts_with("data:image/png;base64,iVBOR"),
        "{last}"
    );
    let blind = talk.ask(&ask("edge-ai")).await;
    assert!(blind["notices"].to_string().contains("cannot look at pictures"), "{blind}");
    assert!(blind["content"].as_str().unwrap().contains("needs a model that writes"), "{blind}");
}

#[tokio::test]
async fn what_is_to_be_written_goes_to_a_model_that_writes_whatever_its_size() {
    let vendor =
        Vendor::start("Dear Ms. Vik, the rent is 900 euros a month [1]. It was 777 euros once.").await;
    let stoa = start(&vendor).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    admin.ingest_text("lease.md", LEASE).await;
    let talk = Talk::start(&admin).await;
    let with = |query: &str, model: &str| json!({ "query": query, "llmConfig": { "provider": "openai", "model": model } });
    // A small model finds facts worse than the reader.
    let fact = talk.ask(&with("How much is the rent of the flat?", "writer-1.5b")).await;
    assert!(fact["content"].as_str().unwrap().contains("**"), "quoted: {fact}");
    assert_eq!(vendor.asked().len(), 0);
    let letter = "Please write a short letter to Ms. Vik about the rent of the flat.";
    let written = talk.ask(&with(letter, "writer-1.5b")).await;
    let content = written["content"].as_str().unwrap();
    assert!(content.starts_with("Dear Ms. Vik, the rent is 900 euros a month [1]."), "{written}");
    assert!(content.ends_with("777 euros once. (no source says this)"), "{written}");
    assert!(vendor.last("user").ends_with(&format!("Task: {letter}")), "{}", vendor.last("user"));
    assert!(vendor.last("user").contains("900 euros"), "{}", vendor.last("user"));
    // A large one answers questions as well.
    talk.ask(&with("How much is the rent of the flat?", "writer-70b")).await;
    assert!(vendor.last("user").ends_with("Question: How much is the rent of the flat?"));
    let alone = talk.ask(&json!({ "query": letter })).await;
    assert!(alone["content"].as_str().unwrap().contains("needs a model that writes"), "{alone}");
}

#[tokio::test]
async fn without_documents_the_model_talks() {
    let vendor = Vendor::start("Bees dance [1].").await;
    let stoa = start(&vendor).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    admin.ingest_text("lease.md", LEASE).await;
    let talk = Talk::start(&admin).await;
    let mut body = json!({ "query": "How do bees talk?", "withoutDocuments": true });
    body["llmConfig"] = json!({ "provider": "openai", "model": "m" });
    let answer = talk.ask(&body).await;
    assert_eq!((&answer["content"], &answer["sources"]), (&json!("Bees dance."), &json!([])), "{answer}");
    body["query"] = json!("And how much is the rent?");
    talk.ask(&body).await;
    let asked = vendor.asked().pop().unwrap()["messages"].as_array().unwrap().clone();
    let said: Vec<_> = asked.iter().skip(1).map(|message| message["content"].as_str().unwrap()).collect();
    assert_eq!(said, ["How do bees talk?", "Bees dance.", "And how much is the rent?"]);
    let messages = talk.messages().await;
    let flags: Vec<_> = messages.iter().map(|message| message["withoutDocuments"] == true).collect();
    assert_eq!(flags, [true, false, true, false]);
    // A retry asks as the question was asked.
    talk.ask(&json!({ "retryOf": messages[3]["id"], "llmConfig": { "provider": "openai", "model": "m" } }))
        .await;
    assert!(!vendor.last("user").contains("900 euros"));

    body["documentIds"] = json!([admin.documents().await[0]["id"]]);
    let both = talk.post(&body).await;
    assert!(both.status == 400 && both.body.contains("withoutDocuments"), "{both:?}");
    let plain = json!({ "query": "Hello", "withoutDocuments": true });
    let alone = admin.post_json("/api/chat", &plain).await.json();
    assert!(alone["response"].as_str().unwrap().contains("needs a model that writes"), "{alone}");
}
