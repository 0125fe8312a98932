//! What the processes have answered, minute by minute, and which processes there are. The numbers are the caller's; they
//! are stored as they come.

use sqlx::Row;
use std::net::SocketAddr;
use std::time::Duration;

use crate::{Db, StoreError};

/// What one process has answered for one service in one minute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minute {
    /// When the minute began.
    pub minute_ms: i64,
    pub service: String,
    pub errors: i64,
    /// How many answers took how long.
    pub times: Vec<i64>,
}

/// A process that runs, or ran lately.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub id: String,
    pub started_at_ms: i64,
    /// When it last wrote.
    pub seen_at_ms: i64,
    pub services: Vec<String>,
    /// Where it listens.
    pub addresses: Vec<SocketAddr>,
    /// How many users' indexes it has in memory, and the bytes of them and of their graphs.
    pub indexes: i64,
    pub index_bytes: i64,
}

/// Stores that a process runs, and its minutes. A minute that is stored already is replaced.
pub async fn write(db: &Db, process: &Process, minutes: &[Minute]) -> Result<(), StoreError> {
    let mut tx = db.begin().await?;
    let upsert = "INSERT INTO processes (id, started_at, seen_at, services, indexes, index_bytes, addresses)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (id) DO UPDATE SET seen_at = $3, indexes = $5, index_bytes = $6";
    let query = sqlx::query(upsert).bind(&process.id).bind(process.started_at_ms).bind(process.seen_at_ms);
    let query = query.bind(process.services.join(",")).bind(process.indexes).bind(process.index_bytes);
    let addresses: Vec<String> = process.addresses.iter().map(SocketAddr::to_string).collect();
    query.bind(addresses.join(",")).execute(tx.conn()).await?;
    for minute in minutes {
        let upsert = "INSERT INTO service_minutes (minute, process, service, errors, times) VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (minute, process, service) DO UPDATE SET errors = $4, times = $5";
        let times: Vec<String> = minute.times.iter().map(i64::to_string).collect();
        let query = sqlx::query(upsert).bind(minute.minute_ms).bind(&process.id).bind(&minute.service);
        query.bind(minute.errors).bind(times.join(",")).execute(tx.conn()).await?;
    }
    tx.commit().await
}

/// Returns the minutes of all processes from this time on.
pub async fn since(db: &Db, from_ms: i64) -> Result<Vec<Minute>, StoreError> {
    let select =
        "SELECT minute, service, errors, times FROM service_minutes WHERE minute >= $1 ORDER BY minute";
    let rows = sqlx::query(select).bind(from_ms).fetch_all(db.read()).await?;
    let minutes = rows.iter().map(|row| {
        let times: String = row.try_get(3)?;
        Ok(Minute {
            minute_ms: row.try_get(0)?,
            service: row.try_get(1)?,
            errors: row.try_get(2)?,
            times: times.split(',').filter_map(|count| count.parse().ok()).collect(),
        })
    });
    minutes.collect()
}

/// Returns the processes that have written since this time, the oldest first.
pub async fn processes(db: &Db, seen_since_ms: i64) -> Result<Vec<Process>, StoreError> {
    let select = "SELECT id, started_at, seen_at, services, indexes, index_bytes, addresses FROM processes
        WHERE seen_at >= $1 ORDER BY started_at, id";
    let rows = sqlx::query(select).bind(seen_since_ms).fetch_all(db.read()).await?;
    let processes = rows.iter().map(|row| {
        let (services, addresses): (String, String) = (row.try_get(3)?, row.try_get(6)?);
        Ok(Process {
            id: row.try_get(0)?,
            started_at_ms: row.try_get(1)?,
            seen_at_ms: row.try_get(2)?,
            services: services.split(',').map(str::to_owned).collect(),
            indexes: row.try_get(4)?,
            index_bytes: row.try_get(5)?,
            addresses: addresses.split(',').filter_map(|address| address.parse().ok()).collect(),
        })
    });
    processes.collect()
}

/// Removes a process that has ended from the list.
pub async fn end(db: &Db, process: &str) -> Result<(), StoreError> {
    let mut tx = db.begin().await?;
    sqlx::query("DELETE FROM processes WHERE id = $1").bind(process).execute(tx.conn()).await?;
    tx.commit().await
}

/// Removes minutes and processes that are older.
pub async fn prune(db: &Db, keep: Duration) -> Result<(), StoreError> {
    let oldest = db.now_ms().saturating_sub(i64::try_from(keep.as_millis()).unwrap_or(i64::MAX));
    let mut tx = db.begin().await?;
    sqlx::query("DELETE FROM service_minutes WHERE minute < $1").bind(oldest).execute(tx.conn()).await?;
    sqlx::query("DELETE FROM processes WHERE seen_at < $1").bind(oldest).execute(tx.conn()).await?;
    tx.commit().await
}
