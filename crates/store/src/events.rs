//! Event streams: append-only, numbered from 1 without gaps, written in the transaction of what they report.

use futures_util::Stream;
use futures_util::stream::try_unfold;
use serde_json::Value;
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};
use std::collections::VecDeque;
use std::time::Duration;

use crate::{Db, StoreError, Tx, Wakeup};

const PAGE: i64 = 256;
const INSERT_BATCH: usize = 64;
/// For the case that a wake-up is lost all the same: a notification server that restarts, a paused machine.
const FALLBACK_POLL: Duration = Duration::from_secs(3);

#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub seq: i64,
    pub kind: String,
    pub data: Value,
    pub created_at: i64,
}

/// Adds an event and returns its number. The stream is locked for other writers until `tx` ends, so whoever
/// reads number n has seen or can see all before it.
pub async fn append(tx: &mut Tx, stream: &str, kind: &str, data: &Value) -> Result<i64, StoreError> {
    append_all(tx, stream, &[(kind, data.clone())]).await
}

/// Adds events in their order, and returns the number of the last.
pub async fn append_all(tx: &mut Tx, stream: &str, events: &[(&str, Value)]) -> Result<i64, StoreError> {
    let now = tx.now_ms();
    let count = "INSERT INTO event_streams (stream, last_seq) VALUES ($1, $2)
        ON CONFLICT (stream) DO UPDATE SET last_seq = event_streams.last_seq + $2 RETURNING last_seq";
    let query = sqlx::query(count).bind(stream).bind(events.len() as i64);
    let last: i64 = query.fetch_one(tx.conn()).await?.try_get(0)?;
    let first = last - events.len() as i64 + 1;
    for batch in events.chunks(INSERT_BATCH).enumerate() {
        insert(tx, stream, first + (batch.0 * INSERT_BATCH) as i64, batch.1, now).await?;
    }
    tx.wake(&topic(stream));
    Ok(last)
}

async fn insert(
    tx: &mut Tx,
    stream: &str,
    first: i64,
    events: &[(&str, Value)],
    now: i64,
) -> Result<(), StoreError> {
    let rows: Vec<String> = (0..events.len())
        .map(|row| format!("($1, ${}, ${}, ${}, $2)", row * 3 + 3, row * 3 + 4, row * 3 + 5))
        .collect();
    let sql = format!("INSERT INTO events (stream, seq, kind, data, created_at) VALUES {}", rows.join(", "));
    let mut query = sqlx::query(AssertSqlSafe(sql)).bind(stream).bind(now);
    for (seq, (kind, data)) in (first..).zip(events) {
        query = query.bind(seq).bind(*kind).bind(data.to_string());
    }
    query.execute(tx.conn()).await?;
    Ok(())
}

/// The number of the last event; 0 where there is none yet.
pub async fn last(tx: &mut Tx, stream: &str) -> Result<i64, StoreError> {
    let select = sqlx::query("SELECT last_seq FROM event_streams WHERE stream = $1").bind(stream);
    select.fetch_optional(tx.conn()).await?.map_or(Ok(0), |row| Ok(row.try_get(0)?))
}

/// Wakes up with every event of the stream.
pub fn watch(db: &Db, stream: &str) -> Wakeup {
    db.subscribe(&topic(stream))
}

/// At most `limit` events with a number above `after`, in order.
pub async fn read(db: &Db, stream: &str, after: i64, limit: i64) -> Result<Vec<Event>, StoreError> {
    let select = "SELECT seq, kind, data, created_at FROM events
        WHERE stream = $1 AND seq > $2 ORDER BY seq LIMIT $3";
    let rows = sqlx::query(select).bind(stream).bind(after).bind(limit).fetch_all(db.read()).await?;
    rows.iter().map(|row| event_of(stream, row)).collect()
}

/// All events with a number above `after`, those to come included. It ends only with an error.
pub fn follow(db: &Db, stream: &str, after: i64) -> impl Stream<Item = Result<Event, StoreError>> + use<> {
    let follower = Follower {
        // Before the first read: what is committed in between wakes us.
        wakeup: watch(db, stream),
        db: db.clone(),
        stream: stream.to_owned(),
        after,
        page: VecDeque::new(),
    };
    try_unfold(follower, |mut follower| async move {
        let event = follower.next().await?;
        Ok(Some((event, follower)))
    })
}

/// Removes a stream and its counter. A stream made again under the same name starts at 1.
pub async fn delete_stream(tx: &mut Tx, stream: &str) -> Result<(), StoreError> {
    // The counter first: its lock waits for appends under way, whose events are then deleted too.
    sqlx::query("DELETE FROM event_streams WHERE stream = $1").bind(stream).execute(tx.conn()).await?;
    sqlx::query("DELETE FROM events WHERE stream = $1").bind(stream).execute(tx.conn()).await?;
    tx.wake(&topic(stream));
    Ok(())
}

struct Follower {
    wakeup: Wakeup,
    db: Db,
    stream: String,
    after: i64,
    page: VecDeque<Event>,
}

impl Follower {
    async fn next(&mut self) -> Result<Event, StoreError> {
        loop {
            if let Some(event) = self.page.pop_front() {
                self.after = event.seq;
                return Ok(event);
            }
            self.page = read(&self.db, &self.stream, self.after, PAGE).await?.into();
            if self.page.is_empty() {
                let _ = tokio::time::timeout(FALLBACK_POLL, self.wakeup.notified()).await;
            }
        }
    }
}

fn topic(stream: &str) -> String {
    format!("events:{stream}")
}

fn event_of(stream: &str, row: &AnyRow) -> Result<Event, StoreError> {
    let seq: i64 = row.try_get(0)?;
    let data: String = row.try_get(2)?;
    let data = serde_json::from_str(&data).map_err(|error| StoreError::Corrupt {
        what: format!("event {seq} of `{stream}`"),
        reason: error.to_string(),
    })?;
    Ok(Event { seq, kind: row.try_get(1)?, data, created_at: row.try_get(3)? })
}
