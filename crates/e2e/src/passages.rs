//! Writes many passages directly into the database: embedding them would take minutes.

use crate::Stoa;
use sqlx::{AnyConnection, AssertSqlSafe, Connection, Row};

const DIMENSION: usize = 384;

/// Returns the URL of the database in a process's data folder.
pub fn database_of(stoa: &Stoa) -> String {
    format!("sqlite://{}", stoa.data.path().join("stoa.db").display())
}

/// Gives a user indexed documents of so many passages each, and returns their ids. Each passage says which it is
/// (`passage 17 of document 2`, counted from 0) and names a pump, a valve and a hall.
pub async fn add_documents(database: &str, user_id: &str, documents: usize, passages: usize) -> Vec<String> {
    let mut connection = connect(database).await;
    let mut ids = Vec::new();
    let select = sqlx::query("SELECT COUNT(*) FROM documents WHERE user_id = $1").bind(user_id);
    let before: i64 = select.fetch_one(&mut connection).await.expect("a number").get(0);
    for number in before..before + documents as i64 {
        let id = format!("{user_id}-{number}");
        add_document(&mut connection, user_id, &id, number, passages).await;
        ids.push(id);
    }
    connection.close().await.expect("a closed connection");
    ids
}

async fn add_document(connection: &mut AnyConnection, user_id: &str, id: &str, number: i64, passages: usize) {
    let mut tx = connection.begin_with("BEGIN").await.expect("a transaction");
    let raise = "UPDATE users SET revision = revision + 1 WHERE id = $1 RETURNING revision";
    let revision = sqlx::query(raise).bind(user_id).fetch_one(&mut *tx).await.expect("the user");
    let revision: i64 = revision.get(0);
    // The encoder of documents that were really indexed, so that these vectors are compared with them.
    let insert =
        "INSERT INTO documents (id, user_id, title, filename, object_key, content_hash, size, uploaded_at,
            metadata, status, progress, chunk_count, encoder, revision, indexed_revision)
        VALUES ($1, $2, 'A large document', 'large.txt', $1, $1, 1, 1, '{}', 'indexed', 100, $3,
            (SELECT COALESCE(MAX(encoder), '') FROM documents), $4, $4)";
    let insert = sqlx::query(insert).bind(id).bind(user_id).bind(passages as i64).bind(revision);
    insert.execute(&mut *tx).await.expect("a document");
    let value = (1.0 / (DIMENSION as f32).sqrt()).to_le_bytes();
    let vector: Vec<u8> = value.iter().copied().cycle().take(4 * DIMENSION).collect();
    let mention = |name: &str, kinds: usize| {
        format!(
            r#"{{"k":"{name} ' || (i % {kinds}) || '","l":"{name} ' || (i % {kinds}) || '","t":"term","n":1,"w":0.5,"s":1}}"#
        )
    };
    let mentions = [mention("pump", 997), mention("valve", 499), mention("hall", 101)].join(",");
    let insert = AssertSqlSafe(format!(
        "WITH RECURSIVE numbers (i) AS
            (SELECT CAST(0 AS BIGINT) UNION ALL SELECT i + 1 FROM numbers WHERE i + 1 < $2)
         INSERT INTO chunks (document_id, position, text, headings, page, start, vector, mentions)
         SELECT $1, i, 'This is passage ' || i || ' of document {number}. Pump ' || (i % 997) || ' feeds valve '
             || (i % 499) || ' in hall ' || (i % 101) || ', which was inspected ' || (i % 31) || ' times in the year '
             || (1900 + i % 120) || ' by engineers of the plant, and found to be sound in all respects that matter.',
             '[]', NULL, 0, $3, '[{mentions}]' FROM numbers"
    ));
    let insert = sqlx::query(insert).bind(id).bind(passages as i64).bind(vector);
    insert.execute(&mut *tx).await.expect("chunks");
    tx.commit().await.expect("a commit");
}

/// Returns the number that a query returns.
pub async fn count(database: &str, query: &'static str) -> i64 {
    let mut connection = connect(database).await;
    let row = sqlx::query(query).fetch_one(&mut connection).await.expect("a row");
    connection.close().await.expect("a closed connection");
    row.get(0)
}

/// Runs statements that return nothing.
pub async fn execute(database: &str, statements: &str) {
    let mut connection = connect(database).await;
    let statements = sqlx::raw_sql(AssertSqlSafe(statements.to_owned()));
    statements.execute(&mut connection).await.expect("the statements");
    connection.close().await.expect("a closed connection");
}

async fn connect(database: &str) -> AnyConnection {
    sqlx::any::install_default_drivers();
    let mut connection = AnyConnection::connect(database).await.expect("the database");
    if database.starts_with("sqlite") {
        let wait = sqlx::raw_sql("PRAGMA busy_timeout = 20000");
        wait.execute(&mut connection).await.expect("a setting");
    }
    connection
}
