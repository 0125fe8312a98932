//! What the store promises, checked on every engine: SQLite and PostgreSQL, files and S3.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test stops where it stands")]

mod blobs;
mod db;
mod engine;
mod events;
mod faults;
mod figures;
mod groups;
mod hold;
mod jobs;
mod kv;
mod migrate;
mod rate;
mod wake;
mod worker;
