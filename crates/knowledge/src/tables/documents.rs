//! Documents: one row for each uploaded file.

mod amounts;
mod deletion;
mod moving;
mod pages;

pub use amounts::{amounts, bytes_of, count_unread};
pub use deletion::{DocumentToDelete, delete, find_to_delete, set_aside, set_chunk_count, some_to_delete};
pub use moving::{set_owner, to_move};
pub use pages::{Rows, count_by_status, page};

use crate::records::{Document, Metadata, Scope, Status};
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};
use std::collections::HashMap;
use store::{Db, StoreError, Tx, placeholders};

const COLUMNS: &str = "id, user_id, added_by, title, filename, media_type, object_key, content_hash, size, uploaded_at, metadata, status, \
                       progress, error, error_is_ours, chunk_count, graph_nodes, encoder, job_id, revision, version, \
                       source_id, archive_id, expires_at";

pub async fn insert(tx: &mut Tx, document: &Document, revision: i64) -> Result<(), StoreError> {
    let insert =
        "INSERT INTO documents (id, user_id, title, filename, object_key, content_hash, size, uploaded_at,
            metadata, status, progress, job_id, revision, media_type, added_by, source_id,
            expires_at, archive_id)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)";
    let query = sqlx::query(insert).bind(&document.id).bind(&document.user_id).bind(&document.title);
    let query = query.bind(&document.filename).bind(&document.object_key).bind(&document.content_hash);
    let query = query.bind(document.size).bind(document.uploaded_at).bind(json(&document.metadata));
    let query = query.bind(document.status.as_str()).bind(document.progress).bind(document.job_id);
    let query = query.bind(revision).bind(&document.media_type).bind(&document.added_by);
    let query = query.bind(&document.source_id).bind(document.expires_at).bind(&document.archive_id);
    query.execute(tx.conn()).await?;
    Ok(())
}

pub async fn get(db: &Db, id: &str) -> Result<Option<Document>, StoreError> {
    let select = AssertSqlSafe(format!(
        "SELECT {COLUMNS} FROM documents
         WHERE id = $1 AND EXISTS (SELECT 1 FROM users WHERE users.id = user_id AND removed = 0)"
    ));
    let row = sqlx::query(select).bind(id).fetch_optional(db.read()).await?;
    row.as_ref().map(document_of).transpose()
}

/// Returns all documents of a user, the newest first.
pub async fn of_user(db: &Db, user_id: &str) -> Result<Vec<Document>, StoreError> {
    let select = AssertSqlSafe(format!(
        "SELECT {COLUMNS} FROM documents WHERE user_id = $1 ORDER BY uploaded_at DESC, id DESC"
    ));
    sqlx::query(select).bind(user_id).fetch_all(db.read()).await?.iter().map(document_of).collect()
}

/// Returns the documents that have changed since a revision, in the order of their changes.
pub async fn changed_since(db: &Db, user_id: &str, revision: i64) -> Result<Vec<Document>, StoreError> {
    let select = AssertSqlSafe(format!(
        "SELECT {COLUMNS} FROM documents WHERE user_id = $1 AND revision > $2 ORDER BY revision"
    ));
    let rows = sqlx::query(select).bind(user_id).bind(revision).fetch_all(db.read()).await?;
    rows.iter().map(document_of).collect()
}

