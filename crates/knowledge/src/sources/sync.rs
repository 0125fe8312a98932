//! A run of a source: makes the owner's documents what the items of the place are.
//!
//! Items are seen one page after the other. What has not changed is not read. What is new or has changed becomes a
//! document in the transaction that notes its state, so that a killed run continues where it was. At the end of the list,
//! the documents of items that the run has not seen are removed: only then, because a list that breaks off says nothing
//! about the rest.

use super::sink::SpoolSink;
use super::slots::Slot;
use super::{Sources, schedule};
use crate::ingest::{
    DocumentOwner, Duplicates, IngestError, ItemOrigin, LONGEST_TITLE, NewFile, Origin, Spool, Upload,
    clean_filename,
};
use crate::jobs::{SOURCE, SOURCE_REMOVAL, SourcePayload, payload};
use crate::records::{ItemStatus, Metadata, Run, Source, SourceItem};
use crate::tables::{self, source_items, sources as table};
use crate::title;
use connectors::{Connector, Environment, Found, Item, ItemError, Reading};
use futures_util::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;
use store::jobs::{self, Handler, Job, JobError, Retry, Worker};
use store::{StoreError, Tx};
use tokio_util::sync::CancellationToken;

/// Runs at work at the same time in one process. Most of their time they wait for a place.
const CONCURRENCY: usize = 16;
/// After this time, a run that was one too many of its owner is tried again.
const SLOT_PAUSE: Duration = Duration::from_secs(5);
/// While so many documents of the owner wait to be indexed, a run reads no more.
const MOST_WAITING: i64 = 500;
const WAITING_PAUSE: Duration = Duration::from_millis(500);
/// In bytes; PostgreSQL's index could not hold a longer one.
const LONGEST_PATH: usize = 2_000;

/// Returns the worker of runs, and the one that removes documents, which does not wait for runs.
pub fn workers(sources: &Sources, lease: Duration) -> [Worker; 2] {
    [SOURCE, SOURCE_REMOVAL].map(|kind| {
        let worker = Worker::new(sources.0.db.clone(), &[kind], Arc::new(sources.clone()));
        Worker { concurrency: CONCURRENCY, lease, ..worker }
    })
}

impl Handler for Sources {
    fn run(&self, job: Job, stop: CancellationToken) -> BoxFuture<'_, Result<(), JobError>> {
        Box::pin(async move {
            match job.kind.as_str() {
                SOURCE_REMOVAL => self.remove_documents(&job, &stop).await,
                _ => self.run_source(&job, &stop).await,
            }
        })
    }
}

/// Why a run ends before its end.
pub enum Interrupted {
    /// The place cannot be read. The message is shown.
    Failed(String),
    /// The process stops, or the source was changed or removed.
    Stopped,
    Store(StoreError),
}

impl From<StoreError> for Interrupted {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Sources {
    async fn run_source(&self, job: &Job, stop: &CancellationToken) -> Result<(), JobError> {
        let SourcePayload { source_id } = payload(job)?;
        let owner_id = table::get(&self.0.db, &source_id).await?.map(|source| source.owner_id);
        let Some(_slot) = Slot::take(self, owner_id.unwrap_or_default()) else {
            let message = "other sources of the same owner run".to_owned();
            return Err(JobError { message, retry: Retry::After(SLOT_PAUSE) });
        };
        let Some(mut source) = self.begin(job, &source_id).await? else { return Ok(()) };
        let outcome = self.sync(&mut source, stop).await;
        let error = match outcome {
            Ok(()) => None,
            Err(Interrupted::Failed(message)) => Some(message),
            Err(Interrupted::Stopped) => return Err(JobError::retry("the run was stopped")),
            Err(Interrupted::Store(error)) => return Err(error.into()),
        };
        self.end(job, source, error).await
    }

