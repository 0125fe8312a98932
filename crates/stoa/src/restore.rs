//! `stoa restore`: brings a backup into an empty place, after all of it was verified.
//!
//! The database comes last. A file in the data folder says that a restore has begun: `stoa serve` does not start beside
//! it, and the same restore goes on from there.

use crate::backup::database::dump_file;
use crate::backup::manifest::{
    DATABASE, DatabaseCopy, ListedObject, Manifest, OBJECT_LIST, OBJECTS, SECRETS,
};
use crate::backup::place::BackupPlace;
use crate::config::Config;
use crate::folder_lock::{FolderLock, LOCK};
use crate::object_copy::{AT_ONCE, readable};
use crate::out;
use crate::storage::{make_data_dir, open_objects};
use anyhow::{Context, Result, bail, ensure};
use futures_util::{StreamExt, TryStreamExt, stream};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use store::{Blobs, ObjectSum, sqlite_file};

const MARK: &str = "restore.unfinished";
const PAGE: usize = 256;

/// Restores a backup into the database and the object store that the settings name.
pub async fn run(config: Config, name: String) -> Result<()> {
    let place = BackupPlace::open(&config, &name).await?;
    let manifest = Manifest::read(&place.blobs, &name).await?;
    let database = database_file(&config, &manifest)?;
    refuse_links(&config, database.as_deref())?;
    make_data_dir(&config)?;
    let _lock = FolderLock::take(&config.data_dir).context("nothing may run where a backup is restored")?;
    let blobs = open_objects(&config).await.context("cannot open the object store")?;
    let is_resumed = is_resumed(&config, &manifest)?;
    if !is_resumed {
        check_empty(&config, &manifest, &blobs, database.as_deref()).await?;
    }
    let list = verify(&place, &manifest)
        .await
        .with_context(|| format!("{name} is damaged: nothing was restored"))?;

    let mark = config.data_dir.join(MARK);
    std::fs::write(&mark, &manifest.checksum).with_context(|| format!("cannot write {}", mark.display()))?;
    copy_objects(&place.blobs, &list, &blobs).await?;
    restore_secrets(&config, &place, &manifest).await?;
    if let (Some(file), DatabaseCopy::Sqlite { file: sum }) = (&database, &manifest.database) {
        restore_database(&place, file, sum).await?;
    }
    std::fs::remove_file(&mark).with_context(|| format!("cannot remove {}", mark.display()))?;
    sync_folder(&config.data_dir)?;
    report(&place, &manifest)
}

/// Fails if a restore into this data folder was interrupted.
pub fn refuse_unfinished(config: &Config) -> Result<()> {
    ensure!(
        !config.data_dir.join(MARK).exists(),
        "a backup is only partly restored into {}: run the same `stoa restore` again",
        config.data_dir.display()
    );
    Ok(())
}

/// Returns the file that the database is restored to; none with PostgreSQL.
fn database_file(config: &Config, manifest: &Manifest) -> Result<Option<PathBuf>> {
    let file = sqlite_file(&config.database_url)?;
    match (&manifest.database, &file) {
        (DatabaseCopy::Sqlite { .. }, None) => bail!(
            "this backup holds an SQLite database, and DATABASE_URL names another: restore it into a data folder, and \
             bring it to PostgreSQL with `stoa move`"
        ),
        (DatabaseCopy::Postgres { .. }, Some(_)) => bail!(
            "the database of this backup is a dump of PostgreSQL: set DATABASE_URL to the server that it is restored to"
        ),
        _ => Ok(file),
    }
}

/// Fails if something that is written here is a symbolic link. It would be written elsewhere, and a link that leads nowhere
/// looks as if nothing was there.
fn refuse_links(config: &Config, database: Option<&Path>) -> Result<()> {
    let data = &config.data_dir;
    let mut places = vec![data.clone(), data.join(MARK), data.join(LOCK), data.join(SECRETS)];
    if let Some(file) = database {
        places.extend(file.parent().map(Path::to_owned));
        places.extend(["", "-wal", "-shm"].map(|end| PathBuf::from(format!("{}{end}", file.display()))));
    }
    places.iter().try_for_each(|place| refuse_link(place))?;
    match config.object_store_url.strip_prefix("file://") {
        Some(objects) => refuse_links_below(Path::new(objects)),
        None => Ok(()),
    }
}

fn refuse_links_below(place: &Path) -> Result<()> {
    refuse_link(place)?;
    if place.is_dir() {
        let failed = || format!("cannot read the folder {}", place.display());
        for entry in std::fs::read_dir(place).with_context(failed)? {
            refuse_links_below(&entry.with_context(failed)?.path())?;
        }
    }
    Ok(())
}

fn refuse_link(place: &Path) -> Result<()> {
    ensure!(
        !place.is_symlink(),
        "{} is a symbolic link: a backup is restored to real folders and files, so name the place that it leads to",
        place.display()
    );
    Ok(())
}

