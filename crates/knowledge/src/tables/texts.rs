//! The whole texts of documents.

use extract::{HeadingStart, Outline, PageStart};
use serde::{Deserialize, Serialize};
use sqlx::Row;
use store::{Db, StoreError, Tx};

/// The column `outline`.
#[derive(Default, Serialize, Deserialize)]
struct Starts {
    pages: Vec<PageStart>,
    headings: Vec<HeadingStart>,
}

/// Stores the text of a document, and replaces the one before.
pub async fn put(tx: &mut Tx, document_id: &str, outline: &Outline) -> Result<(), StoreError> {
    let insert = "INSERT INTO texts (document_id, text, is_cut, outline) VALUES ($1, $2, $3, $4)
        ON CONFLICT (document_id) DO UPDATE SET text = excluded.text, is_cut = excluded.is_cut,
            outline = excluded.outline";
    let query = sqlx::query(insert).bind(document_id).bind(&outline.text);
    let query = query.bind(i64::from(outline.is_cut)).bind(starts_of(outline));
    query.execute(tx.conn()).await?;
    Ok(())
}

/// Stores the text of a document that has none. Does nothing if the document was deleted.
pub async fn put_if_missing(tx: &mut Tx, document_id: &str, outline: &Outline) -> Result<(), StoreError> {
    let insert = "INSERT INTO texts (document_id, text, is_cut, outline)
        SELECT id, $2, $3, $4 FROM documents WHERE id = $1 ON CONFLICT (document_id) DO NOTHING";
    let query = sqlx::query(insert).bind(document_id).bind(&outline.text);
    let query = query.bind(i64::from(outline.is_cut)).bind(starts_of(outline));
    query.execute(tx.conn()).await?;
    Ok(())
}

pub async fn get(db: &Db, document_id: &str) -> Result<Option<Outline>, StoreError> {
    let select = "SELECT text, is_cut, outline FROM texts WHERE document_id = $1";
    let Some(row) = sqlx::query(select).bind(document_id).fetch_optional(db.read()).await? else {
        return Ok(None);
    };
    let starts: String = row.try_get(2)?;
    let starts: Starts = serde_json::from_str(&starts).map_err(|error| StoreError::Corrupt {
        what: format!("the text of document `{document_id}`"),
        reason: error.to_string(),
    })?;
    Ok(Some(Outline {
        text: row.try_get(0)?,
        is_cut: row.try_get::<i64, _>(1)? != 0,
        pages: starts.pages,
        headings: starts.headings,
    }))
}

fn starts_of(outline: &Outline) -> String {
    let starts = Starts { pages: outline.pages.clone(), headings: outline.headings.clone() };
    serde_json::to_string(&starts).unwrap_or_default()
}
