//! `stoa admin create`, and the first administrator that `stoa serve` makes.

use crate::config::Config;
use gateway::{AdminRecord, Admins, is_username};
use kit::{Clock, Random};
use knowledge::Accounts;
use std::io::{IsTerminal, Read, Write};
use store::{Blobs, Db};

const MAX_PASSWORD_BYTES: u64 = 4096;

/// Creates or replaces an administrator with the password on standard input.
pub async fn create(config: Config, username: String) -> Result<(), String> {
    if !is_username(&username) {
        return Err(format!("`{username}` is not a username: expected 1 to 64 of A-Z a-z 0-9 . _ @ -"));
    }
    let password = read_password()?;
    crate::serve::make_data_dir(&config)?;
    let (clock, random) = (Clock::system(), Random::system());
    let blobs = Blobs::open(&config.object_store_url, config.s3).await.map_err(text)?;
    let db = Db::open_with(&config.database_url, config.database_connections, clock.clone(), random.clone())
        .await
        .map_err(text)?;
    let accounts = Accounts::open(db, clock, random.clone()).await.map_err(text)?;
    let admins = Admins::new(blobs);
    let existed = admins.find(&username).await.map_err(text)?.is_some();
    accounts.put_administrator(&username, &password).await.map_err(text)?;
    admins.save(&AdminRecord::new(&username, &password, &random)).await.map_err(text)?;
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

/// Makes the first administrator where there is none, in the gateway and in the knowledge service alike. Gives the
/// password back where it was generated.
pub async fn ensure_first(
    config: &Config,
    blobs: Blobs,
    accounts: &Accounts,
    random: &Random,
) -> Result<Option<String>, String> {
    let (admins, username) = (Admins::new(blobs), &config.admin_username);
    if admins.any().await.map_err(text)? {
        return complete(config, &admins, accounts).await.map(|()| None);
    }
    let generated = config.admin_password.is_none();
    let password = config.admin_password.clone().unwrap_or_else(|| generated_password(random));
    // Several may start at once: the object store lets one of them be first, and it alone writes the account.
    let created = admins.create(&AdminRecord::new(username, &password, random)).await.map_err(text)?;
    if !created {
        return Ok(None);
    }
    accounts.put_administrator(username, &password).await.map_err(text)?;
    Ok(generated.then_some(password))
}

/// An administrator of the gateway whose account is missing here: a start that was cut short, or a folder from before
/// there were accounts. The gateway's record has only a hash, so the password must be at hand.
async fn complete(config: &Config, admins: &Admins, accounts: &Accounts) -> Result<(), String> {
    let (username, Some(password)) = (&config.admin_username, &config.admin_password) else { return Ok(()) };
    let record = admins.find(username).await.map_err(text)?;
    let is_theirs = record.is_some_and(|record| record.accepts(password));
    if is_theirs && !accounts.has_administrator(username).await.map_err(text)? {
        accounts.put_administrator(username, password).await.map_err(text)?;
    }
    Ok(())
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
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
