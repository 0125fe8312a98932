//! The folder of the real models.

use std::path::PathBuf;

/// Returns `STOA_MODELS_DIR`, or the folder that `stoa models pull` uses.
#[expect(clippy::disallowed_methods, reason = "a test has no configuration to ask")]
pub fn models_dir() -> PathBuf {
    let dir = match std::env::var_os("STOA_MODELS_DIR") {
        Some(dir) => PathBuf::from(dir),
        None => std::env::home_dir().unwrap_or_default().join(".cache/stoa/models"),
    };
    assert!(dir.is_dir(), "no models in `{}`: run `make test` or `stoa models pull`", dir.display());
    dir
}
