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
use futures_util::stream;
use http::HeaderMap;
use kit::request::Params;
use kit::sse::{self, Event};
use serde_json::json;
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;
use store::{Db, StoreError, Wakeup};

/// For the case that a wake-up is lost.
const FALLBACK_POLL: Duration = Duration::from_secs(3);

pub async fn follow(
    State(app): State<App>,
    caller: Caller,
    params: Params,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let owner = caller.acting_for(&app, params.get("userId")).await?;
    let given = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let last = given.or(params.get("lastEventId")).and_then(|text| text.parse().ok());
    // In this order: what changes in between is told.
    let changed = app.db.subscribe(&topic(&owner.id));
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

    /// Whoever comes back is told what there still is, where something went meanwhile.
    fn resume(&mut self, revision: i64) {
        if self.seen.removal > revision {
            let data = json!({ "ids": self.known });
            self.waiting.push_back(Event { id: revision, name: "documents".to_owned(), data });
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
            self.waiting.push_back(changed(document.to_json(), document.revision));
            self.known.insert(document.id);
        }
        if now.removal > self.seen.removal {
            let alive = tables::documents::ids_of_user(&self.db, &self.user_id).await?.into_iter().collect();
            for gone in self.known.difference(&alive) {
                let data = json!({ "id": gone });
                self.waiting.push_back(Event { id: now.last, name: "removed".to_owned(), data });
            }
            self.known = alive;
        }
        let told = self.waiting.iter().map(|event| event.id).max().unwrap_or(0);
        self.seen = Revisions { last: now.last.max(told), removal: now.removal };
        Ok(())
    }
}

fn changed(data: serde_json::Value, id: i64) -> Event {
    Event { id, name: "document".to_owned(), data }
}
