//! The workflow of agents: read and checked at the start, or written out for somebody to change.

use crate::config::Config;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use supervisor::Workflow;

pub fn load(config: &Config) -> Result<Workflow, String> {
    Workflow::load(config.workflow.as_deref()).map_err(|faults| faults.to_string())
}

/// In one line, for `stoa check`.
pub fn state(config: &Config) -> Result<String, String> {
    let workflow = load(config)?;
    let from = config.workflow.as_ref().map_or("built in".to_owned(), |file| file.display().to_string());
    Ok(format!("{from}: {} agents in {}", workflow.agents(), workflow.names()))
}

/// `stoa workflow DIR`: the built-in one as files. What is there already is left as it is, and said.
pub fn write(folder: &Path) -> Result<(), String> {
    for (name, text) in Workflow::built_in_files() {
        let path = folder.join(name);
        let shown = path.display();
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        let file = made.and_then(|()| OpenOptions::new().write(true).create_new(true).open(&path));
        let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| format!("cannot write {shown}: {error}"))?;
    }
    crate::say(&format!(
        "written to {}: start with WORKFLOW={}",
        folder.display(),
        folder.join("workflow.toml").display()
    ));
    Ok(())
}
