//! `stoa portal import` and `stoa portal export`: the portal's entries as one file.

use crate::config::Config;
use crate::say;
use base::{Clock, Random};
use std::io::Write;
use std::path::PathBuf;
use store::Db;

pub async fn import(config: Config, file: Option<PathBuf>) -> Result<(), String> {
    let file = file.unwrap_or_default();
    let shown = file.display();
    let text = std::fs::read_to_string(&file).map_err(|error| format!("cannot read {shown}: {error}"))?;
    let db = open(&config).await?;
    let number = portal::import(db.clone(), &text).await.map_err(|error| format!("{shown}: {error}"))?;
    db.close().await;
    say(&format!("{number} entries are in the portal"));
    Ok(())
}

pub async fn export(config: Config, file: Option<PathBuf>) -> Result<(), String> {
    let as_json =
        file.as_ref().is_some_and(|file| file.extension().is_some_and(|extension| extension == "json"));
    let db = open(&config).await?;
    let text = portal::export(db.clone(), as_json).await.map_err(|error| error.to_string())?;
    db.close().await;
    match file {
        Some(file) => {
            std::fs::write(&file, text).map_err(|error| format!("cannot write {}: {error}", file.display()))
        }
        None => std::io::stdout().write_all(text.as_bytes()).map_err(|error| error.to_string()),
    }
}

async fn open(config: &Config) -> Result<Db, String> {
    crate::serve::make_data_dir(config)?;
    let opened =
        Db::open_with(&config.database_url, config.database_connections, Clock::system(), Random::system())
            .await;
    opened.map_err(|error| format!("cannot open the database: {error}"))
}
