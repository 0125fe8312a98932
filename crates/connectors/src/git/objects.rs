//! Reads files of the copy by their ids, all through one `git cat-file`.

use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};

use super::command::{Git, Running};
use crate::ItemError;

const PIECE: usize = 64 * 1024;
const TIMEOUT: Duration = Duration::from_secs(120);
/// The rest of a longer file is not read just to come to the next one.
const MOST_SKIPPED: u64 = 1 << 20;

pub(super) struct Objects {
    git: Git,
    batch: Option<Batch>,
}

struct Batch {
    _running: Running,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// The content of one file. If it is dropped before its end, `git` is started again for the next one.
pub(super) struct Content<'a> {
    batch: &'a mut Option<Batch>,
    left: u64,
    is_finished: bool,
    piece: Vec<u8>,
}

impl Objects {
    pub fn new(git: Git) -> Objects {
        Objects { git, batch: None }
    }

    pub async fn open(&mut self, id: &str) -> Result<Content<'_>, ItemError> {
        if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(ItemError::Item("its version is no id of a file".to_owned()));
        }
        if self.batch.is_none() {
            self.batch = Some(Batch::start(&self.git)?);
        }
        let mut content =
            Content { batch: &mut self.batch, left: 0, is_finished: false, piece: vec![0; PIECE] };
        content.ask(id).await?;
        Ok(content)
    }
}

impl Batch {
    fn start(git: &Git) -> Result<Batch, ItemError> {
        let arguments = ["cat-file", "--batch"];
        let running = git.start(&arguments, Stdio::piped(), Stdio::piped());
        let mut running = running.map_err(|error| ItemError::Place(error.message))?;
        match (running.child.stdin.take(), running.child.stdout.take()) {
            (Some(input), Some(output)) => {
                Ok(Batch { _running: running, input, output: BufReader::with_capacity(PIECE, output) })
            }
            _ => Err(failed("it has no pipes")),
        }
    }
}

impl Content<'_> {
    /// Asks for a file, and reads the line before its content: `ID blob SIZE`.
    async fn ask(&mut self, id: &str) -> Result<(), ItemError> {
        let Some(batch) = self.batch else { return Err(failed("it is not running")) };
        let asked = async {
            batch.input.write_all(format!("{id}\n").as_bytes()).await?;
            batch.input.flush().await?;
            let mut line = String::new();
            batch.output.read_line(&mut line).await?;
            Ok::<String, std::io::Error>(line)
        };
        let line = limited(asked).await?;
        let mut words = line.split_whitespace().skip(1);
        match (words.next(), words.next().and_then(|size| size.parse().ok())) {
            (Some("blob"), Some(size)) => self.left = size,
            (Some("missing"), _) => {
                self.is_finished = true;
                return Err(ItemError::Item("it is gone".to_owned()));
            }
            _ => return Err(failed("it does not answer as expected")),
        }
        Ok(())
    }

    pub async fn next_piece(&mut self) -> Result<Option<&[u8]>, ItemError> {
        let Some(batch) = self.batch else { return Err(failed("it is not running")) };
        if self.is_finished {
            return Ok(None);
        }
        if self.left == 0 {
            // A line break follows the content.
            limited(batch.output.read_u8()).await?;
            self.is_finished = true;
            return Ok(None);
        }
        let wanted = usize::try_from(self.left).unwrap_or(PIECE).min(PIECE);
        let count = limited(batch.output.read(&mut self.piece[..wanted])).await?;
        if count == 0 {
            return Err(failed("it ended"));
        }
        self.left -= count as u64;
        Ok(Some(&self.piece[..count]))
    }

    /// Returns at least this many bytes, or all.
    pub async fn next_pieces(&mut self, least: usize) -> Result<Vec<u8>, ItemError> {
        let mut bytes = Vec::new();
        while bytes.len() < least {
            match self.next_piece().await? {
                Some(piece) => bytes.extend_from_slice(piece),
                None => break,
            }
        }
        Ok(bytes)
    }

    /// Goes to the end of the file.
    pub async fn skip(mut self) -> Result<(), ItemError> {
        while self.left <= MOST_SKIPPED && self.next_piece().await?.is_some() {}
        Ok(())
    }
}

impl Drop for Content<'_> {
    fn drop(&mut self) {
        if !self.is_finished {
            *self.batch = None;
        }
    }
}

async fn limited<T>(work: impl Future<Output = std::io::Result<T>>) -> Result<T, ItemError> {
    match tokio::time::timeout(TIMEOUT, work).await {
        Ok(done) => done.map_err(|error| failed(&error.to_string())),
        Err(_) => Err(failed("it does not answer")),
    }
}

fn failed(reason: &str) -> ItemError {
    ItemError::Place(format!("git cannot read the copy of the repository: {reason}"))
}
