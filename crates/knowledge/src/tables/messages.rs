//! Messages of conversations. A running answer is written by one process only; each of its statements names the status
//! `running`, so that it changes nothing after the answer was ended by another process.

use crate::records::{Basis, Message, MessageStatus};
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};
use std::ops::Range;
use store::{Db, StoreError, Tx, parse_stored};

const COLUMNS: &str = "id, conversation_id, number, role, content, status, error, sources, notices, provider, model, \
                       agent_type, document_ids, space_ids, without_documents, created_at";

/// Inserts a message. `lease_until` counts for a running answer.
pub async fn insert(tx: &mut Tx, message: &Message, lease_until: i64) -> Result<(), StoreError> {
    let insert =
        "INSERT INTO messages (id, conversation_id, number, role, content, search_text, status, agent_type,
            document_ids, space_ids, created_at, lease_until, without_documents)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
    let (role, status): (&str, &str) = (message.role.into(), message.status.into());
    let query = sqlx::query(insert).bind(&message.id).bind(&message.conversation_id).bind(message.number);
    let query = query.bind(role).bind(&message.content).bind(message.content.to_lowercase()).bind(status);
    let documents = serde_json::to_string(&message.document_ids).unwrap_or_default();
    let spaces = serde_json::to_string(&message.space_ids).unwrap_or_default();
    let query = query.bind(&message.agent_type).bind(documents).bind(spaces).bind(message.created_at);
    let query = query.bind(lease_until).bind(i64::from(message.without_documents));
    query.execute(tx.conn()).await?;
    Ok(())
}

/// Returns messages before a number, the newest first.
pub async fn before(
    db: &Db,
    conversation_id: &str,
    number: i64,
    limit: usize,
) -> Result<Vec<Message>, StoreError> {
    let select = AssertSqlSafe(format!(
        "SELECT {COLUMNS} FROM messages WHERE conversation_id = $1 AND number < $2 ORDER BY number DESC LIMIT $3"
    ));
    let query = sqlx::query(select).bind(conversation_id).bind(number).bind(limit as i64);
    query.fetch_all(db.read()).await?.iter().map(message_of).collect()
}

/// Returns messages after a number, the oldest first.
pub async fn after(
    db: &Db,
    conversation_id: &str,
    number: i64,
    limit: usize,
) -> Result<Vec<Message>, StoreError> {
    let select = AssertSqlSafe(format!(
        "SELECT {COLUMNS} FROM messages WHERE conversation_id = $1 AND number > $2 ORDER BY number LIMIT $3"
    ));
    let query = sqlx::query(select).bind(conversation_id).bind(number).bind(limit as i64);
    query.fetch_all(db.read()).await?.iter().map(message_of).collect()
}

pub async fn get(db: &Db, id: &str) -> Result<Option<Message>, StoreError> {
    let select = AssertSqlSafe(format!("SELECT {COLUMNS} FROM messages WHERE id = $1"));
    let row = sqlx::query(select).bind(id).fetch_optional(db.read()).await?;
    row.as_ref().map(message_of).transpose()
}

/// Returns a message of a conversation.
pub async fn get_in(tx: &mut Tx, conversation_id: &str, id: &str) -> Result<Option<Message>, StoreError> {
    let select =
        AssertSqlSafe(format!("SELECT {COLUMNS} FROM messages WHERE id = $1 AND conversation_id = $2"));
    let row = sqlx::query(select).bind(id).bind(conversation_id).fetch_optional(tx.conn()).await?;
    row.as_ref().map(message_of).transpose()
}

/// Returns the last message before a number.
pub async fn last_before(
    tx: &mut Tx,
    conversation_id: &str,
    number: i64,
) -> Result<Option<Message>, StoreError> {
    let select = AssertSqlSafe(format!(
        "SELECT {COLUMNS} FROM messages WHERE conversation_id = $1 AND number < $2 ORDER BY number DESC LIMIT 1"
    ));
    let row = sqlx::query(select).bind(conversation_id).bind(number).fetch_optional(tx.conn()).await?;
    row.as_ref().map(message_of).transpose()
}

/// Deletes a message and all after it, and returns how many.
pub async fn delete_from(tx: &mut Tx, conversation_id: &str, number: i64) -> Result<i64, StoreError> {
    let delete = "DELETE FROM messages WHERE conversation_id = $1 AND number >= $2";
    let query = sqlx::query(delete).bind(conversation_id).bind(number);
    Ok(i64::try_from(query.execute(tx.conn()).await?.rows_affected()).unwrap_or(i64::MAX))
}

/// What the process that writes an answer finds out about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saved {
    Running,
    StopRequested,
    /// The answer was ended by another process, or deleted.
    Gone,
}

/// Sets the lease of a running answer.
pub async fn set_lease(tx: &mut Tx, id: &str, lease_until: i64) -> Result<(), StoreError> {
    let update = "UPDATE messages SET lease_until = $2 WHERE id = $1 AND status = 'running'";
    sqlx::query(update).bind(id).bind(lease_until).execute(tx.conn()).await?;
    Ok(())
}

