//! Runs `git` as a child with an environment of its own: no prompt, no hook, no configuration of the machine, and no
//! secret among its arguments.

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process_group, prlimit};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};

use crate::ConnectError;

/// For one command. The first fetch of a large repository takes long.
const TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// The environment is not passed on, so programs are looked for where systems install them.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Bytes that `git` may write to a file in any case: its own small files are no part of the repository.
const MIN_FILE_BYTES: u64 = 64 << 10;
/// Bytes of the address space that `git` may use.
const MOST_MEMORY: u64 = 8 << 30;
/// The most of what `git` says that is kept.
const MOST_SAID: u64 = 16 * 1024;

pub(super) struct Git {
    copy: PathBuf,
    /// Of the copy.
    pub most_bytes: u64,
    variables: Vec<(String, String)>,
    /// Given to `git` by variables of its environment, which other users cannot read.
    configuration: Vec<(String, String)>,
    secret: Option<String>,
    /// The file of a private key. It is deleted with this.
    key: Option<KeyFile>,
}

/// A running child. Dropping it ends the child and what it has started.
pub(super) struct Running {
    pub child: Child,
    group: Option<Pid>,
}

struct KeyFile(PathBuf);

impl Git {
    /// Creates the copy if it is not there.
    pub async fn new(copy: PathBuf, secret: Option<&str>, most_bytes: u64) -> Result<Git, ConnectError> {
        let failed = |error: std::io::Error| {
            ConnectError::new(format!("there is no place for a copy of the repository: {error}"))
        };
        let copy = std::path::absolute(copy).map_err(failed)?;
        tokio::fs::create_dir_all(&copy).await.map_err(failed)?;
        let secret = secret.filter(|secret| !secret.is_empty()).map(str::to_owned);
        let mut git =
            Git { copy, most_bytes, variables: Vec::new(), configuration: Vec::new(), secret, key: None };
        let settings = [
            ("core.hooksPath", "/dev/null"),
            // Each fetch becomes a pack, also a small one, so that they can be counted.
            ("fetch.unpackLimit", "1"),
            ("gc.auto", "0"),
            ("maintenance.auto", "false"),
            ("protocol.version", "2"),
            // Larger files are not read into memory as a whole.
            ("core.bigFileThreshold", "16m"),
            ("credential.helper", ""),
            // A redirect could lead to an address that was not checked.
            ("http.followRedirects", "false"),
            ("http.lowSpeedLimit", "1"),
            ("http.lowSpeedTime", "60"),
        ];
        settings.into_iter().for_each(|(name, value)| git.configure(name, value));
        git.remove_leftovers().await;
        git.run(&["init", "--quiet", "--bare", "--template=", "--initial-branch=none"]).await?;
        Ok(git)
    }

