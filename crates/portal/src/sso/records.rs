//! Sign-ins under way and sessions, in a namespace of their own. A reader of the database can use neither: only hashes are
//! stored of what the browser brings.

use super::SsoError;
use base::hex;
use base::token::Claims;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use store::kv::{Expect, Namespace};
use store::{Db, StoreError};

pub const ATTEMPT_LASTS: Duration = Duration::from_secs(10 * 60);
pub const SESSION_LASTS: Duration = Duration::from_secs(8 * 60 * 60);

const NAMESPACE: &str = "PORTAL_SSO";
const PAGE: i64 = 1_000;

/// A sign-in that has begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// The hash of what the browser must bring back.
    pub binding: String,
    pub nonce: String,
    pub verifier: String,
    pub redirect_uri: String,
    pub return_to: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredAttempt {
    attempt: Attempt,
    expires_at: i64,
}

/// A session of a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    pub claims: Claims,
    /// In milliseconds since 1970.
    pub expires_at: i64,
}

/// What both kinds of records have.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Expiry {
    expires_at: i64,
}

pub struct Records {
    db: Db,
    namespace: Namespace,
    /// When expired records were last removed.
    swept_at: AtomicI64,
}

impl Records {
    pub fn new(db: Db) -> Self {
        Self { namespace: db.namespace(NAMESPACE), db, swept_at: AtomicI64::new(0) }
    }

    pub async fn keep_attempt(&self, state: &str, attempt: &Attempt) -> Result<(), StoreError> {
        self.sweep().await?;
        let stored = StoredAttempt { attempt: attempt.clone(), expires_at: self.after(ATTEMPT_LASTS) };
        self.put(&attempt_key(state), &stored).await
    }

    /// Returns a sign-in and removes it: a second callback with the same state finds nothing.
    pub async fn take_attempt(
        &self,
        state: Option<&str>,
        binding: Option<&str>,
    ) -> Result<Attempt, SsoError> {
        let state = state.filter(|state| is_secret(state));
        let key = attempt_key(state.ok_or(SsoError::Attempt("there is no `state` of ours"))?);
        let stored: Option<StoredAttempt> = self.get(&key).await?;
        let StoredAttempt { attempt, .. } =
            stored.ok_or(SsoError::Attempt("the state is unknown, used or too old"))?;
        // The browser that it belongs to can still take it.
        if binding.map(hashed).as_ref() != Some(&attempt.binding) {
            return Err(SsoError::Attempt("the state is of another browser"));
        }
        match self.namespace.delete(&key, Expect::Any).await? {
            true => Ok(attempt),
            false => Err(SsoError::Attempt("the state was used at the same moment")),
        }
    }

    /// Stores a session, and ends the one that the browser had.
    pub async fn keep_session(
        &self,
        token: &str,
        claims: &Claims,
        old: Option<&str>,
    ) -> Result<(), StoreError> {
        if let Some(old) = old {
            self.end_session(old).await?;
        }
        let stored = Session { claims: claims.clone(), expires_at: self.after(SESSION_LASTS) };
        self.put(&session_key(token), &stored).await
    }

    pub async fn session(&self, token: &str) -> Result<Option<Session>, StoreError> {
        match is_secret(token) {
            true => self.get(&session_key(token)).await,
            false => Ok(None),
        }
    }

    pub async fn end_session(&self, token: &str) -> Result<(), StoreError> {
        self.namespace.delete(&session_key(token), Expect::Any).await.map(drop)
    }

    fn after(&self, time: Duration) -> i64 {
        self.db.clock().now_ms() + time.as_millis() as i64
    }

    async fn put(&self, key: &str, record: &impl Serialize) -> Result<(), StoreError> {
        let value = serde_json::to_value(record).map_err(|error| corrupt(key, &error))?;
        self.namespace.put(key, &value, Expect::Any).await.map(drop)
    }

    /// Reads a record that has not expired.
    async fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, StoreError> {
        let found = self.namespace.get(key).await?.map(|entry| entry.value);
        let now = self.db.clock().now_ms();
        let record = found.filter(|value| !has_expired(value, now)).map(serde_json::from_value);
        record.transpose().map_err(|error| corrupt(key, &error))
    }

    /// Removes records that have expired, unless that was done a short time ago.
    async fn sweep(&self) -> Result<(), StoreError> {
        let now = self.db.clock().now_ms();
        let before = self.swept_at.load(Ordering::Relaxed);
        let is_due = now.saturating_sub(before) >= ATTEMPT_LASTS.as_millis() as i64;
        let swap = |before| self.swept_at.compare_exchange(before, now, Ordering::Relaxed, Ordering::Relaxed);
        if !is_due || swap(before).is_err() {
            return Ok(());
        }
        let mut after: Option<String> = None;
        loop {
            let page = self.namespace.list("", after.as_deref(), PAGE).await?;
            let expired: Vec<&str> =
                page.iter().filter(|entry| has_expired(&entry.value, now)).map(|entry| &*entry.key).collect();
            if !expired.is_empty() {
                let mut tx = self.db.begin().await?;
                for key in expired {
                    self.namespace.delete_in(&mut tx, key, Expect::Any).await?;
                }
                tx.commit().await?;
            }
            if page.len() < PAGE as usize {
                return Ok(());
            }
            after = page.last().map(|entry| entry.key.clone());
        }
    }
}

