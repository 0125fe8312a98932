//! The copies of repositories, of which each process has its own: they count towards the quota of their owner.

use super::sync::{Interrupted, hold};
use super::{Sources, table};
use crate::records::Source;
use crate::tables;
use connectors::Settings;

/// Copies that are looked up in one statement.
const COPIES_AT_ONCE: usize = 500;

impl Sources {
    /// Returns how many bytes a copy of a repository may have; none if its owner has no quota.
    pub(super) async fn copy_room(&self, source: &Source) -> Result<Option<u64>, Interrupted> {
        if !matches!(source.settings, Settings::Git { .. }) {
            return Ok(None);
        }
        let mut tx = self.0.db.begin().await?;
        let Some(quota) = self.0.ingest.quota_of(&mut tx, &source.owner_id).await? else { return Ok(None) };
        let others = tables::documents::bytes_of(&mut tx, &source.owner_id).await? - source.copy_bytes;
        Ok(Some(u64::try_from(quota - others).unwrap_or(0)))
    }

    /// Counts the copy of a repository towards the quota of its owner. One that is too much is removed.
    pub(super) async fn count_copy(&self, source: &mut Source) -> Result<(), Interrupted> {
        let environment = &self.0.settings.environment;
        let bytes = connectors::copy_bytes(&source.id, environment).await.cast_signed();
        if bytes == source.copy_bytes {
            return Ok(());
        }
        let mut tx = self.0.db.begin().await?;
        let revision = tables::users::next_revision(&mut tx, &source.owner_id).await?;
        revision.ok_or(Interrupted::Stopped)?;
        hold(&mut tx, source).await?;
        let others = tables::documents::bytes_of(&mut tx, &source.owner_id).await? - source.copy_bytes;
        let quota = self.0.ingest.quota_of(&mut tx, &source.owner_id).await?;
        let fits = bytes == 0 || quota.is_none_or(|quota| others + bytes <= quota);
        source.copy_bytes = if fits { bytes } else { 0 };
        table::set_copy_bytes(&mut tx, &source.id, source.copy_bytes).await?;
        tx.commit().await?;
        if !fits {
            connectors::remove_copy(&source.id, environment).await;
            let message =
                format!("the copy of the repository takes {bytes} bytes, more than the quota leaves");
            return Err(Interrupted::Failed(message));
        }
        Ok(())
    }

    /// Removes the copies of repositories whose sources are gone. Each process has its own.
    pub(super) async fn remove_copies_of_gone_sources(&self) {
        let folder = self.0.settings.environment.work_folder.join("git");
        // Without a source that is a repository there is no folder.
        let Ok(mut entries) = tokio::fs::read_dir(&folder).await else { return };
        let mut ids = Vec::new();
        while let Ok(Some(entry)) = entries.next_entry().await {
            ids.extend(entry.file_name().into_string());
        }
        for ids in ids.chunks(COPIES_AT_ONCE) {
            let Ok(existing) = table::existing(&self.0.db, ids).await else { return };
            for id in ids.iter().filter(|id| !existing.contains(id)) {
                // What cannot be removed is tried again the next time.
                let _ = tokio::fs::remove_dir_all(folder.join(id)).await;
            }
        }
    }
}
