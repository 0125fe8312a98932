//! Chunks: the passages of a document with their vectors and mentions.

use crate::records::{Chunk, Mention};
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};
use store::{Db, StoreError, Tx};

/// In one statement, which has a limit on its length.
const FOUND_AT_ONCE: usize = 50;
const ROWS_AT_ONCE: usize = 32;

const COLUMNS: &str = "position, text, headings, page, start, vector, mentions";

/// Replaces the chunks of a document.
pub async fn replace(tx: &mut Tx, document_id: &str, chunks: &[Chunk]) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM chunks WHERE document_id = $1").bind(document_id).execute(tx.conn()).await?;
    for chunks in chunks.chunks(ROWS_AT_ONCE) {
        let row = |row: usize| {
            let places: Vec<String> = (1..=8).map(|column| format!("${}", 8 * row + column)).collect();
            format!("({})", places.join(", "))
        };
        let rows: Vec<String> = (0..chunks.len()).map(row).collect();
        let insert = AssertSqlSafe(format!(
            "INSERT INTO chunks (document_id, position, text, headings, page, start, vector, mentions) VALUES {}",
            rows.join(", ")
        ));
        let mut query = sqlx::query(insert);
        for chunk in chunks {
            query = query.bind(document_id).bind(chunk.position).bind(&chunk.text);
            query = query.bind(json(&chunk.headings)).bind(chunk.page).bind(chunk.start);
            query = query.bind(bytes_of(&chunk.vector)).bind(json(&chunk.mentions));
        }
        query.execute(tx.conn()).await?;
    }
    Ok(())
}

/// A document whose chunks have changed at `revision`.
#[derive(Clone, Debug)]
pub struct Changed {
    pub document_id: String,
    pub title: String,
    pub encoder: String,
    pub chunk_count: i64,
    pub revision: i64,
}

/// Returns the user's documents whose chunks have changed since a revision, in the order of their changes. No two have
/// the same revision, so the last one is the cursor for the next page.
pub async fn changed_since(
    db: &Db,
    user_id: &str,
    revision: i64,
    limit: i64,
) -> Result<Vec<Changed>, StoreError> {
    let select = "SELECT id, title, encoder, chunk_count, indexed_revision FROM documents
        WHERE user_id = $1 AND indexed_revision > $2 ORDER BY indexed_revision LIMIT $3";
    let query = sqlx::query(select).bind(user_id).bind(revision).bind(limit);
    let changed = query.fetch_all(db.bulk()).await?;
    let changed = changed.iter().map(|row| {
        Ok(Changed {
            document_id: row.try_get(0)?,
            title: row.try_get(1)?,
            encoder: row.try_get(2)?,
            chunk_count: row.try_get(3)?,
            revision: row.try_get(4)?,
        })
    });
    changed.collect()
}

/// Counts the chunks of the documents that [`changed_since`] returns.
pub async fn count_changed_since(db: &Db, user_id: &str, revision: i64) -> Result<i64, StoreError> {
    // A sum of BIGINT is NUMERIC in PostgreSQL, which the driver cannot read.
    let select = "SELECT CAST(COALESCE(SUM(chunk_count), 0) AS BIGINT) FROM documents
        WHERE user_id = $1 AND indexed_revision > $2";
    Ok(sqlx::query(select).bind(user_id).bind(revision).fetch_one(db.bulk()).await?.try_get(0)?)
}

/// What [`page`] reads of each chunk.
pub trait FromChunk: Sized + Send + 'static {
    const COLUMNS: &'static str;

    fn from_row(document_id: &str, row: &AnyRow) -> Result<Self, StoreError>;
}

impl FromChunk for Chunk {
    const COLUMNS: &'static str = COLUMNS;

    fn from_row(document_id: &str, row: &AnyRow) -> Result<Self, StoreError> {
        chunk_of(document_id, row)
    }
}

/// What a chunk names.
pub struct Mentions {
    pub position: i64,
    pub mentions: Vec<Mention>,
}

impl FromChunk for Mentions {
    const COLUMNS: &'static str = "position, mentions";

    fn from_row(document_id: &str, row: &AnyRow) -> Result<Self, StoreError> {
        let mentions = parse(document_id, &row.try_get::<String, _>("mentions")?)?;
        Ok(Self { position: row.try_get("position")?, mentions })
    }
}

/// A row of [`page`]: a chunk, and the revision at which its document's chunks were written.
pub struct PageRow<T> {
    pub document_id: String,
    pub revision: i64,
    pub chunk: T,
}

/// Reads at most `limit` chunks of these documents from a position on, ordered by document and position.
pub async fn page<T: FromChunk>(
    db: &Db,
    documents: &[&str],
    from: i64,
    limit: i64,
) -> Result<Vec<PageRow<T>>, StoreError> {
    let places: Vec<String> = (3..documents.len() + 3).map(|number| format!("${number}")).collect();
    let select = AssertSqlSafe(format!(
        "SELECT chunks.document_id, documents.indexed_revision, {} FROM chunks
         JOIN documents ON documents.id = chunks.document_id
         WHERE chunks.document_id IN ({}) AND position >= $1 ORDER BY chunks.document_id, position LIMIT $2",
        T::COLUMNS,
        places.join(", ")
    ));
    let query = sqlx::query(select).bind(from).bind(limit);
    let query = documents.iter().fold(query, |query, id| query.bind(*id));
    let rows = query.fetch_all(db.bulk()).await?;
    // Parsing a page takes too long for a thread that runs async tasks.
    let parsing = tokio::task::spawn_blocking(move || rows.iter().map(page_row).collect());
    parsing.await.map_err(|_| StoreError::Stopping)?
}

