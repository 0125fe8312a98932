//! Limits the memory of a child by watching what it uses. An allocator maps far more than it uses, so a limit on
//! address space alone would either stop harmless files or leave too much to a hostile one.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use rustix::process::{Resource, Signal, getpid, kill_process};

use super::lower;

/// In this time a fast machine fills some ten mebibytes.
const INTERVAL: Duration = Duration::from_millis(2);

/// Kills this process when it uses more than `most` bytes of memory, as the system does when it runs out of memory.
/// In case the watch is too slow, the address space is limited to four times as much more than now. With a tighter
/// limit, on a busy machine, an allocation would fail before the watch can act, and that looks like a crash.
pub(crate) fn limit(most: u64) -> io::Result<()> {
    let usage = Usage::open()?;
    let mapped = usage.read()?.mapped;
    std::thread::Builder::new().name("memory".to_owned()).spawn(move || watch(&usage, most))?;
    lower(Resource::As, mapped + 4 * most)
}

fn watch(usage: &Usage, most: u64) {
    while usage.read().is_ok_and(|now| now.used <= most) {
        std::thread::sleep(INTERVAL);
    }
    // SIGKILL, because exit handlers would run while other threads continue.
    let _ = kill_process(getpid(), Signal::KILL);
}

/// The system's figures on this process's memory.
struct Usage(File);

/// In bytes.
struct Memory {
    mapped: u64,
    /// Without file pages, such as those of the program.
    used: u64,
}

impl Usage {
    fn open() -> io::Result<Self> {
        File::open("/proc/self/statm").map(Self)
    }

    fn read(&self) -> io::Result<Memory> {
        let mut room = [0; 128];
        let length = self.0.read_at(&mut room, 0)?;
        let text = String::from_utf8_lossy(&room[..length]);
        let mut bytes = text
            .split(' ')
            .map_while(|pages| pages.parse::<u64>().ok())
            .map(|pages| pages * rustix::param::page_size() as u64);
        match (bytes.next(), bytes.next(), bytes.next()) {
            (Some(mapped), Some(resident), Some(shared)) => {
                Ok(Memory { mapped, used: resident.saturating_sub(shared) })
            }
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}
