//! The events of a run: those that are stored, then those to come, until the run ends. Each artifact is read when its event
//! is sent.

use super::App;
use super::caller::Caller;
use super::follow::{Item, follow};
use crate::events::{NamedEvent, RunEvent};
use crate::records::Run;
use crate::tables;
use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::response::{IntoResponse, Response};
use futures_util::TryStreamExt;
use http::request::Parts;
use http::{HeaderValue, StatusCode};
use kit::error::ApiError;
use kit::headers;
use kit::request::{PathId, Query};
use kit::sse::{self, Event};
use serde::Deserialize;
use std::time::Duration;
use store::{Db, StoreError, events};
use utoipa::IntoParams;

/// How often a stream asks whether its caller may still see the project.
const ACCESS_PAUSE: Duration = Duration::from_secs(5);

/// Describes a stream of events in the OpenAPI document.
pub const STREAM: &str = "The events of the run, to its end. Each has an `id`, which rises by one through all runs of the \
                          project, and the fields of the schema: `event` is its name, `data` is JSON. Only `agent_text` \
                          has no `id`: it is sent live and not stored.";

/// Returns an event as it is sent, for the OpenAPI document.
pub fn event_example() -> &'static str {
    "id: 1\nevent: agent_start\ndata: {\"agent\":\"analyst\",\"phase\":\"prd\"}\n\n"
}

/// Returns a run.
#[utoipa::path(get, path = "/api/runs/{id}", params(("id" = String, Path, description = "The run's id.")), responses(
    (status = 200, body = Run),
    (status = 404, description = "`NOT_FOUND`: the caller sees no run with this id."),
))]
pub async fn run(State(app): State<App>, caller: Caller, PathId(id): PathId) -> Result<Json<Run>, ApiError> {
    Ok(Json(find(&app, &caller, &id).await?))
}

/// Sends the events of a run from its first, also after it has ended.
#[utoipa::path(get, path = "/api/runs/{id}/events",
    params(("id" = String, Path, description = "The run's id."), LastEventQuery,
        ("Last-Event-ID" = Option<i64>, Header, description = "The last event that was received: only later ones are \
            sent.")),
    responses(
        (status = 200, description = STREAM, content((RunEvent = "text/event-stream", example = event_example)),
            headers(("X-Run-ID" = String, description = "The run."))),
        (status = 204, description = "The run has ended, and `Last-Event-ID` was its last event."),
        (status = 404, description = "`NOT_FOUND`: the caller sees no run with this id."),
    ))]
pub async fn of_run(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId,
    LastEventId(last_event): LastEventId,
) -> Result<Response, ApiError> {
    let run = find(&app, &caller, &id).await?;
    let seen = last_event.unwrap_or(0).max(run.first_event - 1);
    if run.last_event.is_some_and(|last| seen >= last) {
        return Ok(no_content());
    }
    Ok(stream(&app, caller, run, seen))
}

/// Returns a run of a project that the caller may see.
async fn find(app: &App, caller: &Caller, id: &str) -> Result<Run, ApiError> {
    let no_run = || ApiError::not_found(format!("no run `{id}`"));
    let run = tables::runs::get(&app.db, id).await?.ok_or_else(no_run)?;
    let project = tables::projects::get(&app.db, &run.project_id).await?.ok_or_else(no_run)?;
    caller.access(app, &project).await?.ok_or_else(no_run)?;
    Ok(run)
}

/// The last event that a client has received, from the header `Last-Event-ID` or else from the query. None if it has
/// received none, which a client may also write as 0.
pub struct LastEventId(pub Option<i64>);

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct LastEventQuery {
    /// The same as the header `Last-Event-ID`.
    last_event_id: Option<String>,
}

impl<S: Send + Sync> FromRequestParts<S> for LastEventId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Query(query) = Query::<LastEventQuery>::from_request_parts(parts, state).await?;
        let header = headers::text(&parts.headers, "last-event-id").filter(|id| !id.is_empty());
        let Some(text) = header.or(query.last_event_id.as_deref()) else { return Ok(Self(None)) };
        let id = text.trim().parse::<i64>().ok().filter(|id| *id >= 0);
        let wrong = || ApiError::invalid(format!("`Last-Event-ID` is `{text}`: expected an event's id"));
        Ok(Self(Some(id.ok_or_else(wrong)?).filter(|id| *id > 0)))
    }
}

/// The answer after which a browser's `EventSource` does not come back.
pub fn no_content() -> Response {
    StatusCode::NO_CONTENT.into_response()
}

/// Sends the run's events after `seen`, as long as the caller may see its project.
pub fn stream(app: &App, caller: Caller, run: Run, seen: i64) -> Response {
    let db = app.db.clone();
    let items = follow(&app.db, &app.texts, &run, seen).and_then(move |item| to_event(db.clone(), item));
    let mut response = sse::respond(items, app.drain.clone());
    if let Ok(id) = HeaderValue::from_str(&run.id) {
        response.headers_mut().insert("x-run-id", id);
    }
    sse::end_when(response, until_unseen(app.clone(), caller, run.project_id))
}

/// Ends when the caller may no longer see the project. Faults of the storage end nothing.
async fn until_unseen(app: App, caller: Caller, project_id: String) {
    loop {
        tokio::time::sleep(ACCESS_PAUSE).await;
        let access = match tables::projects::get(&app.db, &project_id).await {
            Ok(Some(project)) => caller.access(&app, &project).await,
            Ok(None) => return,
            Err(_) => continue,
        };
        if let Ok(None) = access {
            return;
        }
    }
}

async fn to_event(db: Db, item: Item) -> Result<Event, StoreError> {
    match item {
        Item::Stored(event) => with_artifact(db, event).await,
        Item::Text(text) => {
            let NamedEvent { name, data } = NamedEvent::try_from(&RunEvent::AgentText(text))?;
            Ok(Event::live(&name, data))
        }
    }
}

/// Adds the artifact that an event is about, as it was at the time of the event.
async fn with_artifact(db: Db, event: events::Event) -> Result<Event, StoreError> {
    let mut run_event = RunEvent::try_from(NamedEvent { name: event.kind, data: event.data })?;
    if let Some((id, artifact)) = run_event.artifact()
        && let Some(id) = id.take()
        && let Some(mut found) = tables::artifacts::get(&db, &id).await?
    {
        found.superseded = false;
        *artifact = Some(Box::new(found));
    }
    let NamedEvent { name, data } = NamedEvent::try_from(&run_event)?;
    Ok(Event { id: event.seq, name, data })
}
