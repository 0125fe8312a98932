//! `stoa move`: copies all rows and objects to another database and object store, of any kind.
//!
//! Rows and objects are copied in batches, and the target notes how far they are. At the end every table is compared by its
//! number of rows and a checksum; only then is the note removed, without which no `stoa serve` starts on the target.

mod place;

use crate::config::Config;
use crate::object_copy::{Copied, Copier, administrators, readable};
use crate::out;
use crate::storage::{SERVICE_SCHEMAS, connect_existing};
use anyhow::{Context, Result, bail, ensure};
use futures_util::TryStreamExt;
use knowledge::ObjectCursor;
use place::Place;
use store::transfer::{self, Progress, Table};
use store::{Blobs, Db, Dialect, Reading, Schema, Version, figures};

/// A process writes a sign of life every 30 seconds.
const SEEN_WITHIN_MS: i64 = 65_000;
const CLEARED: &str = "cleared";
const OBJECTS: &str = "objects";

/// Moves everything. A place is a data folder or two URLs; if absent, what the settings name.
pub async fn run(config: Config, from: Option<String>, to: Option<String>, skip_missing: bool) -> Result<()> {
    let (from, to) = Place::both(&config, from.as_deref(), to.as_deref())?;
    let _locks = (
        from.lock().context("nothing may use the source while it is moved")?,
        to.lock().context("nothing may use the target while it is filled")?,
    );
    let source = connect_existing(&from.database_url, &config).await.context("the source")?;
    let schemas = check_source(&source).await.context("the source")?;
    let source_objects = from.open_objects(&config).await.context("the source")?;
    let target_objects = to.open_objects(&config).await.context("the target")?;
    let has_own_objects = !from.shares_objects_with(&to);
    let target = to.connect(&config).await.context("the target")?;
    let progress =
        begin(&source, &target, &to, &target_objects, has_own_objects).await.context("the target")?;
    out(&format!("from      {}, {}", from.shown_database(), from.object_store_url))?;
    out(&format!("to        {}, {}", to.shown_database(), to.object_store_url))?;

    let tables = make_tables(&source, &target, &schemas, &progress).await?;
    for table in &tables {
        let copied = transfer::copy(&source, &target, &progress, table).await;
        copied.with_context(|| format!("cannot copy the rows of `{}`", table.name))?;
    }
    let stores = has_own_objects.then_some((&source_objects, &target_objects));
    let copied = move_objects(&source, stores, &progress).await?;
    let faults = copied.judge(skip_missing)?;
    transfer::copy_counters(&source, &target).await?;
    compare(&source, &target, &tables).await?;
    progress.end().await?;

    if has_own_objects {
        out(&format!("objects   {}, {}", copied.count, readable(copied.bytes)))?;
    } else {
        out("objects   stay where they are: both sides have the same object store")?;
    }
    for fault in &faults {
        out(&format!("skipped   {fault}"))?;
    }
    source.close().await;
    target.close().await;
    say_what_is_left(&from)
}

/// Returns the schemas that the source has. Fails if it is of another version, or in use.
async fn check_source(source: &Db) -> Result<Vec<Schema>> {
    let mut schemas = Vec::new();
    for schema in [store::SCHEMA].into_iter().chain(SERVICE_SCHEMAS) {
        match source.version(&schema).await? {
            Version::Current => schemas.push(schema),
            Version::Absent => {}
            Version::Older { due } => bail!(
                "it was written by an older program, {due} migrations of `{}` are due: start and stop this program's \
                 `stoa serve` on it first",
                schema.scope
            ),
        }
    }
    // A data folder has a lock instead.
    if source.dialect() == Dialect::Postgres {
        let now = source.clock().now_ms();
        if let Some(process) = figures::processes(source, now - SEEN_WITHIN_MS).await?.first() {
            bail!(
                "a process with {} has used it {} s ago: stop all processes first; one that was killed counts as stopped \
                 after {} s",
                process.services.join(", "),
                (now - process.seen_at_ms).max(0) / 1000,
                SEEN_WITHIN_MS / 1000
            );
        }
    }
    Ok(schemas)
}

