//! Key-value namespaces: JSON values under text keys, with versions for compare-and-set.

use serde_json::Value;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, AssertSqlSafe, Row};

use crate::{Db, Dialect, StoreError, Tx};

const MAX_KEY_BYTES: usize = 1_024;

/// A key with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub key: String,
    pub value: Value,
    /// Changes with every write and is never used again, not even after the key was deleted and created again. Versions
    /// can only be compared for equality: they are not ordered.
    pub version: i64,
    pub updated_at: i64,
}

/// The condition of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    Any,
    Absent,
    Version(i64),
}

/// A set of keys of its own.
#[derive(Clone)]
pub struct Namespace {
    db: Db,
    name: String,
}

impl Db {
    pub fn namespace(&self, name: &str) -> Namespace {
        Namespace { db: self.clone(), name: name.to_owned() }
    }
}

impl Namespace {
    pub async fn get(&self, key: &str) -> Result<Option<Entry>, StoreError> {
        let mut connection = self.db.read().acquire().await?;
        self.get_on(&mut connection, key).await
    }

    pub async fn get_in(&self, tx: &mut Tx, key: &str) -> Result<Option<Entry>, StoreError> {
        self.get_on(tx.conn(), key).await
    }

    /// Writes and returns the new version, or fails with [`StoreError::Conflict`] if `expect` does not hold.
    pub async fn put(&self, key: &str, value: &Value, expect: Expect) -> Result<i64, StoreError> {
        let mut tx = self.db.begin().await?;
        let version = self.put_in(&mut tx, key, value, expect).await?;
        tx.commit().await?;
        Ok(version)
    }

    pub async fn put_in(
        &self,
        tx: &mut Tx,
        key: &str,
        value: &Value,
        expect: Expect,
    ) -> Result<i64, StoreError> {
        check_key(key)?;
        let (now, version) = (tx.now_ms(), next_version(tx).await?);
        let insert =
            "INSERT INTO kv (namespace, key, value, version, updated_at) VALUES ($1, $2, $3, $4, $5)";
        let sql = match expect {
            Expect::Any => format!(
                "{insert} ON CONFLICT (namespace, key) DO UPDATE SET
                 value = excluded.value, version = excluded.version, updated_at = excluded.updated_at"
            ),
            Expect::Absent => format!("{insert} ON CONFLICT (namespace, key) DO NOTHING"),
            Expect::Version(_) => "UPDATE kv SET value = $3, version = $4, updated_at = $5
                WHERE namespace = $1 AND key = $2 AND version = $6"
                .to_owned(),
        };
        let mut write = sqlx::query(AssertSqlSafe(sql)).bind(&self.name).bind(key);
        write = write.bind(value.to_string()).bind(version).bind(now);
        if let Expect::Version(expected) = expect {
            write = write.bind(expected);
        }
        match write.execute(tx.conn()).await?.rows_affected() {
            0 => Err(StoreError::Conflict { key: key.to_owned() }),
            _ => Ok(version),
        }
    }

    /// Deletes a key and returns whether it existed.
    pub async fn delete(&self, key: &str, expect: Expect) -> Result<bool, StoreError> {
        let mut tx = self.db.begin().await?;
        let existed = self.delete_in(&mut tx, key, expect).await?;
        tx.commit().await?;
        Ok(existed)
    }

    pub async fn delete_in(&self, tx: &mut Tx, key: &str, expect: Expect) -> Result<bool, StoreError> {
        let conflict = || StoreError::Conflict { key: key.to_owned() };
        let delete = "DELETE FROM kv WHERE namespace = $1 AND key = $2";
        match expect {
            Expect::Absent => match self.get_in(tx, key).await? {
                Some(_) => Err(conflict()),
                None => Ok(false),
            },
            Expect::Any => {
                let deleted = sqlx::query(delete).bind(&self.name).bind(key).execute(tx.conn()).await?;
                Ok(deleted.rows_affected() > 0)
            }
            Expect::Version(expected) => {
                let sql = AssertSqlSafe(format!("{delete} AND version = $3"));
                let query = sqlx::query(sql).bind(&self.name).bind(key).bind(expected);
                match query.execute(tx.conn()).await?.rows_affected() {
                    0 => Err(conflict()),
                    _ => Ok(true),
                }
            }
        }
    }

