//! Rate windows: a limit on the hits per key in a window that starts with the first hit. Exact, also if hits come at the
//! same time from several processes.

use sqlx::Row;
use std::time::Duration;

use crate::{CLOCK_DIFFERENCE, Db, StoreError};

/// Whether a hit is allowed, and what is left of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    pub allowed: bool,
    pub remaining: i64,
    pub reset_at_ms: i64,
}

/// Counts a hit if the limit allows it. A refused hit changes nothing.
pub async fn hit(db: &Db, key: &str, limit: i64, window: Duration) -> Result<Decision, StoreError> {
    // Read first, without a write: a flood of refused hits must not block the writers.
    let before = peek(db, key, limit, window).await?;
    if !before.allowed {
        return Ok(before);
    }
    let now = db.now_ms();
    let count = "INSERT INTO rate_windows (key, hits, resets_at) VALUES ($1, 1, $2)
        ON CONFLICT (key) DO UPDATE SET
            hits = CASE WHEN rate_windows.resets_at > $3 AND rate_windows.resets_at < $5
                THEN rate_windows.hits + 1 ELSE 1 END,
            resets_at = CASE WHEN rate_windows.resets_at > $3 AND rate_windows.resets_at < $5
                THEN rate_windows.resets_at ELSE $2 END
        WHERE rate_windows.resets_at <= $3 OR rate_windows.resets_at >= $5 OR rate_windows.hits < $4
        RETURNING hits, resets_at";
    let mut tx = db.begin().await?;
    let query = sqlx::query(count).bind(key).bind(end_of_window(now, window)).bind(now).bind(limit);
    let query = query.bind(after_any_window(now, window));
    let row = query.fetch_optional(tx.conn()).await?;
    tx.commit().await?;
    let Some(row) = row else {
        // Other hits have used up the limit since the first read.
        let after = peek(db, key, limit, window).await?;
        return Ok(Decision { allowed: false, remaining: 0, ..after });
    };
    let hits: i64 = row.try_get(0)?;
    Ok(Decision { allowed: true, remaining: (limit - hits).max(0), reset_at_ms: row.try_get(1)? })
}

/// Returns what a hit would get, without counting one.
pub async fn peek(db: &Db, key: &str, limit: i64, window: Duration) -> Result<Decision, StoreError> {
    let now = db.now_ms();
    let select =
        "SELECT hits, resets_at FROM rate_windows WHERE key = $1 AND resets_at > $2 AND resets_at < $3";
    let query = sqlx::query(select).bind(key).bind(now).bind(after_any_window(now, window));
    let row = query.fetch_optional(db.read()).await?;
    let (hits, reset_at_ms) = match row {
        Some(row) => (row.try_get(0)?, row.try_get(1)?),
        None => (0, end_of_window(now, window)),
    };
    let remaining = (limit - hits).max(0);
    Ok(Decision { allowed: remaining > 0, remaining, reset_at_ms })
}

/// Takes back one hit of the current window that was counted in advance.
pub async fn forgive(db: &Db, key: &str) -> Result<(), StoreError> {
    let now = db.now_ms();
    let mut tx = db.begin().await?;
    let take_back = "UPDATE rate_windows SET hits = hits - 1 WHERE key = $1 AND hits > 0 AND resets_at > $2";
    sqlx::query(take_back).bind(key).bind(now).execute(tx.conn()).await?;
    tx.commit().await
}

/// Removes the windows that have passed and returns how many.
pub async fn prune(db: &Db) -> Result<u64, StoreError> {
    let now = db.now_ms();
    let mut tx = db.begin().await?;
    let delete = sqlx::query("DELETE FROM rate_windows WHERE resets_at <= $1").bind(now);
    let removed = delete.execute(tx.conn()).await?.rows_affected();
    tx.commit().await?;
    Ok(removed)
}

/// No window of this length ends so late. One that seems to was begun before the clock was set back, and counts as
/// passed.
fn after_any_window(now: i64, window: Duration) -> i64 {
    end_of_window(now, window.saturating_add(CLOCK_DIFFERENCE))
}

fn end_of_window(now: i64, window: Duration) -> i64 {
    now.saturating_add(i64::try_from(window.as_millis()).unwrap_or(i64::MAX))
}
