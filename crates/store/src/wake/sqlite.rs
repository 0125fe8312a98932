//! Wake-ups between processes on the same SQLite file: a commit that wakes subscribers adds a row to `wake_log`. Each
//! process polls `PRAGMA data_version`, which costs almost nothing, and reads the new rows if it has changed.

use sqlx::any::AnyConnectOptions;
use sqlx::{AnyConnection, ConnectOptions, Row};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

use super::{Hub, RECONNECT_PAUSE, decode, encode};
use crate::later::Later;

const POLL: Duration = Duration::from_millis(100);
/// More than are ever written between two polls. A process that misses rows wakes all its subscribers.
const KEPT_ROWS: i64 = 1_000;
/// After how many of its messages a process deletes old rows.
const PRUNE_EVERY: u64 = 256;

/// Forwards the wake-ups of other processes to `hub` until `stopped`.
pub(crate) fn listen(options: AnyConnectOptions, hub: Arc<Hub>, stopped: CancellationToken) {
    tokio::spawn(async move {
        tokio::select! {
            () = stopped.cancelled() => {}
            () = forward(&options, &hub) => {}
        }
    });
}

async fn forward(options: &AnyConnectOptions, hub: &Hub) {
    loop {
        hub.until_subscribed().await;
        if let Err(error) = poll(options, hub).await {
            tracing::warn!(%error, "cannot watch the database file, trying again");
            tokio::time::sleep(RECONNECT_PAUSE).await;
        }
    }
}

async fn poll(options: &AnyConnectOptions, hub: &Hub) -> Result<(), sqlx::Error> {
    let mut connection = options.connect().await?;
    let mut seen_version = data_version(&mut connection).await?;
    let mut seen_row = newest_row(&mut connection).await?;
    // Subscribers may have missed what was committed before this line.
    hub.publish_all();
    loop {
        tokio::time::sleep(POLL).await;
        hub.until_subscribed().await;
        let version = data_version(&mut connection).await?;
        if version == seen_version {
            continue;
        }
        seen_row = forward_rows_after(&mut connection, hub, seen_row).await?;
        seen_version = version;
    }
}

async fn data_version(connection: &mut AnyConnection) -> Result<i64, sqlx::Error> {
    sqlx::query("PRAGMA data_version").fetch_one(connection).await?.try_get(0)
}

async fn newest_row(connection: &mut AnyConnection) -> Result<i64, sqlx::Error> {
    let select = sqlx::query("SELECT COALESCE(MAX(id), 0) FROM wake_log");
    select.fetch_one(connection).await?.try_get(0)
}

async fn forward_rows_after(
    connection: &mut AnyConnection,
    hub: &Hub,
    seen_row: i64,
) -> Result<i64, sqlx::Error> {
    let own = encode(&[hub.id()]);
    let select = sqlx::query("SELECT id, sender, topics FROM wake_log WHERE id > $1 ORDER BY id");
    let rows = select.bind(seen_row).fetch_all(connection).await?;
    let mut newest = seen_row;
    for row in &rows {
        let id: i64 = row.try_get(0)?;
        if id != newest + 1 {
            hub.publish_all();
        }
        newest = id;
        if row.try_get::<String, _>(1)? != own {
            hub.publish(&decode(&row.try_get::<String, _>(2)?));
        }
    }
    Ok(newest)
}

/// Writes the topics of a transaction for other processes, as part of it.
pub(crate) fn record(later: &mut Later, hub: &Hub, topics: &[u64]) {
    if topics.is_empty() {
        return;
    }
    let insert = "INSERT INTO wake_log (sender, topics) VALUES ($1, $2)";
    later.add(insert).bind(encode(&[hub.id()])).bind(encode(topics));
    if hub.next_message().is_multiple_of(PRUNE_EVERY) {
        later.add("DELETE FROM wake_log WHERE id <= last_insert_rowid() - $1").bind(KEPT_ROWS);
    }
}
