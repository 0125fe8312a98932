//! `GET /api/documents/events`: what becomes of the documents of a user or a space, live.
//!
//! The id of an event is the revision that it tells of, so a client that comes back is sent the present state of
//! whatever has changed since, each document once.

use super::App;
use super::caller::{Access, Caller, OwnerQuery};
use super::documents::DocumentView;
use crate::records::{Document, Status, User, documents_topic};
use crate::spaces::SpaceError;
use crate::tables;
use crate::tables::users::Revisions;
use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use kit::error::ApiError;
use kit::request::Query;
use kit::sse::{self, Event};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use store::StoreError;
use store::follow::Source;
use utoipa::{IntoParams, ToSchema};

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct EventsQuery {
    /// As the header `Last-Event-ID`, for clients that cannot set headers.
    pub last_event_id: Option<String>,
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
        (status = 404, description = "`NOT_FOUND`: no user has the id `userId`, or the caller no space `spaceId`."),
    ))]
pub async fn follow(
    State(app): State<App>,
    caller: Caller,
    Query(owner): Query<OwnerQuery>,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let user = caller.0.clone();
    let owner_id = owner.owner_id(&app, caller, Access::Read).await?;
    let given = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let last = given.or(query.last_event_id.as_deref()).and_then(|text| text.parse().ok());
    // Before the first read, so that no change in between is missed.
    let wakeup = app.db.subscribe(&documents_topic(&owner_id));
    let seen = tables::users::revisions(&app.db, &owner_id).await?;
    let known = tables::documents::ids_of_user(&app.db, &owner_id).await?.into_iter().collect();
    let is_space = owner.space_id.is_some_and(|id| id == owner_id);
    let follower = is_space.then_some(user);
    let mut documents =
        DocumentEvents { app: app.clone(), known, seen, waiting: Vec::new(), owner_id, follower };
    match last {
        Some(revision) => documents.resume(revision),
        None => documents.begin().await?,
    }
    Ok(sse::respond(store::follow::follow(wakeup, documents), app.drain.clone()))
}

/// The changes to the documents of a user or a space, as events.
struct DocumentEvents {
    app: App,
    owner_id: String,
    /// The user who follows a space; none if the owner is a user.
    follower: Option<User>,
    seen: Revisions,
    known: BTreeSet<String>,
    waiting: Vec<Event>,
}

impl DocumentEvents {
    /// A client that connects for the first time is sent the documents that are being processed.
    async fn begin(&mut self) -> Result<(), StoreError> {
        let mut documents = tables::documents::of_user(&self.app.db, &self.owner_id).await?;
        documents.retain(|document| document.status == Status::Processing);
        documents.sort_by_key(|document| document.revision);
        let last = self.seen.last;
        let events = documents.into_iter().map(|document| changed(document.revision.min(last), document));
        self.waiting.extend(events);
        Ok(())
    }

    /// A client that comes back is sent the ids of all documents, if any was removed meanwhile.
    fn resume(&mut self, revision: i64) {
        if self.seen.removal > revision {
            let ids = self.known.iter().cloned().collect();
            self.waiting.push(Event::new(revision, "documents", DocumentEvent::Documents { ids }));
        }
        self.seen.last = self.seen.last.min(revision);
    }

    /// Returns false if the user has left the space, or the space is gone.
    async fn may_follow(&self) -> Result<bool, StoreError> {
        let Some(user) = &self.follower else { return Ok(true) };
        match self.app.spaces.get(user, &self.owner_id).await {
            Ok(_) => Ok(true),
            Err(SpaceError::Store(error)) => Err(error),
            Err(_) => Ok(false),
        }
    }

    /// Collects what has changed up to `now`.
    async fn collect(&mut self, now: Revisions) -> Result<(), StoreError> {
        for document in tables::documents::changed_since(&self.app.db, &self.owner_id, self.seen.last).await?
        {
            self.known.insert(document.id.clone());
            self.waiting.push(changed(document.revision, document));
        }
        if now.removal > self.seen.removal {
            let alive =
                tables::documents::ids_of_user(&self.app.db, &self.owner_id).await?.into_iter().collect();
            for gone in self.known.difference(&alive) {
                let data = DocumentEvent::Removed { id: gone.clone() };
                self.waiting.push(Event::new(now.last, "removed", data));
            }
            self.known = alive;
        }
        let newest = self.waiting.iter().map(|event| event.id).max().unwrap_or(0);
        self.seen = Revisions { last: now.last.max(newest), removal: now.removal };
        Ok(())
    }
}

impl Source for DocumentEvents {
    type Item = Event;

    async fn next_page(&mut self) -> Result<Option<Vec<Event>>, StoreError> {
        if !self.may_follow().await? {
            return Ok(None);
        }
        if self.waiting.is_empty() {
            let now = tables::users::revisions(&self.app.db, &self.owner_id).await?;
            if now.last > self.seen.last || now.removal > self.seen.removal {
                self.collect(now).await?;
            }
        }
        Ok(Some(std::mem::take(&mut self.waiting)))
    }
}

fn changed(id: i64, document: Document) -> Event {
    Event::new(id, "document", DocumentEvent::Document(Box::new(document.into())))
}
