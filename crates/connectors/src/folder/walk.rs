//! Walks through a folder and the folders below it, with one open iterator for each level and no list of names.
//!
//! What cannot be read makes the walk fail: files that are not listed would be taken for deleted.

use rustix::fs::{AtFlags, Dir, DirEntry, FileType, Mode, OFlags, Stat, fstat, open, openat, statat};
use rustix::io::Errno;
use std::path::PathBuf;

use super::{inside, version};
use crate::{ConnectError, Item, PAGE};

/// Each level is an open file.
const MOST_LEVELS: usize = 128;

pub(super) struct Walk {
    root: PathBuf,
    levels: Vec<Level>,
}

struct Level {
    entries: Dir,
    /// Relative to the root; empty or with `/` at its end.
    path: String,
    id: (u64, u64),
    /// Whether a link led here, or above.
    is_linked: bool,
}

enum Visited {
    Nothing,
    File(Item),
    Folder(Level),
}

impl Walk {
    /// Begins a walk at a real path.
    pub fn start(root: PathBuf) -> Result<Walk, ConnectError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let level = open(&root, flags, Mode::empty())
            .and_then(|opened| Level::new(opened, String::new(), false))
            .map_err(|error| ConnectError::new(format!("the folder cannot be read: {error}")))?;
        Ok(Walk { root, levels: vec![level] })
    }

    pub fn next_page(&mut self) -> Result<Option<Vec<Item>>, ConnectError> {
        let mut items = Vec::new();
        while let Some(level) = self.levels.last_mut() {
            let visited = match level.entries.read() {
                Some(Ok(entry)) => self.visit(&entry)?,
                Some(Err(error)) => return Err(unreadable(&level.path, error)),
                None => {
                    self.levels.pop();
                    continue;
                }
            };
            match visited {
                Visited::Nothing => {}
                Visited::File(item) => items.push(item),
                Visited::Folder(level) if self.levels.len() == MOST_LEVELS => {
                    let message = format!("`{}` is more than {MOST_LEVELS} folders deep", level.path);
                    return Err(ConnectError::new(message));
                }
                Visited::Folder(level) => self.levels.push(level),
            }
            if items.len() == PAGE {
                return Ok(Some(items));
            }
        }
        Ok(Some(items).filter(|items| !items.is_empty()))
    }

    fn visit(&self, entry: &DirEntry) -> Result<Visited, ConnectError> {
        let (name, Some(level)) = (entry.file_name(), self.levels.last()) else {
            return Ok(Visited::Nothing);
        };
        if name.to_bytes().starts_with(b".") {
            return Ok(Visited::Nothing);
        }
        let path = format!("{}{}", level.path, name.to_string_lossy());
        let visited = level.entries.fd().and_then(|folder| {
            let state = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
            match FileType::from_raw_mode(state.st_mode) {
                FileType::RegularFile => Ok(file(path.clone(), &state)),
                FileType::Directory => {
                    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                    let opened = openat(folder, name, flags, Mode::empty())?;
                    Ok(Visited::Folder(Level::new(opened, path.clone() + "/", level.is_linked)?))
                }
                FileType::Symlink => self.visit_link(level, name, path.clone()),
                _ => Ok(Visited::Nothing),
            }
        });
        match visited {
            Ok(visited) => Ok(visited),
            // Deleted since its folder was read.
            Err(Errno::NOENT) => Ok(Visited::Nothing),
            Err(error) => Err(unreadable(&path, error)),
        }
    }

    /// Visits what a link leads to, if it is inside the root. A folder that a link led to is not left through another
    /// link: a few links could otherwise make any number of paths.
    fn visit_link(&self, level: &Level, name: &std::ffi::CStr, path: String) -> Result<Visited, Errno> {
        let opened = openat(level.entries.fd()?, name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
        let opened = match opened {
            Ok(opened) => opened,
            Err(error) if leads_nowhere(error) => return Ok(Visited::Nothing),
            Err(error) => return Err(error),
        };
        if !inside::is_inside(&opened, &self.root) {
            return Ok(Visited::Nothing);
        }
        let state = fstat(&opened)?;
        let is_loop = || self.levels.iter().any(|level| level.id == (state.st_dev, state.st_ino));
        match FileType::from_raw_mode(state.st_mode) {
            FileType::RegularFile => Ok(file(path, &state)),
            FileType::Directory if !level.is_linked && !is_loop() => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                let folder = openat(&opened, c".", flags, Mode::empty())?;
                Ok(Visited::Folder(Level::new(folder, path + "/", true)?))
            }
            _ => Ok(Visited::Nothing),
        }
    }
}

impl Level {
    fn new(opened: rustix::fd::OwnedFd, path: String, is_linked: bool) -> Result<Level, Errno> {
        let state = fstat(&opened)?;
        Ok(Level { entries: Dir::new(opened)?, path, id: (state.st_dev, state.st_ino), is_linked })
    }
}

/// Returns whether a link can have no target: it is gone, or the link leads in a circle. After any other error the
/// target may still be there.
fn leads_nowhere(error: Errno) -> bool {
    matches!(error, Errno::NOENT | Errno::LOOP | Errno::NOTDIR | Errno::NAMETOOLONG)
}

fn file(path: String, state: &Stat) -> Visited {
    Visited::File(Item { path, version: version(state) })
}

fn unreadable(path: &str, error: Errno) -> ConnectError {
    let shown = if path.is_empty() { "the folder" } else { path };
    ConnectError::new(format!("`{shown}` cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_may_still_be_there_fails_the_walk() {
        for error in [Errno::MFILE, Errno::IO, Errno::STALE, Errno::NOMEM, Errno::ACCESS] {
            assert!(!leads_nowhere(error), "{error}");
        }
        assert!(leads_nowhere(Errno::NOENT) && leads_nowhere(Errno::LOOP));
    }
}
