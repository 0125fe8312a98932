//! A user's documents in a given order, a bounded number of rows at a time.

use super::{COLUMNS, document_of};
use crate::records::{Cursor, Document, Order, SortKey, Status};
use sqlx::{AssertSqlSafe, Row};
use store::{Db, StoreError};

/// Which rows to read.
pub struct Rows<'a> {
    pub status: Option<Status>,
    pub order: Order,
    /// The last row of the page before, in the same order.
    pub after: Option<&'a Cursor>,
    pub limit: usize,
}

pub async fn page(db: &Db, user_id: &str, rows: Rows<'_>) -> Result<Vec<Document>, StoreError> {
    let (column, direction) = match rows.order {
        Order::Newest => ("uploaded_at", "DESC"),
        Order::Oldest => ("uploaded_at", "ASC"),
        Order::Title => ("lower(title)", "ASC"),
        Order::Size => ("size", "DESC"),
    };
    let beyond = if direction == "ASC" { ">" } else { "<" };
    let after = rows.after.map(|after| match after.key {
        // The database's own function, which may fold other letters than this program would.
        SortKey::Title(_) => format!(" AND ({column}, id) {beyond} (lower($3), $4)"),
        SortKey::UploadedAt(_) | SortKey::Size(_) => format!(" AND ({column}, id) {beyond} ($3, $4)"),
    });
    let status = rows.status.map(|status| format!(" AND status = '{}'", status.as_str()));
    let select = AssertSqlSafe(format!(
        "SELECT {COLUMNS} FROM documents WHERE user_id = $1{}{}
         ORDER BY {column} {direction}, id {direction} LIMIT $2",
        status.unwrap_or_default(),
        after.unwrap_or_default(),
    ));
    let mut query = sqlx::query(select).bind(user_id).bind(rows.limit as i64);
    if let Some(Cursor { key, id }) = rows.after {
        query = match key {
            SortKey::UploadedAt(number) | SortKey::Size(number) => query.bind(number),
            SortKey::Title(title) => query.bind(title),
        };
        query = query.bind(id);
    }
    query.fetch_all(db.read()).await?.iter().map(document_of).collect()
}

/// Counts the documents of a user, in the order of [`Status::ALL`].
pub async fn count_by_status(db: &Db, user_id: &str) -> Result<[i64; 3], StoreError> {
    let select = "SELECT status, COUNT(*) FROM documents WHERE user_id = $1 GROUP BY status";
    let rows = sqlx::query(select).bind(user_id).fetch_all(db.read()).await?;
    let mut counts = [0; 3];
    for row in rows {
        let status: String = row.try_get(0)?;
        for (known, count) in Status::ALL.iter().zip(&mut counts) {
            if known.as_str() == status {
                *count = row.try_get(1)?;
            }
        }
    }
    Ok(counts)
}
