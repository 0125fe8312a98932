//! Runs other programs that read parts of a file, with limits on time, memory and output. They are untrusted: they
//! parse what users upload.

mod family;

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process_group, prlimit};

use crate::ready::is_ready;
use crate::{ExtractError, Limits};
pub(crate) use family::{end_family, family};

pub(crate) struct ToolLimits {
    pub time: Duration,
    /// Bytes of memory of the program and of those that it starts.
    pub memory: u64,
    /// Bytes that it may write to its standard output.
    pub output: usize,
}

#[derive(Debug)]
pub(crate) enum ToolError {
    /// The program is not installed.
    Missing,
    TooSlow,
    TooMuchMemory,
    TooMuchOutput,
    /// The program refused its input, with this message.
    Failed(String),
    /// The system refused to start or to watch it.
    System(io::Error),
}

impl ToolError {
    /// Returns the error of the file that the program was to read.
    pub fn of_file(self, limits: &Limits, seconds: u64) -> ExtractError {
        match self {
            Self::TooSlow => ExtractError::TooSlow { seconds },
            Self::TooMuchMemory => ExtractError::TooMuchMemory { mebibytes: limits.memory >> 20 },
            Self::TooMuchOutput | Self::Failed(_) => ExtractError::Crashed,
            Self::Missing => ExtractError::Worker("a program is missing".to_owned()),
            Self::System(error) => ExtractError::Worker(error.to_string()),
        }
    }
}

impl From<io::Error> for ToolError {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

/// How often the memory of a program is looked at.
const INTERVAL: Duration = Duration::from_millis(20);
/// Bytes of each file that a program may write.
const MOST_FILE: u64 = 256 << 20;
/// Bytes that it may write to its standard error.
const MOST_MESSAGES: u64 = 4 << 20;
/// Bytes of an error message that are kept.
const LONGEST_MESSAGE: usize = 300;

/// Runs a program with this standard input, and returns its output. All processes that it starts end with it.
pub(crate) fn run(command: &mut Command, input: File, limits: &ToolLimits) -> Result<Vec<u8>, ToolError> {
    let messages = tempfile::tempfile()?;
    command.stdin(input).stdout(Stdio::piped()).stderr(messages.try_clone()?).process_group(0);
    let mut tool = match command.spawn() {
        Ok(process) => Tool { process },
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(ToolError::Missing),
        Err(error) => return Err(error.into()),
    };
    tool.limit(limits);
    let output = tool.output(&messages, limits)?;
    let status = tool.process.wait()?;
    if status.success() { Ok(output) } else { Err(ToolError::Failed(last_message(messages))) }
}

/// Returns a file without a name that holds these bytes, as the input of a program.
pub(crate) fn input(bytes: &[u8]) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::Write::write_all(&mut file, bytes)?;
    file.rewind()?;
    Ok(file)
}

struct Tool {
    process: Child,
}

impl Tool {
    /// Sets the limits of the system, which hold even if this process dies. The address space of a program is far
    /// larger than what it uses.
    fn limit(&self, limits: &ToolLimits) {
        let set = |resource: Resource, most: u64| {
            let maximum = getrlimit(resource).maximum;
            let current = Some(maximum.map_or(most, |maximum| maximum.min(most)));
            let _ = prlimit(self.pid(), resource, Rlimit { current, maximum });
        };
        set(Resource::Cpu, limits.time.as_secs() + 5);
        set(Resource::Fsize, MOST_FILE);
        set(Resource::As, limits.memory.saturating_mul(2).saturating_add(4 << 30));
    }

