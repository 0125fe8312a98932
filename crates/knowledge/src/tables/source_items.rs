//! The items of sources, as they were last seen.

use crate::records::{ItemStatus, SourceItem};
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};
use std::collections::HashMap;
use store::{Db, StoreError, Tx, parse_stored, placeholders};

/// In one statement, which has a limit on its parameters.
const AT_ONCE: usize = 500;

const COLUMNS: &str = "path, version, state, content_hash, document_id, status, message, run";

/// Adds an item, or replaces what is known of it.
pub async fn put(tx: &mut Tx, source_id: &str, item: &SourceItem) -> Result<(), StoreError> {
    let insert = "INSERT INTO source_items (source_id, path, version, state, content_hash, document_id, status, message, run)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        ON CONFLICT (source_id, path) DO UPDATE SET version = excluded.version, state = excluded.state,
            content_hash = excluded.content_hash, document_id = excluded.document_id, status = excluded.status,
            message = excluded.message, run = excluded.run";
    let status: &str = item.status.into();
    let query = sqlx::query(insert).bind(source_id).bind(&item.path).bind(&item.version).bind(&item.state);
    let query = query.bind(&item.content_hash).bind(&item.document_id).bind(status).bind(&item.message);
    query.bind(item.run).execute(tx.conn()).await?;
    Ok(())
}

/// Returns those of these items that are known, by path.
pub async fn find(
    db: &Db,
    source_id: &str,
    paths: &[&str],
) -> Result<HashMap<String, SourceItem>, StoreError> {
    let mut found = HashMap::new();
    for paths in paths.chunks(AT_ONCE) {
        let select = AssertSqlSafe(format!(
            "SELECT {COLUMNS} FROM source_items WHERE source_id = $1 AND path IN ({})",
            placeholders(2, paths.len())
        ));
        let query = paths.iter().fold(sqlx::query(select).bind(source_id), |query, path| query.bind(*path));
        for row in query.fetch_all(db.read()).await? {
            let item = item_of(&row)?;
            found.insert(item.path.clone(), item);
        }
    }
    Ok(found)
}

/// Notes that a run has seen these items as they are known.
pub async fn touch(tx: &mut Tx, source_id: &str, paths: &[&str], run: i64) -> Result<(), StoreError> {
    for paths in paths.chunks(AT_ONCE) {
        let update = AssertSqlSafe(format!(
            "UPDATE source_items SET run = $2 WHERE source_id = $1 AND path IN ({})",
            placeholders(3, paths.len())
        ));
        let query = sqlx::query(update).bind(source_id).bind(run);
        let query = paths.iter().fold(query, |query, path| query.bind(*path));
        query.execute(tx.conn()).await?;
    }
    Ok(())
}

/// Returns some items that a run has not seen, or has skipped although they are documents.
pub async fn gone(db: &Db, source_id: &str, run: i64, limit: i64) -> Result<Vec<SourceItem>, StoreError> {
    let select = AssertSqlSafe(format!(
        "SELECT {COLUMNS} FROM source_items WHERE source_id = $1 AND
            (run < $2 OR (status = 'skipped' AND document_id <> '')) ORDER BY run, path LIMIT $3"
    ));
    let query = sqlx::query(select).bind(source_id).bind(run).bind(limit);
    query.fetch_all(db.read()).await?.iter().map(item_of).collect()
}

/// The items of a source as they are shown: one whose document could not be indexed is an error, too.
const SHOWN: &str =
    "(SELECT items.path, items.version, items.state, items.content_hash, items.document_id, items.run,
        COALESCE(failed.status, items.status) AS status, COALESCE(failed.error, items.message) AS message
    FROM source_items AS items
    LEFT JOIN documents AS failed ON failed.id = items.document_id AND failed.status = 'error'
    WHERE items.source_id = $1) AS shown";

