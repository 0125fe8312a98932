//! Settings that are sizes of memory, and the memory of the machine.

use std::path::Path;

/// The value of `auto` if the system does not say how much memory there is.
const FALLBACK: u64 = 1 << 30;
const SMALLEST: u64 = 1 << 20;
const UNITS: [(&str, u64); 4] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];

/// Parses a size, or `auto`: a quarter of the memory that this process may use.
pub fn limit(text: &str) -> Result<u64, String> {
    if text == "auto" {
        return Ok((available().unwrap_or(4 * FALLBACK) / 4).max(SMALLEST));
    }
    let wrong = || format!("`{text}` is not a size of at least 1MiB: such as `512MiB`, `2GiB`, or `auto`");
    bytes(text).filter(|bytes| *bytes >= SMALLEST).ok_or_else(wrong)
}

/// Parses a whole number and a unit, such as `512MiB`.
fn bytes(text: &str) -> Option<u64> {
    let (unit, factor) = UNITS.iter().find(|(unit, _)| text.ends_with(unit))?;
    text.strip_suffix(unit)?.parse::<u64>().ok()?.checked_mul(*factor)
}

/// Returns the machine's memory, or the limit of the control group of this process if that is less.
fn available() -> Option<u64> {
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let machine = read(Path::new("/proc/meminfo")).and_then(|text| total_memory(&text));
    let group = read(Path::new("/proc/self/cgroup")).and_then(|text| {
        let group =
            text.lines().find_map(|line| line.strip_prefix("0::"))?.trim_start_matches('/').to_owned();
        // In a container, its own control group is mounted as the root.
        let root = Path::new("/sys/fs/cgroup");
        [root.join(group), root.to_owned()].iter().find_map(|folder| read(&folder.join("memory.max")))
    });
    let group = group.and_then(|text| text.trim().parse().ok());
    machine.into_iter().chain(group).min()
}

fn total_memory(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_a_unit_and_are_not_tiny() {
        assert_eq!(limit("512MiB"), Ok(512 << 20));
        assert_eq!(limit("2GiB"), Ok(2 << 30));
        assert_eq!(limit("1024KiB"), Ok(1 << 20));
        for text in ["", "0MiB", "512", "MiB", "-1GiB", "1.5GiB", "1023KiB", "99999999999TiB", "1gb", "1 GiB"]
        {
            assert!(limit(text).is_err(), "{text}");
        }
    }

    #[test]
    fn auto_is_a_quarter_of_the_memory() {
        assert_eq!(total_memory("MemTotal:       24576000 kB\nMemFree: 1 kB\n"), Some(24_576_000 * 1024));
        assert_eq!(total_memory("nothing"), None);
        assert!(limit("auto").unwrap() >= SMALLEST);
    }
}
