//! Storage: SQL on SQLite or PostgreSQL, objects in files or S3, and on top of them key-value namespaces, jobs, event
//! streams, rate windows, administrators' records and the grants of tokens. `check`, `hold`, `reading` and `transfer` check, copy and move all of
//! it. Knows no service and reads no environment variables.

pub mod admins;
pub mod blobs;
pub mod check;
mod counters;
mod db;
mod error;
pub mod events;
pub mod figures;
mod finding;
pub mod follow;
pub mod grants;
pub mod hold;
pub mod jobs;
pub mod kv;
mod later;
mod migrate;
mod placeholders;
pub mod rate;
mod reading;
mod recent;
mod schema;
mod sqlite;
pub mod throttle;
mod transaction;
pub mod transfer;
mod wake;

pub use blobs::{BlobError, Blobs, NamedObject, ObjectSum, S3Settings};
pub use db::{Db, Dialect, FEWEST_POSTGRES_CONNECTIONS, POSTGRES_CONNECTIONS};
pub use error::{Outage, StoreError, parse_stored};
pub use finding::{Finding, Tally, Verdict};
pub use later::Statement;
pub use migrate::{Migration, Schema, Version};
pub use placeholders::placeholders;
pub use reading::Reading;
pub use schema::SCHEMA;
pub use sqlite::file_of as sqlite_file;
pub use transaction::Tx;
pub use wake::Wakeup;

/// The clocks of processes that share a database differ by less. A time that is further ahead was noted before the clock
/// was set back.
pub const CLOCK_DIFFERENCE: std::time::Duration = std::time::Duration::from_secs(60);
