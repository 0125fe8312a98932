//! A side of a move: a database and an object store.

use crate::config::{Config, has_password};
use crate::folder_lock::FolderLock;
use anyhow::{Context, Result, bail, ensure};
use base::{Clock, Random};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use store::{Blobs, Db, sqlite_file};

const FORM: &str = "expected a data folder, or a database and an object store such as \
                    `postgres://USER@HOST/DATABASE,s3://BUCKET/PREFIX`";

/// A database and an object store, with the data folder that belongs to them.
pub struct Place {
    pub database_url: String,
    pub object_store_url: String,
    /// The folder that a process which serves from here would lock.
    folder: Option<PathBuf>,
}

impl Place {
    /// Parses both sides. One of them may be absent: it is what the settings name.
    pub fn both(config: &Config, from: Option<&str>, to: Option<&str>) -> Result<(Self, Self)> {
        ensure!(
            from.is_some() || to.is_some(),
            "name the source with --from, the target with --to, or both; the one that is absent is what the settings name"
        );
        let side = |place: Option<&str>| place.map_or_else(|| Self::of_settings(config), Self::parse);
        let from = side(from).context("--from")?;
        let to = side(to).context("--to")?;
        ensure!(
            from.database_name() != to.database_name(),
            "the source and the target are the same database, {}: name another target",
            from.shown_database()
        );
        Ok((from, to))
    }

    fn of_settings(config: &Config) -> Result<Self> {
        let is_file = sqlite_file(&config.database_url)?.is_some();
        Ok(Self {
            database_url: config.database_url.clone(),
            object_store_url: config.object_store_url.clone(),
            folder: is_file.then(|| config.data_dir.clone()),
        })
    }

    fn parse(text: &str) -> Result<Self> {
        if !text.contains("://") {
            ensure!(!text.is_empty(), "it is empty: {FORM}");
            let folder = std::path::absolute(text).with_context(|| format!("`{text}` is not a folder"))?;
            return Ok(Self {
                database_url: format!("sqlite://{}", folder.join("stoa.db").display()),
                object_store_url: format!("file://{}", folder.join("objects").display()),
                folder: Some(folder),
            });
        }
        // A URL of a database may have commas itself.
        let comma = [",file://", ",s3://"].iter().find_map(|scheme| text.find(scheme));
        let Some(comma) = comma else { bail!("it names no object store: {FORM}") };
        let (database_url, object_store_url) = (&text[..comma], &text[comma + 1..]);
        ensure!(
            !has_password(database_url),
            "it has a password, which every user of this machine can read there: set DATABASE_URL or DATABASE_URL_FILE \
             instead, and leave this side out"
        );
        let known = ["sqlite://", "postgres://", "postgresql://"];
        ensure!(
            known.iter().any(|scheme| database_url.starts_with(scheme)),
            "`{database_url}` is no database: {FORM}"
        );
        let file = sqlite_file(database_url)?;
        Ok(Self {
            database_url: database_url.to_owned(),
            object_store_url: object_store_url.to_owned(),
            folder: file.as_deref().and_then(Path::parent).map(Path::to_owned),
        })
    }

    /// Locks the data folder, as a process that serves from it does.
    pub fn lock(&self) -> Result<Option<FolderLock>> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.with_context(|| format!("cannot create the data folder {}", folder.display()))?;
        FolderLock::take(folder).map(Some)
    }

    /// Connects to the database, and creates it if it is a file.
    pub async fn connect(&self, config: &Config) -> Result<Db> {
        let (clock, random) = (Clock::system(), Random::system());
        let db = Db::connect(&self.database_url, config.database_connections, clock, random).await;
        db.context("cannot open the database")
    }

    pub async fn open_objects(&self, config: &Config) -> Result<Blobs> {
        let blobs = Blobs::open(&self.object_store_url, config.s3.clone()).await;
        blobs.context("cannot open the object store")
    }

    /// Returns the database's URL without a password and without parameters.
    pub fn shown_database(&self) -> String {
        let url = self.database_url.split('?').next().unwrap_or_default();
        let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
        match rest.rsplit_once('@') {
            Some((_, host)) => format!("{scheme}://{host}"),
            None => url.to_owned(),
        }
    }

    /// Returns the generated secrets of the data folder, if there are some.
    pub fn secrets_file(&self) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join("secrets.toml")).filter(|file| file.exists())
    }

    /// Returns whether both sides have the same object store.
    pub fn shares_objects_with(&self, other: &Self) -> bool {
        self.object_store_url.trim_end_matches('/') == other.object_store_url.trim_end_matches('/')
    }

    /// Returns the same text for the same database, as far as that can be told.
    fn database_name(&self) -> String {
        match sqlite_file(&self.database_url) {
            Ok(Some(file)) => file.canonicalize().unwrap_or(file).display().to_string(),
            _ => self.database_url.replacen("postgresql://", "postgres://", 1),
        }
    }
}
