//! Event streams: append-only, numbered from 1 without gaps, written in the transaction of what they report.

use serde_json::Value;
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};

use crate::{Db, StoreError, Tx, Wakeup};

const INSERT_BATCH: usize = 64;

/// One event of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub seq: i64,
    pub kind: String,
    pub data: Value,
    pub created_at: i64,
}

/// Adds events in their order and returns the number of the last. The stream is locked for other writers until `tx` ends,
/// so a reader of number n can read all numbers before it.
pub async fn append(tx: &mut Tx, stream: &str, events: &[(&str, Value)]) -> Result<i64, StoreError> {
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

/// Returns the number of the last event; 0 if there is none yet.
pub async fn last(tx: &mut Tx, stream: &str) -> Result<i64, StoreError> {
    let select = sqlx::query("SELECT last_seq FROM event_streams WHERE stream = $1").bind(stream);
    select.fetch_optional(tx.conn()).await?.map_or(Ok(0), |row| Ok(row.try_get(0)?))
}

/// Subscribes to the stream: every event wakes the subscriber.
pub fn watch(db: &Db, stream: &str) -> Wakeup {
    db.subscribe(&topic(stream))
}

/// Returns at most `limit` events with a number above `after`, in order.
pub async fn read(db: &Db, stream: &str, after: i64, limit: i64) -> Result<Vec<Event>, StoreError> {
    let select = "SELECT seq, kind, data, created_at FROM events
        WHERE stream = $1 AND seq > $2 ORDER BY seq LIMIT $3";
    let rows = sqlx::query(select).bind(stream).bind(after).bind(limit).fetch_all(db.read()).await?;
    rows.iter().map(|row| event_of(stream, row)).collect()
}

/// Removes a stream and its counter. A stream made again under the same name starts at 1.
pub async fn delete_stream(tx: &mut Tx, stream: &str) -> Result<(), StoreError> {
    // The counter first: its lock waits for appends under way, whose events are then deleted too.
    sqlx::query("DELETE FROM event_streams WHERE stream = $1").bind(stream).execute(tx.conn()).await?;
    sqlx::query("DELETE FROM events WHERE stream = $1").bind(stream).execute(tx.conn()).await?;
    tx.wake(&topic(stream));
    Ok(())
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
