//! Finding and deleting documents.

use crate::records::Status;
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};
use store::{StoreError, Tx};

/// A document that is to be deleted.
pub struct DocumentToDelete {
    pub id: String,
    pub object_key: String,
    pub job_id: Option<i64>,
    pub chunk_count: i64,
}

const TO_DELETE_COLUMNS: &str = "id, object_key, job_id, chunk_count";

/// Finds a document of this user with one of these statuses.
pub async fn find_to_delete(
    tx: &mut Tx,
    user_id: &str,
    id: &str,
    statuses: &[Status],
) -> Result<Option<DocumentToDelete>, StoreError> {
    let names: Vec<String> = statuses.iter().map(|status| format!("'{}'", status.as_str())).collect();
    let select = AssertSqlSafe(format!(
        "SELECT {TO_DELETE_COLUMNS} FROM documents WHERE id = $1 AND user_id = $2 AND status IN ({})",
        names.join(", ")
    ));
    let row = sqlx::query(select).bind(id).bind(user_id).fetch_optional(tx.conn()).await?;
    row.as_ref().map(to_delete_of).transpose()
}

/// Returns some documents of a user, in no order.
pub async fn some_to_delete(
    tx: &mut Tx,
    user_id: &str,
    limit: i64,
) -> Result<Vec<DocumentToDelete>, StoreError> {
    let select =
        AssertSqlSafe(format!("SELECT {TO_DELETE_COLUMNS} FROM documents WHERE user_id = $1 LIMIT $2"));
    let rows = sqlx::query(select).bind(user_id).bind(limit).fetch_all(tx.conn()).await?;
    rows.iter().map(to_delete_of).collect()
}

/// Gives a document to another user, without its file and its job.
pub async fn set_aside(tx: &mut Tx, id: &str, user_id: &str) -> Result<(), StoreError> {
    let update = "UPDATE documents SET user_id = $2, object_key = '', job_id = NULL WHERE id = $1";
    sqlx::query(update).bind(id).bind(user_id).execute(tx.conn()).await?;
    Ok(())
}

pub async fn set_chunk_count(tx: &mut Tx, id: &str, chunk_count: i64) -> Result<(), StoreError> {
    let update = "UPDATE documents SET chunk_count = $2 WHERE id = $1";
    sqlx::query(update).bind(id).bind(chunk_count).execute(tx.conn()).await?;
    Ok(())
}

/// Deletes a document with its chunks.
pub async fn delete(tx: &mut Tx, id: &str) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM documents WHERE id = $1").bind(id).execute(tx.conn()).await?;
    Ok(())
}

fn to_delete_of(row: &AnyRow) -> Result<DocumentToDelete, StoreError> {
    Ok(DocumentToDelete {
        id: row.try_get(0)?,
        object_key: row.try_get(1)?,
        job_id: row.try_get(2)?,
        chunk_count: row.try_get(3)?,
    })
}