    /// Reads until the program closes its output.
    fn output(&mut self, messages: &File, limits: &ToolLimits) -> Result<Vec<u8>, ToolError> {
        let deadline = Instant::now() + limits.time;
        let Some(mut from) = self.process.stdout.take() else { return Ok(Vec::new()) };
        let (mut output, mut buffer) = (Vec::new(), vec![0; 64 * 1024]);
        loop {
            let ready = is_ready(&from, INTERVAL)?;
            if Instant::now() > deadline {
                return Err(ToolError::TooSlow);
            }
            if family::memory(self.process.id()) > limits.memory {
                return Err(ToolError::TooMuchMemory);
            }
            if messages.metadata()?.len() > MOST_MESSAGES {
                return Err(ToolError::TooMuchOutput);
            }
            if !ready {
                continue;
            }
            match from.read(&mut buffer)? {
                0 => return Ok(output),
                count => output.extend_from_slice(&buffer[..count]),
            }
            if output.len() > limits.output {
                return Err(ToolError::TooMuchOutput);
            }
        }
    }

    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.process.id()).ok().and_then(Pid::from_raw)
    }
}

impl Drop for Tool {
    /// Ends the program with its group and its family: some programs start others in groups of their own.
    fn drop(&mut self) {
        let family = family(self.process.id());
        if let Some(pid) = self.pid() {
            let _ = kill_process_group(pid, Signal::KILL);
        }
        let _ = self.process.kill();
        end_family(&family);
        let _ = self.process.wait();
    }
}

/// Returns the end of what a program wrote to its standard error.
fn last_message(mut messages: File) -> String {
    let mut bytes = Vec::new();
    let _ = messages.rewind();
    let _ = messages.take(64 << 10).read_to_end(&mut bytes);
    let text = crate::clean::prose(&String::from_utf8_lossy(&bytes));
    let start = text.ceil_char_boundary(text.len().saturating_sub(LONGEST_MESSAGE));
    text[start..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limits: &ToolLimits) -> Result<Vec<u8>, ToolError> {
        run(Command::new("/bin/sh").args(["-c", script]), input(b"in").unwrap(), limits)
    }

    fn limits() -> ToolLimits {
        ToolLimits { time: Duration::from_secs(20), memory: 256 << 20, output: 1 << 20 }
    }

    #[test]
    fn a_program_gets_its_input_and_its_output_is_read() {
        assert_eq!(shell("cat; echo out", &limits()).unwrap(), b"inout\n");
        let failed = shell("echo oh no >&2; exit 3", &limits());
        assert!(matches!(failed, Err(ToolError::Failed(message)) if message == "oh no"));
        let missing = run(&mut Command::new("no-such-program"), input(b"").unwrap(), &limits());
        assert!(matches!(missing, Err(ToolError::Missing)));
    }

    #[test]
    fn a_program_ends_at_its_limits_with_all_that_it_started() {
        let slow = ToolLimits { time: Duration::from_millis(300), ..limits() };
        let mark = format!("{}.5", 100_000 + std::process::id());
        let started = Instant::now();
        assert!(matches!(
            shell(&format!("setsid sleep {mark} & sleep {mark}"), &slow),
            Err(ToolError::TooSlow)
        ));
        assert!(started.elapsed() < Duration::from_secs(5));
        // A killed process takes a moment to end.
        let ended = (0..100).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            !is_running(&mark)
        });
        assert!(ended, "{mark}");
        let small = ToolLimits { output: 1000, ..limits() };
        assert!(matches!(shell("yes", &small), Err(ToolError::TooMuchOutput)));
        assert!(matches!(shell("yes >&2", &limits()), Err(ToolError::TooMuchOutput)));
        let place = tempfile::tempdir().unwrap();
        let large = place.path().join("large");
        let writes = format!("sleep 0.3; dd if=/dev/zero of={} bs=1 count=1 seek=300M", large.display());
        assert!(matches!(shell(&writes, &limits()), Err(ToolError::Failed(_))));
        let little = ToolLimits { memory: 32 << 20, ..limits() };
        let grows = shell("a=0123456789; while :; do a=$a$a; done", &little);
        assert!(matches!(grows, Err(ToolError::TooMuchMemory)), "{grows:?}");
    }

    fn is_running(argument: &str) -> bool {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let mut commands =
            processes.filter_map(|one| std::fs::read_to_string(one.path().join("cmdline")).ok());
        commands.any(|command| command.split('\0').any(|word| word == argument))
    }
}