/// Returns items after a path, by path; with a status, only those.
pub async fn page(
    db: &Db,
    source_id: &str,
    status: Option<ItemStatus>,
    after: &str,
    limit: i64,
) -> Result<Vec<SourceItem>, StoreError> {
    let of_status = status.map(|status| format!("AND status = '{}'", <&str>::from(status)));
    let select = AssertSqlSafe(format!(
        "SELECT {COLUMNS} FROM {SHOWN} WHERE path > $2 {} ORDER BY path LIMIT $3",
        of_status.unwrap_or_default()
    ));
    let query = sqlx::query(select).bind(source_id).bind(after).bind(limit);
    query.fetch_all(db.read()).await?.iter().map(item_of).collect()
}

/// Returns how many items of the source each status has.
pub async fn counts(db: &Db, source_id: &str) -> Result<HashMap<ItemStatus, i64>, StoreError> {
    let select = AssertSqlSafe(format!("SELECT status, COUNT(*) FROM {SHOWN} GROUP BY status"));
    let rows = sqlx::query(select).bind(source_id).fetch_all(db.read()).await?;
    let count = |row: &AnyRow| Ok((status_of(&row.try_get::<String, _>(0)?)?, row.try_get(1)?));
    rows.iter().map(count).collect()
}

/// Returns the ids of the sources of all items that are this document, one for each item.
pub async fn of_document(tx: &mut Tx, document_id: &str) -> Result<Vec<String>, StoreError> {
    let select = "SELECT source_id FROM source_items WHERE document_id = $1";
    let rows = sqlx::query(select).bind(document_id).fetch_all(tx.conn()).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// Makes items that had used a document of another source, or an upload, be read again in the next run.
pub async fn forget_document(tx: &mut Tx, document_id: &str) -> Result<(), StoreError> {
    let update = "UPDATE source_items SET version = '', state = '', content_hash = '', document_id = ''
        WHERE document_id = $1 AND source_id <> (SELECT source_id FROM documents WHERE id = $1)";
    sqlx::query(update).bind(document_id).execute(tx.conn()).await?;
    Ok(())
}

/// Makes items that had used an upload, or a file of an uploaded archive, be read again in the next run.
pub async fn forget_moved(tx: &mut Tx, id: &str) -> Result<(), StoreError> {
    let update = "UPDATE source_items SET version = '', state = '', content_hash = '', document_id = ''
        WHERE document_id = $1
            OR document_id IN (SELECT id FROM documents WHERE archive_id = $1 AND archive_id <> '')";
    sqlx::query(update).bind(id).execute(tx.conn()).await?;
    Ok(())
}

/// Returns whether a run has seen an item that it has not skipped.
pub async fn has_seen(db: &Db, source_id: &str, run: i64) -> Result<bool, StoreError> {
    let select =
        "SELECT 1 FROM source_items WHERE source_id = $1 AND run = $2 AND status <> 'skipped' LIMIT 1";
    Ok(sqlx::query(select).bind(source_id).bind(run).fetch_optional(db.read()).await?.is_some())
}

/// Returns whether an item of the source is a document.
pub async fn has_documents(db: &Db, source_id: &str) -> Result<bool, StoreError> {
    let select = "SELECT 1 FROM source_items WHERE source_id = $1 AND document_id <> '' LIMIT 1";
    Ok(sqlx::query(select).bind(source_id).fetch_optional(db.read()).await?.is_some())
}

pub async fn delete(tx: &mut Tx, source_id: &str, path: &str) -> Result<(), StoreError> {
    let delete = "DELETE FROM source_items WHERE source_id = $1 AND path = $2";
    sqlx::query(delete).bind(source_id).bind(path).execute(tx.conn()).await?;
    Ok(())
}

fn status_of(text: &str) -> Result<ItemStatus, StoreError> {
    parse_stored("the status of an item", text)
}

fn item_of(row: &AnyRow) -> Result<SourceItem, StoreError> {
    Ok(SourceItem {
        path: row.try_get(0)?,
        version: row.try_get(1)?,
        state: row.try_get(2)?,
        content_hash: row.try_get(3)?,
        document_id: row.try_get(4)?,
        status: status_of(&row.try_get::<String, _>(5)?)?,
        message: row.try_get(6)?,
        run: row.try_get(7)?,
    })
}