    /// Returns at most `limit` entries whose keys begin with `prefix`, in the order of the keys' bytes. `after` is the
    /// last key of the page before.
    pub async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: i64,
    ) -> Result<Vec<Entry>, StoreError> {
        // Keys are never empty, so an empty text can mean no bound.
        let after = after.unwrap_or_default();
        let select = "SELECT key, value, version, updated_at FROM kv
            WHERE namespace = $1 AND key >= $2 AND ($3 = '' OR key < $3) AND key > $4 ORDER BY key LIMIT $5";
        let query = sqlx::query(select).bind(&self.name).bind(prefix);
        let query = query.bind(end_of_prefix(prefix)).bind(after).bind(limit);
        let rows = query.fetch_all(self.db.read()).await?;
        rows.iter().map(entry_of).collect()
    }

    async fn get_on(&self, connection: &mut AnyConnection, key: &str) -> Result<Option<Entry>, StoreError> {
        let select = "SELECT key, value, version, updated_at FROM kv WHERE namespace = $1 AND key = $2";
        let row = sqlx::query(select).bind(&self.name).bind(key).fetch_optional(connection).await?;
        row.as_ref().map(entry_of).transpose()
    }
}

/// Refuses keys that are empty or too long, and NUL, which PostgreSQL cannot store: both databases accept the same keys.
fn check_key(key: &str) -> Result<(), StoreError> {
    if key.is_empty() || key.len() > MAX_KEY_BYTES || key.contains('\0') {
        let shown: String = key.chars().take(64).collect();
        return Err(StoreError::InvalidKey(format!(
            "invalid key `{}`: 1 to {MAX_KEY_BYTES} bytes without NUL",
            shown.escape_debug()
        )));
    }
    Ok(())
}

async fn next_version(tx: &mut Tx) -> Result<i64, StoreError> {
    let sql = match tx.db().dialect() {
        Dialect::Sqlite => "UPDATE kv_last_version SET version = version + 1 RETURNING version",
        Dialect::Postgres => "SELECT nextval('kv_last_version')",
    };
    Ok(sqlx::query(sql).fetch_one(tx.conn()).await?.try_get(0)?)
}

/// Returns the first text after all those that begin with `prefix`; empty if there is none. UTF-8 bytes sort as the
/// characters do, so the last character that has a successor is replaced by it.
fn end_of_prefix(prefix: &str) -> String {
    let mut characters: Vec<char> = prefix.chars().collect();
    while let Some(last) = characters.pop() {
        if let Some(next) = (last..=char::MAX).nth(1) {
            characters.push(next);
            break;
        }
    }
    characters.into_iter().collect()
}

fn entry_of(row: &AnyRow) -> Result<Entry, StoreError> {
    let key: String = row.try_get(0)?;
    let value: String = row.try_get(1)?;
    let value = serde_json::from_str(&value)
        .map_err(|error| StoreError::Corrupt { what: format!("key `{key}`"), reason: error.to_string() })?;
    Ok(Entry { key, value, version: row.try_get(2)?, updated_at: row.try_get(3)? })
}

#[cfg(test)]
mod tests {
    use super::end_of_prefix;

    #[test]
    fn the_end_of_a_prefix_is_the_next_text_that_does_not_begin_with_it() {
        assert_eq!(end_of_prefix("update:"), "update;");
        assert_eq!(end_of_prefix("a\u{10FFFF}"), "b");
        assert_eq!(end_of_prefix("\u{D7FF}"), "\u{E000}", "surrogates are no characters");
        assert_eq!(end_of_prefix("\u{10FFFF}"), "");
        assert_eq!(end_of_prefix(""), "");
    }
}
