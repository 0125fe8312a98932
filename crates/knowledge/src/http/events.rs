//! `GET /api/documents/events`: what becomes of a user's documents, live.
//!
//! The id of an event is the revision that it tells of, so a client that comes back is sent the present state of
//! whatever has changed since, each document once.

use super::App;
use super::caller::Caller;
use super::error::Failure;
use crate::documents::{Status, topic};
use crate::tables;
use crate::tables::users::Revisions;
use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use kit::request::Params;
use kit::sse::{self, Event};
use serde_json::json;
use std::collections::BTreeSet;
use store::follow::Source;
use store::{Db, StoreError};

pub async fn follow(
    State(app): State<App>,
    caller: Caller,
    params: Params,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let owner = caller.acting_for(&app, params.get("userId")).await?;
    let given = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let last = given.or(params.get("lastEventId")).and_then(|text| text.parse().ok());
    // Before the first read, so that no change in between is missed.
    let wakeup = app.db.subscribe(&topic(&owner.id));
    let seen = tables::users::revisions(&app.db, &owner.id).await?;
    let known = tables::documents::ids_of_user(&app.db, &owner.id).await?.into_iter().collect();
    let mut documents =
        DocumentEvents { db: app.db.clone(), known, seen, waiting: Vec::new(), user_id: owner.id };
    match last {
        Some(revision) => documents.resume(revision),
        None => documents.begin().await?,
    }
    Ok(sse::respond(store::follow::follow(wakeup, documents), app.drain.clone()))
}

/// The changes to a user's documents, as events.
struct DocumentEvents {
    db: Db,
    user_id: String,
    seen: Revisions,
    known: BTreeSet<String>,
    waiting: Vec<Event>,
}

impl DocumentEvents {
    /// A client that connects for the first time is sent the documents that are being processed.
    async fn begin(&mut self) -> Result<(), StoreError> {
        let documents = tables::documents::of_user(&self.db, &self.user_id).await?;
        let mut under_way: Vec<_> =
            documents.iter().filter(|document| document.status == Status::Processing).collect();
        under_way.sort_by_key(|document| document.revision);
        let last = self.seen.last;
        self.waiting.extend(
            under_way.into_iter().map(|document| changed(document.to_json(), document.revision.min(last))),
        );
        Ok(())
    }

    /// A client that comes back is sent the ids of all documents, if any was removed meanwhile.
    fn resume(&mut self, revision: i64) {
        if self.seen.removal > revision {
            let data = json!({ "ids": self.known });
            self.waiting.push(Event { id: revision, name: "documents".to_owned(), data });
        }
        self.seen.last = self.seen.last.min(revision);
    }

    /// Collects what has changed up to `now`.
    async fn collect(&mut self, now: Revisions) -> Result<(), StoreError> {
        for document in tables::documents::changed_since(&self.db, &self.user_id, self.seen.last).await? {
            self.waiting.push(changed(document.to_json(), document.revision));
            self.known.insert(document.id);
        }
        if now.removal > self.seen.removal {
            let alive = tables::documents::ids_of_user(&self.db, &self.user_id).await?.into_iter().collect();
            for gone in self.known.difference(&alive) {
                let data = json!({ "id": gone });
                self.waiting.push(Event { id: now.last, name: "removed".to_owned(), data });
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
        if self.waiting.is_empty() {
            let now = tables::users::revisions(&self.db, &self.user_id).await?;
            if now.last > self.seen.last || now.removal > self.seen.removal {
                self.collect(now).await?;
            }
        }
        Ok(Some(std::mem::take(&mut self.waiting)))
    }
}

fn changed(data: serde_json::Value, id: i64) -> Event {
    Event { id, name: "document".to_owned(), data }
}
