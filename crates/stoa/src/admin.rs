//! `stoa admin`, and the first administrator that `stoa serve` creates.

use crate::config::Config;
use crate::password;
use crate::storage::{make_data_dir, open_database, open_objects};
use anyhow::{Context, Result, anyhow, ensure};
use base::{Clock, Random};
use knowledge::{AccountError, Accounts};
use std::io::Write;
use store::admins::{Admins, is_username};

/// Creates or replaces an administrator with the password on standard input.
pub async fn create(config: Config, username: String) -> Result<()> {
    ensure!(
        is_username(&username),
        "`{username}` is not a username: expected 1 to 64 of A-Z a-z 0-9 . _ @ -"
    );
    let password = password::read()?;
    let (accounts, admins) = open(&config).await?;
    let existed = admins.find(&username).await?.is_some();
    let username = accounts.put_administrator(&username, &password).await?;
    say(&format!("{} administrator {username}", if existed { "replaced" } else { "created" }))
}

/// Gives an existing administrator the password on standard input.
pub async fn password(config: Config, username: String) -> Result<()> {
    let password = password::read()?;
    let (accounts, _) = open(&config).await?;
    let changed = accounts.reset_administrator(&username, &password).await;
    let username = changed.map_err(unknown)?;
    say(&format!("changed the password of administrator {username}"))
}

pub async fn remove(config: Config, username: String) -> Result<()> {
    let (accounts, _) = open(&config).await?;
    accounts.remove_administrator(&username).await.map_err(unknown)?;
    say(&format!("removed administrator {username}"))
}

/// Prints one line for each administrator: name, role at the gateway, and the services to sign in to.
pub async fn list(config: Config) -> Result<()> {
    let (accounts, _) = open(&config).await?;
    for administrator in accounts.administrators().await? {
        let services = match (&administrator.role, administrator.has_account) {
            (Some(_), true) => "gateway, knowledge",
            (Some(_), false) => "gateway",
            (None, _) => "knowledge",
        };
        let role = administrator.role.as_deref().unwrap_or("admin");
        say(&format!("{:<24} {role:<12} {services}", administrator.username))?;
    }
    Ok(())
}

async fn open(config: &Config) -> Result<(Accounts, Admins)> {
    make_data_dir(config)?;
    let (clock, random) = (Clock::system(), Random::system());
    let blobs = open_objects(config).await.context("cannot open the object store")?;
    let db =
        open_database(config, clock.clone(), random.clone()).await.context("cannot open the database")?;
    let admins = Admins::new(db.clone(), blobs);
    let accounts = Accounts::open(db, admins.clone(), clock, random).await?;
    Ok((accounts, admins))
}

/// Creates the first administrator if there is none, in the gateway and in the knowledge service. Returns the password if
/// it was generated.
pub async fn ensure_first(
    config: &Config,
    admins: &Admins,
    accounts: &Accounts,
    random: &Random,
) -> Result<Option<String>> {
    // Reading the names also finishes the changes of a killed process.
    if !admins.names().await?.is_empty() {
        return complete(config, admins, accounts).await.map(|()| None);
    }
    let generated = config.admin_password.is_none();
    let password = config.admin_password.clone().unwrap_or_else(|| generated_password(random));
    let created = accounts.create_first(&config.admin_username, &password).await?;
    Ok(Some(password).filter(|_| created && generated))
}

/// Creates the account of an administrator of the gateway if it is missing or has another password, as after an update
/// from before there were accounts, or with a record of another tool. The record has only a hash of the password, so this
/// needs `ADMIN_PASSWORD`.
async fn complete(config: &Config, admins: &Admins, accounts: &Accounts) -> Result<()> {
    let (username, Some(password)) = (&config.admin_username, &config.admin_password) else { return Ok(()) };
    let record = admins.find(username).await?;
    let is_theirs = record.is_some_and(|record| record.accepts(password));
    if is_theirs && !accounts.has_administrator(username).await? {
        accounts.put_administrator(username, password).await?;
    }
    Ok(())
}

fn unknown(error: AccountError) -> anyhow::Error {
    match error {
        AccountError::NoSuchUser(name) => {
            anyhow!("no administrator `{name}`: `stoa admin list` shows who there is")
        }
        error => error.into(),
    }
}

fn say(line: &str) -> Result<()> {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}

/// Generates a password of 120 bits, without letters and digits that look alike.
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
