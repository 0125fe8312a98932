//! Chunks: the passages of a document with their vectors and mentions.

use crate::documents::{Chunk, Mention};
use futures_util::TryStreamExt;
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};
use store::{Db, StoreError, Tx};

/// In one statement, which has a limit on its length.
const SHOWN_AT_ONCE: usize = 50;
const ROWS_AT_ONCE: usize = 32;

const COLUMNS: &str = "position, text, headings, page, start, vector, mentions";

/// In place of those that the document had.
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

/// A document whose chunks have changed.
pub struct Changed {
    pub document_id: String,
    pub title: String,
    pub encoder: String,
    pub chunks: Vec<Chunk>,
}

/// Hands over the documents whose chunks have changed since a revision, one by one: a user may have more than fits in
/// memory twice. One statement, so never a mixture of old and new.
pub async fn changed_since(
    db: &Db,
    user_id: &str,
    revision: i64,
    mut take: impl FnMut(Changed),
) -> Result<(), StoreError> {
    let select =
        "SELECT documents.id, title, encoder, position, text, headings, page, start, vector, mentions
        FROM documents JOIN chunks ON chunks.document_id = documents.id
        WHERE user_id = $1 AND indexed_revision > $2 ORDER BY indexed_revision, documents.id, position";
    let mut rows = sqlx::query(select).bind(user_id).bind(revision).fetch(db.read());
    let mut current: Option<Changed> = None;
    while let Some(row) = rows.try_next().await? {
        let id: String = row.try_get(0)?;
        let chunk = chunk_of(&id, &row)?;
        match &mut current {
            Some(changed) if changed.document_id == id => changed.chunks.push(chunk),
            _ => {
                let (title, encoder) = (row.try_get(1)?, row.try_get(2)?);
                let next = Changed { document_id: id, title, encoder, chunks: vec![chunk] };
                current.replace(next).into_iter().for_each(&mut take);
            }
        }
    }
    current.into_iter().for_each(take);
    Ok(())
}

/// In their order; empty where the document is gone. One statement, so never a mixture of old and new.
pub async fn of_document(db: &Db, document_id: &str) -> Result<Vec<Chunk>, StoreError> {
    let select =
        AssertSqlSafe(format!("SELECT {COLUMNS} FROM chunks WHERE document_id = $1 ORDER BY position"));
    let rows = sqlx::query(select).bind(document_id).fetch_all(db.read()).await?;
    rows.iter().map(|row| chunk_of(document_id, row)).collect()
}

/// A chunk as a result shows it.
pub struct Shown {
    pub document_id: String,
    pub document_title: String,
    pub position: i64,
    pub text: String,
    pub headings: Vec<String>,
    pub page: Option<i64>,
    pub start: i64,
}

/// Chunks by document and position, in no order. Those that are gone are left out.
pub async fn shown(db: &Db, places: &[(&str, i64)]) -> Result<Vec<Shown>, StoreError> {
    let mut shown = Vec::with_capacity(places.len());
    for places in places.chunks(SHOWN_AT_ONCE) {
        let place =
            |index: usize| format!("(document_id = ${} AND position = ${})", 2 * index + 1, 2 * index + 2);
        let wanted: Vec<String> = (0..places.len()).map(place).collect();
        let select = AssertSqlSafe(format!(
            "SELECT document_id, title, position, text, headings, page, start FROM chunks
             JOIN documents ON documents.id = chunks.document_id WHERE {}",
            wanted.join(" OR ")
        ));
        let mut query = sqlx::query(select);
        for (document_id, position) in places {
            query = query.bind(*document_id).bind(*position);
        }
        for row in query.fetch_all(db.read()).await? {
            shown.push(shown_of(&row)?);
        }
    }
    Ok(shown)
}

fn shown_of(row: &AnyRow) -> Result<Shown, StoreError> {
    let document_id: String = row.try_get(0)?;
    Ok(Shown {
        document_title: row.try_get(1)?,
        position: row.try_get(2)?,
        text: row.try_get(3)?,
        headings: parse(&document_id, &row.try_get::<String, _>(4)?)?,
        page: row.try_get(5)?,
        start: row.try_get(6)?,
        document_id,
    })
}

/// Document, position and mentions of every chunk that a user has.
pub async fn mentions_of_user(
    db: &Db,
    user_id: &str,
) -> Result<Vec<(String, i64, Vec<Mention>)>, StoreError> {
    let select = "SELECT chunks.document_id, chunks.position, chunks.mentions FROM documents
        JOIN chunks ON chunks.document_id = documents.id
        WHERE documents.user_id = $1 ORDER BY chunks.document_id, chunks.position";
    let rows = sqlx::query(select).bind(user_id).fetch_all(db.read()).await?;
    let mentions = rows.iter().map(|row| {
        let document: String = row.try_get(0)?;
        let mentions = parse(&document, &row.try_get::<String, _>(2)?)?;
        Ok((document, row.try_get(1)?, mentions))
    });
    mentions.collect()
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
