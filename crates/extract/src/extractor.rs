//! Reads untrusted files in a few child processes. A child that hangs, crashes or uses too much memory is killed, its
//! file is refused, and the next file gets a new child. Small texts have children of their own, so that they do not wait
//! for files that take minutes.

mod child;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::worker::{Answer, Request, Task};
use crate::{ArchiveLimits, Document, ExtractError, Kind, Limits, Progress, Unpacked, detect};
pub(crate) use child::PATH;
use child::{Child, Outcome};

/// Calls block for as long as a file takes, so they need threads that may block.
pub struct Extractor {
    program: PathBuf,
    arguments: Vec<OsString>,
    small_texts: Lane,
    others: Lane,
}

/// Children that read the same sort of files within the same limits.
struct Lane {
    limits: Limits,
    pool: Mutex<Pool>,
    freed: Condvar,
}

struct Pool {
    idle: Vec<Child>,
    /// Children that may still be started or taken.
    free: usize,
}

/// A small text is one of at most these bytes.
const MAX_SMALL_BYTES: usize = 1 << 20;
/// It is read within milliseconds. One that needs more memory gets it from the children of the other files.
const MAX_SMALL_SECONDS: u64 = 10;
const MAX_SMALL_MEMORY: u64 = 128 << 20;
const MAX_SMALL_CHILDREN: usize = 2;

impl Lane {
    fn new(children: usize, limits: Limits) -> Self {
        Self {
            limits,
            pool: Mutex::new(Pool { idle: Vec::new(), free: children.max(1) }),
            freed: Condvar::new(),
        }
    }

    fn wait_for_child(&self) {
        let waited = self.freed.wait_while(self.pool(), |pool| pool.free == 0);
        waited.unwrap_or_else(PoisonError::into_inner).free -= 1;
    }

    fn free_child(&self) {
        self.pool().free += 1;
        self.freed.notify_one();
    }

    /// A panic cannot leave the pool half changed, so a poisoned lock is still good.
    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Extractor {
    /// `program` with `arguments` must call [`crate::work`]. At most `children` of it run at once within `limits`, and two
    /// more for small texts, within 128 MiB each; a child without work ends after some seconds.
    pub fn new(program: PathBuf, arguments: Vec<OsString>, children: usize, limits: Limits) -> Self {
        let small = Limits {
            seconds: limits.seconds.min(MAX_SMALL_SECONDS),
            memory: limits.memory.min(MAX_SMALL_MEMORY),
            ..limits.clone()
        };
        let small_texts = Lane::new(children.min(MAX_SMALL_CHILDREN), small);
        Self { program, arguments, small_texts, others: Lane::new(children, limits) }
    }

    pub fn extract(&self, name: &str, bytes: &[u8]) -> Result<Document, ExtractError> {
        self.extract_with_progress(name, bytes, &mut |_| {})
    }

    /// Does the same, and calls `progress` before each page whose text is recognised, which takes seconds. Other
    /// files are read without it.
    pub fn extract_with_progress(
        &self,
        name: &str,
        bytes: &[u8],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Document, ExtractError> {
        let is_text = match detect(name, bytes)? {
            Kind::Text | Kind::Markdown | Kind::Rst | Kind::Csv | Kind::Json | Kind::Code => true,
            Kind::Notebook | Kind::ManPage | Kind::Tex | Kind::Log | Kind::Subtitles | Kind::Eml => true,
            Kind::Html | Kind::Pdf | Kind::Docx | Kind::Pptx | Kind::Xlsx | Kind::Epub => false,
            Kind::Odt | Kind::Ods | Kind::Odp | Kind::Rtf | Kind::Picture => false,
            Kind::Doc | Kind::Xls | Kind::Ppt => false,
            Kind::Archive => return Err(ExtractError::PackedFiles),
        };
        let is_packed = bytes.starts_with(b"\x1f\x8b");
        if is_text && !is_packed && bytes.len() <= MAX_SMALL_BYTES {
            match self.read_in(&self.small_texts, name, bytes, progress) {
                Err(ExtractError::TooMuchMemory { .. }) => {}
                read => return read,
            }
        }
        self.read_in(&self.others, name, bytes, progress)
    }

    fn read_in(
        &self,
        lane: &Lane,
        name: &str,
        bytes: &[u8],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Document, ExtractError> {
        match self.in_child(lane, name, bytes, Task::Read, progress)? {
            Answer::Document(document) => document,
            _ => Err(wrong_answer()),
        }
    }

    /// Unpacks an archive into an existing directory, in a child process. The files there are named by number;
    /// [`Unpacked`] says where in the archive each was, and what was skipped. If unpacking fails, files may be left.
    pub fn unpack(
        &self,
        name: &str,
        bytes: &[u8],
        into: &Path,
        limits: &ArchiveLimits,
    ) -> Result<Unpacked, ExtractError> {
        match detect(name, bytes)? {
            Kind::Archive => {}
            other => return Err(ExtractError::Unsupported(format!("the {other}, which is no archive,"))),
        }
        let task = Task::Unpack { into: into.to_owned(), limits: limits.clone() };
        match self.in_child(&self.others, name, bytes, task, &mut |_| {})? {
            Answer::Unpacked(unpacked) => unpacked,
            _ => Err(wrong_answer()),
        }
    }

    fn in_child(
        &self,
        lane: &Lane,
        name: &str,
        bytes: &[u8],
        task: Task,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Answer, ExtractError> {
        let request = Request { name: name.to_owned(), size: bytes.len(), limits: lane.limits.clone(), task };
        lane.wait_for_child();
        let answer = self.ask(lane, &request, bytes, progress);
        lane.free_child();
        answer
    }

    fn ask(
        &self,
        lane: &Lane,
        request: &Request,
        bytes: &[u8],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Answer, ExtractError> {
        // An idle child may have ended in the meantime; a new one has not.
        loop {
            let kept = lane.pool().idle.pop();
            let is_new = kept.is_none();
            let mut child = match kept {
                Some(child) => child,
                None => Child::start(&self.program, &self.arguments)?,
            };
            match child.ask(request, bytes, progress) {
                Outcome::Answer(answer) => {
                    lane.pool().idle.push(child);
                    return Ok(answer);
                }
                Outcome::Gone if !is_new => {}
                Outcome::Gone => {
                    return Err(ExtractError::Worker(format!("`{}` ended at once", self.program.display())));
                }
                Outcome::Crashed => return Err(ExtractError::Crashed),
                Outcome::TooMuchMemory => {
                    return Err(ExtractError::TooMuchMemory { mebibytes: lane.limits.memory >> 20 });
                }
                Outcome::TooSlow => {
                    return Err(ExtractError::TooSlow { seconds: lane.limits.time(bytes.len()).as_secs() });
                }
            }
        }
    }
}

fn wrong_answer() -> ExtractError {
    ExtractError::Worker("it answered another question".to_owned())
}
