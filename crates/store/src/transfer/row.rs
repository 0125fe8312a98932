//! Rows on their way from one database to another, and their checksums.

use aws_lc_rs::digest;
use serde::{Deserialize, Serialize};
use sqlx::any::{AnyArguments, AnyRow};
use sqlx::query::Query;
use sqlx::{Any, Row as _};
use std::fmt;

use super::table::{Kind, Table};
use crate::StoreError;

/// A value of a column. An absent one has the kind of its column, which PostgreSQL needs to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Value {
    Text(Option<String>),
    Number(Option<i64>),
    Bytes(Option<Vec<u8>>),
}

/// The values of a row, in the order of the table's columns.
pub(super) struct Row {
    pub values: Vec<Value>,
}

impl Row {
    pub fn read(table: &Table, row: &AnyRow) -> Result<Self, StoreError> {
        let values = table.columns.iter().enumerate().map(|(index, column)| {
            Ok(match column.kind {
                Kind::Text => Value::Text(row.try_get(index)?),
                Kind::Number => Value::Number(row.try_get(index)?),
                Kind::Bytes => Value::Bytes(row.try_get(index)?),
            })
        });
        Ok(Self { values: values.collect::<Result<_, StoreError>>()? })
    }

    /// Returns about how many bytes it takes.
    pub fn size(&self) -> usize {
        let sizes = self.values.iter().map(|value| match value {
            Value::Text(text) => text.as_ref().map_or(0, String::len),
            Value::Bytes(bytes) => bytes.as_ref().map_or(0, Vec::len),
            Value::Number(_) => 8,
        });
        sizes.sum()
    }

    /// Returns the first half of a SHA-256 over all values, each with its kind and length.
    fn digest(&self) -> u128 {
        let mut hash = digest::Context::new(&digest::SHA256);
        for value in &self.values {
            let number;
            let (kind, bytes): (u8, Option<&[u8]>) = match value {
                Value::Text(text) => (1, text.as_deref().map(str::as_bytes)),
                Value::Number(value) => {
                    number = value.map(i64::to_le_bytes);
                    (2, number.as_ref().map(<[u8; 8]>::as_slice))
                }
                Value::Bytes(bytes) => (3, bytes.as_deref()),
            };
            hash.update(&[kind, u8::from(bytes.is_some())]);
            let bytes = bytes.unwrap_or_default();
            hash.update(&(bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        }
        let mut half = [0; 16];
        half.copy_from_slice(&hash.finish().as_ref()[..16]);
        u128::from_le_bytes(half)
    }
}

/// Adds a value to the parameters of a statement.
pub(super) fn bind<'q>(query: Query<'q, Any, AnyArguments>, value: &Value) -> Query<'q, Any, AnyArguments> {
    match value {
        Value::Text(text) => query.bind(text.clone()),
        Value::Number(number) => query.bind(*number),
        Value::Bytes(bytes) => query.bind(bytes.clone()),
    }
}

/// Returns the primary key of a row.
pub(super) fn key_of(table: &Table, row: &Row) -> Vec<Value> {
    let of_column = |name: &String| table.columns.iter().position(|column| column.name == *name);
    let places = table.key.iter().filter_map(of_column);
    places.filter_map(|place| row.values.get(place).cloned()).collect()
}

/// Writes the primary key of a row as text.
pub(super) fn key_text(table: &Table, row: &Row) -> String {
    serde_json::to_string(&key_of(table, row)).unwrap_or_default()
}

/// Reads what [`key_text`] has written.
pub(super) fn parse_key(table: &Table, text: &str) -> Result<Vec<Value>, StoreError> {
    let corrupt =
        |reason: String| StoreError::Corrupt { what: format!("the move of `{}`", table.name), reason };
    let values: Vec<Value> = serde_json::from_str(text).map_err(|error| corrupt(error.to_string()))?;
    match values.len() == table.key.len() {
        true => Ok(values),
        false => Err(corrupt(format!("the key `{text}` has {} parts", values.len()))),
    }
}

/// How many rows a table has, and the sum of their digests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableSum {
    pub rows: u64,
    pub checksum: Checksum,
}

/// A sum of digests, shown in hex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checksum(u128);

impl TableSum {
    pub(super) fn add(&mut self, row: &Row) {
        self.rows += 1;
        self.checksum.0 = self.checksum.0.wrapping_add(row.digest());
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfer::table::Column;

    fn row(text: Option<&str>, number: i64) -> Row {
        Row { values: vec![Value::Text(text.map(str::to_owned)), Value::Number(Some(number))] }
    }

    #[test]
    fn a_sum_changes_with_every_value_and_not_with_the_order() {
        let sum = |rows: &[Row]| {
            let mut sum = TableSum::default();
            rows.iter().for_each(|row| sum.add(row));
            sum
        };
        let one = sum(&[row(Some("a"), 1), row(Some("b"), 2)]);
        assert_eq!(one, sum(&[row(Some("b"), 2), row(Some("a"), 1)]));
        for other in [
            sum(&[row(Some("a"), 2), row(Some("b"), 1)]),
            sum(&[row(Some("a"), 1), row(None, 2)]),
            sum(&[row(Some("a"), 1), row(Some(""), 2)]),
            sum(&[row(Some("a"), 1)]),
        ] {
            assert_ne!(one, other);
        }
        assert_ne!(sum(&[row(None, 2)]), sum(&[row(Some(""), 2)]), "absent is not empty");
    }

    #[test]
    fn a_key_comes_back_from_its_text() {
        let column = |name: &str, kind| Column { name: name.to_owned(), kind };
        let table = Table {
            name: "t".to_owned(),
            columns: vec![column("id", Kind::Text), column("place", Kind::Number)],
            key: vec!["place".to_owned(), "id".to_owned()],
        };
        let text = key_text(&table, &row(Some("5\"ä"), 7));
        let expected = [Value::Number(Some(7)), Value::Text(Some("5\"ä".to_owned()))];
        assert_eq!(parse_key(&table, &text).unwrap(), expected);
        assert!(parse_key(&table, "[1]").is_err());
        assert!(parse_key(&table, "{").is_err());
    }
}
