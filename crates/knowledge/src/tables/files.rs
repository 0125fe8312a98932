//! Files of documents beside the current one: former versions, and the next one, which is being indexed.

use crate::records::{Document, FileVersion};
use sqlx::Row;
use sqlx::any::AnyRow;
use store::{Db, StoreError, Tx};

const SELECT: &str =
    "SELECT version, object_key, content_hash, size, filename, media_type, uploaded_at, metadata,
        added_by
    FROM document_files WHERE document_id = $1 ORDER BY version DESC";

pub async fn insert(tx: &mut Tx, document_id: &str, file: &FileVersion) -> Result<(), StoreError> {
    let insert = "INSERT INTO document_files (document_id, version, object_key, content_hash, size, filename, media_type,
            uploaded_at, metadata, added_by)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    let query = sqlx::query(insert).bind(document_id).bind(file.version).bind(&file.object_key);
    let query = query.bind(&file.content_hash).bind(file.size).bind(&file.filename).bind(&file.media_type);
    let metadata = serde_json::to_string(&file.metadata).unwrap_or_default();
    query.bind(file.uploaded_at).bind(metadata).bind(&file.added_by).execute(tx.conn()).await?;
    Ok(())
}

/// Returns the files of a document beside the current one, the newest first.
pub async fn of_document<'c>(
    connection: impl sqlx::AnyExecutor<'c>,
    document_id: &str,
) -> Result<Vec<FileVersion>, StoreError> {
    let rows = sqlx::query(SELECT).bind(document_id).fetch_all(connection).await?;
    rows.iter().map(|row| file_of(document_id, row)).collect()
}

pub async fn delete(tx: &mut Tx, document_id: &str, version: i64) -> Result<(), StoreError> {
    let delete = "DELETE FROM document_files WHERE document_id = $1 AND version = $2";
    sqlx::query(delete).bind(document_id).bind(version).execute(tx.conn()).await?;
    Ok(())
}

/// Puts a file in the place of the document's current one, which becomes a former version.
pub async fn make_current(tx: &mut Tx, document: &Document, next: &FileVersion) -> Result<(), StoreError> {
    delete(tx, &document.id, next.version).await?;
    insert(tx, &document.id, &document.file_version()).await?;
    let update =
        "UPDATE documents SET version = $2, object_key = $3, content_hash = $4, size = $5, filename = $6,
            media_type = $7, uploaded_at = $8, metadata = $9, added_by = $10
        WHERE id = $1";
    let query = sqlx::query(update).bind(&document.id).bind(next.version).bind(&next.object_key);
    let query = query.bind(&next.content_hash).bind(next.size).bind(&next.filename).bind(&next.media_type);
    let metadata = serde_json::to_string(&next.metadata).unwrap_or_default();
    query.bind(next.uploaded_at).bind(metadata).bind(&next.added_by).execute(tx.conn()).await?;
    Ok(())
}

/// Sets who added the files of a document beside the current one, and those of the files of an archive.
pub async fn set_added_by(tx: &mut Tx, id: &str, added_by: &str) -> Result<(), StoreError> {
    let update = "UPDATE document_files SET added_by = $2
        WHERE document_id = $1
            OR document_id IN (SELECT id FROM documents WHERE archive_id = $1 AND archive_id <> '')";
    sqlx::query(update).bind(id).bind(added_by).execute(tx.conn()).await?;
    Ok(())
}

/// Returns whether a document of the owner has a file with this key beside its current one.
pub async fn has_object(db: &Db, owner_id: &str, object_key: &str) -> Result<bool, StoreError> {
    let select = "SELECT 1 FROM document_files JOIN documents ON documents.id = document_files.document_id
        WHERE document_files.object_key = $2 AND user_id = $1";
    let row = sqlx::query(select).bind(owner_id).bind(object_key).fetch_optional(db.read()).await?;
    Ok(row.is_some())
}

fn file_of(document_id: &str, row: &AnyRow) -> Result<FileVersion, StoreError> {
    let corrupt = |error: serde_json::Error| StoreError::Corrupt {
        what: format!("a file of document `{document_id}`"),
        reason: error.to_string(),
    };
    Ok(FileVersion {
        version: row.try_get(0)?,
        object_key: row.try_get(1)?,
        content_hash: row.try_get(2)?,
        size: row.try_get(3)?,
        filename: row.try_get(4)?,
        media_type: row.try_get(5)?,
        uploaded_at: row.try_get(6)?,
        metadata: serde_json::from_str(&row.try_get::<String, _>(7)?).map_err(corrupt)?,
        added_by: row.try_get(8)?,
    })
}
