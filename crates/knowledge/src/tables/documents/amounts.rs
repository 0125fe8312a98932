//! How much owners have.

use crate::records::Scope;
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};
use std::collections::HashMap;
use store::{Db, StoreError, Tx, placeholders};

/// How much an owner has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Without the files of conversations.
    pub documents: i64,
    /// Of all files, former ones included, and of copies of repositories.
    pub bytes: i64,
}

/// The size of a document's files beside the current one.
pub(super) const OTHER_FILES: &str =
    "COALESCE((SELECT SUM(f.size) FROM document_files f WHERE f.document_id = documents.id), 0)";

/// Returns the size of what an owner has, the files of a user's conversations included, in a transaction that has locked the
/// owner.
pub async fn bytes_of(tx: &mut Tx, owner_id: &str) -> Result<i64, StoreError> {
    let select = AssertSqlSafe(format!(
        "SELECT CAST(
             (SELECT COALESCE(SUM(size + {OTHER_FILES}), 0) FROM documents
              WHERE user_id IN (SELECT id FROM users WHERE id = $1 UNION ALL SELECT id FROM users WHERE files_of <> '' AND files_of = $1))
             + (SELECT COALESCE(SUM(copy_bytes), 0) FROM sources WHERE owner_id = $1) AS BIGINT)"
    ));
    Ok(sqlx::query(select).bind(owner_id).fetch_one(tx.conn()).await?.try_get(0)?)
}

/// Returns how much each of these owners has; one who has nothing is left out.
pub async fn amounts(db: &Db, owners: &[&str]) -> Result<HashMap<String, Amount>, StoreError> {
    if owners.is_empty() {
        return Ok(HashMap::new());
    }
    let ids = placeholders(1, owners.len());
    let select = AssertSqlSafe(format!(
        "SELECT owner, CAST(SUM(is_document) AS BIGINT), CAST(SUM(bytes) AS BIGINT) FROM (
             SELECT CASE files_of WHEN '' THEN user_id ELSE files_of END AS owner,
                 CASE files_of WHEN '' THEN 1 ELSE 0 END AS is_document, size + {OTHER_FILES} AS bytes
             FROM documents JOIN users ON users.id = documents.user_id
             WHERE documents.user_id IN (SELECT id FROM users WHERE id IN ({ids})
                 UNION ALL SELECT id FROM users WHERE files_of <> '' AND files_of IN ({ids}))
             UNION ALL SELECT owner_id, 0, copy_bytes FROM sources WHERE owner_id IN ({ids})
         ) AS owned GROUP BY owner"
    ));
    let query = owners.iter().fold(sqlx::query(select), |query, id| query.bind(*id));
    let rows = query.fetch_all(db.read()).await?;
    rows.iter().map(amount_of).collect()
}

/// Counts the documents of a scope that have no passages yet because they are still being read, and all of them; of those
/// with these ids only, if there are any.
pub async fn count_unread(db: &Db, scope: &Scope, ids: &[String]) -> Result<(i64, i64), StoreError> {
    let owners = scope.ids().count();
    let named = match ids.len() {
        0 => String::new(),
        count => format!("AND id IN ({})", placeholders(owners + 1, count)),
    };
    let condition = format!("user_id IN ({}) {named}", placeholders(1, owners));
    let count = async |more: &str| -> Result<i64, StoreError> {
        let select = AssertSqlSafe(format!("SELECT COUNT(*) FROM documents WHERE {condition} {more}"));
        let values = scope.ids().chain(ids.iter().map(String::as_str));
        let query = values.fold(sqlx::query(select), |query, value| query.bind(value));
        Ok(query.fetch_one(db.read()).await?.try_get(0)?)
    };
    // Mostly there are none, which an index knows.
    match count("AND status = 'processing' AND chunk_count = 0").await? {
        0 => Ok((0, 0)),
        unread => Ok((unread, count("").await?)),
    }
}

fn amount_of(row: &AnyRow) -> Result<(String, Amount), StoreError> {
    Ok((row.try_get(0)?, Amount { documents: row.try_get(1)?, bytes: row.try_get(2)? }))
}