/// Tells whether a text is 256 bits as we write them.
pub fn is_secret(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

pub fn hashed(secret: &str) -> String {
    hex(&Sha256::digest(secret.as_bytes()))
}

fn attempt_key(state: &str) -> String {
    format!("attempt:{}", hashed(state))
}

fn session_key(token: &str) -> String {
    format!("session:{}", hashed(token))
}

fn has_expired(value: &Value, now: i64) -> bool {
    !Expiry::deserialize(value).is_ok_and(|record| record.expires_at > now)
}

fn corrupt(key: &str, error: &serde_json::Error) -> StoreError {
    StoreError::Corrupt { what: format!("key `{key}`"), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::token::Route;
    use base::{Clock, Random};

    const BINDING: &str = "a0b1c2d3e4f5a0b1c2d3e4f5a0b1c2d3e4f5a0b1c2d3e4f5a0b1c2d3e4f5a0b1";
    const STATE: &str = "00b1c2d3e4f5a0b1c2d3e4f5a0b1c2d3e4f5a0b1c2d3e4f5a0b1c2d3e4f5a0b1";

    async fn records() -> (Records, Clock, tempfile::TempDir) {
        let folder = tempfile::TempDir::new().unwrap();
        let url = format!("sqlite://{}", folder.path().join("stoa.db").display());
        let clock = Clock::fixed(1_794_709_061_250);
        let db = Db::open(&url, clock.clone(), Random::seeded(1)).await.unwrap();
        (Records::new(db), clock, folder)
    }

    fn attempt() -> Attempt {
        let text = |text: &str| text.to_owned();
        Attempt {
            binding: hashed(BINDING),
            nonce: text("n"),
            verifier: text("v"),
            redirect_uri: text("u"),
            return_to: text("/"),
        }
    }

    fn claims() -> Claims {
        Claims {
            project_id: "a@example.org".to_owned(),
            route: Route::Kv,
            scopes: vec!["guest".to_owned()],
            environment: "staging".to_owned(),
            issued_by: "https://id.example.org".to_owned(),
            username: None,
            generation: None,
            grant: None,
        }
    }

    async fn refused(records: &Records, binding: Option<&str>) -> String {
        match records.take_attempt(Some(STATE), binding).await {
            Err(SsoError::Attempt(detail)) => detail.to_owned(),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn an_attempt_is_taken_once_and_by_its_own_browser() {
        let (records, _, _folder) = records().await;
        records.keep_attempt(STATE, &attempt()).await.unwrap();
        assert_eq!(refused(&records, None).await, "the state is of another browser");
        assert_eq!(refused(&records, Some(STATE)).await, "the state is of another browser");
        assert_eq!(records.take_attempt(Some(STATE), Some(BINDING)).await.unwrap(), attempt());
        assert_eq!(refused(&records, Some(BINDING)).await, "the state is unknown, used or too old");
    }

    #[tokio::test]
    async fn an_attempt_lasts_ten_minutes_and_a_session_eight_hours() {
        let (records, clock, _folder) = records().await;
        records.keep_attempt(STATE, &attempt()).await.unwrap();
        records.keep_session(STATE, &claims(), None).await.unwrap();
        clock.advance(ATTEMPT_LASTS);
        assert_eq!(refused(&records, Some(BINDING)).await, "the state is unknown, used or too old");
        assert_eq!(records.session(STATE).await.unwrap().map(|session| session.claims), Some(claims()));
        clock.advance(SESSION_LASTS - ATTEMPT_LASTS);
        assert_eq!(records.session(STATE).await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_new_session_ends_the_old_one() {
        let (records, _, _folder) = records().await;
        records.keep_session(STATE, &claims(), None).await.unwrap();
        records.keep_session(BINDING, &claims(), Some(STATE)).await.unwrap();
        assert_eq!(records.session(STATE).await.unwrap(), None);
        assert_eq!(records.session(BINDING).await.unwrap().map(|session| session.claims), Some(claims()));
    }

    #[tokio::test]
    async fn what_has_expired_is_removed_and_no_secret_is_kept() {
        let (records, clock, _folder) = records().await;
        records.keep_session(BINDING, &claims(), None).await.unwrap();
        records.keep_attempt(STATE, &attempt()).await.unwrap();
        let all = async || records.namespace.list("", None, PAGE).await.unwrap();
        for entry in all().await {
            let shown = format!("{} {}", entry.key, entry.value);
            assert!(!shown.contains(STATE) && !shown.contains(BINDING), "{shown}");
        }
        clock.advance(ATTEMPT_LASTS);
        records.keep_attempt(BINDING, &attempt()).await.unwrap();
        let keys: Vec<String> = all().await.into_iter().map(|entry| entry.key).collect();
        assert_eq!(keys, [attempt_key(BINDING), session_key(BINDING)]);
    }
}
