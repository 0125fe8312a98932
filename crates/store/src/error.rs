//! Errors of the database part of the store, and whether a later retry may help. Objects have their own errors:
//! `blobs::BlobError`.

use std::io::ErrorKind;
use std::str::FromStr;
use std::sync::Arc;

/// An error of the database. No message contains the database URL, which may hold a password.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{0}")]
    Url(String),

    #[error("the database failed: {0}")]
    Database(#[from] sqlx::Error),

    #[error("cannot prepare the database file `{path}`: {source}")]
    File { path: String, source: std::io::Error },

    #[error("{0}")]
    Migration(String),

    #[error("the lease of job `{job}` is lost: attempt {attempt} is not the current one")]
    LeaseLost { job: i64, attempt: i64 },

    #[error("`{key}` is not as expected: another writer changed it")]
    Conflict { key: String },

    #[error("{0}")]
    InvalidKey(String),

    #[error("what is stored in {what} cannot be read: {reason}")]
    Corrupt { what: String, reason: String },

    /// By the failure of another transaction that would have been committed together with this one.
    #[error("another transaction has failed, and this one with it: nothing was written")]
    Undone,

    /// A caller that retries has to check first whether the change is there.
    #[error("whether the transaction was committed is unknown: {0}")]
    Unsure(Arc<sqlx::Error>),

    #[error("the process is stopping: whether the transaction was committed is unknown")]
    Stopping,
}

impl StoreError {
    /// Returns whether the database has refused the data itself, so that a retry cannot help; as opposed to a database
    /// that is away, busy or full.
    pub fn is_refusal(&self) -> bool {
        let Self::Database(sqlx::Error::Database(error)) = self else { return false };
        let code = error.code().unwrap_or_default();
        // PostgreSQL's codes have five characters, of which the first two are the class. Of SQLite's, the low byte is what
        // the rest says more of.
        match code.len() {
            5 => ["22", "23", "54"].iter().any(|class| code.starts_with(class)),
            _ => code.parse::<u32>().is_ok_and(|code| [18, 19, 20, 25].contains(&(code & 0xFF))),
        }
    }
}

/// Why storage cannot be used at the moment, as opposed to an error in the program or in the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outage {
    /// No space is left.
    Full,
    /// Away, busy, or refusing to work: a later retry may help.
    Away,
}

impl StoreError {
    /// Returns the outage behind this error, if there is one.
    pub fn outage(&self) -> Option<Outage> {
        match self {
            Self::Database(error) => outage_of(error),
            Self::Unsure(error) => outage_of(error),
            Self::Undone | Self::Stopping => Some(Outage::Away),
            Self::File { source, .. } => Some(outage_of_io(source)),
            _ => None,
        }
    }
}

/// Parses the name of a value, such as a status, that the database holds as text. `what` names it in the error.
pub fn parse_stored<T: FromStr>(what: &str, text: &str) -> Result<T, StoreError> {
    text.parse()
        .map_err(|_| StoreError::Corrupt { what: what.to_owned(), reason: format!("unknown name `{text}`") })
}

fn outage_of(error: &sqlx::Error) -> Option<Outage> {
    match error {
        sqlx::Error::Database(error) => outage_of_code(error.code()?.as_ref()),
        sqlx::Error::Io(error) => Some(outage_of_io(error)),
        sqlx::Error::Tls(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed
        | sqlx::Error::BeginFailed => Some(Outage::Away),
        _ => None,
    }
}

/// Reads SQLite's result code (a number whose low byte is the kind) or PostgreSQL's SQLSTATE (five characters).
fn outage_of_code(code: &str) -> Option<Outage> {
    if code.len() == 5 {
        return match code {
            "53100" => Some(Outage::Full),
            // A server that has become a replica.
            "25006" => Some(Outage::Away),
            // Connection exceptions, insufficient resources, operator intervention, system errors, deadlocks.
            _ if ["08", "53", "57", "58", "40"].contains(&&code[..2]) => Some(Outage::Away),
            _ => None,
        };
    }
    const BUSY: u32 = 5;
    const LOCKED: u32 = 6;
    const READONLY: u32 = 8;
    const IOERR: u32 = 10;
    const FULL: u32 = 13;
    const CANTOPEN: u32 = 14;
    match code.parse::<u32>().ok()? & 0xFF {
        FULL => Some(Outage::Full),
        BUSY | LOCKED | READONLY | IOERR | CANTOPEN => Some(Outage::Away),
        _ => None,
    }
}

pub(crate) fn outage_of_io(error: &std::io::Error) -> Outage {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Outage::Full,
        _ => Outage::Away,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_both_databases_say_which_outage_it_is() {
        for (code, outage) in [
            ("13", Some(Outage::Full)),
            ("5", Some(Outage::Away)),
            ("261", Some(Outage::Away)),
            ("778", Some(Outage::Away)),
            ("2067", None),
            ("1", None),
            ("53100", Some(Outage::Full)),
            ("53300", Some(Outage::Away)),
            ("57P01", Some(Outage::Away)),
            ("25006", Some(Outage::Away)),
            ("23505", None),
            ("42P01", None),
        ] {
            assert_eq!(outage_of_code(code), outage, "{code}");
        }
    }
}