/// Begins a move into an empty target, or goes on with one from the same source.
async fn begin(
    source: &Db,
    target: &Db,
    to: &Place,
    objects: &Blobs,
    has_own_objects: bool,
) -> Result<Progress> {
    let identity = transfer::identity(source).await?;
    match Progress::source_of(target).await? {
        Some(begun) if begun == identity => {
            out("going on with the move that was interrupted")?;
            return Ok(Progress::begin(target, &identity).await?);
        }
        Some(_) => bail!("data of another source was only partly moved to it: name an empty database"),
        None => {}
    }
    let tables = transfer::table_names(target).await?;
    if let Some(table) = tables.first() {
        bail!(
            "the database is not empty, it has {} tables such as `{table}`: name an empty one",
            tables.len()
        );
    }
    if has_own_objects
        && let Some(first) = objects.list("").try_next().await.context("cannot list the object store")?
    {
        bail!(
            "the object store {} is not empty, it has `{}`: name an empty one",
            to.object_store_url,
            first.key
        );
    }
    Ok(Progress::begin(target, &identity).await?)
}

/// Makes the tables of the source in the target, and returns them in the order in which they can be filled.
async fn make_tables(
    source: &Db,
    target: &Db,
    schemas: &[Schema],
    progress: &Progress,
) -> Result<Vec<Table>> {
    for schema in schemas {
        target.migrate(schema.scope, schema.migrations).await?;
    }
    let tables = transfer::tables(target).await?;
    let mut of_source = transfer::tables(source).await?;
    of_source.sort_by(|one, other| one.name.cmp(&other.name));
    let mut sorted = tables.clone();
    sorted.sort_by(|one, other| one.name.cmp(&other.name));
    ensure!(sorted == of_source, "the source has other tables or columns than this program makes");
    if progress.position(CLEARED).await?.is_none() {
        transfer::clear(target, &tables).await?;
        progress.set(CLEARED, "yes").await?;
    }
    Ok(tables)
}

/// Copies the objects that the source names from one store to the other. Without stores, there is nothing to copy.
async fn move_objects(source: &Db, stores: Option<(&Blobs, &Blobs)>, progress: &Progress) -> Result<Copied> {
    let mut copied = Copied::default();
    let Some((from, to)) = stores else { return Ok(copied) };
    for (key, record) in administrators(from).await? {
        copied.add(&store::ObjectSum::of(&record));
        to.put(&key, record).await?;
    }
    let copier = Copier { from, to, prefix: "" };
    let mut reading = Reading::live(source).await?;
    let position = progress.position(OBJECTS).await?;
    let mut cursor = position.as_deref().and_then(ObjectCursor::parse).unwrap_or_default();
    while let Some(page) = knowledge::named_objects(&mut reading, &mut cursor).await? {
        copier.copy(page, &mut copied).await?;
        // Otherwise the next attempt would not see the fault again.
        if copied.is_whole() {
            progress.set(OBJECTS, &cursor.to_string()).await?;
        }
    }
    reading.close().await?;
    Ok(copied)
}

/// Compares the rows of all tables.
async fn compare(source: &Db, target: &Db, tables: &[Table]) -> Result<()> {
    for table in tables {
        let (here, there) = (transfer::sum(source, table).await?, transfer::sum(target, table).await?);
        ensure!(
            here == there,
            "the rows of `{}` differ: {} in the source, {} in the target; if the source was used since the move began, \
             empty the target and start again",
            table.name,
            here.rows,
            there.rows
        );
        if here.rows > 0 {
            out(&format!("table     {:<16} {:>8} rows, checksum {}", table.name, here.rows, here.checksum))?;
        }
    }
    Ok(())
}

fn say_what_is_left(from: &Place) -> Result<()> {
    out("everything is moved and verified; the source is as it was")?;
    if let Some(secrets) = from.secrets_file() {
        let file = secrets.display();
        out(&format!("copy {file} into the new data folder, or issued tokens become invalid"))?;
    }
    out("`stoa check --deep` with the settings of the new place checks the whole")
}
