//! Opens the database, the object store and the data folder that the settings name.

use crate::config::Config;
use anyhow::{Context, Result, bail, ensure};
use base::{Clock, Random};
use std::os::unix::fs::DirBuilderExt;
use store::{BlobError, Blobs, Db, Schema, StoreError, Version, sqlite_file, transfer};

/// The tables of the services that have some of their own.
pub const SERVICE_SCHEMAS: [Schema; 3] = [knowledge::SCHEMA, supervisor::SCHEMA, leads::SCHEMA];

pub async fn open_database(config: &Config, clock: Clock, random: Random) -> Result<Db, StoreError> {
    Db::open_with(&config.database_url, config.database_connections, clock, random).await
}

pub async fn open_objects(config: &Config) -> Result<Blobs, BlobError> {
    Blobs::open(&config.object_store_url, config.s3.clone()).await
}

/// Connects to a database that must be there and whole, and leaves its tables as they are.
pub async fn connect_existing(url: &str, config: &Config) -> Result<Db> {
    if let Some(file) = sqlite_file(url)? {
        ensure!(file.exists(), "there is no database {}", file.display());
    }
    let (clock, random) = (Clock::system(), Random::system());
    let db = Db::connect(url, config.database_connections, clock, random).await;
    let db = db.context("cannot open the database")?;
    if db.version(&store::SCHEMA).await? == Version::Absent {
        bail!("the database is empty: `stoa serve` has never run on it");
    }
    refuse_unfinished_move(&db).await?;
    Ok(db)
}

/// Fails if a move to this database was interrupted.
pub async fn refuse_unfinished_move(db: &Db) -> Result<()> {
    ensure!(
        !transfer::unfinished(db).await?,
        "data was only partly moved to this database: run the same `stoa move` again"
    );
    Ok(())
}

/// Creates the data folder, readable by its owner only: it holds secrets.
pub fn make_data_dir(config: &Config) -> Result<()> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&config.data_dir);
    made.with_context(|| format!("cannot create the data folder {}", config.data_dir.display()))
}
