//! Notices changes of folders where the system tells them, and asks for runs.

use super::{Sources, is_running};
use crate::tables::sources as table;
use connectors::{Settings, Watcher};
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

/// How often new and removed sources are looked for.
const LOOK: Duration = Duration::from_secs(5);
/// A run begins so long after the last change, because files are often written in several steps.
const SETTLING: Duration = Duration::from_secs(1);

/// Watches the folders of all sources, until the process stops.
pub async fn watch(sources: &Sources) {
    let (changed, mut changes) = mpsc::unbounded_channel::<String>();
    let mut watchers: HashMap<(String, String), Option<Watcher>> = HashMap::new();
    let mut due: HashMap<String, Instant> = HashMap::new();
    loop {
        refresh(sources, &mut watchers, &changed).await;
        let next_look = Instant::now() + LOOK;
        loop {
            let next = due.values().copied().min().unwrap_or(next_look).min(next_look);
            match timeout_at(next, changes.recv()).await {
                Ok(Some(id)) => drop(due.insert(id, Instant::now() + SETTLING)),
                Ok(None) => return,
                Err(_) => {}
            }
            let now = Instant::now();
            let ready: Vec<String> =
                due.iter().filter(|(_, at)| **at <= now).map(|(id, _)| id.clone()).collect();
            for id in ready {
                due.remove(&id);
                if !begin(sources, &id).await {
                    due.insert(id, now + SETTLING);
                }
            }
            if now >= next_look {
                break;
            }
        }
    }
}

/// Begins to watch new folders, and ends it for those that are gone.
async fn refresh(
    sources: &Sources,
    watchers: &mut HashMap<(String, String), Option<Watcher>>,
    changed: &mpsc::UnboundedSender<String>,
) {
    let Ok(found) = table::watched(&sources.0.db).await else { return };
    let mut folders: Vec<(String, String)> = Vec::new();
    for source in found {
        if let Settings::Folder { path } = source.settings {
            folders.push((source.id, path));
        }
    }
    watchers.retain(|folder, _| folders.contains(folder));
    for folder in folders {
        if watchers.contains_key(&folder) {
            continue;
        }
        let (id, sender) = (folder.0.clone(), changed.clone());
        let on_change = move || drop(sender.send(id.clone()));
        // Scans notice the changes if the system does not tell them.
        let watching = connectors::watch(Path::new(&folder.1), on_change).ok();
        if watching.is_some() {
            // What has changed before is not told.
            let _ = changed.send(folder.0.clone());
        }
        watchers.insert(folder, watching);
    }
}

/// Asks for a run. Returns false if one is at work, which may have passed the change already.
async fn begin(sources: &Sources, id: &str) -> bool {
    match sources.get(id).await {
        Ok(source) if is_running(&source) => false,
        Ok(_) => {
            // A source that is paused or gone needs no run.
            let _ = sources.run_now(id).await;
            true
        }
        Err(_) => true,
    }
}
