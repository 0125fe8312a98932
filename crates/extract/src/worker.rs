//! The child process: reads files from standard input and answers on standard output until there are no more.

mod memory;

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

use crate::archive::{self, ArchiveLimits, Unpacked};
use crate::read::extract_with_progress;
use crate::ready::is_ready;
use crate::{Document, ExtractError, Limits, Progress};

/// An idle child ends after this time.
const IDLE: Duration = Duration::from_secs(10);
/// A child ends after reading this many bytes, which frees the memory that the parsers did not.
const BYTES_SERVED: usize = 32 << 20;

/// The main function of an `Extractor`'s child process. Returns when the parent has ended or has no more work.
///
/// Standard output is for answers only: anything that a parser prints is discarded.
pub fn work() -> io::Result<()> {
    let mut answers = take_output()?;
    std::panic::set_hook(Box::new(|_| {}));
    let mut served = 0;
    let mut is_limited = false;
    while served < BYTES_SERVED && is_ready(io::stdin(), IDLE)? {
        let Some(request) = read_frame(&mut io::stdin().lock(), MOST_REQUEST)? else { break };
        let mut file = Vec::new();
        let request: Request = serde_json::from_slice(&request)?;
        io::stdin().lock().take(request.size as u64).read_to_end(&mut file)?;
        if file.len() < request.size {
            break;
        }
        if !std::mem::replace(&mut is_limited, true) {
            memory::limit(request.limits.memory)?;
        }
        limit_time(&request)?;
        let answer = answer(&request, &file, &mut |progress| {
            // Each page has its own time. If the parent has gone, the answer cannot be written either.
            let _ = limit_time(&request);
            let _ = send(&mut answers, &Answer::Progress(progress));
        });
        send(&mut answers, &answer)?;
        served += file.len();
    }
    Ok(())
}

fn send(to: &mut impl Write, answer: &Answer) -> io::Result<()> {
    write_frame(to, &serde_json::to_vec(answer)?)
}

fn answer(request: &Request, file: &[u8], progress: &mut dyn FnMut(Progress)) -> Answer {
    match &request.task {
        Task::Read => Answer::Document(extract_with_progress(&request.name, file, &request.limits, progress)),
        Task::Unpack { into, limits } => Answer::Unpacked(archive::unpack(file, into, limits)),
    }
}

/// Sent before the bytes of a file.
#[derive(Serialize, Deserialize)]
pub(crate) struct Request {
    pub name: String,
    pub size: usize,
    pub limits: Limits,
    pub task: Task,
}

/// What a child does with a file.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) enum Task {
    Read,
    /// Unpacks an archive into a directory.
    Unpack {
        into: PathBuf,
        limits: ArchiveLimits,
    },
}

#[derive(Serialize, Deserialize)]
pub(crate) enum Answer {
    /// Sent any number of times before the answer proper.
    Progress(Progress),
    Document(Result<Document, ExtractError>),
    Unpacked(Result<Unpacked, ExtractError>),
}

const MOST_REQUEST: usize = 1 << 20;

fn take_output() -> io::Result<impl Write> {
    let answers = std::fs::File::from(rustix::io::dup(io::stdout().as_fd())?);
    let nowhere = std::fs::File::options().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    rustix::stdio::dup2_stderr(&nowhere)?;
    Ok(answers)
}

/// Limits the CPU time. The parent kills a slow child anyway; this works even if the parent has died.
fn limit_time(request: &Request) -> io::Result<()> {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime).tv_sec.unsigned_abs();
    lower(Resource::Cpu, used + request.limits.time(request.size).as_secs() + 5)
}

fn lower(resource: Resource, most: u64) -> io::Result<()> {
    let maximum = getrlimit(resource).maximum;
    let current = Some(maximum.map_or(most, |maximum| maximum.min(most)));
    Ok(setrlimit(resource, Rlimit { current, maximum })?)
}

/// Reads a length in eight bytes, and then that many bytes. Returns `None` if the other side has closed.
pub(crate) fn read_frame(from: &mut impl Read, most: usize) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 8];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let length = u64::from_le_bytes(length);
    if length > most as u64 {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the frame is too long"));
    }
    let mut frame = Vec::new();
    from.take(length).read_to_end(&mut frame)?;
    Ok((frame.len() as u64 == length).then_some(frame))
}

pub(crate) fn write_frame(to: &mut impl Write, frame: &[u8]) -> io::Result<()> {
    to.write_all(&(frame.len() as u64).to_le_bytes())?;
    to.write_all(frame)?;
    to.flush()
}
