//! Storage: SQL on SQLite or PostgreSQL, objects in files or S3, and on top of them key-value namespaces, jobs, event
//! streams, rate windows and administrators' records. Knows no service and reads no environment variables.

pub mod admins;
pub mod blobs;
mod db;
mod error;
pub mod events;
pub mod figures;
pub mod follow;
pub mod jobs;
pub mod kv;
mod migrate;
pub mod rate;
mod schema;
mod sqlite;
pub mod throttle;
mod transaction;
mod wake;

pub use blobs::{BlobError, Blobs, S3Settings};
pub use db::{Db, Dialect, FEWEST_POSTGRES_CONNECTIONS, POSTGRES_CONNECTIONS};
pub use error::{Outage, StoreError, parse_stored};
pub use migrate::{Migration, Schema};
pub use transaction::Tx;
pub use wake::Wakeup;