    /// Begins a run, or continues the one that this job has begun. None if the source is gone, or has another job.
    async fn begin(&self, job: &Job, source_id: &str) -> Result<Option<Source>, JobError> {
        let mut tx = self.0.db.begin().await?;
        let source = table::lock(&mut tx, source_id).await?;
        let Some(mut source) = source.filter(|source| source.job_id == Some(job.id)) else {
            jobs::complete(&mut tx, job).await?;
            tx.commit().await?;
            return Ok(None);
        };
        if source.last_run.job != Some(job.id) {
            let Run { number, failures, .. } = source.last_run;
            source.last_run = Run {
                number: number + 1,
                job: Some(job.id),
                started_at: Some(self.0.clock.now_ms()),
                failures,
                ..Run::default()
            };
            table::set_run(&mut tx, source_id, &source.last_run).await?;
        }
        tx.commit().await?;
        Ok(Some(source))
    }

    /// Ends a run, and schedules the next.
    async fn end(&self, job: &Job, ran: Source, error: Option<String>) -> Result<(), JobError> {
        let mut tx = self.0.db.begin().await?;
        let source = table::lock(&mut tx, &ran.id).await?;
        if let Some(mut source) = source.filter(|source| source.job_id == Some(job.id)) {
            source.last_run = Run {
                ended_at: Some(self.0.clock.now_ms()),
                failures: if error.is_some() { source.last_run.failures + 1 } else { 0 },
                error,
                ..ran.last_run
            };
            table::set_run(&mut tx, &source.id, &source.last_run).await?;
            // This job is completed, not cancelled.
            source.job_id = None;
            let next = self.next_run(&source);
            schedule(&mut tx, &mut source, next).await?;
            table::update(&mut tx, &source).await?;
        }
        jobs::complete(&mut tx, job).await?;
        Ok(tx.commit().await?)
    }

    async fn sync(&self, source: &mut Source, stop: &CancellationToken) -> Result<(), Interrupted> {
        let settings = &self.0.settings;
        let secret = match source.secret.is_empty() {
            true => None,
            false => {
                let secret = settings.keys.decrypt(&source.id, &source.secret);
                Some(secret.ok_or_else(|| {
                    Interrupted::Failed(
                        "the secret cannot be decrypted: SOURCES_KEY or JWT_SECRET has changed, so give it again"
                            .to_owned(),
                    )
                })?)
            }
        };
        let copy_room = self.copy_room(source).await?;
        let environment = Environment { copy_room, ..settings.environment.clone() };
        let opening = connectors::open(&source.settings, secret.as_deref(), &source.id, &environment);
        let opened = unless_stopped(stop, opening).await?;
        self.count_copy(source).await?;
        let mut connector = opened.map_err(|error| Interrupted::Failed(error.message))?;
        loop {
            let listing = unless_stopped(stop, connector.next_items()).await?;
            let Some(items) = listing.map_err(|error| Interrupted::Failed(error.message))? else { break };
            self.sync_page(source, connector.as_mut(), items, stop).await?;
        }
        self.check_not_away(source).await?;
        self.remove_gone(source, stop).await
    }

    /// Fails if nothing is left of a place that had something, and that may only look empty.
    async fn check_not_away(&self, source: &Source) -> Result<(), Interrupted> {
        let (db, run) = (&self.0.db, source.last_run.number);
        if source.settings.may_look_empty()
            && !source_items::has_seen(db, &source.id, run).await?
            && source_items::has_documents(db, &source.id).await?
        {
            let message = "nothing is there any more, so the documents stay: if this is right, delete the source \
                           with its documents";
            return Err(Interrupted::Failed(message.to_owned()));
        }
        Ok(())
    }

