//! Values that many requests need and that may be seconds old: they are read again in the background while they are used.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A value that is younger is used as it is.
const FRESH_MS: i64 = 2_000;
/// One that is younger is used while it is read again in the background.
const STALE_MS: i64 = 5_000;
/// One that is younger is used if the database does not answer.
const OUTAGE_MS: i64 = 60_000;
const MAX_KNOWN: usize = 8_192;

/// A value as it was read.
pub(crate) struct Known<V> {
    pub value: V,
    pub read_ms: i64,
    is_being_read: AtomicBool,
}

/// The values that were read last, by their names.
pub(crate) struct Recent<V>(Mutex<HashMap<String, Arc<Known<V>>>>);

impl<V> Default for Recent<V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<V> Recent<V> {
    /// Returns a value that was read within the last seconds. `read` reads it and [`keep`](Self::keep)s it.
    pub async fn get<E, F>(
        &self,
        name: &str,
        now_ms: i64,
        read: impl FnOnce() -> F,
    ) -> Result<Arc<Known<V>>, E>
    where
        F: Future<Output = Result<Arc<Known<V>>, E>> + Send + 'static,
        E: Display,
    {
        let Some(known) = self.peek(name) else { return read().await };
        // After a clock was set back, a value may seem to be from the future.
        match now_ms.saturating_sub(known.read_ms).unsigned_abs() as i64 {
            ..FRESH_MS => Ok(known),
            FRESH_MS..STALE_MS => {
                if !known.is_being_read.swap(true, Ordering::Relaxed) {
                    let reading = read();
                    tokio::spawn(async move { drop(reading.await) });
                }
                Ok(known)
            }
            age => match read().await {
                Err(error) if age < OUTAGE_MS => {
                    tracing::warn!(%error, "a token cannot be looked up: what is known is used");
                    Ok(known)
                }
                looked => looked,
            },
        }
    }

    /// Returns the value that was read last, however old it is.
    pub fn peek(&self, name: &str) -> Option<Arc<Known<V>>> {
        self.lock().get(name).cloned()
    }

    pub fn keep(&self, name: &str, value: V, read_ms: i64) -> Arc<Known<V>> {
        let known = Arc::new(Known { value, read_ms, is_being_read: AtomicBool::new(false) });
        let mut all = self.lock();
        if all.len() >= MAX_KNOWN {
            all.clear();
        }
        all.insert(name.to_owned(), known.clone());
        known
    }

    pub fn forget(&self, is_meant: impl Fn(&str) -> bool) {
        self.lock().retain(|name, _| !is_meant(name));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Known<V>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::ready;

    const NOW: i64 = 1_794_709_061_500;

    async fn after(recent: &Recent<u8>, ms: i64, read: Result<u8, &'static str>) -> Result<u8, &'static str> {
        let read = read.map(|value| recent.keep("a", value, NOW + ms));
        recent.get("a", NOW + ms, || ready(read)).await.map(|known| known.value)
    }

    #[tokio::test]
    async fn a_value_is_read_again_when_it_is_old_and_kept_through_an_outage() {
        let recent = Recent::default();
        assert_eq!(after(&recent, 0, Err("away")).await, Err("away"));
        assert_eq!(after(&recent, 0, Ok(1)).await, Ok(1));
        assert_eq!(after(&recent, STALE_MS - 1, Err("away")).await, Ok(1));
        assert_eq!(after(&recent, OUTAGE_MS - 1, Err("away")).await, Ok(1));
        assert_eq!(after(&recent, OUTAGE_MS, Err("away")).await, Err("away"));
        assert_eq!(after(&recent, OUTAGE_MS, Ok(2)).await, Ok(2));
        recent.forget(|name| name == "a");
        assert_eq!(after(&recent, OUTAGE_MS, Err("away")).await, Err("away"));
    }

    #[tokio::test]
    async fn a_fresh_value_is_not_read_again() {
        let recent = Recent::default();
        recent.keep("a", 1, NOW);
        let never = || -> std::future::Ready<Result<Arc<Known<u8>>, String>> { panic!("it was read") };
        assert_eq!(recent.get("a", NOW + FRESH_MS - 1, never).await.unwrap().value, 1);
    }
}
