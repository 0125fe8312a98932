//! Verifiers of passwords: Argon2id over the digest that callers send. Hashing is slow by design, so it runs in threads
//! of its own, as many at a time as there are cores.

use argon2::{Algorithm, Argon2, Params, Version};
use aws_lc_rs::{constant_time, digest};
use base::{Random, hex};
use std::sync::Arc;
use tokio::sync::Semaphore;

const SALT_BYTES: usize = 16;
const HASH_BYTES: usize = 32;

/// Returns what a caller sends as `password`: hex SHA-256 of the name that was typed, followed by the password.
pub fn login_digest(name: &str, password: &str) -> String {
    let mut context = digest::Context::new(&digest::SHA256);
    context.update(name.as_bytes());
    context.update(password.as_bytes());
    hex(context.finish().as_ref())
}

/// Returns whether this can be a [`login_digest`].
pub fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the spellings in which a name is usually typed: as it is, in lower case, in upper case, and with a capital. A
/// digest is made from the name as it was typed, so each spelling needs a hash of its own.
fn spellings(name: &str) -> Vec<String> {
    let lower = name.to_lowercase();
    let mut letters = lower.chars();
    let capitalized = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
    let mut spellings = vec![name.to_owned()];
    for spelling in [name.to_uppercase(), capitalized, lower] {
        if !spellings.contains(&spelling) {
            spellings.push(spelling);
        }
    }
    spellings
}

#[derive(Debug, thiserror::Error)]
#[error("a password could not be hashed")]
pub struct HashFailed;

#[derive(Clone)]
pub struct Passwords {
    random: Random,
    permits: Arc<Semaphore>,
}

impl Passwords {
    pub fn new(random: Random) -> Self {
        let cores = std::thread::available_parallelism().map_or(2, |cores| cores.get());
        Self { random, permits: Arc::new(Semaphore::new(cores)) }
    }

    /// Makes `argon2id$SALT$HASH$HASH…`, with a hash for each spelling of the name. They share the salt, so that checking
    /// takes a single hash.
    pub async fn verifier(&self, name: &str, password: &str) -> Result<String, HashFailed> {
        let salt = self.random.hex::<SALT_BYTES>();
        let mut verifier = format!("argon2id${salt}");
        for typed in spellings(name) {
            verifier.push('$');
            verifier.push_str(&self.hash(&login_digest(&typed, password), &salt).await?);
        }
        Ok(verifier)
    }

    /// Checks a digest, in either case of its digits. Takes as long if the user does not exist.
    pub async fn verify(&self, digest: &str, verifier: Option<&str>) -> Result<bool, HashFailed> {
        let parts = verifier.and_then(|text| text.strip_prefix("argon2id$")?.split_once('$'));
        let (salt, stored) = parts.unwrap_or(("00000000000000000000000000000000", ""));
        let hash = self.hash(digest, salt).await?;
        let is_equal = |one: &str| constant_time::verify_slices_are_equal(hash.as_bytes(), one.as_bytes());
        Ok(stored.split('$').any(|stored| is_equal(stored).is_ok()))
    }

    async fn hash(&self, digest: &str, salt: &str) -> Result<String, HashFailed> {
        let permit = self.permits.clone().acquire_owned().await.map_err(|_| HashFailed)?;
        let (digest, salt) = (digest.to_ascii_lowercase(), salt.to_owned());
        let hashing = tokio::task::spawn_blocking(move || {
            // Held until the hash is done, also if the request was cancelled.
            let _permit = permit;
            let mut hash = [0; HASH_BYTES];
            let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::DEFAULT);
            argon2.hash_password_into(digest.as_bytes(), salt.as_bytes(), &mut hash).map(|()| hex(&hash))
        });
        hashing.await.map_err(|_| HashFailed)?.map_err(|_| HashFailed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_verifier_accepts_its_digest_in_either_case_and_no_other() {
        let passwords = Passwords::new(Random::seeded(1));
        let digest = login_digest("ada", "correct horse");
        let verifier = passwords.verifier("ada", "correct horse").await.unwrap();
        assert!(passwords.verify(&digest, Some(&verifier)).await.unwrap());
        assert!(passwords.verify(&digest.to_uppercase(), Some(&verifier)).await.unwrap());
        assert!(!passwords.verify(&login_digest("ada", "other"), Some(&verifier)).await.unwrap());
        assert!(!passwords.verify(&digest, None).await.unwrap());
        assert!(!passwords.verify(&digest, Some("")).await.unwrap());
    }

    #[tokio::test]
    async fn a_name_may_be_typed_in_another_case() {
        let passwords = Passwords::new(Random::seeded(1));
        let verifier = passwords.verifier("McAda@x", "correct horse").await.unwrap();
        for (typed, accepted) in
            [("McAda@x", true), ("mcada@x", true), ("MCADA@X", true), ("Mcada@x", true), ("mcAda@x", false)]
        {
            let digest = login_digest(typed, "correct horse");
            assert_eq!(passwords.verify(&digest, Some(&verifier)).await.unwrap(), accepted, "{typed}");
        }
        // The format of older versions, with one hash.
        let old = verifier.split('$').take(3).collect::<Vec<_>>().join("$");
        assert!(passwords.verify(&login_digest("McAda@x", "correct horse"), Some(&old)).await.unwrap());
        assert_eq!(spellings("7"), ["7"]);
    }

    #[test]
    fn the_digest_is_what_a_shell_would_compute() {
        // printf adapassword | sha256sum
        let expected = "735c127d5cad45214508021a207835b061991c10e53bacd39225043fa0d7c9e6";
        assert_eq!(login_digest("ada", "password"), expected);
    }
}
