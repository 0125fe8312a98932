//! Names of entries as places in the archive.

/// Where an entry is in its archive.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    Good(String),
    /// Files of systems and programs, which users do not see.
    Hidden(String),
    /// The path leads out of the archive, or is too long.
    Bad(String),
    /// The root itself.
    Nowhere,
}

/// In bytes. Longer paths are an attack.
const LONGEST: usize = 1024;

/// Names that systems and programs give their own files.
const SYSTEM: [&str; 4] = ["__MACOSX", "Thumbs.db", "desktop.ini", "$RECYCLE.BIN"];

/// Returns the place of an entry: relative, with slashes, and without drive, control characters and `..`.
pub(super) fn place(name: &[u8]) -> Place {
    let name = String::from_utf8_lossy(name);
    let shown: String = name.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    let parts: Vec<&str> = shown.split(['/', '\\']).map(str::trim).filter(|part| !is_nothing(part)).collect();
    let path = parts.join("/");
    if parts.contains(&"..") || name.len() > LONGEST {
        return Place::Bad(shown);
    }
    if parts.is_empty() {
        return Place::Nowhere;
    }
    // Word and Excel write files with `~$` beside open documents.
    let is_hidden = |part: &&str| part.starts_with('.') || part.starts_with("~$") || SYSTEM.contains(part);
    if parts.iter().any(is_hidden) { Place::Hidden(path) } else { Place::Good(path) }
}

fn is_nothing(part: &str) -> bool {
    let is_drive = part.len() == 2 && part.ends_with(':');
    part.is_empty() || part == "." || is_drive
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_relative_and_stay_inside() {
        let good = |name: &str, path: &str| assert_eq!(place(name.as_bytes()), Place::Good(path.to_owned()));
        good("a/b.txt", "a/b.txt");
        good("./a//b.txt", "a/b.txt");
        good("/etc/passwd", "etc/passwd");
        good("C:\\docs\\a.txt", "docs/a.txt");
        good("a\u{0}\u{1b}[31m.txt", "a[31m.txt");
        good("a..b/c..", "a..b/c..");
        for bad in ["../a", "a/../../b", "..\\a", &"a/".repeat(2000)] {
            assert!(matches!(place(bad.as_bytes()), Place::Bad(_)), "{bad}");
        }
        assert_eq!(place(b"./"), Place::Nowhere);
    }

    #[test]
    fn files_of_systems_are_hidden() {
        for hidden in ["__MACOSX/._a.txt", "a/.DS_Store", ".git/config", "Thumbs.db", "a/~$b.docx"] {
            assert_eq!(place(hidden.as_bytes()), Place::Hidden(hidden.to_owned()));
        }
    }
}
