//! The table of leads.

use super::AFTER_ALL;
use crate::records::{Lead, Status};
use serde::de::DeserializeOwned;
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};
use store::{Db, StoreError, Tx, parse_stored};

const COLUMNS: &str = "id, form, status, email, fields, consent, address, sequence_key, idempotency_key, content_digest, \
                       attempts, error, created_at, updated_at, forwarded_at";

/// The size of a lead in JSON beside its fields and its consent.
const OTHER_BYTES: usize = 1_000;

/// Inserts a lead. Returns false if the same lead is stored already.
pub async fn insert(tx: &mut Tx, lead: &Lead) -> Result<bool, StoreError> {
    let sql = format!(
        "INSERT INTO leads ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
         ON CONFLICT DO NOTHING"
    );
    let query = sqlx::query(AssertSqlSafe(sql)).bind(&lead.id).bind(&lead.form).bind(lead.status.as_str());
    let query = query.bind(&lead.email).bind(to_text(&lead.fields)?);
    let query = query.bind(lead.consent.as_ref().map(to_text).transpose()?).bind(&lead.address);
    let query = query.bind(&lead.sequence_key).bind(&lead.idempotency_key).bind(&lead.content_digest);
    let query = query.bind(lead.attempts).bind(&lead.error).bind(lead.created_at).bind(lead.updated_at);
    Ok(query.bind(lead.forwarded_at).execute(tx.conn()).await?.rows_affected() > 0)
}

/// Updates all columns that can change.
pub async fn update(tx: &mut Tx, lead: &Lead) -> Result<(), StoreError> {
    let update = "UPDATE leads SET status = $2, email = $3, fields = $4, consent = $5, address = $6, sequence_key = $7,
        attempts = $8, error = $9, updated_at = $10, forwarded_at = $11, idempotency_key = $12, content_digest = $13
        WHERE id = $1";
    let now = tx.db().clock().now_ms();
    let query = sqlx::query(update).bind(&lead.id).bind(lead.status.as_str()).bind(&lead.email);
    let query = query.bind(to_text(&lead.fields)?).bind(lead.consent.as_ref().map(to_text).transpose()?);
    let query = query.bind(&lead.address).bind(&lead.sequence_key).bind(lead.attempts).bind(&lead.error);
    let query =
        query.bind(now).bind(lead.forwarded_at).bind(&lead.idempotency_key).bind(&lead.content_digest);
    query.execute(tx.conn()).await?;
    Ok(())
}

/// Returns the id of the stored lead with the same idempotency key or the same content.
pub async fn find_same(tx: &mut Tx, lead: &Lead) -> Result<Option<String>, StoreError> {
    let select = "SELECT id FROM leads WHERE form = $1 AND (idempotency_key = $2 OR content_digest = $3)
        ORDER BY CASE WHEN idempotency_key = $2 THEN 0 ELSE 1 END, id LIMIT 1";
    let query = sqlx::query(select).bind(&lead.form).bind(&lead.idempotency_key).bind(&lead.content_digest);
    let row = query.fetch_optional(tx.conn()).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

/// Removes the digests of leads that would count as the same as this one, but are further from it in time than `within`,
/// before or, if the clock was set back, after it.
pub async fn forget_same(tx: &mut Tx, lead: &Lead, within_ms: i64) -> Result<(), StoreError> {
    let update = "UPDATE leads SET idempotency_key = NULL, content_digest = NULL
        WHERE form = $1 AND (idempotency_key = $2 OR content_digest = $3)
            AND (created_at < $4 OR created_at > $5)";
    let query = sqlx::query(update).bind(&lead.form).bind(&lead.idempotency_key).bind(&lead.content_digest);
    let query = query.bind(lead.created_at - within_ms).bind(lead.created_at + within_ms);
    query.execute(tx.conn()).await?;
    Ok(())
}

/// Removes the digests of at most `most` leads from before `cutoff`. Returns how many.
pub async fn forget_digests(tx: &mut Tx, cutoff: i64, most: i64) -> Result<u64, StoreError> {
    let update =
        "UPDATE leads SET idempotency_key = NULL, content_digest = NULL WHERE id IN (SELECT id FROM leads
        WHERE (idempotency_key IS NOT NULL OR content_digest IS NOT NULL) AND created_at < $1 LIMIT $2)";
    Ok(sqlx::query(update).bind(cutoff).bind(most).execute(tx.conn()).await?.rows_affected())
}

pub async fn get(db: &Db, id: &str) -> Result<Option<Lead>, StoreError> {
    let sql = AssertSqlSafe(format!("SELECT {COLUMNS} FROM leads WHERE id = $1"));
    let row = sqlx::query(sql).bind(id).fetch_optional(db.read()).await?;
    row.as_ref().map(lead_of).transpose()
}

