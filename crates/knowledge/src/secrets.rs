//! Secrets of sources and connections, encrypted with AES-256-GCM under keys from the settings.

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::digest;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The keys: the first encrypts, all decrypt.
pub struct SecretKeys(Vec<RandomizedNonceKey>);

impl SecretKeys {
    /// Makes a key of each text.
    pub fn new(texts: &[String]) -> Self {
        let key = |text: &String| {
            let bytes = digest::digest(&digest::SHA256, format!("secrets of sources: {text}").as_bytes());
            RandomizedNonceKey::new(&AES_256_GCM, bytes.as_ref()).ok()
        };
        Self(texts.iter().filter_map(key).collect())
    }

    /// Encrypts a secret for the source or connection with this id; none if there is no key.
    pub fn encrypt(&self, id: &str, secret: &str) -> Option<String> {
        let mut text = secret.as_bytes().to_vec();
        let nonce = self.0.first()?.seal_in_place_append_tag(Aad::from(id), &mut text).ok()?;
        Some(STANDARD.encode([nonce.as_ref().as_slice(), &text].concat()))
    }

    /// Decrypts what [`Self::encrypt`] has returned for the same id; none if no key fits.
    pub fn decrypt(&self, id: &str, encrypted: &str) -> Option<String> {
        let bytes = STANDARD.decode(encrypted).ok()?;
        let (nonce, text) = bytes.split_at_checked(NONCE_LEN)?;
        self.0.iter().find_map(|key| {
            let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
            let mut text = text.to_vec();
            let plain = key.open_in_place(nonce, Aad::from(id), &mut text).ok()?;
            String::from_utf8(plain.to_vec()).ok()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_with_the_key_and_for_the_source_it_was_written_for() {
        let texts = ["first key of the settings".to_owned(), "an older key".to_owned()];
        let (old, both, other) =
            (SecretKeys::new(&texts[1..]), SecretKeys::new(&texts), SecretKeys::new(&texts[..1]));
        let encrypted = old.encrypt("a", "pass word").unwrap();
        assert!(!encrypted.contains("pass"));
        assert_ne!(Some(&encrypted), old.encrypt("a", "pass word").as_ref(), "never the same twice");
        assert_eq!(both.decrypt("a", &encrypted).as_deref(), Some("pass word"));
        assert_eq!(both.decrypt("b", &encrypted), None);
        assert_eq!(other.decrypt("a", &encrypted), None);
        assert_eq!(other.decrypt("a", "not base64"), None);
        assert_eq!(SecretKeys::new(&[]).encrypt("a", "x"), None);
    }
}
