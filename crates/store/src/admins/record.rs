//! An administrator's credential record, in the format of the contract.

use aws_lc_rs::{constant_time, digest};
use base::{Random, hex};
use serde::{Deserialize, Serialize};

const GENERATION_DIGITS: usize = 16;

/// `auth/admins/{username}.json`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdminRecord {
    pub username: String,
    pub salt: String,
    pub hash: String,
    pub role: String,
}

impl AdminRecord {
    pub fn new(username: &str, password: &str, random: &Random) -> Self {
        let salt = random.hex::<16>();
        let hash = sha256(&[&salt, password]);
        Self { username: username.to_owned(), salt, hash, role: "admin".to_owned() }
    }

    /// Returns whether the password is right.
    pub fn accepts(&self, password: &str) -> bool {
        let computed = sha256(&[&self.salt, password]);
        let stored = self.hash.to_ascii_lowercase();
        constant_time::verify_slices_are_equal(computed.as_bytes(), stored.as_bytes()).is_ok()
    }

    /// Returns a value that changes with the password, whichever tool has set it. A token of another generation is
    /// refused.
    pub fn generation(&self) -> String {
        let mut generation = sha256(&["generation\n", &self.username, "\n", &self.salt, "\n", &self.hash]);
        generation.truncate(GENERATION_DIGITS);
        generation
    }
}

fn sha256(parts: &[&str]) -> String {
    let mut context = digest::Context::new(&digest::SHA256);
    parts.iter().for_each(|part| context.update(part.as_bytes()));
    hex(context.finish().as_ref())
}

/// Returns whether an administrator can have this name. Other names never become part of a path in the object store.
pub fn is_username(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'@' | b'-');
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
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
        let hash = sha256(&["pepper", "secret"]).to_uppercase();
        let record =
            AdminRecord { username: "ada".into(), salt: "pepper".into(), hash, role: "owner".into() };
        assert!(record.accepts("secret"));
    }

    #[test]
    fn a_new_password_is_a_new_generation_even_if_it_is_the_same() {
        let random = Random::seeded(1);
        let (first, second) = (AdminRecord::new("ada", "x", &random), AdminRecord::new("ada", "x", &random));
        assert_ne!(first.generation(), second.generation());
        assert_eq!(first.generation(), AdminRecord { role: "owner".into(), ..first.clone() }.generation());
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
