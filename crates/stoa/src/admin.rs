//! `stoa admin create`, and the first administrator that `stoa serve` makes.

use crate::config::Config;
use gateway::{AdminRecord, Admins, is_username};
use kit::Random;
use std::io::{IsTerminal, Read, Write};
use store::Blobs;

const MAX_PASSWORD_BYTES: u64 = 4096;

/// Creates or replaces an administrator with the password on standard input.
pub async fn create(config: Config, username: String) -> Result<(), String> {
    if !is_username(&username) {
        return Err(format!("`{username}` is not a username: expected 1 to 64 of A-Z a-z 0-9 . _ @ -"));
    }
    let password = read_password()?;
    let blobs = Blobs::open(&config.object_store_url, config.s3).await.map_err(|error| error.to_string())?;
    let admins = Admins::new(blobs);
    let existed = admins.find(&username).await.map_err(|error| error.to_string())?.is_some();
    let record = AdminRecord::new(&username, &password, &Random::system());
    admins.save(&record).await.map_err(|error| error.to_string())?;
    let verb = if existed { "replaced" } else { "created" };
    writeln!(std::io::stdout(), "{verb} administrator {username}").map_err(|error| error.to_string())
}

fn read_password() -> Result<String, String> {
    if std::io::stdin().is_terminal() {
        crate::say("Password (it will be shown as you type; end with Enter and Ctrl-D):");
    }
    let mut text = String::new();
    let read = std::io::stdin().take(MAX_PASSWORD_BYTES).read_to_string(&mut text);
    read.map_err(|error| format!("cannot read the password from standard input: {error}"))?;
    match text.trim_end_matches(['\r', '\n']) {
        "" => Err("the password on standard input is empty".to_owned()),
        password => Ok(password.to_owned()),
    }
}

/// Makes the first administrator where there is none. Gives the password back where it was generated.
pub async fn ensure_first(config: &Config, blobs: Blobs, random: &Random) -> Result<Option<String>, String> {
    let admins = Admins::new(blobs);
    if admins.any().await.map_err(|error| error.to_string())? {
        return Ok(None);
    }
    let password = config.admin_password.clone().unwrap_or_else(|| generated_password(random));
    let record = AdminRecord::new(&config.admin_username, &password, random);
    let created = admins.create(&record).await.map_err(|error| error.to_string())?;
    Ok((created && config.admin_password.is_none()).then_some(password))
}

/// 120 bits, without letters and digits that look alike.
fn generated_password(random: &Random) -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let bytes = random.bytes::<24>();
    let letters: Vec<char> = bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect();
    let groups: Vec<String> = letters.chunks(6).map(|group| group.iter().collect()).collect();
    groups.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_password_is_readable_and_random() {
        let (one, other) = (generated_password(&Random::system()), generated_password(&Random::system()));
        assert_eq!(one.len(), 27);
        assert_ne!(one, other);
        assert!(!one.contains(['0', 'o', '1', 'l']), "{one}");
    }
}
