//! The service's own tables, and every statement on them. Inserts what it is told; decides nothing.

pub mod artifacts;
pub mod checkpoints;
pub mod guests;
pub mod logs;
pub mod projects;
pub mod runs;
pub mod traces;

use store::Migration;

pub const SCOPE: &str = "supervisor";

pub const MIGRATIONS: &[Migration] = &[
    Migration::portable(1, "supervisor", include_str!("../migrations/0001_supervisor.sql")),
    Migration::portable(2, "guests and models", include_str!("../migrations/0002_guests_and_models.sql")),
];

/// Greater than every id: where a page that has no beginning begins.
const AFTER_ALL: &str = "z";
