//! Servers of models that administrators have added, and which model answers for what.

use crate::connections::{Default, Record};
use llm::ServedModel;
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};
use store::{Db, StoreError, Tx};

const COLUMNS: &str = "id, name, kind, base_url, api_key, models, created_at";

/// Stores a connection. Returns false if another one has its name.
pub async fn insert(tx: &mut Tx, record: &Record) -> Result<bool, StoreError> {
    let insert = "INSERT INTO connections (id, name, folded, kind, base_url, api_key, models, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (folded) DO NOTHING";
    let query = sqlx::query(insert).bind(&record.id).bind(&record.name).bind(record.name.to_lowercase());
    let query = query.bind(&record.kind).bind(&record.base_url).bind(&record.api_key);
    let query = query.bind(models_text(&record.models)).bind(record.created_at);
    Ok(query.execute(tx.conn()).await?.rows_affected() == 1)
}

/// Stores all that may be changed of a connection. Returns false if another one has its name.
pub async fn update(tx: &mut Tx, record: &Record) -> Result<bool, StoreError> {
    let update = "UPDATE connections SET name = $2, folded = $3, base_url = $4, api_key = $5, models = $6 WHERE id = $1
        AND NOT EXISTS (SELECT 1 FROM connections AS other WHERE other.folded = $3 AND other.id <> $1)";
    let query = sqlx::query(update).bind(&record.id).bind(&record.name).bind(record.name.to_lowercase());
    let query = query.bind(&record.base_url).bind(&record.api_key).bind(models_text(&record.models));
    Ok(query.execute(tx.conn()).await?.rows_affected() == 1)
}

/// Removes a connection, and what it is the default for. Returns whether there was one.
pub async fn delete(tx: &mut Tx, id: &str) -> Result<bool, StoreError> {
    sqlx::query("DELETE FROM model_defaults WHERE connection = $1").bind(id).execute(tx.conn()).await?;
    let delete = sqlx::query("DELETE FROM connections WHERE id = $1").bind(id);
    Ok(delete.execute(tx.conn()).await?.rows_affected() == 1)
}

/// Locks a connection until the end of `tx`, and returns it.
pub async fn lock(tx: &mut Tx, id: &str) -> Result<Option<Record>, StoreError> {
    let update = AssertSqlSafe(format!("UPDATE connections SET id = id WHERE id = $1 RETURNING {COLUMNS}"));
    let row = sqlx::query(update).bind(id).fetch_optional(tx.conn()).await?;
    row.as_ref().map(record_of).transpose()
}

pub async fn count(tx: &mut Tx) -> Result<i64, StoreError> {
    let row = sqlx::query("SELECT COUNT(*) FROM connections").fetch_one(tx.conn()).await?;
    Ok(row.try_get(0)?)
}

/// Returns all, the oldest first.
pub async fn all(db: &Db) -> Result<Vec<Record>, StoreError> {
    let select = AssertSqlSafe(format!("SELECT {COLUMNS} FROM connections ORDER BY created_at, id"));
    let rows = sqlx::query(select).fetch_all(db.read()).await?;
    rows.iter().map(record_of).collect()
}

/// Returns the id of the connection with this name.
pub async fn id_of(db: &Db, name: &str) -> Result<Option<String>, StoreError> {
    let row = sqlx::query("SELECT id FROM connections WHERE name = $1")
        .bind(name)
        .fetch_optional(db.read())
        .await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

pub async fn defaults(db: &Db) -> Result<Vec<Default>, StoreError> {
    let rows =
        sqlx::query("SELECT purpose, connection, model FROM model_defaults").fetch_all(db.read()).await?;
    let read = |row: &AnyRow| {
        Ok(Default { purpose: row.try_get(0)?, connection: row.try_get(1)?, model: row.try_get(2)? })
    };
    rows.iter().map(read).collect()
}

/// Returns whether a model was chosen for a purpose.
pub async fn has_default(tx: &mut Tx, purpose: &str) -> Result<bool, StoreError> {
    let select = "SELECT COUNT(*) FROM model_defaults WHERE purpose = $1";
    Ok(sqlx::query(select).bind(purpose).fetch_one(tx.conn()).await?.try_get::<i64, _>(0)? > 0)
}

pub async fn set_default(tx: &mut Tx, default: &Default) -> Result<(), StoreError> {
    let insert = "INSERT INTO model_defaults (purpose, connection, model) VALUES ($1, $2, $3)
        ON CONFLICT (purpose) DO UPDATE SET connection = $2, model = $3";
    let query = sqlx::query(insert).bind(&default.purpose).bind(&default.connection).bind(&default.model);
    query.execute(tx.conn()).await?;
    Ok(())
}

pub async fn drop_default(tx: &mut Tx, purpose: &str) -> Result<(), StoreError> {
    let delete = sqlx::query("DELETE FROM model_defaults WHERE purpose = $1").bind(purpose);
    delete.execute(tx.conn()).await?;
    Ok(())
}

fn models_text(models: &[ServedModel]) -> String {
    serde_json::to_string(models).unwrap_or_default()
}

fn record_of(row: &AnyRow) -> Result<Record, StoreError> {
    let models: String = row.try_get("models")?;
    Ok(Record {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        kind: row.try_get("kind")?,
        base_url: row.try_get("base_url")?,
        api_key: row.try_get("api_key")?,
        models: serde_json::from_str(&models).unwrap_or_default(),
        created_at: row.try_get("created_at")?,
    })
}
