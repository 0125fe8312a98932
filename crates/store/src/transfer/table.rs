//! Which tables a database has, with their columns and keys, in an order in which they can be filled.

use sqlx::Row;
use std::collections::BTreeSet;

use crate::{Db, Dialect, StoreError};

/// The table of what is moved already.
pub(super) const PROGRESS: &str = "move_progress";
/// Tables that are not moved: what belongs to the engine or to the move itself.
const NOT_MOVED: [&str; 4] = ["schema_migrations", "wake_log", "kv_last_version", PROGRESS];

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Number,
    Bytes,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub name: String,
    pub kind: Kind,
}

/// A table with its columns, in the order of their names, and its primary key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub name: String,
    pub(super) columns: Vec<Column>,
    pub(super) key: Vec<String>,
}

/// Returns the names of all tables.
pub async fn names(db: &Db) -> Result<Vec<String>, StoreError> {
    let select = match db.dialect() {
        Dialect::Sqlite => {
            "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_'
             ORDER BY name"
        }
        Dialect::Postgres => {
            "SELECT CAST(tablename AS TEXT) FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1"
        }
    };
    let rows = sqlx::query(select).fetch_all(db.read()).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// Returns the tables that are moved, each after those that its rows refer to.
pub async fn tables(db: &Db) -> Result<Vec<Table>, StoreError> {
    let names = names(db).await?.into_iter().filter(|name| !NOT_MOVED.contains(&name.as_str()));
    let names: Vec<String> = names.collect();
    let mut references = references(db, &names).await?;
    let mut tables = Vec::new();
    let mut waiting: BTreeSet<String> = names.into_iter().collect();
    while !waiting.is_empty() {
        let is_free = |name: &&String| !references.iter().any(|(child, _)| child == *name);
        let Some(next) = waiting.iter().find(is_free).cloned() else {
            let reason = "they refer to each other in a circle".to_owned();
            return Err(StoreError::Corrupt { what: "the order of the tables".to_owned(), reason });
        };
        tables.push(describe(db, &next).await?);
        references.retain(|(_, parent)| *parent != next);
        waiting.remove(&next);
    }
    Ok(tables)
}

/// Returns which table refers to which other.
async fn references(db: &Db, names: &[String]) -> Result<Vec<(String, String)>, StoreError> {
    let pairs = match db.dialect() {
        Dialect::Sqlite => {
            let mut pairs = Vec::new();
            for name in names {
                let select = sqlx::query("SELECT \"table\" FROM pragma_foreign_key_list($1)").bind(name);
                for row in &select.fetch_all(db.read()).await? {
                    pairs.push((name.clone(), row.try_get(0)?));
                }
            }
            pairs
        }
        Dialect::Postgres => {
            let select = "SELECT CAST(child.relname AS TEXT), CAST(parent.relname AS TEXT)
                FROM pg_constraint
                JOIN pg_class child ON child.oid = conrelid
                JOIN pg_class parent ON parent.oid = confrelid
                WHERE contype = 'f' AND child.relnamespace = CAST(current_schema() AS regnamespace)";
            let rows = sqlx::query(select).fetch_all(db.read()).await?;
            let pairs = rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
            pairs.collect::<Result<Vec<(String, String)>, StoreError>>()?
        }
    };
    Ok(pairs.into_iter().filter(|(child, parent)| child != parent).collect())
}

/// Reads the columns of a table and its primary key.
pub(super) async fn describe(db: &Db, name: &str) -> Result<Table, StoreError> {
    let select = match db.dialect() {
        Dialect::Sqlite => "SELECT name, lower(type), pk FROM pragma_table_info($1) ORDER BY name",
        Dialect::Postgres => {
            "SELECT CAST(a.attname AS TEXT), format_type(a.atttypid, NULL),
                COALESCE(CAST(array_position(CAST(i.indkey AS INT2[]), a.attnum) AS BIGINT) + 1, 0)
             FROM pg_attribute a
             JOIN pg_class c ON c.oid = a.attrelid
             LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
             WHERE c.relname = $1 AND c.relnamespace = CAST(current_schema() AS regnamespace)
                AND a.attnum > 0 AND NOT a.attisdropped
             ORDER BY a.attname"
        }
    };
    let rows = sqlx::query(select).bind(name).fetch_all(db.read()).await?;
    let (mut columns, mut key) = (Vec::new(), Vec::new());
    for row in &rows {
        let (column, kind, place): (String, String, i64) =
            (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        if place > 0 {
            key.push((place, column.clone()));
        }
        columns.push(Column { kind: kind_of(name, &column, &kind)?, name: column });
    }
    key.sort();
    columns.sort_by(|one, other| one.name.cmp(&other.name));
    if key.is_empty() {
        return Err(StoreError::Corrupt {
            what: format!("table `{name}`"),
            reason: "it has no primary key".to_owned(),
        });
    }
    Ok(Table { name: name.to_owned(), columns, key: key.into_iter().map(|(_, column)| column).collect() })
}

fn kind_of(table: &str, column: &str, name: &str) -> Result<Kind, StoreError> {
    match name {
        "text" => Ok(Kind::Text),
        "bigint" | "integer" => Ok(Kind::Number),
        "bytea" | "blob" => Ok(Kind::Bytes),
        other => Err(StoreError::Corrupt {
            what: format!("column `{column}` of `{table}`"),
            reason: format!("its type `{other}` is not known"),
        }),
    }
}

/// `"a", "b"`
pub(super) fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(quoted).collect::<Vec<String>>().join(", ")
}

pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
