//! Guessing passwords, slowed down: failures are counted per name and per address, the same for every service.

use std::net::IpAddr;
use std::time::Duration;

use crate::{Db, StoreError, rate};

const WINDOW: Duration = Duration::from_secs(15 * 60);
const FAILURES_PER_NAME: i64 = 10;
const FAILURES_PER_ADDRESS: i64 = 50;

/// A sign-in that has been counted as a failure, in advance.
pub struct Attempt {
    keys: Vec<String>,
}

pub enum Counted {
    Allowed(Attempt),
    /// Until this time, in milliseconds since 1970.
    RefusedUntil(i64),
}

/// Counts before the password is checked, so that guesses sent all at once are counted too. `door` tells the
/// services apart; `name` is absent where nobody can be called that.
pub async fn count(db: &Db, door: &str, name: Option<&str>, client: IpAddr) -> Result<Counted, StoreError> {
    let mut keys = vec![(format!("{door}:address:{client}"), FAILURES_PER_ADDRESS)];
    if let Some(name) = name {
        keys.push((format!("{door}:username:{name}"), FAILURES_PER_NAME));
    }
    let mut attempt = Attempt { keys: Vec::new() };
    for (key, limit) in keys {
        let hit = rate::hit(db, &key, limit, WINDOW).await?;
        if !hit.allowed {
            // What this attempt has counted elsewhere is taken back: it was refused, not failed.
            attempt.forgive(db).await?;
            return Ok(Counted::RefusedUntil(hit.reset_at_ms));
        }
        attempt.keys.push(key);
    }
    Ok(Counted::Allowed(attempt))
}

impl Attempt {
    /// It was no failure after all.
    pub async fn forgive(self, db: &Db) -> Result<(), StoreError> {
        for key in &self.keys {
            rate::forgive(db, key).await?;
        }
        Ok(())
    }
}