    async fn sync_page(
        &self,
        source: &mut Source,
        connector: &mut dyn Connector,
        items: Vec<Item>,
        stop: &CancellationToken,
    ) -> Result<(), Interrupted> {
        let paths: Vec<&str> =
            items.iter().map(|item| item.path.as_str()).filter(|path| is_kept(path)).collect();
        let mut known = source_items::find(&self.0.db, &source.id, &paths).await?;
        let run = source.last_run.number;
        let mut unchanged: Vec<&str> = Vec::new();
        for item in items.iter().filter(|item| is_kept(&item.path)) {
            let before = known.remove(&item.path);
            let has_version = !item.version.is_empty();
            match &before {
                // The run was killed after it had seen this one.
                Some(before) if has_version && before.run == run => {}
                Some(before) if has_version && before.version == item.version => unchanged.push(&item.path),
                _ => {
                    self.wait_for_room(source, stop).await?;
                    let syncing = self.sync_item(source, connector, item, before);
                    unless_stopped(stop, syncing).await??;
                }
            }
        }
        let too_long = items.iter().filter(|item| !is_kept(&item.path)).count();
        source.last_run.counts.skipped += too_long as i64;
        source.last_run.counts.unchanged += unchanged.len() as i64;
        let mut tx = self.begin_as_run(source).await?;
        source_items::touch(&mut tx, &source.id, &unchanged, run).await?;
        table::set_run(&mut tx, &source.id, &source.last_run).await?;
        Ok(tx.commit().await?)
    }

    /// Waits while many documents of the owner have yet to be indexed.
    async fn wait_for_room(&self, source: &Source, stop: &CancellationToken) -> Result<(), Interrupted> {
        loop {
            let waiting = tables::documents::count_processing(self.0.db.read(), &source.owner_id).await?;
            if waiting < MOST_WAITING {
                return Ok(());
            }
            unless_stopped(stop, tokio::time::sleep(WAITING_PAUSE)).await?;
        }
    }

    async fn sync_item(
        &self,
        source: &mut Source,
        connector: &mut dyn Connector,
        item: &Item,
        before: Option<SourceItem>,
    ) -> Result<(), Interrupted> {
        let settings = &self.0.settings;
        let mut sink = SpoolSink { spool: Spool::new(settings.largest_item), folder: &settings.spool_folder };
        let run = source.last_run.number;
        let before = before.unwrap_or_else(|| SourceItem::new(&item.path, run));
        let seen = SourceItem { version: item.version.clone(), run, ..before.clone() };
        match connector.read(item, &before.state, &mut sink).await {
            Ok(Reading::Unchanged) => {
                source.last_run.counts.unchanged += 1;
                // It could not be read meanwhile.
                let is_back = before.status == ItemStatus::Error && !before.document_id.is_empty();
                let seen = match is_back {
                    true => SourceItem { status: ItemStatus::Stored, message: String::new(), ..seen },
                    false => seen,
                };
                self.note(source, seen).await
            }
            Ok(Reading::Skipped { reason: message, state }) => {
                source.last_run.counts.skipped += 1;
                // Its document is removed at the end of the run.
                let (status, version, document_id) = (ItemStatus::Skipped, seen.version, before.document_id);
                let item = SourceItem::new(&item.path, run);
                self.note(source, SourceItem { status, message, state, version, document_id, ..item }).await
            }
            Ok(Reading::Read(found)) => {
                let spool = sink.spool.finish();
                let seen = SourceItem {
                    state: found.state.clone(),
                    message: String::new(),
                    status: ItemStatus::Stored,
                    ..seen
                };
                if before.content_hash == spool.hash() && !before.document_id.is_empty() {
                    source.last_run.counts.unchanged += 1;
                    return self.note(source, seen).await;
                }
                self.store(source, seen, before.state, found, spool).await
            }
            Err(ItemError::Item(message)) => {
                source.last_run.counts.failed += 1;
                // Without a version it is read again in the next run. Its state stays: a crawl follows the links in it.
                let version = String::new();
                self.note(source, SourceItem { status: ItemStatus::Error, message, version, ..seen }).await
            }
            Err(ItemError::Place(message)) => Err(Interrupted::Failed(message)),
        }
    }