/// Stores the text so far of a running answer, and extends its lease.
pub async fn save(tx: &mut Tx, id: &str, content: &str, lease_until: i64) -> Result<Saved, StoreError> {
    let update = "UPDATE messages SET content = $2, lease_until = $3 WHERE id = $1 AND status = 'running'
        RETURNING stop_requested";
    let query = sqlx::query(update).bind(id).bind(content).bind(lease_until);
    let Some(row) = query.fetch_optional(tx.conn()).await? else { return Ok(Saved::Gone) };
    match row.try_get::<i64, _>(0)? {
        0 => Ok(Saved::Running),
        _ => Ok(Saved::StopRequested),
    }
}

/// Stores what a running answer is made from.
pub async fn set_basis(tx: &mut Tx, id: &str, basis: &Basis) -> Result<(), StoreError> {
    let update = "UPDATE messages SET sources = $2, provider = $3, model = $4, notices = $5 WHERE id = $1 AND status = 'running'";
    let sources = serde_json::to_string(&basis.sources).unwrap_or_default();
    let notices = serde_json::to_string(&basis.notices).unwrap_or_default();
    let query = sqlx::query(update).bind(id).bind(sources).bind(&basis.provider).bind(&basis.model);
    query.bind(notices).execute(tx.conn()).await?;
    Ok(())
}

/// Ends a running answer with its whole text. Does nothing if it has ended.
pub async fn finish(
    tx: &mut Tx,
    id: &str,
    content: &str,
    status: MessageStatus,
    error: Option<&str>,
) -> Result<(), StoreError> {
    let update = "UPDATE messages SET content = $2, search_text = $3, status = $4, error = $5
        WHERE id = $1 AND status = 'running'";
    let status: &str = status.into();
    let query = sqlx::query(update).bind(id).bind(content).bind(content.to_lowercase()).bind(status);
    query.bind(error).execute(tx.conn()).await?;
    Ok(())
}

/// Asks for the end of the answer that a conversation has running.
pub async fn request_stop(tx: &mut Tx, conversation_id: &str) -> Result<(), StoreError> {
    let update = "UPDATE messages SET stop_requested = 1 WHERE conversation_id = $1 AND status = 'running'";
    sqlx::query(update).bind(conversation_id).execute(tx.conn()).await?;
    Ok(())
}

/// Returns the running answer of a conversation, and until when its process has it.
pub async fn running(tx: &mut Tx, conversation_id: &str) -> Result<Option<(Message, i64)>, StoreError> {
    let select = AssertSqlSafe(format!(
        "SELECT {COLUMNS}, lease_until FROM messages WHERE conversation_id = $1 AND status = 'running'"
    ));
    let row = sqlx::query(select).bind(conversation_id).fetch_optional(tx.conn()).await?;
    row.map(|row| Ok((message_of(&row)?, row.try_get("lease_until")?))).transpose()
}

/// Returns the conversations whose running answers have leases that end at another time than within `range`.
pub async fn conversations_of_expired(db: &Db, range: &Range<i64>) -> Result<Vec<String>, StoreError> {
    let select = "SELECT conversation_id FROM messages
        WHERE status = 'running' AND (lease_until < $1 OR lease_until >= $2)";
    let rows = sqlx::query(select).bind(range.start).bind(range.end).fetch_all(db.read()).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

fn message_of(row: &AnyRow) -> Result<Message, StoreError> {
    let id: String = row.try_get("id")?;
    let corrupt = |error: serde_json::Error| StoreError::Corrupt {
        what: format!("message `{id}`"),
        reason: error.to_string(),
    };
    let sources = serde_json::from_str(&row.try_get::<String, _>("sources")?).map_err(corrupt)?;
    let notices = serde_json::from_str(&row.try_get::<String, _>("notices")?).map_err(corrupt)?;
    let document_ids = serde_json::from_str(&row.try_get::<String, _>("document_ids")?).map_err(corrupt)?;
    let space_ids = serde_json::from_str(&row.try_get::<String, _>("space_ids")?).map_err(corrupt)?;
    Ok(Message {
        id,
        conversation_id: row.try_get("conversation_id")?,
        number: row.try_get("number")?,
        role: parse_stored("the role of a message", &row.try_get::<String, _>("role")?)?,
        content: row.try_get("content")?,
        status: parse_stored("the status of a message", &row.try_get::<String, _>("status")?)?,
        error: row.try_get("error")?,
        sources,
        notices,
        provider: row.try_get("provider")?,
        model: row.try_get("model")?,
        agent_type: row.try_get("agent_type")?,
        document_ids,
        space_ids,
        without_documents: row.try_get::<i64, _>("without_documents")? != 0,
        created_at: row.try_get("created_at")?,
    })
}