/// Returns the ids of all documents of a user.
pub async fn ids_of_user(db: &Db, user_id: &str) -> Result<Vec<String>, StoreError> {
    let rows = sqlx::query("SELECT id FROM documents WHERE user_id = $1").bind(user_id);
    rows.fetch_all(db.bulk()).await?.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// Returns the revision at which the user's chunks last changed, or a document was removed.
pub async fn last_indexed(db: &Db, user_id: &str) -> Result<i64, StoreError> {
    let select =
        "SELECT removal, COALESCE((SELECT MAX(indexed_revision) FROM documents WHERE user_id = $1), 0)
        FROM users WHERE id = $1 AND removed = 0";
    let row = sqlx::query(select).bind(user_id).fetch_optional(db.read()).await?;
    row.map_or(Ok(0), |row| Ok(row.try_get::<i64, _>(0)?.max(row.try_get::<i64, _>(1)?)))
}

/// The title of a document, and the user or space whose it is.
pub struct Titled {
    pub title: String,
    pub owner_id: String,
}

/// Returns the titles of these documents, by their ids. Those that are not in the scope are left out.
pub async fn titles(db: &Db, scope: &Scope, ids: &[&str]) -> Result<HashMap<String, Titled>, StoreError> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let select = AssertSqlSafe(format!(
        "SELECT id, title, user_id FROM documents WHERE id IN ({}) AND user_id IN ({})",
        placeholders(1, ids.len()),
        placeholders(ids.len() + 1, scope.ids().count())
    ));
    let values = ids.iter().copied().chain(scope.ids());
    let query = values.fold(sqlx::query(select), |query, value| query.bind(value));
    let rows = query.fetch_all(db.read()).await?;
    let titled =
        |row: &AnyRow| Ok((row.try_get(0)?, Titled { title: row.try_get(1)?, owner_id: row.try_get(2)? }));
    rows.iter().map(titled).collect()
}

/// Returns the titles of the newest documents of a scope that can be found, or of those of them with these ids, and how many
/// there are.
pub async fn newest(
    db: &Db,
    scope: &Scope,
    ids: &[String],
    limit: usize,
) -> Result<(Vec<String>, usize), StoreError> {
    let owners = placeholders(1, scope.ids().count());
    let among = match ids.is_empty() {
        true => String::new(),
        false => format!("AND id IN ({})", placeholders(scope.ids().count() + 1, ids.len())),
    };
    let select = AssertSqlSafe(format!(
        "SELECT title, COUNT(*) OVER () FROM documents WHERE user_id IN ({owners}) AND status = 'indexed' {among}
         ORDER BY uploaded_at DESC, id LIMIT {limit}"
    ));
    let values = scope.ids().chain(ids.iter().map(String::as_str));
    let query = values.fold(sqlx::query(select), |query, value| query.bind(value));
    let rows = query.fetch_all(db.read()).await?;
    let count = rows.first().map_or(Ok(0), |row| row.try_get::<i64, _>(1))?;
    let titles: Result<Vec<String>, sqlx::Error> = rows.iter().map(|row| row.try_get(0)).collect();
    Ok((titles?, usize::try_from(count).unwrap_or_default()))
}

/// Counts the documents of a user that are being processed.
pub async fn count_processing<'c>(
    connection: impl sqlx::AnyExecutor<'c>,
    user_id: &str,
) -> Result<i64, StoreError> {
    let count = "SELECT COUNT(*) FROM documents WHERE user_id = $1 AND status = 'processing'";
    Ok(sqlx::query(count).bind(user_id).fetch_one(connection).await?.try_get(0)?)
}

/// The file that takes the place of a document's current one.
const NEXT_FILE: &str =
    "FROM document_files AS next WHERE next.document_id = documents.id AND next.version > documents.version";

/// Finds the oldest document of an owner with this content that is indexed, or will be. In a transaction that has locked
/// the owner, no other can be added.
pub async fn original<'c>(
    connection: impl sqlx::AnyExecutor<'c>,
    user_id: &str,
    content_hash: &str,
) -> Result<Option<Document>, StoreError> {
    let select = AssertSqlSafe(format!(
        "SELECT {COLUMNS} FROM documents
         WHERE user_id = $1 AND status <> 'error' AND (
             (content_hash = $2 AND NOT EXISTS (SELECT 1 {NEXT_FILE}))
             OR (status = 'processing' AND EXISTS (SELECT 1 {NEXT_FILE} AND next.content_hash = $2)))
         ORDER BY uploaded_at, id LIMIT 1"
    ));
    let row = sqlx::query(select).bind(user_id).bind(content_hash).fetch_optional(connection).await?;
    row.as_ref().map(document_of).transpose()
}

