//! Giving documents to another owner.

use super::amounts::OTHER_FILES;
use sqlx::{AssertSqlSafe, Row};
use store::{StoreError, Tx};

/// A document of the owner `$1` with the id `$2`, and if it is an archive, the documents of its files.
const MOVED: &str = "user_id = $1 AND (id = $2 OR (archive_id = $2 AND archive_id <> ''))";

/// What goes with a document to another owner: for an archive, the documents of its files, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToMove {
    pub documents: i64,
    /// Of their files, former ones included.
    pub bytes: i64,
    pub chunks: i64,
    /// How many are being processed.
    pub in_work: i64,
    /// How many a source keeps up to date.
    pub of_source: i64,
}

/// Returns what goes with a document, in a transaction that has locked its owner.
pub async fn to_move(tx: &mut Tx, owner_id: &str, id: &str) -> Result<ToMove, StoreError> {
    let select = AssertSqlSafe(format!(
        "SELECT COUNT(*), CAST(COALESCE(SUM(size + {OTHER_FILES}), 0) AS BIGINT),
            CAST(COALESCE(SUM(chunk_count), 0) AS BIGINT),
            COUNT(CASE WHEN status = 'processing' THEN 1 END), COUNT(CASE WHEN source_id <> '' THEN 1 END)
         FROM documents WHERE {MOVED}"
    ));
    let row = sqlx::query(select).bind(owner_id).bind(id).fetch_one(tx.conn()).await?;
    Ok(ToMove {
        documents: row.try_get(0)?,
        bytes: row.try_get(1)?,
        chunks: row.try_get(2)?,
        in_work: row.try_get(3)?,
        of_source: row.try_get(4)?,
    })
}

/// Gives a document to another owner, with what [`to_move`] counts. The changes get the revisions of the new owner after
/// `revision`, one for each document. A file that is moved without its archive is a document like any other then.
pub async fn set_owner(
    tx: &mut Tx,
    owner_id: &str,
    id: &str,
    (new_owner, added_by): (&str, &str),
    revision: i64,
) -> Result<(), StoreError> {
    let update = AssertSqlSafe(format!(
        "UPDATE documents SET user_id = $3, added_by = $4, revision = $5 + place,
            indexed_revision = CASE WHEN indexed_revision > 0 THEN $5 + place ELSE 0 END,
            archive_id = CASE WHEN id = $2 THEN '' ELSE archive_id END
         FROM (SELECT id AS moved_id, ROW_NUMBER() OVER (ORDER BY id) AS place FROM documents WHERE {MOVED}) AS moved
         WHERE id = moved_id"
    ));
    let query = sqlx::query(update).bind(owner_id).bind(id).bind(new_owner).bind(added_by);
    query.bind(revision).execute(tx.conn()).await?;
    Ok(())
}
