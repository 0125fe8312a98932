//! Conversations: made, listed, searched, read, renamed, exported and deleted. `answers` has what becomes of answers,
//! `processes` what becomes of them if processes die or share a database.

mod answers;
mod files;
mod processes;

use super::answers::PUMP;
use e2e::passages::{count, database_of, execute};
use e2e::postgres::Postgres;
use e2e::stoa::Start;
use e2e::{KnowledgeClient, Reply, Stoa, Vendor, Watch, reply};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const QUESTION: &str = "How often must the shaft seal be replaced?";

/// Starts the service with a vendor, which answers as its model's name says.
fn start(vendor: &Vendor) -> Start {
    Stoa::start_knowledge()
        .set("VENDOR_A_API_KEY", "sk-test-0123456789")
        .set("VENDOR_A_BASE_URL", vendor.url())
        .set("CHAT_REQUESTS_PER_MINUTE", 1000)
        .set("JOB_LEASE", "1s")
}

fn question(query: &str, model: &str) -> Value {
    json!({ "query": query, "llmConfig": { "provider": "openai", "model": model } })
}

/// A conversation of a user.
struct Talk<'a> {
    user: &'a KnowledgeClient,
    id: String,
}

impl<'a> Talk<'a> {
    async fn start(user: &'a KnowledgeClient) -> Self {
        let made = user.post("/api/conversations").await;
        assert_eq!(made.status, 201, "{made:?}");
        Self { user, id: made.json()["id"].as_str().unwrap().to_owned() }
    }

    /// The same conversation, through another client.
    fn through<'b>(&self, user: &'b KnowledgeClient) -> Talk<'b> {
        Talk { user, id: self.id.clone() }
    }

    fn path(&self, rest: &str) -> String {
        format!("/api/conversations/{}{rest}", self.id)
    }

    async fn post(&self, body: &Value) -> Reply {
        self.user.post_json(&self.path("/messages"), body).await
    }

    /// Asks without waiting for the answer.
    async fn send(&self, body: &Value) -> Value {
        let sent = self.post(body).await;
        assert_eq!(sent.status, 202, "{sent:?}");
        sent.json()
    }

    /// Asks, and waits for the end of the answer, which is returned.
    async fn ask(&self, body: &Value) -> Value {
        self.send(body).await;
        self.ended().await
    }

    async fn stream(&self, body: &Value) -> Watch {
        let request = self.user.request(Method::POST, &self.path("/messages")).json(body);
        Watch::open(request.header("accept", "text/event-stream")).await
    }

    fn events(&self, last: Option<i64>) -> RequestBuilder {
        let request = self.user.request(Method::GET, &self.path("/events"));
        last.map_or(request.try_clone().unwrap(), |last| request.header("last-event-id", last.to_string()))
    }

    async fn follow(&self, last: Option<i64>) -> Watch {
        Watch::open(self.events(last)).await
    }

    async fn stop(&self) -> Value {
        let stopped = self.user.post(&self.path("/stop")).await;
        assert_eq!(stopped.status, 200, "{stopped:?}");
        stopped.json()["message"].clone()
    }

    async fn content(&self) -> Value {
        let read = self.user.get(&self.path("")).await;
        assert_eq!(read.status, 200, "{read:?}");
        read.json()
    }

    async fn messages(&self) -> Vec<Value> {
        self.content().await["messages"].as_array().unwrap().clone()
    }

    /// Waits until no answer is being written, and returns the last message.
    async fn ended(&self) -> Value {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let content = self.content().await;
            if content["conversation"]["running"] == false {
                return content["messages"].as_array().unwrap().last().unwrap().clone();
            }
            assert!(Instant::now() < deadline, "still running: {content}");
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }
}

async fn titles(user: &KnowledgeClient, query: &str) -> Vec<String> {
    let listed = user.get(&format!("/api/conversations{query}")).await;
    assert_eq!(listed.status, 200, "{listed:?}");
    let listed = listed.json()["conversations"].as_array().unwrap().clone();
    listed.iter().map(|entry| entry["title"].as_str().unwrap().to_owned()).collect()
}

async fn rename(talk: &Talk<'_>, title: Value) -> Reply {
    reply(talk.user.request(Method::PATCH, &talk.path("")).json(&json!({ "title": title }))).await
}