/// Returns the documents of the owner whose files have the same name, the newest first: those of the same archive, or
/// those that were uploaded.
pub async fn with_filename<'c>(
    connection: impl sqlx::AnyExecutor<'c>,
    document: &Document,
) -> Result<Vec<Document>, StoreError> {
    let select = AssertSqlSafe(format!(
        "SELECT {COLUMNS} FROM documents
         WHERE user_id = $1 AND filename = $2 AND archive_id = $3 AND source_id = $4
         ORDER BY uploaded_at DESC, id DESC"
    ));
    let query = sqlx::query(select).bind(&document.user_id).bind(&document.filename);
    let rows = query.bind(&document.archive_id).bind(&document.source_id).fetch_all(connection).await?;
    rows.iter().map(document_of).collect()
}

/// Returns a document in a transaction that has locked its owner.
pub async fn get_in(tx: &mut Tx, id: &str) -> Result<Option<Document>, StoreError> {
    let select = AssertSqlSafe(format!("SELECT {COLUMNS} FROM documents WHERE id = $1"));
    let row = sqlx::query(select).bind(id).fetch_optional(tx.conn()).await?;
    row.as_ref().map(document_of).transpose()
}

/// Does the same, if the document is still one of this owner.
pub async fn get_of(tx: &mut Tx, owner_id: &str, id: &str) -> Result<Option<Document>, StoreError> {
    Ok(get_in(tx, id).await?.filter(|document| document.user_id == owner_id))
}

/// Returns some documents whose time has come.
pub async fn expired(db: &Db, now: i64, limit: i64) -> Result<Vec<Document>, StoreError> {
    let select = AssertSqlSafe(format!(
        "SELECT {COLUMNS} FROM documents WHERE expires_at <= $1 AND
             EXISTS (SELECT 1 FROM users WHERE users.id = user_id AND removed = 0)
         ORDER BY expires_at LIMIT $2"
    ));
    let rows = sqlx::query(select).bind(now).bind(limit).fetch_all(db.read()).await?;
    rows.iter().map(document_of).collect()
}

