//! The processes that a process has started, and those that they have started.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

/// More processes are not looked at.
const MOST: usize = 1000;

/// Returns the processes below this one, without itself.
pub(crate) fn family(process: u32) -> Vec<u32> {
    let mut family = children(process);
    let mut at = 0;
    while at < family.len() && family.len() < MOST {
        family.extend(children(family[at]));
        at += 1;
    }
    family
}

/// Kills these processes.
pub(crate) fn end_family(family: &[u32]) {
    let ids = family.iter().filter_map(|process| i32::try_from(*process).ok().and_then(Pid::from_raw));
    for pid in ids {
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// Returns the bytes of memory that a process and its family use, without pages of files.
pub(super) fn memory(process: u32) -> u64 {
    std::iter::once(process).chain(family(process)).map(own_memory).sum()
}

fn children(process: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<u32>>())
        .collect()
}

fn own_memory(process: u32) -> u64 {
    let Ok(figures) = fs::read_to_string(format!("/proc/{process}/statm")) else { return 0 };
    let pages: Vec<u64> = figures.split(' ').take(3).filter_map(|pages| pages.parse().ok()).collect();
    match pages[..] {
        [_, resident, shared] => resident.saturating_sub(shared) * rustix::param::page_size() as u64,
        _ => 0,
    }
}
