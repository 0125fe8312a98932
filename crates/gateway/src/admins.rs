//! Administrators' credential records in the object store, exactly as the contract has them.

use aws_lc_rs::{constant_time, digest};
use bytes::Bytes;
use futures_util::StreamExt;
use kit::{Random, hex};
use serde::{Deserialize, Serialize};
use store::{BlobError, Blobs};

/// `auth/admins/{username}.json`
#[derive(Serialize, Deserialize)]
pub struct AdminRecord {
    pub username: String,
    pub salt: String,
    pub hash: String,
    pub role: String,
}

const MAX_RECORD_BYTES: u64 = 16 * 1024;

impl AdminRecord {
    pub fn new(username: &str, password: &str, random: &Random) -> Self {
        let salt = random.hex::<16>();
        let hash = salted_hash(&salt, password);
        Self { username: username.to_owned(), salt, hash, role: "admin".to_owned() }
    }

    fn to_json(&self) -> Bytes {
        serde_json::to_vec_pretty(self).unwrap_or_default().into()
    }

    pub fn accepts(&self, password: &str) -> bool {
        let computed = salted_hash(&self.salt, password);
        let stored = self.hash.to_ascii_lowercase();
        constant_time::verify_slices_are_equal(computed.as_bytes(), stored.as_bytes()).is_ok()
    }
}

fn salted_hash(salt: &str, password: &str) -> String {
    let mut context = digest::Context::new(&digest::SHA256);
    context.update(salt.as_bytes());
    context.update(password.as_bytes());
    hex(context.finish().as_ref())
}

/// Names outside this set are no administrator's, and never reach the object store as part of a path.
pub fn is_username(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'@' | b'-');
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}

pub struct Admins {
    blobs: Blobs,
}

impl Admins {
    pub fn new(blobs: Blobs) -> Self {
        Self { blobs }
    }

    /// None for a name that no administrator has, and for a record that cannot be read as one.
    pub async fn find(&self, username: &str) -> Result<Option<AdminRecord>, BlobError> {
        if !is_username(username) {
            return Ok(None);
        }
        let Some(text) = self.blobs.get(&key(username), MAX_RECORD_BYTES).await? else { return Ok(None) };
        match serde_json::from_slice::<AdminRecord>(&text) {
            Ok(record) => Ok(Some(record).filter(|record| record.username == username)),
            Err(error) => {
                tracing::warn!(username, %error, "an administrator's record cannot be read");
                Ok(None)
            }
        }
    }

    /// Creates or replaces.
    pub async fn save(&self, record: &AdminRecord) -> Result<(), BlobError> {
        self.blobs.put(&key(&record.username), record.to_json()).await
    }

    /// False where somebody has made the record meanwhile.
    pub async fn create(&self, record: &AdminRecord) -> Result<bool, BlobError> {
        self.blobs.put_if_absent(&key(&record.username), record.to_json()).await
    }

    /// Whether there is any administrator at all.
    pub async fn any(&self) -> Result<bool, BlobError> {
        let first = self.blobs.list("auth/admins").next().await;
        Ok(first.transpose()?.is_some())
    }
}

fn key(username: &str) -> String {
    format!("auth/admins/{username}.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_accepts_its_password_and_no_other() {
        let record = AdminRecord::new("ada", "correct horse", &Random::seeded(1));
        assert!(record.accepts("correct horse"));
        assert!(!record.accepts("correct horse "));
        assert!(!record.accepts(""));
        assert_eq!(record.salt.len(), 32);
    }

    #[test]
    fn a_record_of_another_tool_works_with_upper_case_digits() {
        // printf 'pepper' + 'secret' | sha256sum
        let hash = salted_hash("pepper", "secret").to_uppercase();
        let record =
            AdminRecord { username: "ada".into(), salt: "pepper".into(), hash, role: "owner".into() };
        assert!(record.accepts("secret"));
    }

    #[test]
    fn usernames_stay_within_their_alphabet() {
        for name in ["a", "Ada.L_1@x-y", &"a".repeat(64)] {
            assert!(is_username(name), "{name}");
        }
        for name in ["", "a/b", "a b", "ä", "a\0", "%2e", &"a".repeat(65)] {
            assert!(!is_username(name), "{name}");
        }
    }
}
