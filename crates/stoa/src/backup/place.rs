//! Where a backup is: a folder or a prefix of a bucket.

use crate::config::Config;
use anyhow::{Context, Result, bail, ensure};
use futures_util::TryStreamExt;
use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use store::Blobs;

use super::manifest::MANIFEST;

/// The staging files of an object store in a folder.
const STAGING: &str = "#uploads";

/// A backup, to be written or read.
pub struct BackupPlace {
    pub blobs: Blobs,
    /// None if it is in a bucket.
    pub folder: Option<PathBuf>,
}

impl BackupPlace {
    /// Opens the place of a new backup, which must be empty.
    pub async fn create(config: &Config, name: &str) -> Result<Self> {
        if is_bucket(name)? {
            let blobs = Blobs::open(name, config.s3.clone()).await?;
            let first = blobs.list("").try_next().await.with_context(|| format!("cannot reach {name}"))?;
            if let Some(first) = first {
                bail!("{name} is not empty, it has `{}`: a backup needs a prefix of its own", first.key);
            }
            return Ok(Self { blobs, folder: None });
        }
        let folder = absolute(name)?;
        if let Some(objects) = config.object_store_url.strip_prefix("file://") {
            ensure!(!folder.starts_with(objects), "{} is among the objects themselves", folder.display());
        }
        make_empty(&folder)?;
        let blobs = Blobs::open(&format!("file://{}", folder.display()), config.s3.clone()).await;
        let blobs = blobs.with_context(|| format!("cannot write to {}", folder.display()))?;
        Ok(Self { blobs, folder: Some(folder) })
    }

    /// Opens a backup for reading.
    pub async fn open(config: &Config, name: &str) -> Result<Self> {
        let (url, folder) = match is_bucket(name)? {
            true => (name.to_owned(), None),
            false => {
                let folder = absolute(name)?;
                ensure!(folder.is_dir(), "there is no folder {}", folder.display());
                (format!("file://{}", folder.display()), Some(folder))
            }
        };
        let blobs = Blobs::open_to_read(&url, config.s3.clone()).await;
        let blobs = blobs.with_context(|| format!("cannot read {name}"))?;
        Ok(Self { blobs, folder })
    }

    /// Removes what only the writing needed.
    pub fn tidy(self) {
        let Self { blobs, folder, .. } = self;
        drop(blobs);
        if let Some(folder) = folder {
            // What is left does no harm.
            let _ = std::fs::remove_dir_all(folder.join(STAGING));
        }
    }
}

fn is_bucket(name: &str) -> Result<bool> {
    match name.split_once("://") {
        None => Ok(false),
        Some(("s3", rest)) if !rest.is_empty() => Ok(true),
        Some(_) => bail!("`{name}` is no place for a backup: expected a folder or `s3://BUCKET/PREFIX`"),
    }
}

fn absolute(name: &str) -> Result<PathBuf> {
    std::path::absolute(name).with_context(|| format!("`{name}` is not a folder"))
}

/// Creates the folder, readable by its owner only. One that exists must be empty.
fn make_empty(folder: &Path) -> Result<()> {
    let shown = folder.display();
    let entries = match std::fs::read_dir(folder) {
        Ok(mut entries) => entries.next(),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
            return made.with_context(|| format!("cannot create the folder {shown}"));
        }
        Err(error) => return Err(error).with_context(|| format!("cannot read the folder {shown}")),
    };
    match entries {
        None => Ok(()),
        Some(_) if folder.join(MANIFEST).exists() => {
            bail!("{shown} holds a backup already: every backup needs a folder of its own")
        }
        Some(_) => bail!(
            "{shown} is not empty: a backup needs an empty folder; if it is what an interrupted backup has left, remove it"
        ),
    }
}
