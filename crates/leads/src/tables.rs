//! The service's tables, and every statement on them. Decides nothing.

pub mod deep_check;
pub mod leads;
pub mod queues;

use store::Migration;

pub const SCOPE: &str = "leads";

pub const MIGRATIONS: &[Migration] =
    &[Migration::portable(1, "leads", include_str!("../migrations/0001_leads.sql"))];

/// Greater than every id: the start of the first page.
const AFTER_ALL: &str = "z";
