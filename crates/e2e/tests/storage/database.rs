//! The SQLite file of a data folder, read and changed behind the program's back.

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Row, SqliteConnection};
use std::path::Path;

pub async fn open(database: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(database).connect().await.expect("a database")
}

/// Executes statements.
pub async fn execute(database: &Path, statements: &str) {
    let mut connection = open(database).await;
    let executed = sqlx::raw_sql(AssertSqlSafe(statements.to_owned())).execute(&mut connection).await;
    executed.unwrap_or_else(|error| panic!("{statements}: {error}"));
    connection.close().await.expect("a closed connection");
}

/// Returns the number that a query finds.
pub async fn number(database: &Path, query: &str) -> i64 {
    let mut connection = open(database).await;
    let row = sqlx::query(AssertSqlSafe(query.to_owned())).fetch_one(&mut connection).await.expect("a row");
    row.get(0)
}