    /// Makes a document of an item, or gives its document a new file.
    async fn store(
        &self,
        source: &mut Source,
        item: SourceItem,
        known_state: String,
        found: Found,
        spool: Spool,
    ) -> Result<(), Interrupted> {
        let is_new = item.document_id.is_empty();
        let added_by = if self.is_space(&source.owner_id).await? { source.created_by.as_str() } else { "" };
        let file = NewFile {
            metadata: metadata(&item.path, &found),
            duplicates: Duplicates::Reuse,
            origin: Origin::Item(ItemOrigin {
                source_id: &source.id,
                job_id: source.job_id.unwrap_or_default(),
                item: item.clone(),
            }),
            ..NewFile::new(
                DocumentOwner { id: &source.owner_id, added_by },
                Upload { filename: clean_filename(&found.filename), spool },
            )
        };
        match self.0.ingest.submit(file).await {
            Ok(_) => {
                let counts = &mut source.last_run.counts;
                *(if is_new { &mut counts.added } else { &mut counts.changed }) += 1;
                Ok(())
            }
            Err(IngestError::Store(error)) => Err(error.into()),
            Err(IngestError::RunEnded | IngestError::OwnerGone) => Err(Interrupted::Stopped),
            Err(error @ IngestError::OverQuota { .. }) => {
                source.last_run.counts.failed += 1;
                let (status, message) = (ItemStatus::Error, error.to_string());
                // With the former state and without a version, it is read again in the next run.
                let (state, version) = (known_state, String::new());
                self.note(source, SourceItem { status, message, state, version, ..item }).await
            }
            Err(error) => {
                tracing::error!(source = source.id, error = %error, "an item of a source cannot be stored");
                Err(Interrupted::Failed("a file cannot be stored: the log of the server says why".to_owned()))
            }
        }
    }

    async fn is_space(&self, owner_id: &str) -> Result<bool, StoreError> {
        Ok(tables::spaces::get(&self.0.db, owner_id).await?.is_some())
    }

    async fn note(&self, source: &Source, item: SourceItem) -> Result<(), Interrupted> {
        let mut tx = self.begin_as_run(source).await?;
        source_items::put(&mut tx, &source.id, &item).await?;
        Ok(tx.commit().await?)
    }

    /// Begins a transaction that only the source's present run commits.
    async fn begin_as_run(&self, source: &Source) -> Result<Tx, Interrupted> {
        let mut tx = self.0.db.begin().await?;
        hold(&mut tx, source).await?;
        Ok(tx)
    }
}

/// Fails if the source has another run by now.
pub async fn hold(tx: &mut Tx, source: &Source) -> Result<(), Interrupted> {
    match table::hold(tx, &source.id, source.job_id.unwrap_or_default()).await? {
        true => Ok(()),
        false => Err(Interrupted::Stopped),
    }
}

/// Returns whether the path of an item can be stored.
fn is_kept(path: &str) -> bool {
    path.len() <= LONGEST_PATH && !path.contains('\0')
}

fn metadata(path: &str, found: &Found) -> Metadata {
    let mut metadata = Metadata::new();
    if let Some(title) = found.title.as_ref().filter(|title| !title.trim().is_empty()) {
        metadata.insert("title".to_owned(), title::cut(&title.replace('\0', ""), LONGEST_TITLE));
    }
    match &found.address {
        Some(address) => drop(metadata.insert("url".to_owned(), address.clone())),
        None => {
            if let Some((folder, _)) = path.rsplit_once('/') {
                metadata.insert("folder".to_owned(), folder.to_owned());
            }
        }
    }
    metadata
}

/// Waits for something, unless the run has to stop.
async fn unless_stopped<T>(
    stop: &CancellationToken,
    waited: impl Future<Output = T>,
) -> Result<T, Interrupted> {
    tokio::select! {
        () = stop.cancelled() => Err(Interrupted::Stopped),
        done = waited => Ok(done),
    }
}
