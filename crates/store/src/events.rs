//! Event streams: append-only, numbered from 1 without gaps, written in the transaction of what they report.

use serde_json::Value;
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};

use crate::{Db, Dialect, StoreError, Tx, Wakeup};

const INSERT_BATCH: usize = 64;

/// One event of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub seq: i64,
    pub kind: String,
    pub data: Value,
    pub created_at: i64,
}

/// The number of the last event of stream `$1`.
const LAST: &str = "(SELECT last_seq FROM event_streams WHERE stream = $1)";
/// Counts the events of a stream. `$2` is how many are added.
const COUNT: &str = "INSERT INTO event_streams (stream, last_seq) VALUES ($1, $2)
    ON CONFLICT (stream) DO UPDATE SET last_seq = event_streams.last_seq + $2";

/// Adds events in their order and returns the number of the last. They are written at the commit. The stream is locked for
/// other writers until `tx` ends, so a reader of number n can read all numbers before it.
pub async fn append(tx: &mut Tx, stream: &str, events: &[(&str, Value)]) -> Result<i64, StoreError> {
    let sql = format!("{COUNT} RETURNING last_seq");
    let query = sqlx::query(AssertSqlSafe(sql)).bind(stream).bind(events.len() as i64);
    let last: i64 = query.fetch_one(tx.conn()).await?.try_get(0)?;
    let mut first = last - events.len() as i64 + 1;
    for batch in events.chunks(INSERT_BATCH) {
        insert(tx, stream, "0", first, batch);
        first += batch.len() as i64;
        if first <= last {
            tx.flush().await?;
        }
    }
    tx.wake(&topic(stream));
    Ok(last)
}

/// As [`append`], for a caller that need not know the number, and adds nothing else to the stream in this transaction.
pub async fn append_later(tx: &mut Tx, stream: &str, events: &[(&str, Value)]) -> Result<(), StoreError> {
    // On PostgreSQL the statements of one flush do not see what the others write.
    if tx.db().dialect() == Dialect::Postgres || events.len() > INSERT_BATCH {
        return append(tx, stream, events).await.map(drop);
    }
    tx.later(COUNT).bind(stream).bind(events.len() as i64);
    insert(tx, stream, LAST, 1 - events.len() as i64, events);
    tx.wake(&topic(stream));
    Ok(())
}

/// Inserts events at the commit. The number of the first is `start`, which is SQL, and `first` more.
fn insert(tx: &mut Tx, stream: &str, start: &str, first: i64, events: &[(&str, Value)]) {
    let row =
        |row: usize| format!("($1, {start} + ${}, ${}, ${}, $2)", row * 3 + 3, row * 3 + 4, row * 3 + 5);
    let rows: Vec<String> = (0..events.len()).map(row).collect();
    let sql = format!("INSERT INTO events (stream, seq, kind, data, created_at) VALUES {}", rows.join(", "));
    let now = tx.now_ms();
    let mut statement = tx.later(&sql).bind(stream).bind(now);
    for (number, (kind, data)) in (first..).zip(events) {
        statement = statement.bind(number).bind(*kind).bind(data.to_string());
    }
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
    tx.flush().await?;
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
