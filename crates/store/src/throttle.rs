//! A limit on guessing passwords: failed sign-ins are counted per name and per address, by the same rules in every service.

use std::net::IpAddr;
use std::time::Duration;

use crate::{Db, StoreError, rate};

const WINDOW: Duration = Duration::from_secs(15 * 60);
const FAILURES_PER_NAME: i64 = 10;
const FAILURES_PER_ADDRESS: i64 = 50;

/// A sign-in that was counted as a failure in advance.
pub struct Attempt {
    keys: Vec<String>,
}

/// Whether a sign-in may go on.
pub enum Counted {
    Allowed(Attempt),
    /// Refused until this time, in milliseconds since 1970.
    RefusedUntil(i64),
}

/// Counts a sign-in before its password is checked, so that guesses that are sent all at once are counted too. `service`
/// is part of the keys; `name` is absent if no account can have it.
pub async fn count(
    db: &Db,
    service: &str,
    name: Option<&str>,
    client: IpAddr,
) -> Result<Counted, StoreError> {
    let mut keys = vec![(format!("{service}:address:{client}"), FAILURES_PER_ADDRESS)];
    if let Some(name) = name {
        keys.push((format!("{service}:username:{name}"), FAILURES_PER_NAME));
    }
    let mut attempt = Attempt { keys: Vec::new() };
    for (key, limit) in keys {
        let hit = rate::hit(db, &key, limit, WINDOW).await?;
        if !hit.allowed {
            // Take back what this attempt has counted so far: it was refused, it did not fail.
            attempt.forgive(db).await?;
            return Ok(Counted::RefusedUntil(hit.reset_at_ms));
        }
        attempt.keys.push(key);
    }
    Ok(Counted::Allowed(attempt))
}

impl Attempt {
    /// Takes the count back: the sign-in has succeeded.
    pub async fn forgive(self, db: &Db) -> Result<(), StoreError> {
        for key in &self.keys {
            rate::forgive(db, key).await?;
        }
        Ok(())
    }
}
