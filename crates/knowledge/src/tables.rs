//! The service's own tables, and every statement on them. Inserts what it is told; decides nothing.

pub mod chunks;
pub mod documents;
pub mod sessions;
pub mod users;

use store::Migration;

pub const SCOPE: &str = "knowledge";

pub const MIGRATIONS: &[Migration] = &[
    Migration::portable(1, "knowledge", include_str!("../migrations/0001_knowledge.sql")),
    Migration::portable(2, "removed users", include_str!("../migrations/0002_removed_users.sql")),
    Migration::portable(3, "record generation", include_str!("../migrations/0003_record_generation.sql")),
];
