//! Opens the database, the object store and the data folder that the settings name.

use crate::config::Config;
use anyhow::{Context, Result};
use base::{Clock, Random};
use std::os::unix::fs::DirBuilderExt;
use store::{BlobError, Blobs, Db, Schema, StoreError};

/// The tables of the services that have some of their own.
pub const SERVICE_SCHEMAS: [Schema; 3] = [knowledge::SCHEMA, supervisor::SCHEMA, leads::SCHEMA];

pub async fn open_database(config: &Config, clock: Clock, random: Random) -> Result<Db, StoreError> {
    Db::open_with(&config.database_url, config.database_connections, clock, random).await
}

pub async fn open_objects(config: &Config) -> Result<Blobs, BlobError> {
    Blobs::open(&config.object_store_url, config.s3.clone()).await
}

/// Creates the data folder, readable by its owner only: it holds secrets.
pub fn make_data_dir(config: &Config) -> Result<()> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&config.data_dir);
    made.with_context(|| format!("cannot create the data folder {}", config.data_dir.display()))
}
