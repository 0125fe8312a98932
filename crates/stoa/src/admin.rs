//! `stoa admin`, and the first administrator that `stoa serve` makes.

use crate::config::Config;
use crate::password;
use base::{Clock, Random};
use knowledge::{AccountError, Accounts};
use std::io::Write;
use store::admins::{Admins, is_username};
use store::{Blobs, Db};

/// Creates or replaces an administrator with the password on standard input.
pub async fn create(config: Config, username: String) -> Result<(), String> {
    if !is_username(&username) {
        return Err(format!("`{username}` is not a username: expected 1 to 64 of A-Z a-z 0-9 . _ @ -"));
    }
    let password = password::read()?;
    let (accounts, admins) = open(&config).await?;
    let existed = admins.find(&username).await.map_err(text)?.is_some();
    let username = accounts.put_administrator(&username, &password).await.map_err(text)?;
    say(&format!("{} administrator {username}", if existed { "replaced" } else { "created" }))
}

/// Gives an administrator that there is the password on standard input.
pub async fn password(config: Config, username: String) -> Result<(), String> {
    let password = password::read()?;
    let (accounts, _) = open(&config).await?;
    let changed = accounts.reset_administrator(&username, &password).await;
    let username = changed.map_err(unknown)?;
    say(&format!("changed the password of administrator {username}"))
}

pub async fn remove(config: Config, username: String) -> Result<(), String> {
    let (accounts, _) = open(&config).await?;
    accounts.remove_administrator(&username).await.map_err(unknown)?;
    say(&format!("removed administrator {username}"))
}

/// One line each: name, role at the gateway, and where the administrator signs in.
pub async fn list(config: Config) -> Result<(), String> {
    let (accounts, _) = open(&config).await?;
    for administrator in accounts.administrators().await.map_err(text)? {
        let places = match (&administrator.role, administrator.has_account) {
            (Some(_), true) => "gateway, knowledge",
            (Some(_), false) => "gateway",
            (None, _) => "knowledge",
        };
        let role = administrator.role.as_deref().unwrap_or("admin");
        say(&format!("{:<24} {role:<12} {places}", administrator.username))?;
    }
    Ok(())
}

async fn open(config: &Config) -> Result<(Accounts, Admins), String> {
    crate::serve::make_data_dir(config)?;
    let (clock, random) = (Clock::system(), Random::system());
    let blobs = Blobs::open(&config.object_store_url, config.s3.clone()).await.map_err(text)?;
    let (url, connections) = (&config.database_url, config.database_connections);
    let db = Db::open_with(url, connections, clock.clone(), random.clone()).await.map_err(text)?;
    let admins = Admins::new(db.clone(), blobs);
    let accounts = Accounts::open(db, admins.clone(), clock, random).await.map_err(text)?;
    Ok((accounts, admins))
}

/// Makes the first administrator where there is none, in the gateway and in the knowledge service alike. Gives the
/// password back where it was generated.
pub async fn ensure_first(
    config: &Config,
    admins: &Admins,
    accounts: &Accounts,
    random: &Random,
) -> Result<Option<String>, String> {
    // Also finishes what a killed process has left undone.
    if !admins.names().await.map_err(text)?.is_empty() {
        return complete(config, admins, accounts).await.map(|()| None);
    }
    let generated = config.admin_password.is_none();
    let password = config.admin_password.clone().unwrap_or_else(|| generated_password(random));
    let created = accounts.create_first(&config.admin_username, &password).await.map_err(text)?;
    Ok(Some(password).filter(|_| created && generated))
}

/// An administrator of the gateway whose account is missing or has another password: a folder from before there were
/// accounts, or a record of another tool. The gateway's record has only a hash, so the password must be at hand.
async fn complete(config: &Config, admins: &Admins, accounts: &Accounts) -> Result<(), String> {
    let (username, Some(password)) = (&config.admin_username, &config.admin_password) else { return Ok(()) };
    let record = admins.find(username).await.map_err(text)?;
    let is_theirs = record.is_some_and(|record| record.accepts(password));
    if is_theirs && !accounts.has_administrator(username).await.map_err(text)? {
        accounts.put_administrator(username, password).await.map_err(text)?;
    }
    Ok(())
}

fn unknown(error: AccountError) -> String {
    match error {
        AccountError::NoSuchUser(name) => {
            format!("no administrator `{name}`: `stoa admin list` shows who there is")
        }
        error => error.to_string(),
    }
}

fn say(line: &str) -> Result<(), String> {
    writeln!(std::io::stdout(), "{line}").map_err(text)
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
