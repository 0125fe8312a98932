//! The database of a backup at one moment: a copied file of SQLite, or a snapshot of PostgreSQL that is kept open.

use super::manifest::{DATABASE, DatabaseCopy};
use super::place::BackupPlace;
use crate::config::Config;
use crate::object_copy::readable;
use crate::out;
use crate::storage::make_data_dir;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use store::{Db, Dialect, Reading, Verdict};
use tempfile::TempDir;

/// The dump that `pg_dump` is asked to write.
pub const DUMP: &str = "stoa.pgdump";
const CONNECTIONS: u32 = store::FEWEST_POSTGRES_CONNECTIONS;

/// The database at one moment.
pub enum DatabaseMoment {
    Sqlite { copy: Db, reading: Reading, file: PathBuf, temporary: Option<TempDir> },
    Postgres { reading: Reading, snapshot: String, is_own: bool },
}

impl DatabaseMoment {
    /// Copies the file of SQLite and checks the copy, or takes a snapshot of PostgreSQL, or joins the given one.
    pub async fn take(config: &Config, db: &Db, place: &BackupPlace, snapshot: Option<&str>) -> Result<Self> {
        match (db.dialect(), snapshot) {
            (Dialect::Sqlite, given) => {
                ensure!(given.is_none(), "--snapshot is for PostgreSQL: SQLite is copied as a whole");
                copy_sqlite(config, db, place).await
            }
            (Dialect::Postgres, None) => {
                let (reading, snapshot) = Reading::export(db).await?;
                Ok(Self::Postgres { reading, snapshot, is_own: true })
            }
            (Dialect::Postgres, Some(given)) => {
                let joined = Reading::join(db, given).await;
                let reading = joined.with_context(|| format!("cannot use the snapshot `{given}`"))?;
                Ok(Self::Postgres { reading, snapshot: given.to_owned(), is_own: false })
            }
        }
    }

    pub fn reading(&mut self) -> &mut Reading {
        match self {
            Self::Sqlite { reading, .. } | Self::Postgres { reading, .. } => reading,
        }
    }

    /// Says how PostgreSQL is dumped: now, because the snapshot ends with this command.
    pub fn announce(&self, place: &BackupPlace) -> Result<()> {
        let Self::Postgres { snapshot, is_own: true, .. } = self else { return Ok(()) };
        out("database  of PostgreSQL: dump it now, in another window, while this command waits")?;
        let file = dump_file(place);
        out(&format!(
            "  pg_dump --snapshot={snapshot} --format=custom --file={} \"$DATABASE_URL\"",
            file.display()
        ))
    }

    /// Ends the reading, and returns what the manifest says of the database.
    pub async fn finish(self, place: &BackupPlace) -> Result<DatabaseCopy> {
        match self {
            Self::Sqlite { copy, reading, file, temporary } => {
                close(copy, reading, &file).await?;
                let sum = match temporary {
                    Some(_) => place.blobs.put_file(DATABASE, &file).await?,
                    None => place.blobs.sum(DATABASE).await?.context("the copy of the database is gone")?,
                };
                out(&format!("database  {}, {}", DATABASE, readable(sum.size)))?;
                Ok(DatabaseCopy::Sqlite { file: sum })
            }
            Self::Postgres { reading, snapshot, is_own } => {
                if is_own {
                    out("press Enter when pg_dump has ended")?;
                    tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new())).await??;
                }
                reading.close().await?;
                let dump = match place.folder {
                    Some(_) => place.blobs.sum(DUMP).await?,
                    None => None,
                };
                match &dump {
                    Some(sum) => out(&format!("database  {DUMP}, {}", readable(sum.size)))?,
                    None => {
                        out(&format!("database  not in this backup: keep the dump of snapshot {snapshot}"))?
                    }
                }
                Ok(DatabaseCopy::Postgres { snapshot, dump })
            }
        }
    }

    /// Removes what was copied.
    pub async fn discard(self) -> Result<()> {
        match self {
            Self::Sqlite { copy, reading, file, .. } => {
                close(copy, reading, &file).await?;
                Ok(std::fs::remove_file(file)?)
            }
            Self::Postgres { reading, .. } => Ok(reading.close().await?),
        }
    }
}

/// Copies into the backup's folder at once. A bucket gets the copy later, from a temporary folder.
async fn copy_sqlite(config: &Config, db: &Db, place: &BackupPlace) -> Result<DatabaseMoment> {
    let temporary = match place.folder {
        Some(_) => None,
        None => {
            make_data_dir(config)?;
            Some(tempfile::tempdir_in(&config.data_dir).context("cannot create a temporary folder")?)
        }
    };
    let folder = temporary.as_ref().map(TempDir::path).or(place.folder.as_deref());
    let file = folder.unwrap_or(Path::new("/")).join(DATABASE);
    db.copy_sqlite(&file).await.context("cannot copy the database")?;
    let url = format!("sqlite://{}", file.display());
    let copy = Db::connect(&url, CONNECTIONS, db.clock().clone(), db.random().clone()).await?;
    let checked = store::check::file(&copy).await?;
    ensure!(checked.verdict == Verdict::Ok, "the copy of the database is damaged: {}", checked.detail);
    let reading = Reading::live(&copy).await?;
    Ok(DatabaseMoment::Sqlite { copy, reading, file, temporary })
}

/// Closes the copy, which leaves one file: all of it is in there.
async fn close(copy: Db, reading: Reading, file: &Path) -> Result<()> {
    reading.close().await?;
    copy.close().await;
    let side_file = |end: &str| PathBuf::from(format!("{}-{end}", file.display()));
    let log = std::fs::metadata(side_file("wal")).map_or(0, |log| log.len());
    ensure!(log == 0, "the copy of the database could not be closed");
    for end in ["wal", "shm"] {
        let _ = std::fs::remove_file(side_file(end));
    }
    Ok(())
}

/// Returns where the dump is written: into the backup if that is a folder.
pub fn dump_file(place: &BackupPlace) -> PathBuf {
    place.folder.as_deref().unwrap_or(Path::new("")).join(DUMP)
}
