//! The service's own tables, and every statement on them. Inserts what it is told; decides nothing.

pub mod leads;
pub mod queues;

use store::Migration;

pub const SCOPE: &str = "leads";

pub const MIGRATIONS: &[Migration] =
    &[Migration::portable(1, "leads", include_str!("../migrations/0001_leads.sql"))];

/// Greater than every id: where a page that has no beginning begins.
const AFTER_ALL: &str = "z";
