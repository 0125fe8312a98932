//! The program under test: where it is, and that it corresponds to its sources.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Returns the program under test, `target/debug/stoa`, from the path of the test, `target/debug/deps/x`. Fails if it is
/// missing or older than its sources.
pub fn binary() -> PathBuf {
    static BINARY: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
        let test = std::env::current_exe().expect("a test has a path");
        let folder = test.ancestors().nth(2).expect("tests are in target/PROFILE/deps");
        let binary = folder.join("stoa");
        match staleness(&binary) {
            None => Ok(binary),
            Some(fault) => {
                Err(format!("{} {fault}: run `cargo build --workspace --bin stoa`", binary.display()))
            }
        }
    });
    BINARY.clone().unwrap_or_else(|fault| panic!("{fault}"))
}

/// Returns why a program cannot be tested, if it does not correspond to its sources. Cargo lists them beside the program.
fn staleness(binary: &Path) -> Option<String> {
    let modified = |path: &Path| std::fs::metadata(path).and_then(|file| file.modified()).ok();
    let Some(built) = modified(binary) else { return Some("is missing".to_owned()) };
    let sources = std::fs::read_to_string(binary.with_extension("d")).unwrap_or_default();
    let Some((_, sources)) = sources.split_once(": ") else {
        return Some("has no list of sources".to_owned());
    };
    // As in a makefile, a space within a name has a backslash.
    let sources = sources.replace("\\ ", "\0");
    let mut sources = sources.split_whitespace().map(|source| PathBuf::from(source.replace('\0', " ")));
    let newer = sources.find(|source| modified(source).is_none_or(|changed| changed > built))?;
    Some(format!("is older than {}", newer.display()))
}
