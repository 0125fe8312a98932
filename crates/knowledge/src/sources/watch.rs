//! Notices changes of folders where the system tells them, and asks for runs.

use super::{SourceError, Sources, is_running};
use crate::tables::sources as table;
use connectors::{Settings, Watcher};
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

/// How often new and removed sources are looked for.
const LOOK: Duration = Duration::from_secs(5);
/// A run begins so long after the last change, because files are often written in several steps.
const SETTLING: Duration = Duration::from_secs(1);
/// A folder that never settles is read so long after the first change.
const LONGEST_SETTLING: Duration = Duration::from_secs(10);
/// After this time, a folder that could not be watched is tried again.
const RETRY: Duration = Duration::from_secs(300);
/// How often copies of repositories are looked for whose sources are gone.
const SWEEP: Duration = Duration::from_secs(3600);

/// The watcher of a folder; none if the system does not tell changes, until it is tried again.
struct Watched {
    watcher: Option<Watcher>,
    since: Instant,
}

/// A folder that has changed.
struct Changed {
    since: Instant,
    due: Instant,
}

/// Watches the folders of all sources, until the process stops.
pub async fn watch(sources: &Sources) {
    let (changed, mut changes) = mpsc::unbounded_channel::<String>();
    let mut watchers: HashMap<(String, String), Watched> = HashMap::new();
    let mut waiting: HashMap<String, Changed> = HashMap::new();
    let mut next_sweep = Instant::now();
    loop {
        if Instant::now() >= next_sweep {
            sources.remove_copies_of_gone_sources().await;
            next_sweep = Instant::now() + SWEEP;
        }
        refresh(sources, &mut watchers, &changed).await;
        let next_look = Instant::now() + LOOK;
        loop {
            let next = waiting.values().map(|change| change.due).min().unwrap_or(next_look).min(next_look);
            match timeout_at(next, changes.recv()).await {
                Ok(Some(id)) => note_change(&mut waiting, id),
                Ok(None) => return,
                Err(_) => {}
            }
            let now = Instant::now();
            let ready = waiting.iter().filter(|(_, change)| change.due <= now).map(|(id, _)| id.clone());
            for id in ready.collect::<Vec<String>>() {
                waiting.remove(&id);
                if !begin(sources, &id).await {
                    note_change(&mut waiting, id);
                }
            }
            if now >= next_look {
                break;
            }
        }
    }
}

fn note_change(waiting: &mut HashMap<String, Changed>, id: String) {
    let now = Instant::now();
    let change = waiting.entry(id).or_insert(Changed { since: now, due: now });
    change.due = (now + SETTLING).min(change.since + LONGEST_SETTLING);
}

/// Begins to watch new folders, and ends it for those that are gone.
async fn refresh(
    sources: &Sources,
    watchers: &mut HashMap<(String, String), Watched>,
    changed: &mpsc::UnboundedSender<String>,
) {
    let Ok(found) = table::watched(&sources.0.db).await else { return };
    let mut folders: Vec<(String, String)> = Vec::new();
    for source in found {
        if let Settings::Folder { path } = source.settings {
            folders.push((source.id, path));
        }
    }
    watchers.retain(|folder, watched| {
        folders.contains(folder) && (watched.watcher.is_some() || watched.since.elapsed() < RETRY)
    });
    for folder in folders {
        if watchers.contains_key(&folder) {
            continue;
        }
        let (id, sender) = (folder.0.clone(), changed.clone());
        let on_change = move || drop(sender.send(id.clone()));
        // Scans notice the changes if the system does not tell them.
        let path = PathBuf::from(&folder.1);
        let watching = tokio::task::spawn_blocking(move || connectors::watch(&path, on_change).ok());
        let watcher = watching.await.ok().flatten();
        if watcher.is_some() {
            // What has changed before is not told.
            let _ = changed.send(folder.0.clone());
        }
        watchers.insert(folder, Watched { watcher, since: Instant::now() });
    }
}

/// Asks for a run. Returns false if one is at work, which may have passed the change already, or if it could not be asked.
async fn begin(sources: &Sources, id: &str) -> bool {
    let asked = match sources.get(id).await {
        Ok(source) if is_running(&source) => return false,
        Ok(_) => sources.run_now(id).await.map(drop),
        Err(error) => Err(error),
    };
    // A source that is paused or gone needs no run.
    !matches!(asked, Err(SourceError::Store(_)))
}
