//! Lists the files of the copy, as `git` writes them: nothing is kept but the line that is read.

use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::ChildStdout;

use super::command::{Git, Running};
use crate::{ConnectError, Count, Item, PAGE};

/// The longest pause of `git`.
const MAX_LINE_BYTES: u64 = 16 << 10;
const LINE_TIMEOUT: Duration = Duration::from_secs(120);

pub(super) struct Tree {
    running: Running,
    /// None at the end.
    output: Option<BufReader<ChildStdout>>,
    /// The folder that is listed, with `/` at its end; empty for all.
    prefix: String,
    lines: Count,
}

impl Tree {
    /// Begins to list what is below a folder; all if it is empty.
    pub fn open(git: &Git, tip: &str, folder: &str) -> Result<Tree, ConnectError> {
        let folder = folder.trim_end_matches('/');
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        // Fails for a folder that is not there, which must not look like an empty one.
        let root = format!("{tip}:{folder}");
        let mut running = git.start(&["ls-tree", "-r", "-z", &root], Stdio::null(), Stdio::piped())?;
        let output = running.child.stdout.take().map(BufReader::new);
        Ok(Tree { running, output, prefix, lines: Count::default() })
    }

    pub async fn next_page(&mut self) -> Result<Option<Vec<Item>>, ConnectError> {
        let mut items = Vec::new();
        let mut line = Vec::new();
        while items.len() < PAGE {
            let Some(output) = &mut self.output else { break };
            line.clear();
            let mut limited = output.take(MAX_LINE_BYTES);
            match tokio::time::timeout(LINE_TIMEOUT, limited.read_until(0, &mut line)).await {
                Ok(Ok(0)) => {
                    self.output = None;
                    self.running.finish().await.map_err(ConnectError::new)?;
                }
                Ok(Ok(_)) if !line.ends_with(b"\0") => {
                    let message =
                        format!("the repository has a path of more than {} KiB", MAX_LINE_BYTES >> 10);
                    return Err(ConnectError::new(message));
                }
                Ok(Ok(_)) => {
                    // A few small trees that hold each other many times list any number of files.
                    self.lines.add(1)?;
                    items.extend(self.item(&line));
                }
                Ok(Err(error)) => return Err(ConnectError::new(format!("git: {error}"))),
                Err(_) => return Err(ConnectError::new("git does not list the files")),
            }
        }
        Ok(Some(items).filter(|items| !items.is_empty()))
    }

    /// Reads a line such as `100644 blob ID<tab>PATH`. Links and submodules are no items.
    fn item(&self, line: &[u8]) -> Option<Item> {
        let line = String::from_utf8_lossy(line.strip_suffix(b"\0").unwrap_or(line));
        let (about, path) = line.split_once('\t')?;
        let mut about = about.split(' ');
        let (mode, kind, id) = (about.next()?, about.next()?, about.next()?);
        let is_file = mode.starts_with("100") && kind == "blob";
        is_file.then(|| Item { path: format!("{}{path}", self.prefix), version: id.to_owned() })
    }
}
