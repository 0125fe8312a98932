//! Tells when something below a folder changes, by inotify. A thread waits; dropping the watcher ends it.

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fd::OwnedFd;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::ConnectError;

/// A thread that waits for changes, until this is dropped.
pub struct Watcher {
    stop: Arc<OwnedFd>,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        // Fails only if the counter is full, and then the thread has been told.
        let _ = rustix::io::write(&self.stop, &1u64.to_ne_bytes());
    }
}

/// Calls `on_change` from a thread of its own after something below the folder has changed: once for changes that come
/// together, and possibly before a file is complete. Reads all folders, so call it where blocking is allowed.
pub fn watch(path: impl AsRef<Path>, on_change: impl Fn() + Send + 'static) -> Result<Watcher, ConnectError> {
    let failed = |error: Errno| match error {
        Errno::NOSPC => ConnectError::new(
            "changes cannot be noticed: there are more folders than `fs.inotify.max_user_watches` allows",
        ),
        error => ConnectError::new(format!("changes cannot be noticed: {error}")),
    };
    let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(failed)?;
    let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).map_err(failed)?);
    let root = path.as_ref().canonicalize();
    let root = root.map_err(|error| ConnectError::new(format!("changes cannot be noticed: {error}")))?;
    let mut watched = Watched { events, root: root.clone(), folders: HashMap::new() };
    watched.add(root).map_err(failed)?;
    let stopped = Arc::clone(&stop);
    std::thread::Builder::new()
        .name("folder-watch".to_owned())
        .spawn(move || watched.wait(&stopped, on_change))
        .map_err(|error| ConnectError::new(format!("changes cannot be noticed: {error}")))?;
    Ok(Watcher { stop })
}

struct Watched {
    events: OwnedFd,
    root: PathBuf,
    /// The path of each watched folder.
    folders: HashMap<i32, PathBuf>,
}

#[derive(Default)]
struct Changes {
    new_folders: Vec<PathBuf>,
    /// Watches that have ended with their folders.
    ended: Vec<i32>,
    is_any: bool,
}

impl Watched {
    /// Watches a folder and those below it. Each is watched before it is read, so that no new one is missed.
    fn add(&mut self, first: PathBuf) -> Result<(), Errno> {
        let flags = WatchFlags::CREATE
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::DELETE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::ONLYDIR
            | WatchFlags::DONT_FOLLOW
            | WatchFlags::EXCL_UNLINK;
        let mut folders = vec![first.clone()];
        while let Some(folder) = folders.pop() {
            match inotify::add_watch(&self.events, &folder, flags) {
                Ok(id) => drop(self.folders.insert(id, folder.clone())),
                Err(error) if error == Errno::NOSPC || folder == first => return Err(error),
                // Listing the folders tells what is wrong with this one.
                Err(_) => continue,
            }
            let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            let is_folder = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
            folders.extend(
                entries
                    .filter(|entry| !is_hidden(entry.file_name().as_bytes()) && is_folder(entry))
                    .map(|entry| entry.path()),
            );
        }
        Ok(())
    }

    fn wait(mut self, stop: &OwnedFd, on_change: impl Fn()) {
        loop {
            let mut ready = [PollFd::new(&self.events, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
            match poll(&mut ready, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
            if !ready[1].revents().is_empty() {
                return;
            }
            let changes = self.read_events();
            changes.ended.iter().for_each(|id| drop(self.folders.remove(id)));
            for folder in changes.new_folders {
                // If it cannot be watched, the next scan finds what is in it.
                let _ = self.add(folder);
            }
            if changes.is_any {
                on_change();
            }
        }
    }

    fn read_events(&self) -> Changes {
        let mut changes = Changes::default();
        let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
        let mut reader = inotify::Reader::new(&self.events, &mut buffer);
        while let Ok(event) = reader.next() {
            let name = event.file_name().map(|name| name.to_bytes()).unwrap_or_default();
            if event.events().contains(ReadFlags::IGNORED) {
                changes.ended.push(event.wd());
                continue;
            }
            if is_hidden(name) {
                continue;
            }
            changes.is_any = true;
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                changes.new_folders.push(self.root.clone());
            }
            let appeared = event.events().intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO);
            if appeared
                && event.events().contains(ReadFlags::ISDIR)
                && let Some(folder) = self.folders.get(&event.wd())
            {
                changes.new_folders.push(folder.join(OsStr::from_bytes(name)));
            }
        }
        changes
    }
}

fn is_hidden(name: &[u8]) -> bool {
    name.starts_with(b".")
}
