//! Server-sent events as a response: each is sent at once, with keep-alive comments in between, until the process stops.

use crate::serve::Drain;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt};
use http::header;
use serde::Serialize;
use serde_json::Value;
use std::convert::Infallible;
use std::fmt::{Display, Write};
use std::future::ready;
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval};

/// How often a comment is sent, so that proxies and clients see that the connection is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// One event, with its data as JSON.
pub struct Event {
    /// Counts from 1; 0 for an event without an id, which a client that comes back cannot ask for.
    pub id: i64,
    pub name: String,
    pub data: Value,
}

impl Event {
    pub fn new(id: i64, name: &str, data: impl Serialize) -> Self {
        Self { id, name: name.to_owned(), data: serde_json::to_value(data).unwrap_or_default() }
    }

    /// Makes an event without an id.
    pub fn live(name: &str, data: impl Serialize) -> Self {
        Self::new(0, name, data)
    }

    fn to_bytes(&self) -> Bytes {
        let mut text = String::new();
        if self.id != 0 {
            let _ = writeln!(text, "id: {}", self.id);
        }
        // JSON has no line breaks of its own.
        let _ = write!(text, "event: {}\ndata: {}\n\n", self.name, self.data);
        text.into()
    }
}

/// Responds with events that go on until the client leaves, the process stops, or reading them fails.
pub fn respond<E: Display>(
    events: impl Stream<Item = Result<Event, E>> + Send + 'static,
    drain: Drain,
) -> Response {
    let events = events.map(|event| match event {
        Ok(event) => Some(event),
        Err(error) => {
            tracing::error!(%error, "an event stream breaks off");
            None
        }
    });
    let until_error = events.take_while(|event| ready(event.is_some())).filter_map(ready);
    let bytes = with_keep_alive(until_error.map(|event| event.to_bytes()));
    body_of(bytes.take_until(async move { drain.started().await }))
}

/// Responds with events that end by themselves. When the process stops, they get the time that every request gets.
pub fn respond_to_end(events: impl Stream<Item = Event> + Send + 'static) -> Response {
    body_of(with_keep_alive(events.map(|event| event.to_bytes())))
}

/// Responds with data lines alone, without names and ids, as in OpenAI's protocol. A text has no line breaks.
pub fn respond_data(texts: impl Stream<Item = String> + Send + 'static) -> Response {
    body_of(with_keep_alive(texts.map(|text| format!("data: {text}\n\n").into())))
}

/// Ends a response that is a stream of events once `ended` returns. Any other response stays as it is.
pub fn end_when(response: Response, ended: impl Future<Output = ()> + Send + 'static) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE);
    if kind.is_none_or(|kind| !kind.as_bytes().starts_with(b"text/event-stream")) {
        return response;
    }
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(Box::pin(ended))))
}

/// Adds keep-alive comments between the events.
fn with_keep_alive(
    events: impl Stream<Item = Bytes> + Send + 'static,
) -> impl Stream<Item = Bytes> + Send + 'static {
    let mut every = interval(KEEP_ALIVE);
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let comments = stream::unfold(every, |mut every| async {
        every.tick().await;
        Some((Piece::KeepAlive, every))
    });
    let events = events.map(Piece::Event).chain(stream::once(async { Piece::End }));
    let both = stream::select(events, comments);
    let until_end = both.take_while(|piece| ready(!matches!(piece, Piece::End)));
    until_end.map(Piece::into_bytes)
}

fn body_of(bytes: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let body = Body::from_stream(bytes.map(Ok::<Bytes, Infallible>));
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    (headers, [("x-accel-buffering", "no")], body).into_response()
}

enum Piece {
    Event(Bytes),
    KeepAlive,
    End,
}

impl Piece {
    fn into_bytes(self) -> Bytes {
        match self {
            Self::Event(bytes) => bytes,
            Self::KeepAlive | Self::End => Bytes::from_static(b":\n\n"),
        }
    }
}
