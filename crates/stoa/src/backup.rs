//! `stoa backup`: a copy of everything that is stored, of one moment, while the program runs.
//!
//! The database is copied first, then the objects that the copy names. A hold keeps objects whose rows are deleted
//! meanwhile. The manifest is written last.

pub mod database;
pub mod manifest;
pub mod place;

use crate::config::Config;
use crate::object_copy::{Copied, Copier, administrators, readable};
use crate::out;
use crate::storage::{connect_existing, open_objects};
use anyhow::{Context, Result, bail};
use base::iso8601;
use bytes::Bytes;
use database::DatabaseMoment;
use knowledge::ObjectCursor;
use manifest::{ListedObject, MANIFEST, Manifest, OBJECT_LIST, OBJECTS, Objects, SECRETS};
use place::BackupPlace;
use std::io::{BufWriter, Write};
use store::hold::Hold;
use store::{Blobs, Db, ObjectSum};

/// How often the database is copied anew because administrators were changed meanwhile.
const TRIES: usize = 5;

/// Writes a backup to a folder or a bucket. `snapshot` is one of PostgreSQL that another program holds.
pub async fn run(config: Config, to: String, snapshot: Option<String>, skip_missing: bool) -> Result<()> {
    let db = connect_existing(&config.database_url, &config).await?;
    let blobs = open_objects(&config).await.context("cannot open the object store")?;
    let place = BackupPlace::create(&config, &to).await?;
    let hold = Hold::take(&db).await.context("cannot keep objects from being deleted")?;
    let copied = copy_all(&config, &db, &blobs, &place, snapshot.as_deref(), skip_missing).await;
    // Also after a failure, so that files can be removed again at once.
    let released = hold.release().await;
    let (moment, objects, faults) = copied?;
    released.context("objects may have been deleted while they were copied: start again")?;
    let secrets = copy_secrets(&config, &place).await?;
    let database = moment.finish(&place).await?;
    let manifest = Manifest::new(iso8601(db.clock().now_ms()), database, objects, secrets);
    manifest.write(&place.blobs).await.with_context(|| format!("cannot write {MANIFEST}"))?;
    db.close().await;

    out(&format!("objects   {}, {}", manifest.objects.count, readable(manifest.objects.bytes)))?;
    for fault in &faults {
        out(&format!("skipped   {fault}"))?;
    }
    if manifest.secrets.is_some() {
        out("secrets   secrets.toml, which signs tokens: keep the backup where only you can read it")?;
    }
    place.tidy();
    out(&format!("a whole backup is in {to}, verified by SHA-256"))
}

/// Copies the database, or takes a snapshot of it, and then the objects that it names. Returns the objects, and what is
/// wrong with some of them.
async fn copy_all(
    config: &Config,
    db: &Db,
    blobs: &Blobs,
    place: &BackupPlace,
    snapshot: Option<&str>,
    skip_missing: bool,
) -> Result<(DatabaseMoment, Objects, Vec<String>)> {
    let (mut moment, records) = consistent_moment(config, db, blobs, place, snapshot).await?;
    moment.announce(place)?;
    let (objects, faults) = copy_objects(blobs, place, &mut moment, &records, skip_missing).await?;
    Ok((moment, objects, faults))
}

/// Copies the database, or takes a snapshot of it, and reads the administrators' records of the same moment. They are in
/// the object store: if they were changed meanwhile, the database is copied again.
async fn consistent_moment(
    config: &Config,
    db: &Db,
    blobs: &Blobs,
    place: &BackupPlace,
    snapshot: Option<&str>,
) -> Result<(DatabaseMoment, Vec<(String, Bytes)>)> {
    for _ in 0..TRIES {
        let before = administrators(blobs).await?;
        let moment = DatabaseMoment::take(config, db, place, snapshot).await?;
        if administrators(blobs).await? == before {
            return Ok((moment, before));
        }
        moment.discard().await?;
    }
    bail!("administrators were changed each time the database was copied: try again later")
}

/// Copies the objects that the database names at that moment, and writes the list of them.
async fn copy_objects(
    blobs: &Blobs,
    place: &BackupPlace,
    moment: &mut DatabaseMoment,
    records: &[(String, Bytes)],
    skip_missing: bool,
) -> Result<(Objects, Vec<String>)> {
    let mut file = tempfile::NamedTempFile::new().context("cannot create a temporary file")?;
    let mut list = BufWriter::new(&mut file);
    let mut copied = Copied::default();
    for (key, record) in records {
        place.blobs.put(&format!("{OBJECTS}{key}"), record.clone()).await?;
        let sum = ObjectSum::of(record);
        copied.add(&sum);
        write_line(&mut list, key.clone(), sum)?;
    }
    let copier = Copier { from: blobs, to: &place.blobs, prefix: OBJECTS };
    let mut cursor = ObjectCursor::default();
    while let Some(page) = knowledge::named_objects(moment.reading(), &mut cursor).await? {
        for (key, sum) in copier.copy(page, &mut copied).await? {
            write_line(&mut list, key, sum)?;
        }
    }
    list.flush()?;
    drop(list);
    let faults = copied.judge(skip_missing)?;
    let list = place.blobs.put_file(OBJECT_LIST, file.path()).await?;
    Ok((Objects { count: copied.count, bytes: copied.bytes, list }, faults))
}

fn write_line(list: &mut impl Write, key: String, sum: ObjectSum) -> Result<()> {
    serde_json::to_writer(&mut *list, &ListedObject { key, sum })?;
    Ok(list.write_all(b"\n")?)
}

async fn copy_secrets(config: &Config, place: &BackupPlace) -> Result<Option<ObjectSum>> {
    let file = config.data_dir.join(SECRETS);
    if !file.exists() {
        return Ok(None);
    }
    let copied = place.blobs.put_file(SECRETS, &file).await;
    copied.map(Some).with_context(|| format!("cannot copy {}", file.display()))
}
