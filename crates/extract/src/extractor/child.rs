//! One child process: a file in, a document out, within its time.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::worker::{Answer, Request, is_ready, write_frame};
use crate::{ExtractError, Limits};

const SIGKILL: i32 = rustix::process::Signal::KILL.as_raw();

pub(super) struct Child {
    process: std::process::Child,
    requests: ChildStdin,
    answers: ChildStdout,
}

pub(super) enum Outcome {
    Answer(Answer),
    /// It ended of its own will, without having read the file.
    Gone,
    Crashed,
    TooSlow,
    /// By itself, or by a system that had none left.
    TooMuchMemory,
}

impl Child {
    pub fn start(program: &Path, arguments: &[OsString]) -> Result<Self, ExtractError> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().map_err(|error| ExtractError::Worker(error.to_string()))?;
        match (process.stdin.take(), process.stdout.take()) {
            (Some(requests), Some(answers)) => Ok(Self { process, requests, answers }),
            _ => Err(ExtractError::Worker("it has no pipes".to_owned())),
        }
    }

    pub fn extract(&mut self, name: &str, bytes: &[u8], limits: &Limits) -> Outcome {
        match self.exchange(name, bytes, limits) {
            Ok(Some(answer)) => Outcome::Answer(answer),
            Ok(None) => Outcome::TooSlow,
            Err(error) if has_left(&error) => match self.process.wait() {
                Ok(status) if status.success() => Outcome::Gone,
                // We kill no child that we still wait for.
                Ok(status) if status.signal() == Some(SIGKILL) => Outcome::TooMuchMemory,
                _ => Outcome::Crashed,
            },
            Err(_) => Outcome::Crashed,
        }
    }

    /// `None` where time runs out.
    fn exchange(&mut self, name: &str, bytes: &[u8], limits: &Limits) -> io::Result<Option<Answer>> {
        let request = Request { name: name.to_owned(), size: bytes.len(), limits: limits.clone() };
        let deadline = Instant::now() + limits.time(bytes.len());
        write_frame(&mut self.requests, &serde_json::to_vec(&request)?)?;
        self.requests.write_all(bytes)?;
        let Some(length) = self.read(8, deadline)? else { return Ok(None) };
        let length = length.try_into().map(u64::from_le_bytes).unwrap_or(0);
        // Every character may be escaped, and each block has its headings; the child has no more memory than this.
        let length = length.min(limits.memory.saturating_mul(2)) as usize;
        let Some(answer) = self.read(length, deadline)? else { return Ok(None) };
        Ok(Some(serde_json::from_slice(&answer)?))
    }

    fn read(&mut self, length: usize, deadline: Instant) -> io::Result<Option<Vec<u8>>> {
        let mut read = Vec::new();
        let mut buffer = vec![0; length.min(64 * 1024)];
        while read.len() < length {
            let left = deadline.saturating_duration_since(Instant::now());
            if left == Duration::ZERO || !is_ready(&self.answers, left)? {
                return Ok(None);
            }
            let wanted = (length - read.len()).min(buffer.len());
            match self.answers.read(&mut buffer[..wanted])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => read.extend_from_slice(&buffer[..count]),
            }
        }
        Ok(Some(read))
    }
}

fn has_left(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe)
}

impl Drop for Child {
    /// A child of an idle program is not left behind, and neither is what the system keeps of an ended one.
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
