//! The store's own tables, as migrations of the scope `store`.

use crate::{Migration, Schema};

/// The store's own tables.
pub const SCHEMA: Schema = Schema { scope: SCOPE, migrations: MIGRATIONS };

pub(crate) const SCOPE: &str = "store";

pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration::portable(1, "events", include_str!("../migrations/0001_events.sql")),
    Migration {
        version: 2,
        name: "jobs",
        sqlite: include_str!("../migrations/0002_jobs.sqlite.sql"),
        postgres: include_str!("../migrations/0002_jobs.postgres.sql"),
    },
    Migration {
        version: 3,
        name: "kv",
        sqlite: include_str!("../migrations/0003_kv.sqlite.sql"),
        postgres: include_str!("../migrations/0003_kv.postgres.sql"),
    },
    Migration::portable(4, "rate windows", include_str!("../migrations/0004_rate_windows.sql")),
    Migration {
        version: 5,
        name: "wake log",
        sqlite: include_str!("../migrations/0005_wake_log.sqlite.sql"),
        postgres: "",
    },
    Migration::portable(6, "admin changes", include_str!("../migrations/0006_admin_changes.sql")),
    Migration::portable(7, "figures", include_str!("../migrations/0007_figures.sql")),
    Migration::portable(8, "index use", include_str!("../migrations/0008_index_use.sql")),
    Migration::portable(9, "job schedule", include_str!("../migrations/0009_job_schedule.sql")),
    Migration::portable(10, "token grants", include_str!("../migrations/0010_token_grants.sql")),
    Migration::portable(11, "process addresses", include_str!("../migrations/0011_process_addresses.sql")),
];
