//! A deep check of the store's own tables: the database file, the streams of events, the counters.

use sqlx::Row;

use crate::counters::COUNTERS;
use crate::{Db, Dialect, Finding, StoreError, Tally};

/// Faults that are read; more would not be shown.
const MOST_FAULTS: i64 = 100;

/// Checks the tables that all services share.
pub async fn check(db: &Db) -> Result<Vec<Finding>, StoreError> {
    let mut findings = Vec::new();
    if db.dialect() == Dialect::Sqlite {
        findings.push(file(db).await?);
        findings.push(foreign_keys(db).await?);
    }
    findings.push(event_streams(db).await?);
    findings.push(counters(db).await?);
    Ok(findings)
}

/// Reads every page and every index of the database file.
pub async fn file(db: &Db) -> Result<Finding, StoreError> {
    let rows = sqlx::query("PRAGMA integrity_check(20)").fetch_all(db.bulk()).await?;
    let mut tally = Tally::default();
    tally.examine(1);
    for row in &rows {
        let line: String = row.try_get(0)?;
        if line != "ok" {
            tally.fault(line);
        }
    }
    Ok(tally.finding("database file"))
}

/// Looks for rows whose parent is missing. PostgreSQL never lets that happen.
async fn foreign_keys(db: &Db) -> Result<Finding, StoreError> {
    let select = "SELECT \"table\", \"parent\" FROM pragma_foreign_key_check LIMIT $1";
    let rows = sqlx::query(select).bind(MOST_FAULTS).fetch_all(db.bulk()).await?;
    let mut tally = Tally::default();
    tally.examine(rows.len().max(1) as u64);
    for row in &rows {
        let (table, parent): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        tally.fault(format!("a row of `{table}` has no row of `{parent}`"));
    }
    Ok(tally.finding("references"))
}

/// Checks that the events of each stream have the numbers from 1 to the last.
async fn event_streams(db: &Db) -> Result<Finding, StoreError> {
    let mut tally = Tally::default();
    let count = sqlx::query("SELECT COUNT(*) FROM event_streams").fetch_one(db.bulk()).await?;
    tally.examine(count.try_get::<i64, _>(0)?.unsigned_abs());
    // A number is there once at most, by the primary key: if the count is right as well, none is missing.
    let select = "SELECT s.stream, s.last_seq, COUNT(e.seq) FROM event_streams s
        LEFT JOIN events e ON e.stream = s.stream AND e.seq BETWEEN 1 AND s.last_seq
        GROUP BY s.stream, s.last_seq HAVING COUNT(e.seq) <> s.last_seq ORDER BY s.stream LIMIT $1";
    for row in &sqlx::query(select).bind(MOST_FAULTS).fetch_all(db.bulk()).await? {
        let (stream, last, number): (String, i64, i64) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        tally.fault(format!("stream `{stream}` has {number} of {last} events"));
    }
    let select = "SELECT e.stream, COUNT(*) FROM events e
        LEFT JOIN event_streams s ON s.stream = e.stream
        WHERE s.stream IS NULL OR e.seq > s.last_seq OR e.seq < 1
        GROUP BY e.stream ORDER BY e.stream LIMIT $1";
    for row in &sqlx::query(select).bind(MOST_FAULTS).fetch_all(db.bulk()).await? {
        let (stream, number): (String, i64) = (row.try_get(0)?, row.try_get(1)?);
        tally.fault(format!("stream `{stream}` has {number} events that it does not count"));
    }
    Ok(tally.finding("event streams"))
}

/// Checks that no counter will give out a number that a row has.
async fn counters(db: &Db) -> Result<Finding, StoreError> {
    let mut tally = Tally::default();
    for counter in COUNTERS {
        tally.examine(1);
        // In this order: a number that is given out in between does no harm.
        let highest = counter.highest_in_use(db).await?;
        let last = counter.last(db).await?;
        if highest > last {
            tally.fault(format!("the counter of {} is at {last}, a row has {highest}", counter.name()));
        }
    }
    Ok(tally.finding("counters"))
}
