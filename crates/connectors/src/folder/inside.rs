//! Opens what is inside a folder, and nothing else: the path of what was opened is compared, so that a link that is
//! exchanged in between leads nowhere.

use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, open as open_path};
use rustix::io::Errno;
use std::fs::File;
use std::path::{Path, PathBuf};

use crate::ItemError;

/// Opens a regular file inside `root`.
pub(super) fn open(root: &Path, path: &str) -> Result<(File, Stat), ItemError> {
    let refused = |reason: &str| ItemError::Item(reason.to_owned());
    // Only names the file: a device or a pipe at its place is not touched.
    let named = match open_path(root.join(path), OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
        Ok(named) => named,
        Err(Errno::NOENT | Errno::NOTDIR) if !root.is_dir() => {
            return Err(ItemError::Place("the folder is gone".to_owned()));
        }
        Err(Errno::NOENT | Errno::NOTDIR) if path.contains(char::REPLACEMENT_CHARACTER) => {
            return Err(refused("its name is not UTF-8"));
        }
        Err(Errno::NOENT | Errno::NOTDIR) => return Err(refused("it is gone")),
        Err(error) => return Err(ItemError::Item(format!("it cannot be opened: {error}"))),
    };
    if !is_inside(&named, root) {
        return Err(refused("it is a link to something outside of the folder"));
    }
    let state = fstat(&named).map_err(|error| ItemError::Item(error.to_string()))?;
    if FileType::from_raw_mode(state.st_mode) != FileType::RegularFile {
        return Err(refused("it is not a regular file"));
    }
    match File::open(path_of_descriptor(&named)) {
        Ok(file) => Ok((file, state)),
        Err(error) => Err(ItemError::Item(format!("it cannot be opened: {error}"))),
    }
}

/// Returns whether what was opened is inside `root`, which is a real path.
pub(super) fn is_inside(opened: &OwnedFd, root: &Path) -> bool {
    std::fs::read_link(path_of_descriptor(opened)).is_ok_and(|real| real.starts_with(root))
}

fn path_of_descriptor(opened: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", opened.as_fd().as_raw_fd()))
}
