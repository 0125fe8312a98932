//! Moves all rows from one database to another, of the same engine or not: in batches, each with a note in the target of
//! how far the move is, so that an interrupted move goes on there. Rows are compared by their number and by a checksum.

mod pages;
mod progress;
mod row;
mod table;

pub use progress::{Progress, unfinished};
pub use row::TableSum;
pub use table::{Table, names as table_names, tables};

use pages::Pages;
use row::Row;
use sqlx::AssertSqlSafe;

use crate::counters::COUNTERS;
use crate::{Db, Dialect, StoreError, Tx};

/// Rows of one statement. The statement has a parameter for each value, which are limited to 32,766 on SQLite.
const ROWS_PER_INSERT: usize = 100;

/// Returns a digest that tells one database from another: of when its migrations were applied.
pub async fn identity(db: &Db) -> Result<String, StoreError> {
    let migrations = table::describe(db, "schema_migrations").await?;
    let sum = sum(db, &migrations).await?;
    Ok(format!("{} {}", sum.rows, sum.checksum))
}

/// Copies the rows of a table that are not yet in the target, and returns how many these were.
pub async fn copy(from: &Db, to: &Db, progress: &Progress, table: &Table) -> Result<u64, StoreError> {
    let part = format!("table {}", table.name);
    let position = progress.position(&part).await?;
    let after = position.as_deref().map(|text| row::parse_key(table, text)).transpose()?;
    let mut pages = Pages::after(table, after);
    let mut copied = 0;
    while let Some(page) = pages.next(from).await? {
        write(to, table, &part, &page).await?;
        copied += page.len() as u64;
    }
    Ok(copied)
}

/// Counts the rows of a table and adds up their digests. The sum is the same on both engines, whatever their order.
pub async fn sum(db: &Db, table: &Table) -> Result<TableSum, StoreError> {
    let mut pages = Pages::after(table, None);
    let mut sum = TableSum::default();
    while let Some(page) = pages.next(db).await? {
        page.iter().for_each(|row| sum.add(row));
    }
    Ok(sum)
}

/// Removes the rows that the migrations have put into new tables: the source has its own.
pub async fn clear(db: &Db, tables: &[Table]) -> Result<(), StoreError> {
    let mut tx = db.begin().await?;
    for table in tables.iter().rev() {
        let delete = AssertSqlSafe(format!("DELETE FROM {}", table::quoted(&table.name)));
        sqlx::query(delete).execute(tx.conn()).await?;
    }
    tx.commit().await
}

/// Sets the counters of the target to those of the source, so that no number is given out twice.
pub async fn copy_counters(from: &Db, to: &Db) -> Result<(), StoreError> {
    let mut last = Vec::new();
    for counter in COUNTERS {
        last.push((counter, counter.last(from).await?));
    }
    let mut tx = to.begin().await?;
    for (counter, last) in last {
        counter.set(&mut tx, last).await?;
    }
    tx.commit().await
}

/// Writes rows together with the note that they are written.
async fn write(to: &Db, table: &Table, part: &str, rows: &[Row]) -> Result<(), StoreError> {
    let Some(last) = rows.last() else { return Ok(()) };
    let mut tx = to.begin().await?;
    for rows in rows.chunks(ROWS_PER_INSERT) {
        insert(&mut tx, table, rows).await?;
    }
    progress::set(&mut tx, part, &row::key_text(table, last)).await?;
    tx.commit().await
}

async fn insert(tx: &mut Tx, table: &Table, rows: &[Row]) -> Result<(), StoreError> {
    let width = table.columns.len();
    let row = |row: usize| {
        let places: Vec<String> = (1..=width).map(|column| format!("${}", row * width + column)).collect();
        format!("({})", places.join(", "))
    };
    let places: Vec<String> = (0..rows.len()).map(row).collect();
    // PostgreSQL would give out ids of its own.
    let overriding = match tx.db().dialect() {
        Dialect::Sqlite => "",
        Dialect::Postgres => "OVERRIDING SYSTEM VALUE",
    };
    let sql = format!(
        "INSERT INTO {} ({}) {overriding} VALUES {}",
        table::quoted(&table.name),
        table::list(table.columns.iter().map(|column| column.name.as_str())),
        places.join(", ")
    );
    let values = rows.iter().flat_map(|row| &row.values);
    let query = values.fold(sqlx::query(AssertSqlSafe(sql)), row::bind);
    query.execute(tx.conn()).await?;
    Ok(())
}
