//! Statements of a transaction that are put off until its end, and are then sent together: a trip to the database costs
//! more than most statements.

use sqlx::any::AnyArguments;
use sqlx::{Any, AnyConnection, Arguments, AssertSqlSafe, Encode, Type};
use std::error::Error;

use crate::Dialect;

/// The statements that were put off, and their values. The parameters are numbered through all statements.
#[derive(Default)]
pub(crate) struct Later {
    statements: Vec<String>,
    arguments: AnyArguments,
    error: Option<Box<dyn Error + Send + Sync>>,
}

/// A statement that was put off, for binding its values in the order of their numbers.
pub struct Statement<'a>(&'a mut Later);

impl Statement<'_> {
    pub fn bind<'t>(self, value: impl Encode<'t, Any> + Type<Any>) -> Self {
        if let Err(error) = self.0.arguments.add(value) {
            self.0.error.get_or_insert(error);
        }
        self
    }
}

impl Later {
    /// Adds a statement whose parameters are numbered from `$1`.
    pub(crate) fn add(&mut self, sql: &str) -> Statement<'_> {
        self.statements.push(renumber(sql, self.arguments.len()));
        Statement(self)
    }

    pub(crate) async fn execute(
        self,
        dialect: Dialect,
        connection: &mut AnyConnection,
    ) -> Result<(), sqlx::Error> {
        if let Some(error) = self.error {
            return Err(sqlx::Error::Encode(error));
        }
        let sql = match (dialect, self.statements.as_slice()) {
            (_, []) => return Ok(()),
            (_, [only]) => only.clone(),
            (Dialect::Sqlite, all) => all.join(";\n"),
            (Dialect::Postgres, all) => as_one(all),
        };
        sqlx::query_with(AssertSqlSafe(sql), self.arguments).execute(connection).await?;
        Ok(())
    }
}

/// Returns one statement for several: PostgreSQL executes one at a time, but all the parts of a `WITH`. The last may be a
/// `SELECT`.
fn as_one(statements: &[String]) -> String {
    let parts = statements.iter().enumerate().map(|(number, sql)| format!("s{number} AS ({sql})"));
    let parts: Vec<String> = parts.take(statements.len() - 1).collect();
    format!("WITH {}\n{}", parts.join(",\n"), statements[statements.len() - 1])
}

/// Adds `offset` to the numbers of all parameters. `$` stands for nothing else in the statements of this program.
fn renumber(sql: &str, offset: usize) -> String {
    let mut parts = sql.split('$');
    let mut renumbered = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let number: usize = part[..digits].parse().unwrap_or_default();
        renumbered += &format!("${}{}", number + offset, &part[digits..]);
    }
    renumbered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_numbered_through_all_statements() {
        let mut later = Later::default();
        later.add("UPDATE a SET b = $2 WHERE c = $1 OR d = $1").bind("c").bind(1_i64);
        later.add("DELETE FROM e WHERE f = $1 AND g = $10");
        let expected =
            ["UPDATE a SET b = $2 WHERE c = $1 OR d = $1", "DELETE FROM e WHERE f = $3 AND g = $12"];
        assert_eq!(later.statements, expected);
        assert_eq!(as_one(&later.statements), format!("WITH s0 AS ({})\n{}", expected[0], expected[1]));
    }
}
