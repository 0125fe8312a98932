//! The table of changes to administrators: written in the transaction of the account, and kept until the object store
//! has them. Only statements; decides nothing.

use crate::{Db, StoreError, Tx};
use sqlx::Row;
use sqlx::any::AnyRow;

const SELECT: &str = "SELECT record, is_removed, is_pending, not_before FROM admin_changes WHERE name = $1";
/// No administrator has this name. Every change locks its row first, so that changes are made one after the other.
const LOCK: &str = "";

/// The last change to an administrator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The record to write to the object store; none if it is to be deleted.
    pub record: Option<String>,
    pub is_removed: bool,
    pub is_pending: bool,
    pub not_before: i64,
}

/// Locks out other changes to the end of `tx`.
pub async fn lock(tx: &mut Tx) -> Result<(), StoreError> {
    let insert = "INSERT INTO admin_changes (name, record, is_removed, is_pending, not_before)
        VALUES ($1, '', 0, 0, 0) ON CONFLICT (name) DO UPDATE SET not_before = 0";
    sqlx::query(insert).bind(LOCK).execute(tx.conn()).await?;
    Ok(())
}

pub async fn get(db: &Db, name: &str) -> Result<Option<Change>, StoreError> {
    let row = sqlx::query(SELECT).bind(name).fetch_optional(db.read()).await?;
    row.as_ref().map(change_of).transpose()
}

pub async fn get_in(tx: &mut Tx, name: &str) -> Result<Option<Change>, StoreError> {
    let row = sqlx::query(SELECT).bind(name).fetch_optional(tx.conn()).await?;
    row.as_ref().map(change_of).transpose()
}

/// Records a change. `not_before` is used for the first change to a name; later ones refuse all tokens issued until now.
pub async fn plan(tx: &mut Tx, name: &str, record: Option<&str>, not_before: i64) -> Result<(), StoreError> {
    let now = tx.now_ms();
    let insert = "INSERT INTO admin_changes (name, record, is_removed, is_pending, not_before)
        VALUES ($1, $2, $3, 1, $4)
        ON CONFLICT (name) DO UPDATE SET record = excluded.record, is_removed = excluded.is_removed,
            is_pending = 1, not_before = $5";
    let query = sqlx::query(insert).bind(name).bind(record.unwrap_or_default());
    let query = query.bind(i64::from(record.is_none())).bind(not_before).bind(now);
    query.execute(tx.conn()).await?;
    Ok(())
}

/// Records that the object store has the change, and removes the copy of the record.
pub async fn done(tx: &mut Tx, name: &str) -> Result<(), StoreError> {
    let update = "UPDATE admin_changes SET is_pending = 0, record = '' WHERE name = $1";
    sqlx::query(update).bind(name).execute(tx.conn()).await?;
    Ok(())
}

/// Records that another tool has created the administrator again, unless there was another change since `change`.
pub async fn readmit(tx: &mut Tx, name: &str, change: &Change) -> Result<(), StoreError> {
    let update = "UPDATE admin_changes SET is_removed = 0
        WHERE name = $1 AND is_pending = 0 AND not_before = $2";
    sqlx::query(update).bind(name).bind(change.not_before).execute(tx.conn()).await?;
    Ok(())
}

pub async fn pending(db: &Db) -> Result<Vec<String>, StoreError> {
    let select = "SELECT name FROM admin_changes WHERE is_pending = 1 ORDER BY name";
    names(&sqlx::query(select).fetch_all(db.read()).await?)
}

pub async fn removed_in(tx: &mut Tx) -> Result<Vec<String>, StoreError> {
    let select = "SELECT name FROM admin_changes WHERE is_removed = 1";
    names(&sqlx::query(select).fetch_all(tx.conn()).await?)
}

fn names(rows: &[AnyRow]) -> Result<Vec<String>, StoreError> {
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

fn change_of(row: &AnyRow) -> Result<Change, StoreError> {
    let record: String = row.try_get(0)?;
    Ok(Change {
        record: Some(record).filter(|record| !record.is_empty()),
        is_removed: row.try_get::<i64, _>(1)? != 0,
        is_pending: row.try_get::<i64, _>(2)? != 0,
        not_before: row.try_get(3)?,
    })
}