async fn conversations_are_listed_and_searched(start: Start) {
    let stoa = start.serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    assert_eq!(titles(&admin, "").await, [""; 0]);
    let pump = Talk::start(&admin).await;
    pump.ask(&json!({ "query": "Wo ist die Pumpe aus ÄÖÜ?\nDort?" })).await;
    let bees = admin.post_json("/api/conversations", &json!({ "title": " Bees \n 100% sure " })).await;
    assert_eq!((bees.status, &bees.json()["title"]), (201, &json!("Bees 100% sure")));
    let bees = Talk { user: &admin, id: bees.json()["id"].as_str().unwrap().to_owned() };
    let first_title = "Wo ist die Pumpe aus ÄÖÜ? Dort?";
    assert_eq!(titles(&admin, "").await, ["Bees 100% sure", first_title]);

    // A title that was given stays, and the last change comes first.
    bees.ask(&json!({ "query": "What do under_scored bees do?" })).await;
    pump.ask(&json!({ "query": "And now?" })).await;
    assert_eq!(titles(&admin, "").await, [first_title, "Bees 100% sure"]);
    for (text, expected) in [
        ("pumpe", vec![first_title]),
        ("%C3%A4%C3%B6%C3%BC", vec![first_title]),
        ("SCORED+bees", vec!["Bees 100% sure"]),
        ("100%25", vec!["Bees 100% sure"]),
        ("0%25%25", vec![]),
        ("under_s", vec!["Bees 100% sure"]),
        ("unders_", vec![]),
        ("found+nothing", vec![first_title, "Bees 100% sure"]),
        ("%5C", vec![]),
        ("", vec![first_title, "Bees 100% sure"]),
    ] {
        assert_eq!(titles(&admin, &format!("?q={text}")).await, expected, "{text}");
    }
    assert_eq!(admin.get(&format!("/api/conversations?q={}", "x".repeat(201))).await.status, 400);

    let page = admin.get("/api/conversations?limit=1&q=found").await;
    assert_eq!(page.json()["conversations"][0]["id"], pump.id);
    let next = page.json()["next"].as_str().unwrap().to_owned();
    assert_eq!(page.header("link"), [format!("<?q=found&limit=1&after={next}>; rel=\"next\"")]);
    let page = admin.get(&format!("/api/conversations?limit=1&q=found&after={next}")).await.json();
    assert_eq!((&page["conversations"][0]["id"], &page["next"]), (&json!(bees.id), &Value::Null));
    for wrong in ["limit=0", "limit=201", "limit=x", "after=x", "after=1"] {
        let answer = admin.get(&format!("/api/conversations?{wrong}")).await;
        assert_eq!(answer.status, 400, "{wrong}: {answer:?}");
    }

    let renamed = rename(&pump, json!("  Pumps\tof Turin ")).await;
    assert_eq!((renamed.status, &renamed.json()["title"]), (200, &json!("Pumps of Turin")));
    pump.ask(&json!({ "query": "A third one" })).await;
    assert_eq!(titles(&admin, "?q=turin").await, ["Pumps of Turin"]);
    for wrong in [json!(""), json!(" \n"), json!("x".repeat(201)), json!(7), json!("a\0b"), Value::Null] {
        assert_eq!(rename(&pump, wrong.clone()).await.status, 400, "{wrong}");
    }
    assert_eq!(admin.delete(&pump.path("")).await.status, 200);
    assert_eq!(admin.delete(&pump.path("")).await.status, 404);
    assert_eq!(admin.get(&pump.path("")).await.status, 404);
    assert_eq!(titles(&admin, "").await, ["Bees 100% sure"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_are_listed_and_searched_on_sqlite() {
    conversations_are_listed_and_searched(Stoa::start_knowledge()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_are_listed_and_searched_on_postgres() {
    let database = Postgres::shared().await.database().await;
    conversations_are_listed_and_searched(Stoa::start_knowledge().set("DATABASE_URL", &database)).await;
}

#[tokio::test]
async fn a_conversation_belongs_to_its_user_alone() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let ada = admin.invite(&stoa, "ada").await;
    let talk = Talk::start(&ada).await;
    talk.ask(&json!({ "query": "Who?" })).await;
    let answer = talk.messages().await[1]["id"].clone();
    let body = json!({ "query": "x", "title": "x" });
    for other in [&admin, &admin.invite(&stoa, "bob").await] {
        assert_eq!(titles(other, "?q=who").await, [""; 0]);
        for (method, rest) in [
            (Method::GET, ""),
            (Method::PATCH, ""),
            (Method::DELETE, ""),
            (Method::GET, "/export"),
            (Method::POST, "/messages"),
            (Method::GET, "/events"),
            (Method::POST, "/stop"),
        ] {
            let refused = reply(other.request(method.clone(), &talk.path(rest)).json(&body)).await;
            assert_eq!(refused.status, 404, "{method} {rest}: {refused:?}");
        }
        // Nor do messages of another conversation exist.
        let own = Talk::start(other).await;
        assert_eq!(own.post(&json!({ "retryOf": answer })).await.status, 404);
        assert_eq!(own.post(&json!({ "query": "x", "editOf": answer })).await.status, 404);
    }
    assert_eq!(talk.messages().await.len(), 2);
    let url = format!("http://{}{}", stoa.knowledge.unwrap(), talk.path("/messages"));
    assert_eq!(reply(reqwest::Client::new().post(url).json(&body)).await.status, 401);
}

#[tokio::test]
async fn what_is_wrong_with_a_message_is_said() {
    let stoa = Stoa::start_knowledge().set("CHAT_REQUESTS_PER_MINUTE", 1000).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let talk = Talk::start(&admin).await;
    for (body, expected) in [
        (json!({}), "`query` is missing"),
        (json!({ "query": " \n" }), "`query` is missing"),
        (json!({ "query": 7 }), "`query` is not a string"),
        (json!({ "query": "x".repeat(40_000) }), "`query` has 40000 bytes"),
        (json!([]), "not a JSON object"),
        (json!({ "query": "x", "agentType": "poet" }), "unknown `agentType` `poet`"),
        (json!({ "query": "x", "temperature": 2 }), "`temperature` is not a number from 0 to 1"),
        (json!({ "query": "x", "topK": 0 }), "`topK` is not a whole number from 1 to 100"),
        (json!({ "query": "x", "editOf": "" }), "`editOf` is empty"),
        (json!({ "query": "x", "editOf": "a", "retryOf": "b" }), "exclude each other"),
        (json!({ "query": "x", "llmConfig": { "provider": "edge-ai" } }), "`llmConfig.model` is missing"),
        (
            json!({ "query": "x", "llmConfig": { "provider": "vendor-z", "model": "m" } }),
            "unknown provider `vendor-z`",
        ),
    ] {
        let answer = talk.post(&body).await;
        assert_eq!(answer.status, 400, "{body}: {answer:?}");
        assert!(answer.json()["error"].as_str().unwrap().contains(expected), "{body}: {answer:?}");
        assert!(!answer.header("x-ratelimit-remaining").is_empty(), "{answer:?}");
    }
    let huge = json!({ "query": "x".repeat(2 << 20) });
    assert_eq!(talk.post(&huge).await.status, 413);
    for (body, status) in
        [(json!({ "title": "x".repeat(201) }), 400), (json!({ "title": 7 }), 400), (json!([]), 400)]
    {
        assert_eq!(admin.post_json("/api/conversations", &body).await.status, status, "{body}");
    }
    assert_eq!(talk.messages().await.len(), 0, "nothing of it was kept");
    assert_eq!(talk.events(None).send().await.unwrap().status(), 204);
    assert_eq!(talk.stop().await, Value::Null);
}

#[tokio::test]
async fn an_export_has_the_sources_after_each_answer() {
    let vendor = Vendor::start("It is changed **every year** [1].").await;
    let stoa = start(&vendor).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    admin.ingest_text("pump.md", PUMP).await;
    let talk = Talk::start(&admin).await;
    let empty = admin.get(&talk.path("/export")).await;
    assert_eq!(empty.header("content-disposition"), ["attachment; filename*=UTF-8''conversation.md"]);
    talk.ask(&question(QUESTION, "m")).await;
    talk.ask(&question("And the shaft seal <b>again</b>?", "fail")).await;
    let export = admin.get(&talk.path("/export")).await;
    assert_eq!(export.header("content-type"), ["text/markdown; charset=utf-8"]);
    let name = "How%20often%20must%20the%20shaft%20seal%20be%20replaced%3F.md";
    assert_eq!(export.header("content-disposition"), [format!("attachment; filename*=UTF-8''{name}")]);
    let start = format!(
        "# {QUESTION}\n\n## Question\n\n> {QUESTION}\n\n## Answer\n\nIt is changed **every year** [1].\n\n\
         Sources:\n\n1. **Coolant pump P-204**: "
    );
    assert!(export.body.starts_with(&start), "{}", export.body);
    assert!(export.body.contains(
        "## Question\n\n> And the shaft seal <b>again</b>?\n\n## Answer\n\n\n\n*This answer failed: "
    ));
}

#[tokio::test]
async fn conversations_and_messages_have_a_limit() {
    let stoa = Stoa::start_knowledge().serve();
    let (admin, database) = (KnowledgeClient::admin(&stoa).await, database_of(&stoa));
    let talk = Talk::start(&admin).await;
    talk.ask(&json!({ "query": "Who?" })).await;
    // As if more had been asked: 999 messages in all.
    let add = format!(
        "WITH RECURSIVE numbers (i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM numbers WHERE i < 999)
         INSERT INTO messages (id, conversation_id, number, role, content, search_text, status, created_at)
         SELECT 'm' || i, '{id}', i, CASE i % 2 WHEN 1 THEN 'user' ELSE 'assistant' END, 'Message ' || i, '', 'complete', i
         FROM numbers;
         UPDATE conversations SET message_count = 999, last_number = 999 WHERE id = '{id}';",
        id = talk.id
    );
    execute(&database, &add).await;
    let full = talk.post(&json!({ "query": "One more" })).await;
    assert_eq!(full.status, 409, "{full:?}");
    assert!(full.json()["error"].as_str().unwrap().contains("1000 messages"), "{full:?}");

    let mut before = String::new();
    let mut seen = Vec::new();
    loop {
        let page = admin.get(&talk.path(&format!("?limit=150{before}"))).await.json();
        let messages = page["messages"].as_array().unwrap().clone();
        seen.splice(0..0, messages.iter().map(|message| message["content"].as_str().unwrap().to_owned()));
        let Some(earlier) = page["earlier"].as_str() else { break };
        assert_eq!(messages.len(), 150);
        before = format!("&before={earlier}");
    }
    assert_eq!(seen.len(), 999);
    assert_eq!((seen[2].as_str(), seen[998].as_str()), ("Message 3", "Message 999"));
    assert_eq!(talk.messages().await.len(), 200);
    for wrong in ["?limit=201", "?before=0", "?before=x"] {
        assert_eq!(admin.get(&talk.path(wrong)).await.status, 400, "{wrong}");
    }

    // What a question replaces makes room.
    let answer = talk.ask(&json!({ "query": "Edited", "editOf": "m997" })).await;
    assert_eq!(answer["status"], "complete", "{answer}");
    assert_eq!(talk.content().await["conversation"]["messages"], 998);
    talk.ask(&json!({ "query": "The last one" })).await;
    let full = talk.post(&json!({ "query": "One more" })).await;
    assert_eq!(full.status, 409, "{full:?}");
    let last = talk.messages().await.last().unwrap()["id"].clone();
    assert_eq!(talk.ask(&json!({ "retryOf": last })).await["status"], "complete");

    let add = format!(
        "WITH RECURSIVE numbers (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM numbers WHERE i < 1000)
         INSERT INTO conversations (id, user_id, title, is_named, created_at, updated_at)
         SELECT 'c' || i, '{}', 'Talk ' || i, 1, i, i FROM numbers",
        admin.id
    );
    execute(&database, &add).await;
    let refused = admin.post("/api/conversations").await;
    assert_eq!(refused.status, 409, "{refused:?}");
    assert!(refused.json()["error"].as_str().unwrap().contains("1000 conversations"), "{refused:?}");
    assert_eq!(titles(&admin, "?q=talk+777").await, ["Talk 777"]);
    assert_eq!(admin.delete("/api/conversations/c777").await.status, 200);
    assert_eq!(admin.post("/api/conversations").await.status, 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_go_with_their_user() {
    let vendor = Vendor::start("One two three.").await;
    let stoa = start(&vendor).serve();
    let (admin, database) = (KnowledgeClient::admin(&stoa).await, database_of(&stoa));
    let ada = admin.invite(&stoa, "ada").await;
    ada.ingest_text("pump.md", PUMP).await;
    for _ in 0..3 {
        Talk::start(&ada).await.ask(&question(QUESTION, "m")).await;
    }
    let running = Talk::start(&ada).await;
    running.send(&question(QUESTION, "hang")).await;
    let kept = Talk::start(&admin).await;
    kept.ask(&json!({ "query": "Who?" })).await;
    assert_eq!(admin.delete(&format!("/api/users/{}", ada.id)).await.status, 200);
    let deadline = Instant::now() + Duration::from_secs(20);
    while count(&database, "SELECT COUNT(*) FROM users").await > 1 {
        assert!(Instant::now() < deadline, "the user is still there");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(count(&database, "SELECT COUNT(*) FROM conversations").await, 1);
    assert_eq!(count(&database, "SELECT COUNT(*) FROM messages").await, 2);
}
