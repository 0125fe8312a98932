//! Statements of the deep check: rows that contradict each other. Documents of removed users are left out: they are being
//! deleted in batches.

use sqlx::Row;
use sqlx::any::AnyRow;
use store::{Db, StoreError};

/// Faults that are read; more would not be shown.
const MOST_FAULTS: i64 = 100;

/// A document, or a job or conversation, with what is wrong with it.
pub struct Contradiction {
    pub id: String,
    pub stored: i64,
    pub expected: i64,
}

/// Counts the documents with this status.
pub async fn count_documents(db: &Db, status: &str) -> Result<u64, StoreError> {
    let select = "SELECT COUNT(*) FROM documents d JOIN users u ON u.id = d.user_id
        WHERE u.removed = 0 AND d.status = $1";
    let row = sqlx::query(select).bind(status).fetch_one(db.bulk()).await?;
    Ok(row.try_get::<i64, _>(0)?.unsigned_abs())
}

/// Returns indexed documents that do not have the chunks 0 to n-1, with the number of those that they have.
pub async fn incomplete_documents(db: &Db) -> Result<Vec<Contradiction>, StoreError> {
    let select = "SELECT d.id, COUNT(c.position), d.chunk_count FROM documents d
        JOIN users u ON u.id = d.user_id
        LEFT JOIN chunks c ON c.document_id = d.id AND c.position BETWEEN 0 AND d.chunk_count - 1
        WHERE u.removed = 0 AND d.status = 'indexed'
        GROUP BY d.id, d.chunk_count HAVING COUNT(c.position) <> d.chunk_count ORDER BY d.id LIMIT $1";
    contradictions(db, select).await
}

/// Returns indexed documents that have chunks beyond their count, with the number of all their chunks.
pub async fn overfull_documents(db: &Db) -> Result<Vec<Contradiction>, StoreError> {
    let select = "SELECT d.id, COUNT(*), d.chunk_count FROM documents d
        JOIN users u ON u.id = d.user_id
        JOIN chunks c ON c.document_id = d.id AND (c.position < 0 OR c.position >= d.chunk_count)
        WHERE u.removed = 0 AND d.status = 'indexed'
        GROUP BY d.id, d.chunk_count ORDER BY d.id LIMIT $1";
    contradictions(db, select).await
}

/// Counts the indexed documents without a text. It is made again when it is asked for.
pub async fn count_without_text(db: &Db) -> Result<u64, StoreError> {
    let select = "SELECT COUNT(*) FROM documents d JOIN users u ON u.id = d.user_id
        LEFT JOIN texts t ON t.document_id = d.id
        WHERE u.removed = 0 AND d.status = 'indexed' AND t.document_id IS NULL";
    Ok(sqlx::query(select).fetch_one(db.bulk()).await?.try_get::<i64, _>(0)?.unsigned_abs())
}

/// Returns the documents that are processing without a job that will end it, or have a job without being processed.
pub async fn documents_without_job(db: &Db) -> Result<Vec<String>, StoreError> {
    let select = "SELECT d.id FROM documents d JOIN users u ON u.id = d.user_id
        LEFT JOIN jobs j ON j.id = d.job_id AND j.state IN ('queued', 'running')
        WHERE u.removed = 0 AND (d.status = 'processing') <> (j.id IS NOT NULL)
        ORDER BY d.id LIMIT $1";
    let rows = sqlx::query(select).bind(MOST_FAULTS).fetch_all(db.bulk()).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// Returns the jobs that index documents which do not know of them.
pub async fn jobs_without_document(db: &Db) -> Result<Vec<i64>, StoreError> {
    let select = "SELECT j.id FROM jobs j LEFT JOIN documents d ON d.job_id = j.id
        WHERE j.kind = 'ingest' AND j.state IN ('queued', 'running') AND j.cancel_requested = 0
            AND d.id IS NULL
        ORDER BY j.id LIMIT $1";
    let rows = sqlx::query(select).bind(MOST_FAULTS).fetch_all(db.bulk()).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

pub async fn count_conversations(db: &Db) -> Result<u64, StoreError> {
    let row = sqlx::query("SELECT COUNT(*) FROM conversations").fetch_one(db.bulk()).await?;
    Ok(row.try_get::<i64, _>(0)?.unsigned_abs())
}

/// Returns conversations with another number of messages than they count.
pub async fn wrong_conversations(db: &Db) -> Result<Vec<Contradiction>, StoreError> {
    let select = "SELECT c.id, COUNT(m.id), c.message_count FROM conversations c
        LEFT JOIN messages m ON m.conversation_id = c.id AND m.number <= c.last_number
        GROUP BY c.id, c.message_count HAVING COUNT(m.id) <> c.message_count ORDER BY c.id LIMIT $1";
    contradictions(db, select).await
}

async fn contradictions(db: &Db, select: &'static str) -> Result<Vec<Contradiction>, StoreError> {
    let rows = sqlx::query(select).bind(MOST_FAULTS).fetch_all(db.bulk()).await?;
    let read = |row: &AnyRow| {
        Ok(Contradiction { id: row.try_get(0)?, stored: row.try_get(1)?, expected: row.try_get(2)? })
    };
    rows.iter().map(read).collect()
}
