//! Server-sent events as a response: each at once, a sign of life in between, and the end when the process ends.

use crate::serve::Drain;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt};
use http::header;
use serde::Serialize;
use serde_json::Value;
use std::convert::Infallible;
use std::fmt::Write;
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval};

const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

pub struct Event {
    pub id: i64,
    pub name: String,
    pub data: Value,
}

impl Event {
    pub fn new(id: i64, name: &str, data: impl Serialize) -> Self {
        Self { id, name: name.to_owned(), data: serde_json::to_value(data).unwrap_or_default() }
    }

    fn to_bytes(&self) -> Bytes {
        let mut text = String::new();
        // JSON has no line breaks of its own.
        let _ = write!(text, "id: {}\nevent: {}\ndata: {}\n\n", self.id, self.name, self.data);
        text.into()
    }
}

pub fn respond(events: impl Stream<Item = Event> + Send + 'static, drain: Drain) -> Response {
    let bytes = lively(events.map(|event| event.to_bytes()));
    body_of(bytes.take_until(async move { drain.started().await }))
}

/// Events that come to an end by themselves: when the process ends they get the time that every request gets.
pub fn respond_to_end(events: impl Stream<Item = Event> + Send + 'static) -> Response {
    body_of(lively(events.map(|event| event.to_bytes())))
}

/// The same as data lines alone, without names and ids, as OpenAI's protocol has them. A text has no line breaks.
pub fn respond_data(texts: impl Stream<Item = String> + Send + 'static) -> Response {
    body_of(lively(texts.map(|text| format!("data: {text}\n\n").into())))
}

/// Ends an answer that is a stream of events once `ended` returns. Any other answer stays as it is.
pub fn end_when(response: Response, ended: impl Future<Output = ()> + Send + 'static) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE);
    if kind.is_none_or(|kind| !kind.as_bytes().starts_with(b"text/event-stream")) {
        return response;
    }
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(Box::pin(ended))))
}

/// With a sign of life in between.
fn lively(events: impl Stream<Item = Bytes> + Send + 'static) -> impl Stream<Item = Bytes> + Send + 'static {
    let mut every = interval(SIGN_OF_LIFE);
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let lives = stream::unfold(every, |mut every| async {
        every.tick().await;
        Some((Piece::Life, every))
    });
    let events = events.map(Piece::Event).chain(stream::once(async { Piece::End }));
    let both = stream::select(events, lives);
    let until_end = both.take_while(|piece| std::future::ready(!matches!(piece, Piece::End)));
    until_end.map(Piece::into_bytes)
}

fn body_of(bytes: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let body = Body::from_stream(bytes.map(Ok::<Bytes, Infallible>));
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    (headers, [("x-accel-buffering", "no")], body).into_response()
}

enum Piece {
    Event(Bytes),
    Life,
    End,
}

impl Piece {
    fn into_bytes(self) -> Bytes {
        match self {
            Self::Event(bytes) => bytes,
            Self::Life | Self::End => Bytes::from_static(b":\n\n"),
        }
    }
}
