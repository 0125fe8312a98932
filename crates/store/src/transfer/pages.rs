//! The rows of a table, page by page in the order of its primary key. Pages of large rows have few of them, so that little
//! is in memory at a time.

use sqlx::AssertSqlSafe;

use super::row::{self, Row, Value};
use super::table::{self, Table};
use crate::{Db, StoreError};

/// Rows of the first page. The next ones grow while they are small.
const FIRST_ROWS: usize = 1;
const MOST_ROWS: usize = 1_000;
/// Bytes that a page should have.
const BYTES: usize = 4 << 20;

pub(super) struct Pages<'a> {
    table: &'a Table,
    after: Option<Vec<Value>>,
    rows: usize,
}

impl<'a> Pages<'a> {
    /// Begins after the row with this key, or with the first row.
    pub fn after(table: &'a Table, after: Option<Vec<Value>>) -> Self {
        Self { table, after, rows: FIRST_ROWS }
    }

    /// Returns the next rows; none at the end.
    pub async fn next(&mut self, db: &Db) -> Result<Option<Vec<Row>>, StoreError> {
        let query = self.after.iter().flatten().fold(sqlx::query(AssertSqlSafe(self.select())), row::bind);
        let rows = query.bind(self.rows as i64).fetch_all(db.bulk()).await?;
        let page = rows.iter().map(|read| Row::read(self.table, read)).collect::<Result<Vec<Row>, _>>()?;
        let Some(last) = page.last() else { return Ok(None) };
        self.after = Some(row::key_of(self.table, last));
        self.rows = next_rows(self.rows, page.iter().map(Row::size).sum());
        Ok(Some(page))
    }

    fn select(&self) -> String {
        let columns = table::list(self.table.columns.iter().map(|column| column.name.as_str()));
        let key = table::list(self.table.key.iter().map(String::as_str));
        let bound = self.after.as_ref().map_or(0, Vec::len);
        let places: Vec<String> = (1..=bound).map(|place| format!("${place}")).collect();
        let condition = match &self.after {
            Some(_) => format!("WHERE ({key}) > ({})", places.join(", ")),
            None => String::new(),
        };
        let name = table::quoted(&self.table.name);
        format!("SELECT {columns} FROM {name} {condition} ORDER BY {key} LIMIT ${}", bound + 1)
    }
}

/// Returns how many rows the next page has, after one of this many rows and bytes.
fn next_rows(rows: usize, bytes: usize) -> usize {
    let fitting = rows.saturating_mul(BYTES) / bytes.max(1);
    fitting.clamp(1, (rows * 2).min(MOST_ROWS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_grow_while_their_rows_are_small_and_shrink_at_once() {
        assert_eq!(next_rows(4, 100), 8);
        assert_eq!(next_rows(800, 100), 1_000);
        assert_eq!(next_rows(1_000, 0), 1_000);
        assert_eq!(next_rows(1_000, BYTES * 10), 100);
        assert_eq!(next_rows(4, BYTES * 8), 1);
        assert_eq!(next_rows(1, BYTES * 2), 1);
    }
}
