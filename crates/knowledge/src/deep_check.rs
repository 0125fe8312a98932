//! The deep check of the service: every document has its file and its passages, and every job its document.

use crate::records::Status;
use crate::tables::deep_check::{self, Contradiction};
use crate::tables::objects::{self, ObjectCursor};
use futures_util::{StreamExt, TryStreamExt, stream};
use store::{BlobError, Blobs, Db, Finding, NamedObject, ObjectSum, Reading, StoreError, Tally};

/// Objects that are read at the same time.
const AT_ONCE: usize = 8;

#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Blob(#[from] BlobError),
}

/// Returns the next objects that rows name, and moves the cursor. None at the end.
pub async fn named_objects(
    reading: &mut Reading,
    cursor: &mut ObjectCursor,
) -> Result<Option<Vec<NamedObject>>, StoreError> {
    objects::next_page(reading, cursor).await
}

/// Checks all rows and objects of the service. Changes that are made meanwhile are no faults.
pub async fn check(db: &Db, blobs: &Blobs) -> Result<Vec<Finding>, CheckError> {
    let mut findings = stored_objects(db, blobs).await?;
    findings.push(chunks(db).await?);
    findings.push(texts(db).await?);
    findings.push(jobs(db).await?);
    findings.push(conversations(db).await?);
    Ok(findings)
}

/// Reads every object that a row names, and compares its size and SHA-256.
async fn stored_objects(db: &Db, blobs: &Blobs) -> Result<Vec<Finding>, CheckError> {
    let mut reading = Reading::live(db).await?;
    let mut cursor = ObjectCursor::default();
    let (mut required, mut rebuildable) = (Tally::default(), Tally::default());
    while let Some(page) = named_objects(&mut reading, &mut cursor).await? {
        let sums = stream::iter(page).map(|object| async move {
            let sum = blobs.sum(&object.key).await?;
            Ok::<_, BlobError>((object, sum))
        });
        let sums: Vec<(NamedObject, Option<ObjectSum>)> =
            sums.buffer_unordered(AT_ONCE).try_collect().await?;
        for (object, sum) in sums {
            let tally = if object.is_rebuildable { &mut rebuildable } else { &mut required };
            tally.examine(1);
            // A document that was deleted meanwhile has no file any more.
            if let Some(fault) = fault(&object, sum.as_ref())
                && objects::is_named(&mut reading, &object).await?
            {
                tally.fault(fault);
            }
        }
    }
    let mut findings = vec![required.finding("stored objects")];
    if !rebuildable.is_empty() {
        findings.push(rebuildable.warning("made objects"));
    }
    Ok(findings)
}

/// Returns what is wrong with an object; none if it is as its row says.
pub fn fault(object: &NamedObject, found: Option<&ObjectSum>) -> Option<String> {
    let Some(found) = found else { return Some(format!("{object} has no object `{}`", object.key)) };
    let expected = object.sum.as_ref()?;
    if found.size != expected.size {
        return Some(format!("{object}: its object has {} bytes instead of {}", found.size, expected.size));
    }
    let is_same = found.sha256 == expected.sha256;
    (!is_same).then(|| format!("{object}: its object has another SHA-256 than its row"))
}

async fn chunks(db: &Db) -> Result<Finding, StoreError> {
    let mut tally = Tally::default();
    tally.examine(deep_check::count_documents(db, Status::Indexed.as_str()).await?);
    for Contradiction { id, stored, expected } in deep_check::incomplete_documents(db).await? {
        tally.fault(format!("document `{id}` has {stored} of {expected} passages"));
    }
    for Contradiction { id, stored, expected } in deep_check::overfull_documents(db).await? {
        tally.fault(format!("document `{id}` has {stored} passages beyond its {expected}"));
    }
    Ok(tally.finding("passages"))
}

async fn texts(db: &Db) -> Result<Finding, StoreError> {
    let mut tally = Tally::default();
    tally.examine(deep_check::count_documents(db, Status::Indexed.as_str()).await?);
    let missing = deep_check::count_without_text(db).await?;
    if missing > 0 {
        tally.faults(missing, "a text that is missing is read from its file again when it is asked for");
    }
    Ok(tally.warning("texts"))
}

async fn jobs(db: &Db) -> Result<Finding, StoreError> {
    let mut tally = Tally::default();
    tally.examine(deep_check::count_documents(db, Status::Processing.as_str()).await?);
    for id in deep_check::documents_without_job(db).await? {
        tally.fault(format!("document `{id}` is processing without a job, or has one and is not"));
    }
    for job in deep_check::jobs_without_document(db).await? {
        tally.fault(format!("job {job} indexes a document that does not know of it"));
    }
    Ok(tally.finding("indexing jobs"))
}

async fn conversations(db: &Db) -> Result<Finding, StoreError> {
    let mut tally = Tally::default();
    tally.examine(deep_check::count_conversations(db).await?);
    for Contradiction { id, stored, expected } in deep_check::wrong_conversations(db).await? {
        tally.fault(format!("conversation `{id}` has {stored} of {expected} messages"));
    }
    Ok(tally.finding("conversations"))
}
