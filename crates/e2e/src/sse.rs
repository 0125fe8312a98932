//! A reader of server-sent events, byte by byte as they come. Each must be as the service documents it.

use crate::schema;
use reqwest::{RequestBuilder, Response};
use serde_json::Value;
use std::time::Duration;

/// One event. Its id is 0 if it has none.
#[derive(Clone, Debug, PartialEq)]
pub struct SseEvent {
    pub id: i64,
    pub name: String,
    pub data: Value,
}

/// A stream of events.
pub struct Watch {
    response: Response,
    unread: String,
    /// The number of comment lines so far.
    pub comments: usize,
    /// The events without an id so far.
    pub live: Vec<SseEvent>,
}

impl Watch {
    /// Opens a stream, which must succeed.
    pub async fn open(request: RequestBuilder) -> Self {
        let response = request.send().await.expect("an answer");
        assert_eq!(response.status(), 200, "{response:?}");
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self::of(response)
    }

    pub fn of(response: Response) -> Self {
        Self { response, unread: String::new(), comments: 0, live: Vec::new() }
    }

    pub fn header(&self, name: &str) -> String {
        self.response.headers()[name].to_str().expect("text").to_owned()
    }

    /// Returns the next event with an id; none at the end, or if the connection breaks. Events without an id are
    /// collected in `live`.
    pub async fn next(&mut self) -> Option<SseEvent> {
        loop {
            while let Some((block, rest)) = self.unread.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.unread = rest;
                match parse(&block) {
                    Some(event) => {
                        schema::check_event(self.response.url(), &event.name, &event.data);
                        if event.id > 0 {
                            return Some(event);
                        }
                        self.live.push(event);
                    }
                    None => self.comments += 1,
                }
            }
            let chunk = self.response.chunk().await.ok().flatten()?;
            self.unread.push_str(std::str::from_utf8(&chunk).expect("whole characters"));
        }
    }

    /// Waits for an event of this name, for at most ten seconds.
    pub async fn until(&mut self, name: &str) -> SseEvent {
        let found = async {
            loop {
                let event = self.next().await.unwrap_or_else(|| panic!("it ended before `{name}`"));
                if event.name == name {
                    return event;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(10), found).await.unwrap_or_else(|_| panic!("no `{name}`"))
    }

    /// Reads all events to the end, which must come within a minute.
    pub async fn rest(mut self) -> Vec<SseEvent> {
        let all = async {
            let mut all = Vec::new();
            while let Some(event) = self.next().await {
                all.push(event);
            }
            all
        };
        tokio::time::timeout(Duration::from_secs(60), all).await.expect("an end")
    }
}

/// Parses an event; none for a comment. Each field occurs once, in this order; there may be no id.
fn parse(block: &str) -> Option<SseEvent> {
    if block.starts_with(':') {
        return None;
    }
    let lines: Vec<&str> = block.lines().collect();
    let (id, event, data) = match lines.as_slice() {
        [id, event, data] => (id.strip_prefix("id: ").unwrap_or_default(), event, data),
        [event, data] => ("0", event, data),
        _ => panic!("not an event: {block}"),
    };
    Some(SseEvent {
        id: id.parse().unwrap_or_else(|_| panic!("no id: {block}")),
        name: event.strip_prefix("event: ").unwrap_or_else(|| panic!("no name: {block}")).to_owned(),
        data: serde_json::from_str(data.strip_prefix("data: ").expect("data")).expect("JSON"),
    })
}
