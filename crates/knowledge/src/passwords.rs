//! What is kept of a password: Argon2id over the digest that callers send. Hashing is slow by design, so it runs
//! off the async threads, as many at a time as there are cores.

use argon2::{Algorithm, Argon2, Params, Version};
use aws_lc_rs::{constant_time, digest};
use kit::{Random, hex};
use std::sync::Arc;
use tokio::sync::Semaphore;

const SALT_BYTES: usize = 16;
const HASH_BYTES: usize = 32;

/// What a caller sends as `password`: hex SHA-256 of the name that was typed, and the password.
pub fn login_digest(name: &str, password: &str) -> String {
    let mut context = digest::Context::new(&digest::SHA256);
    context.update(name.as_bytes());
    context.update(password.as_bytes());
    hex(context.finish().as_ref())
}

#[derive(Debug, thiserror::Error)]
#[error("a password could not be hashed")]
pub struct HashFailed;

#[derive(Clone)]
pub struct Passwords {
    random: Random,
    places: Arc<Semaphore>,
}

impl Passwords {
    pub fn new(random: Random) -> Self {
        let cores = std::thread::available_parallelism().map_or(2, |cores| cores.get());
        Self { random, places: Arc::new(Semaphore::new(cores)) }
    }

    /// `argon2id$SALT$HASH`, for a digest in either case of its digits.
    pub async fn verifier(&self, digest: &str) -> Result<String, HashFailed> {
        let salt = self.random.hex::<SALT_BYTES>();
        let hash = self.hash(digest, &salt).await?;
        Ok(format!("argon2id${salt}${hash}"))
    }

    /// Takes as long for a user that does not exist.
    pub async fn verify(&self, digest: &str, verifier: Option<&str>) -> Result<bool, HashFailed> {
        let parts = verifier.and_then(|text| text.strip_prefix("argon2id$")?.split_once('$'));
        let (salt, stored) = parts.unwrap_or(("00000000000000000000000000000000", ""));
        let hash = self.hash(digest, salt).await?;
        Ok(constant_time::verify_slices_are_equal(hash.as_bytes(), stored.as_bytes()).is_ok())
    }

    async fn hash(&self, digest: &str, salt: &str) -> Result<String, HashFailed> {
        let place = self.places.clone().acquire_owned().await.map_err(|_| HashFailed)?;
        let (digest, salt) = (digest.to_ascii_lowercase(), salt.to_owned());
        let hashing = tokio::task::spawn_blocking(move || {
            // Held to the end of the work, also when nobody waits for it any more.
            let _place = place;
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
        let verifier = passwords.verifier(&digest).await.unwrap();
        assert!(passwords.verify(&digest, Some(&verifier)).await.unwrap());
        assert!(passwords.verify(&digest.to_uppercase(), Some(&verifier)).await.unwrap());
        assert!(!passwords.verify(&login_digest("ada", "other"), Some(&verifier)).await.unwrap());
        assert!(!passwords.verify(&digest, None).await.unwrap());
        assert!(!passwords.verify(&digest, Some("")).await.unwrap());
    }

    #[test]
    fn the_digest_is_what_a_shell_would_compute() {
        // printf adapassword | sha256sum
        let expected = "735c127d5cad45214508021a207835b061991c10e53bacd39225043fa0d7c9e6";
        assert_eq!(login_digest("ada", "password"), expected);
    }
}
