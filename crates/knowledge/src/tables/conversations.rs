//! Conversations: one row for each, with counts of its messages. Every change to the messages of a conversation, except for
//! the text of a running answer, locks its row first.

use crate::records::{Conversation, ConversationCursor};
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};
use store::{Db, StoreError, Tx};

const COLUMNS: &str = "id, title, is_named, created_at, updated_at, message_count, last_number, files_owner, \
    (SELECT COUNT(*) FROM messages WHERE conversation_id = conversations.id AND status = 'running') AS running";

pub async fn insert(tx: &mut Tx, user_id: &str, conversation: &Conversation) -> Result<(), StoreError> {
    let insert = "INSERT INTO conversations (id, user_id, title, is_named, created_at, updated_at)
        VALUES ($1, $2, $3, $4, $5, $6)";
    let query = sqlx::query(insert).bind(&conversation.id).bind(user_id).bind(&conversation.title);
    let query = query.bind(i64::from(conversation.is_named)).bind(conversation.created_at);
    query.bind(conversation.updated_at).execute(tx.conn()).await?;
    Ok(())
}

pub async fn count(tx: &mut Tx, user_id: &str) -> Result<i64, StoreError> {
    let select = "SELECT COUNT(*) FROM conversations WHERE user_id = $1";
    Ok(sqlx::query(select).bind(user_id).fetch_one(tx.conn()).await?.try_get(0)?)
}

pub async fn get(db: &Db, user_id: &str, id: &str) -> Result<Option<Conversation>, StoreError> {
    let select = select_one();
    let row = sqlx::query(select).bind(id).bind(user_id).fetch_optional(db.read()).await?;
    row.as_ref().map(conversation_of).transpose()
}

/// Locks a conversation until the end of `tx`, and returns it.
pub async fn lock(tx: &mut Tx, user_id: &str, id: &str) -> Result<Option<Conversation>, StoreError> {
    let lock = "UPDATE conversations SET last_number = last_number WHERE id = $1 AND user_id = $2";
    sqlx::query(lock).bind(id).bind(user_id).execute(tx.conn()).await?;
    let row = sqlx::query(select_one()).bind(id).bind(user_id).fetch_optional(tx.conn()).await?;
    row.as_ref().map(conversation_of).transpose()
}

fn select_one() -> AssertSqlSafe<String> {
    AssertSqlSafe(format!("SELECT {COLUMNS} FROM conversations WHERE id = $1 AND user_id = $2"))
}

/// Stores what a question has changed.
pub async fn update(tx: &mut Tx, conversation: &Conversation) -> Result<(), StoreError> {
    let update = "UPDATE conversations SET title = $2, is_named = $3, updated_at = $4, message_count = $5,
            last_number = $6
        WHERE id = $1";
    let query = sqlx::query(update).bind(&conversation.id).bind(&conversation.title);
    let query = query.bind(i64::from(conversation.is_named)).bind(conversation.updated_at);
    query.bind(conversation.message_count).bind(conversation.last_number).execute(tx.conn()).await?;
    Ok(())
}

/// Locks a conversation and notes that an answer has ended. Returns false if the conversation is gone.
pub async fn touch(tx: &mut Tx, id: &str, now: i64) -> Result<bool, StoreError> {
    let update = "UPDATE conversations SET updated_at = $2 WHERE id = $1";
    Ok(sqlx::query(update).bind(id).bind(now).execute(tx.conn()).await?.rows_affected() == 1)
}

pub async fn rename(tx: &mut Tx, user_id: &str, id: &str, title: &str) -> Result<(), StoreError> {
    let update = "UPDATE conversations SET title = $3, is_named = 1 WHERE id = $1 AND user_id = $2";
    sqlx::query(update).bind(id).bind(user_id).bind(title).execute(tx.conn()).await?;
    Ok(())
}

