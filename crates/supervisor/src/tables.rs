//! The service's tables, and every statement on them.

pub mod artifacts;
pub mod checkpoints;
pub mod deep_check;
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
    Migration::portable(3, "approvals", include_str!("../migrations/0003_approvals.sql")),
    Migration::portable(4, "owners", include_str!("../migrations/0004_owners.sql")),
];

/// Greater than every id: the cursor of the first page of a list that goes from the newest to the oldest.
const AFTER_ALL: &str = "z";

#[cfg(test)]
mod tests {
    use super::*;
    use base::{Clock, Random};
    use store::Db;

    #[tokio::test]
    async fn a_project_keeps_its_seed_when_seeds_move_to_their_own_table() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("stoa.db").display());
        let db = Db::open(&url, Clock::system(), Random::system()).await.unwrap();
        db.migrate(SCOPE, &MIGRATIONS[..1]).await.unwrap();
        let mut tx = db.begin().await.unwrap();
        for (id, seed) in [("a", "ä".repeat(1_000)), ("b", "short".to_owned())] {
            let insert = sqlx::query("INSERT INTO projects VALUES ($1, 'n', $2, 'prd', 'active', 1, 1)");
            insert.bind(id).bind(seed).execute(tx.conn()).await.unwrap();
        }
        tx.commit().await.unwrap();
        db.migrate(SCOPE, MIGRATIONS).await.unwrap();
        for (id, seed, is_cut) in [("a", "ä".repeat(1_000), true), ("b", "short".to_owned(), false)] {
            assert_eq!(projects::seed(&db, id).await.unwrap(), Some(seed.clone()));
            let project = projects::get(&db, id).await.unwrap().unwrap();
            assert_eq!(project.is_seed_truncated(), is_cut);
            assert!(seed.starts_with(&project.seed_excerpt));
        }
    }
}