/// Returns a lead and locks it to the end of `tx`.
pub async fn lock(tx: &mut Tx, id: &str) -> Result<Option<Lead>, StoreError> {
    let sql = AssertSqlSafe(format!("UPDATE leads SET id = id WHERE id = $1 RETURNING {COLUMNS}"));
    let row = sqlx::query(sql).bind(id).fetch_optional(tx.conn()).await?;
    row.as_ref().map(lead_of).transpose()
}

/// Sets a lead's position after all leads of its key, unless it has one. The key's row must be locked in `tx`.
pub async fn set_position(tx: &mut Tx, lead: &Lead) -> Result<(), StoreError> {
    let update =
        "UPDATE leads SET place = 1 + (SELECT COALESCE(MAX(place), 0) FROM leads WHERE sequence_key = $2)
        WHERE id = $1 AND place = 0";
    sqlx::query(update).bind(&lead.id).bind(&lead.sequence_key).execute(tx.conn()).await?;
    Ok(())
}

/// Returns the first lead that waits under the key of a job.
pub async fn first_waiting(db: &Db, job: i64) -> Result<Option<Lead>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM leads
         WHERE sequence_key = (SELECT sequence_key FROM lead_queues WHERE job_id = $1) AND status = 'queued'
         ORDER BY place LIMIT 1"
    );
    let row = sqlx::query(AssertSqlSafe(sql)).bind(job).fetch_optional(db.read()).await?;
    row.as_ref().map(lead_of).transpose()
}

/// Returns whether leads wait under a key. The key's row must be locked in `tx`.
pub async fn any_waiting(tx: &mut Tx, key: &str) -> Result<bool, StoreError> {
    let select = "SELECT id FROM leads WHERE sequence_key = $1 AND status = 'queued' LIMIT 1";
    Ok(sqlx::query(select).bind(key).fetch_optional(tx.conn()).await?.is_some())
}

/// Which leads to list; an absent value matches all.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub form: Option<String>,
    pub status: Option<Status>,
    pub email: Option<String>,
}

/// Returns a page of leads, the newest first: those older than `before`.
pub async fn page(
    db: &Db,
    filter: &Filter,
    before: Option<&str>,
    limit: usize,
) -> Result<Vec<Lead>, StoreError> {
    select(db, COLUMNS, filter, before, limit).await?.iter().map(lead_of).collect()
}

/// Returns the approximate size in JSON of each lead of [`page`].
pub async fn sizes(
    db: &Db,
    filter: &Filter,
    before: Option<&str>,
    limit: usize,
) -> Result<Vec<usize>, StoreError> {
    let size = "CAST(octet_length(fields) + COALESCE(octet_length(consent), 0) AS BIGINT)";
    let rows = select(db, size, filter, before, limit).await?;
    rows.iter().map(|row| Ok(row.try_get::<i64, _>(0)? as usize + OTHER_BYTES)).collect()
}

async fn select(
    db: &Db,
    columns: &str,
    filter: &Filter,
    before: Option<&str>,
    limit: usize,
) -> Result<Vec<AnyRow>, StoreError> {
    let given = [
        ("form", filter.form.as_deref()),
        ("status", filter.status.map(Status::as_str)),
        ("email", filter.email.as_deref()),
    ];
    let given: Vec<(&str, &str)> =
        given.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let conditions: String =
        given.iter().zip(3..).map(|((name, _), place)| format!(" AND {name} = ${place}")).collect();
    let sql = format!("SELECT {columns} FROM leads WHERE id < $1{conditions} ORDER BY id DESC LIMIT $2");
    let mut query = sqlx::query(AssertSqlSafe(sql)).bind(before.unwrap_or(AFTER_ALL)).bind(limit as i64);
    for (_, value) in given {
        query = query.bind(value);
    }
    Ok(query.fetch_all(db.read()).await?)
}

fn lead_of(row: &AnyRow) -> Result<Lead, StoreError> {
    let id: String = row.try_get("id")?;
    let consent: Option<String> = row.try_get("consent")?;
    Ok(Lead {
        form: row.try_get("form")?,
        status: parse_stored("a lead's status", &row.try_get::<String, _>("status")?)?,
        email: row.try_get("email")?,
        fields: of_text(&id, &row.try_get::<String, _>("fields")?)?,
        consent: consent.as_deref().map(|text| of_text(&id, text)).transpose()?,
        address: row.try_get("address")?,
        sequence_key: row.try_get("sequence_key")?,
        idempotency_key: row.try_get("idempotency_key")?,
        content_digest: row.try_get("content_digest")?,
        attempts: row.try_get("attempts")?,
        error: row.try_get("error")?,
        created_at: row.try_get("created_at")?,
        updated_at: row.try_get("updated_at")?,
        forwarded_at: row.try_get("forwarded_at")?,
        id,
    })
}

fn to_text(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .map_err(|error| StoreError::Corrupt { what: "a lead".to_owned(), reason: error.to_string() })
}

fn of_text<T: DeserializeOwned>(id: &str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text)
        .map_err(|error| StoreError::Corrupt { what: format!("lead `{id}`"), reason: error.to_string() })
}