/// Notes who owns the files of a conversation.
pub async fn set_files_owner(tx: &mut Tx, id: &str, owner_id: &str) -> Result<(), StoreError> {
    let update = "UPDATE conversations SET files_owner = $2 WHERE id = $1";
    sqlx::query(update).bind(id).bind(owner_id).execute(tx.conn()).await?;
    Ok(())
}

/// Deletes a conversation with its messages. Returns false if the user has no such conversation.
pub async fn delete(tx: &mut Tx, user_id: &str, id: &str) -> Result<bool, StoreError> {
    let delete = "DELETE FROM conversations WHERE id = $1 AND user_id = $2";
    Ok(sqlx::query(delete).bind(id).bind(user_id).execute(tx.conn()).await?.rows_affected() == 1)
}

/// A conversation of a list, and whether one of its messages has the text that was looked for.
pub struct ListedConversation {
    pub conversation: Conversation,
    pub has_text: bool,
}

/// Returns conversations after the cursor, the last changed first. `text`, in lower case, is looked for in their messages.
pub async fn page(
    db: &Db,
    user_id: &str,
    after: Option<&ConversationCursor>,
    text: Option<&str>,
    limit: usize,
) -> Result<Vec<ListedConversation>, StoreError> {
    let found = match text {
        None => "CAST(0 AS BIGINT)",
        Some(_) => {
            "(SELECT COUNT(*) FROM (SELECT 1 FROM messages WHERE conversation_id = conversations.id
                AND search_text LIKE $5 ESCAPE '\\' LIMIT 1) AS matching)"
        }
    };
    let select = AssertSqlSafe(format!(
        "SELECT {COLUMNS}, {found} AS found FROM conversations
         WHERE user_id = $1 AND (updated_at, id) < ($2, $3)
         ORDER BY updated_at DESC, id DESC LIMIT $4"
    ));
    let (updated_at, id) = after.map_or((i64::MAX, ""), |cursor| (cursor.updated_at, cursor.id.as_str()));
    let mut query = sqlx::query(select).bind(user_id).bind(updated_at).bind(id).bind(limit as i64);
    if let Some(text) = text {
        query = query.bind(pattern(text));
    }
    let rows = query.fetch_all(db.read()).await?;
    let listed = |row: &AnyRow| {
        let has_text = row.try_get::<i64, _>("found")? != 0;
        Ok(ListedConversation { conversation: conversation_of(row)?, has_text })
    };
    rows.iter().map(listed).collect()
}

/// Makes the pattern of texts that contain `text`.
fn pattern(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    format!("%{escaped}%")
}

/// Deletes some messages of a user's conversations, and the conversations that are left without one. Returns how many rows
/// were deleted; 0 if the user has no conversation.
pub async fn delete_some(tx: &mut Tx, user_id: &str, limit: i64) -> Result<i64, StoreError> {
    let messages = "DELETE FROM messages WHERE id IN (
            SELECT messages.id FROM messages JOIN conversations ON conversations.id = messages.conversation_id
            WHERE conversations.user_id = $1 LIMIT $2)";
    let conversations = "DELETE FROM conversations WHERE id IN (
            SELECT id FROM conversations WHERE user_id = $1
                AND NOT EXISTS (SELECT 1 FROM messages WHERE conversation_id = conversations.id) LIMIT $2)";
    let mut deleted = 0;
    for delete in [messages, conversations] {
        let query = sqlx::query(delete).bind(user_id).bind(limit);
        deleted += query.execute(tx.conn()).await?.rows_affected();
    }
    Ok(i64::try_from(deleted).unwrap_or(i64::MAX))
}

fn conversation_of(row: &AnyRow) -> Result<Conversation, StoreError> {
    Ok(Conversation {
        id: row.try_get("id")?,
        title: row.try_get("title")?,
        is_named: row.try_get::<i64, _>("is_named")? != 0,
        created_at: row.try_get("created_at")?,
        updated_at: row.try_get("updated_at")?,
        message_count: row.try_get("message_count")?,
        last_number: row.try_get("last_number")?,
        is_running: row.try_get::<i64, _>("running")? != 0,
        files_owner: row.try_get("files_owner")?,
    })
}
