//! One child process: sends it a file and receives a document, within the time limit.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::ready::is_ready;
use crate::tool::{end_family, family};
use crate::worker::{Answer, Request, write_frame};
use crate::{ExtractError, Limits, Progress};

const SIGKILL: i32 = rustix::process::Signal::KILL.as_raw();

/// The environment is not passed on, so programs are looked for where systems install them.
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

pub(super) struct Child {
    process: std::process::Child,
    requests: ChildStdin,
    answers: ChildStdout,
}

pub(super) enum Outcome {
    Answer(Answer),
    /// The child ended normally without reading the file.
    Gone,
    Crashed,
    TooSlow,
    /// Killed by its own watch, or by the system when it ran out of memory.
    TooMuchMemory,
}

impl Child {
    /// Starts a child with an environment of its own, which the programs that it runs inherit: they parse what users
    /// upload, and must not find secrets there.
    pub fn start(program: &Path, arguments: &[OsString]) -> Result<Self, ExtractError> {
        let mut command = Command::new(program);
        let temporary = std::env::temp_dir();
        command.env_clear().env("PATH", PATH).env("LANG", "C.UTF-8");
        command.env("HOME", &temporary).env("TMPDIR", &temporary);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().map_err(|error| ExtractError::Worker(error.to_string()))?;
        match (process.stdin.take(), process.stdout.take()) {
            (Some(requests), Some(answers)) => Ok(Self { process, requests, answers }),
            _ => Err(ExtractError::Worker("it has no pipes".to_owned())),
        }
    }

    /// Sends a file and waits for the answer.
    pub fn ask(&mut self, request: &Request, bytes: &[u8], progress: &mut dyn FnMut(Progress)) -> Outcome {
        match self.exchange(request, bytes, progress) {
            Ok(Some(answer)) => Outcome::Answer(answer),
            Ok(None) => Outcome::TooSlow,
            Err(error) if has_left(&error) => match self.process.wait() {
                Ok(status) if status.success() => Outcome::Gone,
                // This process kills a child only in `drop`.
                Ok(status) if status.signal() == Some(SIGKILL) => Outcome::TooMuchMemory,
                _ => Outcome::Crashed,
            },
            Err(_) => Outcome::Crashed,
        }
    }

    /// Returns `None` if the time is up.
    fn exchange(
        &mut self,
        request: &Request,
        bytes: &[u8],
        progress: &mut dyn FnMut(Progress),
    ) -> io::Result<Option<Answer>> {
        let limits = &request.limits;
        let mut deadline = Instant::now() + limits.time(bytes.len());
        write_frame(&mut self.requests, &serde_json::to_vec(request)?)?;
        self.requests.write_all(bytes)?;
        loop {
            match self.answer(limits, deadline)? {
                Some(Answer::Progress(at)) => {
                    progress(at);
                    // A page is drawn, then recognised, then perhaps turned and recognised again.
                    let page = Duration::from_secs(3 * limits.ocr.seconds_per_page + 5);
                    deadline = deadline.max(Instant::now() + page);
                }
                answer => return Ok(answer),
            }
        }
    }

    fn answer(&mut self, limits: &Limits, deadline: Instant) -> io::Result<Option<Answer>> {
        let Some(length) = self.read(8, deadline)? else { return Ok(None) };
        let length = length.try_into().map(u64::from_le_bytes).unwrap_or(0);
        // A bound on the answer. It can be longer than the text, because characters are escaped and blocks repeat
        // their headings, but the child has no memory for more.
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
    /// Kills the child with the programs that it runs, and collects its exit status, so that neither a process nor a
    /// zombie is left.
    fn drop(&mut self) {
        let family = family(self.process.id());
        let _ = self.process.kill();
        end_family(&family);
        let _ = self.process.wait();
    }
}