fn page_row<T: FromChunk>(row: &AnyRow) -> Result<PageRow<T>, StoreError> {
    let document_id: String = row.try_get(0)?;
    Ok(PageRow { revision: row.try_get(1)?, chunk: T::from_row(&document_id, row)?, document_id })
}

/// Deletes at most `limit` chunks of a document, and returns how many.
pub async fn delete_some(tx: &mut Tx, document_id: &str, limit: i64) -> Result<i64, StoreError> {
    let delete = "DELETE FROM chunks WHERE document_id = $1 AND position IN
        (SELECT position FROM chunks WHERE document_id = $1 ORDER BY position LIMIT $2)";
    let query = sqlx::query(delete).bind(document_id).bind(limit);
    Ok(i64::try_from(query.execute(tx.conn()).await?.rows_affected()).unwrap_or(i64::MAX))
}

/// Reads all chunks of a document in their order; none if it was deleted. One statement, so never a mixture of old and
/// new chunks.
pub async fn of_document(db: &Db, document_id: &str) -> Result<Vec<Chunk>, StoreError> {
    let select =
        AssertSqlSafe(format!("SELECT {COLUMNS} FROM chunks WHERE document_id = $1 ORDER BY position"));
    let rows = sqlx::query(select).bind(document_id).fetch_all(db.read()).await?;
    rows.iter().map(|row| chunk_of(document_id, row)).collect()
}

/// Where a chunk is in its document.
pub struct ChunkPlace {
    pub position: i64,
    pub page: Option<i64>,
    pub start: i64,
}

/// Reads where the first `limit` chunks of a document are, in their order.
pub async fn places(db: &Db, document_id: &str, limit: i64) -> Result<Vec<ChunkPlace>, StoreError> {
    let select = "SELECT position, page, start FROM chunks WHERE document_id = $1 ORDER BY position LIMIT $2";
    let rows = sqlx::query(select).bind(document_id).bind(limit).fetch_all(db.read()).await?;
    let places = rows.iter().map(|row| {
        Ok(ChunkPlace { position: row.try_get(0)?, page: row.try_get(1)?, start: row.try_get(2)? })
    });
    places.collect()
}

/// A chunk with what a search result needs of it and of its document.
pub struct FoundChunk {
    pub document_id: String,
    /// The user or space whose document it is.
    pub owner_id: String,
    pub document_title: String,
    pub filename: String,
    pub position: i64,
    pub text: String,
    pub headings: Vec<String>,
    pub page: Option<i64>,
    pub start: i64,
}

/// Reads chunks by document and position, in no order. Those that are gone are left out.
pub async fn find(db: &Db, positions: &[(&str, i64)]) -> Result<Vec<FoundChunk>, StoreError> {
    let mut found = Vec::with_capacity(positions.len());
    for positions in positions.chunks(FOUND_AT_ONCE) {
        let condition =
            |index: usize| format!("(document_id = ${} AND position = ${})", 2 * index + 1, 2 * index + 2);
        let wanted: Vec<String> = (0..positions.len()).map(condition).collect();
        let select = AssertSqlSafe(format!(
            "SELECT document_id, title, position, text, headings, page, start, filename, user_id FROM chunks
             JOIN documents ON documents.id = chunks.document_id WHERE {}",
            wanted.join(" OR ")
        ));
        let mut query = sqlx::query(select);
        for (document_id, position) in positions {
            query = query.bind(*document_id).bind(*position);
        }
        for row in query.fetch_all(db.read()).await? {
            found.push(found_chunk_of(&row)?);
        }
    }
    Ok(found)
}

fn found_chunk_of(row: &AnyRow) -> Result<FoundChunk, StoreError> {
    let document_id: String = row.try_get(0)?;
    Ok(FoundChunk {
        document_title: row.try_get(1)?,
        position: row.try_get(2)?,
        text: row.try_get(3)?,
        headings: parse(&document_id, &row.try_get::<String, _>(4)?)?,
        page: row.try_get(5)?,
        start: row.try_get(6)?,
        filename: row.try_get(7)?,
        owner_id: row.try_get(8)?,
        document_id,
    })
}

fn chunk_of(document_id: &str, row: &AnyRow) -> Result<Chunk, StoreError> {
    Ok(Chunk {
        position: row.try_get("position")?,
        text: row.try_get("text")?,
        headings: parse(document_id, &row.try_get::<String, _>("headings")?)?,
        page: row.try_get("page")?,
        start: row.try_get("start")?,
        vector: floats_of(&row.try_get::<Vec<u8>, _>("vector")?),
        mentions: parse(document_id, &row.try_get::<String, _>("mentions")?)?,
    })
}

fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn parse<T: serde::de::DeserializeOwned>(document_id: &str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Corrupt {
        what: format!("a chunk of document `{document_id}`"),
        reason: error.to_string(),
    })
}

fn bytes_of(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn floats_of(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}
