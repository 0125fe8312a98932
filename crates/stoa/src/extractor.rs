//! Reading uploaded files in child processes.

use crate::config::ExtractSettings;
use anyhow::{Context, Result};
use knowledge::Extractor;

/// The hidden command of a child process that reads untrusted files for its parent.
pub const COMMAND: &str = "extract-worker";

/// Reads untrusted files in child processes, which run this program with another command.
pub fn extractor(settings: &ExtractSettings) -> Result<Extractor> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let cores = std::thread::available_parallelism().map_or(2, |cores| cores.get());
    let (children, limits) = extract::Limits::within(settings.memory, cores);
    let ExtractSettings { characters, pages, cells, ref ocr, .. } = *settings;
    let limits = extract::Limits { characters, pages, cells, ocr: ocr.clone(), ..limits };
    Ok(Extractor::new(program, vec![COMMAND.into()], children, limits))
}