fn is_resumed(config: &Config, manifest: &Manifest) -> Result<bool> {
    let mark = config.data_dir.join(MARK);
    match std::fs::read_to_string(&mark) {
        Ok(checksum) if checksum == manifest.checksum => Ok(true),
        Ok(_) => {
            bail!("another backup is only partly restored here: empty {} first", config.data_dir.display())
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", mark.display())),
    }
}

async fn check_empty(
    config: &Config,
    manifest: &Manifest,
    blobs: &Blobs,
    database: Option<&Path>,
) -> Result<()> {
    let secrets = config.data_dir.join(SECRETS);
    let files = [database, Some(secrets.as_path()).filter(|_| manifest.secrets.is_some())];
    if let Some(file) = files.into_iter().flatten().find(|file| file.exists()) {
        bail!("{} exists: a backup is restored into an empty data folder", file.display());
    }
    let first = blobs.list("").try_next().await.context("cannot list the object store")?;
    match first {
        Some(first) => bail!(
            "the object store {} has `{}`: a backup is restored into an empty one",
            config.object_store_url,
            first.key
        ),
        None => Ok(()),
    }
}

/// Compares every part of the backup with its checksum. Returns a copy of the list of objects.
async fn verify(place: &BackupPlace, manifest: &Manifest) -> Result<tempfile::TempDir> {
    let expect = async |key: &str, expected: &ObjectSum| match place.blobs.sum(key).await? {
        Some(sum) if sum == *expected => Ok(()),
        Some(_) => bail!("`{key}` was changed after the backup"),
        None => bail!("`{key}` is missing"),
    };
    match &manifest.database {
        DatabaseCopy::Sqlite { file } => expect(DATABASE, file).await?,
        DatabaseCopy::Postgres { dump: Some(dump), .. } => {
            expect(crate::backup::database::DUMP, dump).await?
        }
        DatabaseCopy::Postgres { .. } => {}
    }
    if let Some(secrets) = &manifest.secrets {
        expect(SECRETS, secrets).await?;
    }
    expect(OBJECT_LIST, &manifest.objects.list).await?;
    let list = tempfile::tempdir().context("cannot create a temporary folder")?;
    place.blobs.get_file(OBJECT_LIST, &list.path().join(OBJECT_LIST)).await?;
    let mut count = 0;
    let mut pages = Pages::open(list.path())?;
    while let Some(page) = pages.next()? {
        count += page.len() as u64;
        let sums = stream::iter(&page)
            .map(async |object| expect(&format!("{OBJECTS}{}", object.key), &object.sum).await);
        sums.buffer_unordered(AT_ONCE).try_collect::<()>().await?;
    }
    ensure!(
        count == manifest.objects.count,
        "it lists {count} objects instead of {}",
        manifest.objects.count
    );
    Ok(list)
}

async fn copy_objects(backup: &Blobs, list: &tempfile::TempDir, to: &Blobs) -> Result<()> {
    let mut pages = Pages::open(list.path())?;
    while let Some(page) = pages.next()? {
        let copies = stream::iter(&page).map(async |object| {
            let copied = backup.copy(&format!("{OBJECTS}{}", object.key), to, &object.key).await;
            let copied = copied.with_context(|| format!("cannot restore object `{}`", object.key))?;
            ensure!(copied.as_ref() == Some(&object.sum), "object `{}` has changed meanwhile", object.key);
            Ok(())
        });
        copies.buffer_unordered(AT_ONCE).try_collect::<()>().await?;
    }
    Ok(())
}

async fn restore_secrets(config: &Config, place: &BackupPlace, manifest: &Manifest) -> Result<()> {
    let Some(sum) = &manifest.secrets else { return Ok(()) };
    restore_file(place, SECRETS, &config.data_dir.join(SECRETS), sum).await
}

async fn restore_database(place: &BackupPlace, file: &Path, sum: &ObjectSum) -> Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    restore_file(place, DATABASE, file, sum).await
}

/// Writes a file under another name, and gives it its own name when it is whole.
async fn restore_file(place: &BackupPlace, key: &str, file: &Path, sum: &ObjectSum) -> Result<()> {
    let draft = PathBuf::from(format!("{}.restoring", file.display()));
    // An interrupted restore has left it.
    let _ = std::fs::remove_file(&draft);
    let failed = || format!("cannot write {}", file.display());
    let written = place.blobs.get_file(key, &draft).await.with_context(failed)?;
    ensure!(written.as_ref() == Some(sum), "`{key}` has changed meanwhile");
    std::fs::rename(&draft, file).with_context(failed)?;
    file.parent().map_or(Ok(()), sync_folder)
}

fn sync_folder(folder: &Path) -> Result<()> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.with_context(|| format!("cannot sync {}", folder.display()))
}

fn report(place: &BackupPlace, manifest: &Manifest) -> Result<()> {
    match &manifest.database {
        DatabaseCopy::Sqlite { file } => out(&format!("database  {}", readable(file.size)))?,
        DatabaseCopy::Postgres { snapshot, .. } => {
            out(&format!("database  restore the dump of snapshot {snapshot} into an empty database:"))?;
            let dump = dump_file(place);
            out(&format!("  pg_restore --no-owner --dbname=\"$DATABASE_URL\" {}", dump.display()))?;
        }
    }
    out(&format!("objects   {}, {}", manifest.objects.count, readable(manifest.objects.bytes)))?;
    if manifest.secrets.is_some() {
        out("secrets   secrets.toml")?;
    }
    out(&format!(
        "the backup of {} is restored, verified by SHA-256; `stoa check --deep` checks the whole",
        manifest.created_at
    ))
}

/// The lines of `objects.jsonl`, page by page.
struct Pages {
    lines: std::io::Lines<BufReader<File>>,
}

impl Pages {
    fn open(folder: &Path) -> Result<Self> {
        Ok(Self { lines: BufReader::new(File::open(folder.join(OBJECT_LIST))?).lines() })
    }

    fn next(&mut self) -> Result<Option<Vec<ListedObject>>> {
        let mut page = Vec::new();
        for line in self.lines.by_ref().take(PAGE) {
            page.push(serde_json::from_str(&line?).with_context(|| format!("{OBJECT_LIST} cannot be read"))?);
        }
        Ok(Some(page).filter(|page| !page.is_empty()))
    }
}
