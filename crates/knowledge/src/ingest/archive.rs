//! Archives: each file in one becomes a document of its own, beside that of the archive, which lists them.
//!
//! If the process is killed in between, the archive is unpacked again: a file that is a document already is reused. If the
//! archive gets a new file, its documents become what is in that.

use super::error::IndexingError;
use super::reading::{error_of, with_file};
use super::{
    DocumentOwner, Duplicates, Ingest, IngestError, NewFile, Origin, Spool, Upload, UploadError,
    clean_filename,
};
use crate::records::{Document, Metadata, Status};
use crate::{removal, tables};
use extract::{ArchiveLimits, Member, SkipReason, Unpacked};
use std::collections::HashSet;
use std::fmt::Write;
use std::io::Read;
use std::path::Path;

/// Files that the text of an archive names; of further ones it says how many there are.
const MOST_LISTED: usize = 1_000;
const PIECE: usize = 256 << 10;

/// Makes documents of the files in an archive. Returns a text that lists them, as Markdown.
pub async fn unpack(ingest: &Ingest, document: &Document) -> Result<String, IndexingError> {
    let folder = tempfile::tempdir_in(&ingest.settings.spool_folder).map_err(|error| outage(&error))?;
    let (extractor, filename, into) =
        (ingest.extractor.clone(), document.filename.clone(), folder.path().to_owned());
    let Unpacked { members, skipped } = with_file(ingest, document, move |bytes| {
        extractor.unpack(&filename, &bytes, &into, &ArchiveLimits::default()).map_err(error_of)
    })
    .await?;
    let mut left_out: Vec<(String, String)> = skipped
        .into_iter()
        .filter(|skipped| skipped.reason != SkipReason::Hidden)
        .map(|skipped| (skipped.path, skipped.reason.to_string()))
        .collect();
    let before = tables::documents::ids_of_archive(&ingest.db, document).await?;
    let (mut added, mut ids, mut is_whole) = (Vec::new(), HashSet::new(), true);
    for member in members {
        match add(ingest, document, folder.path(), &member).await {
            Ok(id) => {
                added.push(member.path);
                ids.insert(id);
            }
            Err(IngestError::OverQuota { .. }) => {
                is_whole = false;
                left_out.push((member.path, "the quota is used up".to_owned()));
            }
            Err(IngestError::OwnerGone) => return Err(IndexingError::Stopped),
            Err(IngestError::Store(error)) => return Err(error.into()),
            Err(error) => return Err(IndexingError::Outage(error.to_string())),
        }
    }
    if added.is_empty() {
        let reasons: Vec<String> =
            left_out.iter().map(|(path, why)| format!("{path}: {why}")).take(3).collect();
        let message = format!("the archive has no file that could be read. {}", reasons.join("; "));
        return Err(IndexingError::File(message));
    }
    for id in before.iter().filter(|id| is_whole && !ids.contains(*id)) {
        let mut tx = ingest.db.begin().await?;
        removal::remove_document(&mut tx, &document.user_id, id, &Status::ALL).await?;
        tx.commit().await?;
    }
    Ok(listing(document, &added, &left_out))
}

/// Returns the id of the document.
async fn add(
    ingest: &Ingest,
    archive: &Document,
    folder: &Path,
    member: &Member,
) -> Result<String, IngestError> {
    let path = folder.join(&member.file);
    let reading = tokio::task::spawn_blocking(move || spool(&path));
    let spool = reading.await.unwrap_or_else(|_| Err(std::io::ErrorKind::Other.into()));
    let (inside, name) = member.path.rsplit_once('/').unwrap_or(("", &member.path));
    let parts = [archive.folder(), archive.filename.as_str(), inside];
    let place: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let mut metadata: Metadata = archive.metadata.clone();
    metadata.remove("title");
    metadata.insert("folder".to_owned(), place.join("/"));
    let owner = DocumentOwner { id: &archive.user_id, added_by: &archive.added_by };
    let upload = Upload { filename: clean_filename(name), spool: spool.map_err(IngestError::Spool)? };
    let file = NewFile {
        metadata,
        duplicates: Duplicates::Reuse,
        origin: Origin::Archive(archive),
        expires_at: archive.expires_at,
        ..NewFile::new(owner, upload)
    };
    Ok(ingest.submit(file).await?.document.id)
}

/// Reads a file that was unpacked, whose size was checked.
fn spool(path: &Path) -> std::io::Result<Spool> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let (mut file, mut spool) = (std::fs::File::open(path)?, Spool::new(u64::MAX));
    let mut piece = vec![0; PIECE];
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            return Ok(spool.finish());
        }
        spool.push(&piece[..read], folder).map_err(|error| match error {
            UploadError::Io(error) => error,
            error => std::io::Error::other(error),
        })?;
    }
}

fn listing(document: &Document, added: &[String], left_out: &[(String, String)]) -> String {
    let mut text = format!("# {}\n\nThis archive holds {} files:\n\n", document.filename, added.len());
    for path in added.iter().take(MOST_LISTED) {
        let _ = writeln!(text, "- {path}");
    }
    if added.len() > MOST_LISTED {
        let _ = writeln!(text, "- and {} more", added.len() - MOST_LISTED);
    }
    if !left_out.is_empty() {
        text.push_str("\n## Left out\n\n");
        for (path, why) in left_out.iter().take(MOST_LISTED) {
            let _ = writeln!(text, "- {path}: {why}");
        }
    }
    text
}

fn outage(error: &std::io::Error) -> IndexingError {
    IndexingError::Outage(format!("the archive cannot be unpacked: {error}"))
}