    /// Removes what a killed `git` has left: with its locks, no later one would work. The copy is of one source, and
    /// a source is read by one process at a time.
    pub async fn remove_leftovers(&self) {
        let copy = self.copy.clone();
        let remove = move || {
            for folder in [copy.clone(), copy.join("refs/stoa"), copy.join("objects/pack")] {
                for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                    let name = entry.file_name();
                    let name = name.to_string_lossy();
                    if name.ends_with(".lock") || name.starts_with("tmp_") || name == "gc.pid" {
                        let _ = std::fs::remove_file(entry.path());
                    }
                }
            }
        };
        let _ = tokio::task::spawn_blocking(remove).await;
    }

    pub fn configure(&mut self, name: &str, value: &str) {
        self.configuration.push((name.to_owned(), value.to_owned()));
    }

    pub fn set_variable(&mut self, name: &str, value: String) {
        self.variables.push((name.to_owned(), value));
    }

    /// Returns how many bytes it may write to one file.
    pub fn most_file_bytes(&self) -> u64 {
        self.most_bytes.max(MIN_FILE_BYTES)
    }

    pub fn copy(&self) -> &Path {
        &self.copy
    }

    /// Writes a private key to a file that only this user can read, and returns its path.
    pub fn write_key(&mut self, key: &str) -> Result<PathBuf, ConnectError> {
        use std::io::Write;
        use std::os::unix::fs::OpenOptionsExt;
        let path = self.copy.join("ssh-key");
        let failed = |error: std::io::Error| ConnectError::new(format!("the key cannot be used: {error}"));
        // One may be left of a process that was killed.
        let _ = std::fs::remove_file(&path);
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&path).map_err(failed)?;
        self.key = Some(KeyFile(path.clone()));
        // Without a line break at its end, ssh does not accept a key.
        file.write_all(format!("{}\n", key.trim_end()).as_bytes()).map_err(failed)?;
        Ok(path)
    }

    /// Drops what only the fetch needs.
    pub fn forget_secret(&mut self) {
        self.configuration.retain(|(name, _)| !name.ends_with("extraHeader"));
        self.variables.clear();
        self.key = None;
    }

    /// Runs a command to its end.
    pub async fn run(&self, arguments: &[&str]) -> Result<(), ConnectError> {
        let mut running = self.start(arguments, Stdio::null(), Stdio::null())?;
        match tokio::time::timeout(TIMEOUT, running.finish()).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(said)) => Err(ConnectError::new(self.without_secret(&said))),
            Err(_) => Err(ConnectError::new("git takes too long")),
        }
    }

    pub fn start(&self, arguments: &[&str], input: Stdio, output: Stdio) -> Result<Running, ConnectError> {
        let mut command = Command::new("git");
        command.args(arguments).current_dir(&self.copy).env_clear();
        command.env("PATH", PATH).env("HOME", &self.copy).env("LC_ALL", "C");
        // The copy itself is meant, whatever the folders above it are.
        command.env("GIT_DIR", &self.copy);
        command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh");
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
        command.env("GIT_NO_LAZY_FETCH", "1").env("GIT_OPTIONAL_LOCKS", "0");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.env("GIT_CONFIG_COUNT", self.configuration.len().to_string());
        for (number, (name, value)) in self.configuration.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{number}"), name);
            command.env(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
        command.stdin(input).stdout(output).stderr(Stdio::piped()).process_group(0).kill_on_drop(true);
        match command.spawn() {
            Ok(child) => {
                let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
                limit(group, Resource::Fsize, self.most_file_bytes());
                limit(group, Resource::As, MOST_MEMORY);
                Ok(Running { child, group })
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(ConnectError::new("git is not installed on the server"))
            }
            Err(error) => Err(ConnectError::new(format!("git cannot be started: {error}"))),
        }
    }

    /// Returns the sizes of the copy's packs.
    pub async fn packs(&self) -> Vec<u64> {
        let folder = self.copy.join("objects/pack");
        let sizes = move || {
            let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
            let packs =
                files.filter(|file| file.path().extension().is_some_and(|extension| extension == "pack"));
            packs.filter_map(|pack| Some(pack.metadata().ok()?.len())).collect()
        };
        tokio::task::spawn_blocking(sizes).await.unwrap_or_default()
    }

    fn without_secret(&self, said: &str) -> String {
        match &self.secret {
            Some(secret) => said.replace(secret, "***"),
            None => said.to_owned(),
        }
    }
}

impl Running {
    /// Waits for the end. If the command failed, returns what it said.
    pub async fn finish(&mut self) -> Result<(), String> {
        let said = read_text(self.child.stderr.take()).await;
        let status = self.child.wait().await.map_err(|error| error.to_string())?;
        self.group = None;
        if status.success() { Ok(()) } else { Err(shortened(&said)) }
    }
}

/// Limits a child and what it starts, even if this process dies.
fn limit(child: Option<Pid>, resource: Resource, most: u64) {
    let maximum = getrlimit(resource).maximum;
    let current = Some(maximum.map_or(most, |maximum| maximum.min(most)));
    if child.is_some() {
        let _ = prlimit(child, resource, Rlimit { current, maximum });
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            // It may have ended by itself.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for KeyFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

async fn read_text(pipe: Option<impl AsyncRead + Unpin>) -> String {
    let mut text = Vec::new();
    if let Some(mut pipe) = pipe {
        let _ = (&mut pipe).take(MOST_SAID).read_to_end(&mut text).await;
        // Read to the end, so that the child does not wait for its pipe.
        let _ = tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await;
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// Returns the lines that say why the command failed.
fn shortened(said: &str) -> String {
    let is_reason = |line: &&str| line.starts_with("fatal:") || line.starts_with("error:");
    let reasons: Vec<&str> = said.lines().filter(is_reason).collect();
    let lines = match reasons.is_empty() {
        true => said.lines().rev().take(2).collect(),
        false => reasons,
    };
    let text: String = lines.join("; ").chars().take(500).collect();
    if text.is_empty() { "git failed without a word".to_owned() } else { format!("git: {text}") }
}
