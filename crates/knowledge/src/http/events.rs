//! `GET /api/documents/events`: what becomes of a user's documents, live.
//!
//! The id of an event is the revision that it tells of, so a client that comes back is sent the present state of
//! whatever has changed since, each document once.

use super::App;
use super::caller::{Caller, OwnerQuery};
use super::documents::DocumentView;
use crate::records::{Document, Status, documents_topic};
use crate::tables;
use crate::tables::users::Revisions;
use axum::extract::State;
use axum::response::Response;
use futures_util::stream;
use http::HeaderMap;
use kit::error::ApiError;
use kit::request::Query;
use kit::sse::{self, Event};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;
use store::{Db, StoreError, Wakeup};
use utoipa::{IntoParams, ToSchema};

/// For the case that a wake-up is lost.
const FALLBACK_POLL: Duration = Duration::from_secs(3);

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct EventsQuery {
    /// As the header `Last-Event-ID`, for clients that cannot set headers.
    last_event_id: Option<String>,
}

/// The data of an event.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub enum DocumentEvent {
    /// Of `document`: a document that is new or has changed.
    Document(Box<DocumentView>),
    /// Of `removed`: a document that is gone.
    Removed { id: String },
    /// Of `documents`: all documents that are left, for a client that may have missed a removal.
    Documents { ids: Vec<String> },
}

/// Follows the changes to the caller's documents.
#[utoipa::path(get, path = "/api/documents/events",
    params(OwnerQuery, EventsQuery,
        ("Last-Event-ID" = Option<String>, Header, description = "The id of the last event that was seen.")),
    responses(
        (status = 200, description = "Server-sent events `document`, `removed` and `documents`. An event's id is the \
            revision of the change.", content_type = "text/event-stream", body = DocumentEvent),
        (status = 404, description = "`NOT_FOUND`: no user has the id `userId`."),
    ))]
pub async fn follow(
    State(app): State<App>,
    caller: Caller,
    Query(owner): Query<OwnerQuery>,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let owner = caller.acting_for(&app, owner.user_id.as_deref()).await?;
    let given = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let last = given.or(query.last_event_id.as_deref()).and_then(|text| text.parse().ok());
    // In this order: what changes in between is told.
    let changed = app.db.subscribe(&documents_topic(&owner.id));
    let seen = tables::users::revisions(&app.db, &owner.id).await?;
    let known = tables::documents::ids_of_user(&app.db, &owner.id).await?.into_iter().collect();
    let mut follower =
        Follower { changed, db: app.db.clone(), known, seen, waiting: VecDeque::new(), user_id: owner.id };
    match last {
        Some(revision) => follower.resume(revision),
        None => follower.begin().await?,
    }
    let events = stream::unfold(follower, |mut follower| async move {
        match follower.next().await {
            Ok(event) => Some((event, follower)),
            Err(error) => {
                tracing::error!(%error, "an event stream ends");
                None
            }
        }
    });
    Ok(sse::respond(events, app.drain.clone()))
}

struct Follower {
    db: Db,
    user_id: String,
    changed: Wakeup,
    seen: Revisions,
    known: BTreeSet<String>,
    waiting: VecDeque<Event>,
}

impl Follower {
    /// Whoever looks for the first time is told what is under way.
    async fn begin(&mut self) -> Result<(), StoreError> {
        let mut documents = tables::documents::of_user(&self.db, &self.user_id).await?;
        documents.retain(|document| document.status == Status::Processing);
        documents.sort_by_key(|document| document.revision);
        let last = self.seen.last;
        let events = documents.into_iter().map(|document| changed(document.revision.min(last), document));
        self.waiting.extend(events);
        Ok(())
    }

    /// Whoever comes back is told what there still is, where something went meanwhile.
    fn resume(&mut self, revision: i64) {
        if self.seen.removal > revision {
            let ids = self.known.iter().cloned().collect();
            self.waiting.push_back(Event::new(revision, "documents", DocumentEvent::Documents { ids }));
        }
        self.seen.last = self.seen.last.min(revision);
    }

    async fn next(&mut self) -> Result<Event, StoreError> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Ok(event);
            }
            let now = tables::users::revisions(&self.db, &self.user_id).await?;
            if now.last > self.seen.last || now.removal > self.seen.removal {
                self.look(now).await?;
                continue;
            }
            let _ = tokio::time::timeout(FALLBACK_POLL, self.changed.notified()).await;
        }
    }

    async fn look(&mut self, now: Revisions) -> Result<(), StoreError> {
        for document in tables::documents::changed_since(&self.db, &self.user_id, self.seen.last).await? {
            self.known.insert(document.id.clone());
            self.waiting.push_back(changed(document.revision, document));
        }
        if now.removal > self.seen.removal {
            let alive = tables::documents::ids_of_user(&self.db, &self.user_id).await?.into_iter().collect();
            for gone in self.known.difference(&alive) {
                let data = DocumentEvent::Removed { id: gone.clone() };
                self.waiting.push_back(Event::new(now.last, "removed", data));
            }
            self.known = alive;
        }
        let told = self.waiting.iter().map(|event| event.id).max().unwrap_or(0);
        self.seen = Revisions { last: now.last.max(told), removal: now.removal };
        Ok(())
    }
}

fn changed(id: i64, document: Document) -> Event {
    Event::new(id, "document", DocumentEvent::Document(Box::new(document.into())))
}
