//! What becomes of documents, live.

use e2e::{Form, KnowledgeClient, Stoa};
use futures_util::StreamExt;
use reqwest::Method;
use serde_json::Value;
use std::time::Duration;

struct Events {
    source: std::pin::Pin<Box<dyn futures_util::Stream<Item = reqwest::Result<bytes::Bytes>>>>,
    text: String,
}

#[derive(Debug)]
struct Event {
    id: i64,
    name: String,
    data: Value,
}

impl Events {
    async fn of(user: &KnowledgeClient, last: Option<i64>) -> Self {
        let mut request = user.request(Method::GET, "/api/documents/events");
        if let Some(last) = last {
            request = request.header("last-event-id", last.to_string());
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { source: Box::pin(response.bytes_stream()), text: String::new() }
    }

    async fn next(&mut self) -> Event {
        loop {
            if let Some((event, rest)) = self.text.clone().split_once("\n\n") {
                self.text = rest.to_owned();
                if event.starts_with(':') {
                    continue;
                }
                let field = |name: &str| {
                    let prefix = format!("{name}: ");
                    event.lines().find_map(|line| line.strip_prefix(&prefix)).unwrap().to_owned()
                };
                let data = serde_json::from_str(&field("data")).unwrap();
                return Event { id: field("id").parse().unwrap(), name: field("event"), data };
            }
            let piece = tokio::time::timeout(Duration::from_secs(20), self.source.next()).await;
            self.text
                .push_str(std::str::from_utf8(&piece.expect("an event in time").unwrap().unwrap()).unwrap());
        }
    }
}

fn long_text() -> String {
    (0..4_000).map(|n| format!("Sentence {n} is about pumps of kind {}. ", n % 97)).collect()
}

#[tokio::test]
async fn progress_rises_through_the_stages_and_ends_indexed() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let mut events = Events::of(&admin, None).await;
    let form = Form::new().file("file", "long.txt", long_text().as_bytes());
    let request = form.into_request(admin.request(Method::POST, "/api/ingest"));
    assert_eq!(e2e::reply(request.header("prefer", "respond-async")).await.status, 202);
    let mut seen = Vec::new();
    let last = loop {
        let event = events.next().await;
        assert_eq!(event.name, "document");
        seen.push((event.id, event.data["progress"].as_i64().unwrap()));
        match event.data["status"].as_str().unwrap() {
            "processing" => assert!(seen.last().unwrap().1 < 100),
            status => break (status.to_owned(), event.id),
        }
    };
    assert_eq!(last.0, "indexed");
    assert!(seen.is_sorted_by(|one, next| one.0 < next.0 && one.1 <= next.1), "{seen:?}");
    assert!(seen.len() >= 4, "a document of seconds shows its way: {seen:?}");
    assert!(seen.iter().any(|(_, progress)| (30..60).contains(progress)), "{seen:?}");
    assert_eq!(seen.last().unwrap().1, 100);

    // Whoever comes back is told what was missed, and not what was seen.
    let id = admin.ingest_text("a.txt", "The pump circulates coolant.").await;
    let mut again = Events::of(&admin, Some(last.1)).await;
    let event = again.next().await;
    assert_eq!(
        (event.data["id"].as_str().unwrap(), event.data["status"].as_str().unwrap()),
        (id.as_str(), "indexed")
    );
    assert_eq!(admin.delete(&format!("/api/documents/{id}")).await.status, 200);
    let event = again.next().await;
    assert_eq!((event.name.as_str(), &event.data["id"]), ("removed", &Value::from(id)));
    // And whoever was away when it went is told what is left.
    let event = Events::of(&admin, Some(last.1)).await.next().await;
    assert_eq!((event.name.as_str(), event.data["ids"].as_array().unwrap().len()), ("documents", 1));
}

#[tokio::test]
async fn no_user_receives_events_of_another_users_documents() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let ada = admin.invite(&stoa, "ada").await;
    let mut events = Events::of(&admin, None).await;
    ada.ingest_text("hers.txt", "The pump circulates coolant.").await;
    let own = admin.ingest_text("own.txt", "The pump circulates coolant.").await;
    assert_eq!(events.next().await.data["id"], Value::from(own));
}
