//! A child's memory: watched as it is used, because what is mapped says little. An allocator maps far more than it uses, and
//! a limit on address space alone either stops honest files or lets a hostile one have the difference.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use rustix::process::{Resource, Signal, getpid, kill_process};

use super::lower;

/// A machine that fills memory fast fills some ten mebibytes in this time.
const EVERY: Duration = Duration::from_millis(2);

/// Kills this process once it uses more than `most` bytes of memory, as the system does where it runs out of it. Should the
/// watch come too late, twice as much more than now cannot be mapped: less would make an allocation fail, which looks like
/// a crash, before the watch can tell.
pub(crate) fn limit(most: u64) -> io::Result<()> {
    let usage = Usage::open()?;
    let mapped = usage.read()?.mapped;
    std::thread::Builder::new().name("memory".to_owned()).spawn(move || watch(&usage, most))?;
    lower(Resource::As, mapped + 2 * most)
}

fn watch(usage: &Usage, most: u64) {
    while usage.read().is_ok_and(|now| now.used <= most) {
        std::thread::sleep(EVERY);
    }
    // Not an orderly end: the allocator's own would run beside threads that go on.
    let _ = kill_process(getpid(), Signal::KILL);
}

/// What the system says of this process's memory.
struct Usage(File);

/// In bytes.
struct Now {
    mapped: u64,
    /// Without the pages of files, such as the program itself.
    used: u64,
}

impl Usage {
    fn open() -> io::Result<Self> {
        File::open("/proc/self/statm").map(Self)
    }

    fn read(&self) -> io::Result<Now> {
        let mut room = [0; 128];
        let length = self.0.read_at(&mut room, 0)?;
        let text = String::from_utf8_lossy(&room[..length]);
        let mut bytes = text
            .split(' ')
            .map_while(|pages| pages.parse::<u64>().ok())
            .map(|pages| pages * rustix::param::page_size() as u64);
        match (bytes.next(), bytes.next(), bytes.next()) {
            (Some(mapped), Some(resident), Some(shared)) => {
                Ok(Now { mapped, used: resident.saturating_sub(shared) })
            }
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}
