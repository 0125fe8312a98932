//! The events of a run: what has happened, then what happens, then the end.
//!
//! A reader has at most a page of events in memory, without the artifacts that they tell of: those are read one by one
//! as they are sent. However slow it is, it costs no more, and the run does not know of it.

use super::App;
use super::caller::Caller;
use crate::records::{Project, Run};
use crate::tables;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use futures_util::TryStreamExt;
use http::{HeaderMap, HeaderValue, StatusCode};
use kit::error::ApiError;
use kit::headers;
use kit::request::{Params, PathId};
use kit::sse::{self, Event};
use serde_json::Value;
use store::follow::{Source, follow};
use store::{Db, StoreError, events};

const PAGE: i64 = 64;

pub async fn run(State(app): State<App>, _: Caller, PathId(id): PathId) -> Result<Json<Value>, ApiError> {
    Ok(Json(find(&app, &id).await?.to_json()))
}

pub async fn of_run(
    State(app): State<App>,
    _: Caller,
    PathId(id): PathId,
    params: Params,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let run = find(&app, &id).await?;
    let seen = last_event_id(&headers, &params)?.unwrap_or(0).max(run.first_event - 1);
    if run.last_event.is_some_and(|last| seen >= last) {
        return Ok(no_more());
    }
    Ok(stream(&app, run, seen))
}

async fn find(app: &App, id: &str) -> Result<Run, ApiError> {
    let run = tables::runs::get(&app.db, id).await?;
    run.ok_or_else(|| ApiError::not_found(format!("no run `{id}`")))
}

/// What a reader says to have seen; 0 is nothing.
pub fn last_event_id(headers: &HeaderMap, params: &Params) -> Result<Option<i64>, ApiError> {
    let given = headers::text(headers, "last-event-id").filter(|id| !id.is_empty());
    let Some(text) = given.or(params.get("lastEventId")) else { return Ok(None) };
    let id = text.trim().parse::<i64>().ok().filter(|id| *id >= 0);
    let id =
        id.ok_or_else(|| ApiError::invalid(format!("`Last-Event-ID` is `{text}`: expected an event's id")))?;
    Ok(Some(id).filter(|id| *id > 0))
}

/// The answer that ends a browser's attempts: it comes back by itself whenever a stream has ended.
pub fn no_more() -> Response {
    StatusCode::NO_CONTENT.into_response()
}

/// The run's events after `seen`.
pub fn stream(app: &App, run: Run, seen: i64) -> Response {
    let stream = Project::stream(&run.project_id);
    let wakeup = events::watch(&app.db, &stream);
    let run_events = RunEvents { db: app.db.clone(), stream, run_id: run.id.clone(), seen };
    let db = app.db.clone();
    let events = follow(wakeup, run_events).and_then(move |event| whole(db.clone(), event));
    let mut response = sse::respond(events, app.drain.clone());
    if let Ok(id) = HeaderValue::from_str(&run.id) {
        response.headers_mut().insert("x-run-id", id);
    }
    response
}

/// The events of one run, up to its last.
struct RunEvents {
    db: Db,
    stream: String,
    run_id: String,
    seen: i64,
}

impl Source for RunEvents {
    type Item = events::Event;

    /// Returns none when the run is over and its last event was returned.
    async fn next_page(&mut self) -> Result<Option<Vec<events::Event>>, StoreError> {
        let mut page = events::read(&self.db, &self.stream, self.seen, PAGE).await?;
        // In this order: if the run is open after the events were read, all of them belong to it.
        let Some(run) = tables::runs::get(&self.db, &self.run_id).await? else { return Ok(None) };
        if let Some(last) = run.last_event {
            if self.seen >= last {
                return Ok(None);
            }
            page.retain(|event| event.seq <= last);
        }
        self.seen = page.last().map_or(self.seen, |event| event.seq);
        Ok(Some(page))
    }
}

/// Adds the artifact that an event tells of, as it was then.
async fn whole(db: Db, event: events::Event) -> Result<Event, StoreError> {
    let events::Event { seq, kind, mut data, .. } = event;
    if let Some(id) = data.as_object_mut().and_then(|data| data.remove("artifactId")) {
        let artifact = tables::artifacts::get(&db, id.as_str().unwrap_or_default()).await?;
        data["artifact"] = artifact.map_or(Value::Null, |mut artifact| {
            artifact.superseded = false;
            artifact.to_json()
        });
    }
    Ok(Event { id: seq, name: kind, data })
}
