//! `stoa portal import` and `stoa portal export`: the portal's entries as one file.

use crate::config::Config;
use crate::say;
use crate::storage::{make_data_dir, open_database};
use anyhow::{Context, Result};
use base::{Clock, Random};
use std::io::Write;
use std::path::PathBuf;
use store::Db;

pub async fn import(config: Config, file: Option<PathBuf>) -> Result<()> {
    let file = file.unwrap_or_default();
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let db = open(&config).await?;
    let imported = portal::import(db.clone(), &text).await;
    let number = imported.with_context(|| file.display().to_string())?;
    db.close().await;
    say(&format!("{number} entries are in the portal"));
    Ok(())
}

pub async fn export(config: Config, file: Option<PathBuf>) -> Result<()> {
    let as_json =
        file.as_ref().is_some_and(|file| file.extension().is_some_and(|extension| extension == "json"));
    let db = open(&config).await?;
    let text = portal::export(db.clone(), as_json).await?;
    db.close().await;
    match file {
        Some(file) => std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display())),
        None => Ok(std::io::stdout().write_all(text.as_bytes())?),
    }
}

async fn open(config: &Config) -> Result<Db> {
    make_data_dir(config)?;
    open_database(config, Clock::system(), Random::system()).await.context("cannot open the database")
}
