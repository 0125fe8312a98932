//! The workflow of agents: read and checked at the start, or written to files as a start for one's own.

use crate::config::Config;
use anyhow::{Context, Result, anyhow};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use supervisor::Workflow;

pub fn load(config: &Config) -> Result<Workflow> {
    Workflow::load(config.workflow.as_deref()).map_err(|faults| anyhow!("{faults}"))
}

/// Describes the workflow in one line, for `stoa check`.
pub fn state(config: &Config) -> Result<String> {
    let workflow = load(config)?;
    let from = config.workflow.as_ref().map_or("built in".to_owned(), |file| file.display().to_string());
    Ok(format!("{from}: {} agents in {}", workflow.agents(), workflow.names()))
}

/// `stoa workflow DIR`: writes the built-in workflow as files. Fails if one of them exists.
pub fn write(folder: &Path) -> Result<()> {
    for (name, text) in Workflow::built_in_files() {
        let path = folder.join(name);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        let file = made.and_then(|()| OpenOptions::new().write(true).create_new(true).open(&path));
        let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
        written.with_context(|| format!("cannot write {}", path.display()))?;
    }
    crate::say(&format!(
        "written to {}: start with WORKFLOW={}",
        folder.display(),
        folder.join("workflow.toml").display()
    ));
    Ok(())
}