/// Returns the ids of some documents of a source; with the id of an archive, only of its files.
pub async fn ids_of_source(
    db: &Db,
    owner_id: &str,
    source_id: &str,
    archive_id: &str,
    limit: i64,
) -> Result<Vec<String>, StoreError> {
    let select = "SELECT id FROM documents
        WHERE user_id = $1 AND source_id = $2 AND ($3 = '' OR archive_id = $3) ORDER BY id LIMIT $4";
    let query = sqlx::query(select).bind(owner_id).bind(source_id).bind(archive_id).bind(limit);
    query.fetch_all(db.read()).await?.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// Returns the ids of the documents that are files of an archive.
pub async fn ids_of_archive(db: &Db, archive: &Document) -> Result<Vec<String>, StoreError> {
    let select = "SELECT id FROM documents WHERE user_id = $1 AND archive_id = $2 AND source_id = $3";
    let query = sqlx::query(select).bind(&archive.user_id).bind(&archive.id).bind(&archive.source_id);
    query.fetch_all(db.read()).await?.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// Returns whether documents are files of this one.
pub async fn is_archive(tx: &mut Tx, id: &str) -> Result<bool, StoreError> {
    let select = "SELECT 1 FROM documents WHERE archive_id = $1 LIMIT 1";
    Ok(sqlx::query(select).bind(id).fetch_optional(tx.conn()).await?.is_some())
}

/// Sets the source that keeps a document up to date; empty: none.
pub async fn set_source(tx: &mut Tx, id: &str, source_id: &str) -> Result<(), StoreError> {
    let update = "UPDATE documents SET source_id = $2 WHERE id = $1";
    sqlx::query(update).bind(id).bind(source_id).execute(tx.conn()).await?;
    Ok(())
}

/// Makes the documents of a source as if they had been uploaded.
pub async fn release_from_source(tx: &mut Tx, source_id: &str) -> Result<(), StoreError> {
    let update = "UPDATE documents SET source_id = '' WHERE source_id = $1";
    sqlx::query(update).bind(source_id).execute(tx.conn()).await?;
    Ok(())
}

/// Sets when a document is removed; none: never. Returns false if there is no such document.
pub async fn set_expiry(
    tx: &mut Tx,
    id: &str,
    expires_at: Option<i64>,
    revision: i64,
) -> Result<bool, StoreError> {
    let update = "UPDATE documents SET expires_at = $2, revision = $3 WHERE id = $1";
    let query = sqlx::query(update).bind(id).bind(expires_at).bind(revision);
    Ok(query.execute(tx.conn()).await?.rows_affected() == 1)
}

/// Finds another document with the same content and title, and with vectors of this encoder: one of the same owner, or
/// the one that this is a copy of.
pub async fn twin(
    db: &Db,
    document: &Document,
    copied_from: &str,
    title: &str,
    encoder: &str,
) -> Result<Option<String>, StoreError> {
    let select = "SELECT id FROM documents
        WHERE (user_id = $1 OR id = $6) AND content_hash = $2 AND title = $3 AND encoder = $4 AND id <> $5
            AND chunk_count > 0
        ORDER BY id LIMIT 1";
    let query = sqlx::query(select).bind(&document.user_id).bind(&document.content_hash).bind(title);
    let query = query.bind(encoder).bind(&document.id).bind(copied_from);
    let row = query.fetch_optional(db.read()).await?;
    row.map(|row| Ok(row.try_get(0)?)).transpose()
}

/// Sets the progress if `job` still works on the document.
pub async fn set_progress(
    tx: &mut Tx,
    id: &str,
    job: i64,
    progress: i64,
    revision: i64,
) -> Result<(), StoreError> {
    let update = "UPDATE documents SET progress = $3, revision = $4
        WHERE id = $1 AND job_id = $2 AND progress < $3";
    let query = sqlx::query(update).bind(id).bind(job).bind(progress).bind(revision);
    query.execute(tx.conn()).await?;
    Ok(())
}

/// Counts a failure; returns how many there were since the document was last submitted.
pub async fn count_failure(tx: &mut Tx, id: &str) -> Result<i64, StoreError> {
    let update = "UPDATE documents SET failures = failures + 1 WHERE id = $1 RETURNING failures";
    let row = sqlx::query(update).bind(id).fetch_optional(tx.conn()).await?;
    row.map_or(Ok(0), |row| Ok(row.try_get(0)?))
}

/// Starts the processing of a document with another job, whatever was done with it. Returns false if it was deleted.
pub async fn restart(tx: &mut Tx, id: &str, job: i64, revision: i64) -> Result<bool, StoreError> {
    let update =
        "UPDATE documents SET status = 'processing', progress = 0, failures = 0, error = NULL, job_id = $2,
            revision = $3
        WHERE id = $1";
    let query = sqlx::query(update).bind(id).bind(job).bind(revision);
    Ok(query.execute(tx.conn()).await?.rows_affected() == 1)
}

/// Starts the processing of a document again, with another job. Returns false if one works on it, or if it was deleted.
pub async fn set_processing(tx: &mut Tx, id: &str, job: i64, revision: i64) -> Result<bool, StoreError> {
    let update =
        "UPDATE documents SET status = 'processing', progress = 0, failures = 0, error = NULL, job_id = $2,
            revision = $3
        WHERE id = $1 AND status <> 'processing'";
    let query = sqlx::query(update).bind(id).bind(job).bind(revision);
    Ok(query.execute(tx.conn()).await?.rows_affected() == 1)
}

pub struct Indexed<'a> {
    pub title: &'a str,
    pub chunk_count: i64,
    pub graph_nodes: i64,
    pub encoder: &'a str,
    pub revision: i64,
}

/// Returns false if the document was deleted, or another job works on it.
pub async fn set_indexed(tx: &mut Tx, id: &str, job: i64, indexed: &Indexed<'_>) -> Result<bool, StoreError> {
    let update =
        "UPDATE documents SET status = 'indexed', progress = 100, error = NULL, title = $3, chunk_count = $4,
            graph_nodes = $5, encoder = $6, revision = $7, indexed_revision = $7, job_id = NULL
        WHERE id = $1 AND job_id = $2";
    let query = sqlx::query(update).bind(id).bind(job).bind(indexed.title).bind(indexed.chunk_count);
    let query = query.bind(indexed.graph_nodes).bind(indexed.encoder).bind(indexed.revision);
    Ok(query.execute(tx.conn()).await?.rows_affected() == 1)
}

/// Makes a document in error be as it was indexed before.
pub async fn set_indexed_again(tx: &mut Tx, id: &str, revision: i64) -> Result<(), StoreError> {
    let update = "UPDATE documents SET status = 'indexed', progress = 100, error = NULL, revision = $2
        WHERE id = $1 AND status = 'error'";
    sqlx::query(update).bind(id).bind(revision).execute(tx.conn()).await?;
    Ok(())
}

/// Sets why a document could not be indexed; `is_ours` if the service failed, rather than the file being unreadable.
pub async fn set_error(
    tx: &mut Tx,
    id: &str,
    job: i64,
    error: &str,
    is_ours: bool,
    revision: i64,
) -> Result<(), StoreError> {
    let update =
        "UPDATE documents SET status = 'error', error = $3, error_is_ours = $4, revision = $5, job_id = NULL
        WHERE id = $1 AND job_id = $2";
    let query = sqlx::query(update).bind(id).bind(job).bind(error).bind(i64::from(is_ours)).bind(revision);
    query.execute(tx.conn()).await?;
    Ok(())
}

pub async fn has_object(db: &Db, user_id: &str, object_key: &str) -> Result<bool, StoreError> {
    let select = "SELECT 1 FROM documents WHERE user_id = $1 AND object_key = $2";
    let row = sqlx::query(select).bind(user_id).bind(object_key).fetch_optional(db.read()).await?;
    Ok(row.is_some())
}

fn json(metadata: &Metadata) -> String {
    serde_json::to_string(metadata).unwrap_or_default()
}

fn document_of(row: &AnyRow) -> Result<Document, StoreError> {
    let id: String = row.try_get("id")?;
    let corrupt = |reason: String| StoreError::Corrupt { what: format!("document `{id}`"), reason };
    let status: String = row.try_get("status")?;
    let metadata: String = row.try_get("metadata")?;
    Ok(Document {
        user_id: row.try_get("user_id")?,
        added_by: row.try_get("added_by")?,
        title: row.try_get("title")?,
        filename: row.try_get("filename")?,
        media_type: row.try_get("media_type")?,
        object_key: row.try_get("object_key")?,
        content_hash: row.try_get("content_hash")?,
        size: row.try_get("size")?,
        uploaded_at: row.try_get("uploaded_at")?,
        metadata: serde_json::from_str(&metadata).map_err(|error| corrupt(error.to_string()))?,
        status: Status::parse(&status).ok_or_else(|| corrupt(format!("unknown status `{status}`")))?,
        progress: row.try_get("progress")?,
        error: row.try_get("error")?,
        error_is_ours: row.try_get::<i64, _>("error_is_ours")? != 0,
        chunk_count: row.try_get("chunk_count")?,
        graph_nodes: row.try_get("graph_nodes")?,
        encoder: row.try_get("encoder")?,
        job_id: row.try_get("job_id")?,
        revision: row.try_get("revision")?,
        version: row.try_get("version")?,
        source_id: row.try_get("source_id")?,
        archive_id: row.try_get("archive_id")?,
        expires_at: row.try_get("expires_at")?,
        id,
    })
}
