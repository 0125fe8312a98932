//! The real program, started on free ports in a temporary folder, and killed when the test ends.

use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

use crate::program::binary;
use crate::{Vendor, schema};

pub const JWT_SECRET: &str = "a secret for tests that is long enough, surely";

pub struct Stoa {
    child: Child,
    pub data: Arc<TempDir>,
    pub gateway: SocketAddr,
    /// Set if the knowledge service runs.
    pub knowledge: Option<SocketAddr>,
    /// Set if the supervisor runs.
    pub supervisor: Option<SocketAddr>,
    /// Set if the portal runs.
    pub portal: Option<SocketAddr>,
    /// Set if the lead ingest runs.
    pub leads: Option<SocketAddr>,
    pub ops: SocketAddr,
    /// The banner and any other standard output.
    pub banner: String,
    stderr: Arc<Mutex<String>>,
}

/// How the program is started.
pub struct Start {
    data: Arc<TempDir>,
    environment: BTreeMap<String, String>,
    /// The services, separated by commas; all if absent.
    only: Option<&'static str>,
    /// How the data folder is mounted, as the process sees it.
    mount: Option<String>,
}

impl Start {
    pub fn set(mut self, name: &str, value: impl ToString) -> Self {
        self.environment.insert(name.to_owned(), value.to_string());
        self
    }

    /// Sets these targets for all three routes of the gateway.
    pub fn before(self, urls: &str) -> Self {
        let names = ["BUILD_SERVICE_URL", "KV_SERVICE_URL", "CORE_SERVICE_URL"];
        names.into_iter().fold(self, |start, name| start.set(name, urls))
    }

    /// Uses the data folder of an earlier start.
    pub fn data(mut self, data: &Arc<TempDir>) -> Self {
        self.data = data.clone();
        self
    }

    /// Uses a data folder of this size, which only the process sees (see [`Stoa::data_folder`]).
    pub fn on_disk_of(mut self, mib: u32) -> Self {
        self.mount = Some(format!("mount -t tmpfs -o size={mib}m tmpfs \"$STOA_DATA_DIR\""));
        self
    }

    /// Nothing can be written to the data folder.
    pub fn on_read_only_disk(mut self) -> Self {
        let mount = "mount --bind \"$STOA_DATA_DIR\" \"$STOA_DATA_DIR\" && mount -o remount,bind,ro \"$STOA_DATA_DIR\"";
        self.mount = Some(mount.to_owned());
        self
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.program();
        command.args(arguments).env_clear().envs(&self.environment);
        command.env("STOA_DATA_DIR", self.data.path()).current_dir(self.data.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn program(&self) -> Command {
        let Some(mount) = &self.mount else { return Command::new(binary()) };
        let mount = format!("{mount} && exec \"$@\"");
        // In a new mount namespace, so that the file system ends with the process.
        let mut command = Command::new("/usr/bin/unshare");
        command.args(["--map-root-user", "--mount", "/bin/sh", "-c", &mount, "sh"]).arg(binary());
        command
    }

    /// Runs a command to its end. Returns exit code, standard output and standard error.
    pub fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = self.command(arguments).output().expect("the program can be started");
        let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
        (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
    }

    /// Returns the data folder, which also holds `stoa.toml`.
    pub fn path(&self) -> &Path {
        self.data.path()
    }

    /// Starts only these services.
    pub fn only(mut self, services: &'static str) -> Self {
        self.only = Some(services);
        self
    }

    /// Uses the embedded models, which `make test` has fetched.
    pub fn with_models(self) -> Self {
        self.set("STOA_MODELS_DIR", models_dir().display())
    }

    pub fn serve(self) -> Stoa {
        self.serve_with(&[])
    }

    pub fn serve_with(self, flags: &[&str]) -> Stoa {
        let _ = std::fs::remove_file(self.data.path().join("listen.json"));
        let only: Vec<&str> = self.only.map(|services| ["--only", services]).into_iter().flatten().collect();
        let mut child = self
            .command(&[&["serve"], only.as_slice(), flags].concat())
            .spawn()
            .expect("the program can be started");
        let listen_file = seen_by(&child, self.data.path()).join("listen.json");
        let stderr = collect(child.stderr.take().expect("piped"));
        let stdout = collect(child.stdout.take().expect("piped"));
        let deadline = Instant::now() + Duration::from_secs(20);
        let addresses = loop {
            if let Some(addresses) = read_addresses(&listen_file) {
                break addresses;
            }
            if let Some(status) = child.try_wait().expect("the child can be asked") {
                panic!("stoa ended with {status}: {}", stderr.lock().unwrap());
            }
            assert!(Instant::now() < deadline, "stoa did not start: {}", stderr.lock().unwrap());
            std::thread::sleep(Duration::from_millis(5));
        };
        // The banner is printed at about the same time as the file is written.
        while !stdout.lock().unwrap().contains("data ") && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(20));
        let banner = stdout.lock().unwrap().clone();
        let address = |name: &str| addresses[name].as_str().and_then(|text| text.parse().ok());
        for service in schema::SERVICES {
            address(service).into_iter().for_each(|address| schema::register(address, service));
        }
        if let Some(gateway) = address("gateway") {
            let is_set = |setting: &str| self.environment.contains_key(setting);
            schema::register_targets(gateway, |service| address(service).is_some(), is_set);
        }
        Stoa {
            child,
            data: self.data,
            gateway: address("gateway").expect("the gateway's address"),
            knowledge: address("knowledge"),
            supervisor: address("supervisor"),
            portal: address("portal"),
            leads: address("leads"),
            ops: address("ops").expect("the operations address"),
            banner,
            stderr,
        }
    }
}

impl Stoa {
    /// The gateway alone, with free ports, a fixed secret, and the password `password` for `admin`.
    pub fn start() -> Start {
        let environment = [
            ("GATEWAY_LISTEN", "127.0.0.1:0"),
            ("KNOWLEDGE_LISTEN", "127.0.0.1:0"),
            ("SUPERVISOR_LISTEN", "127.0.0.1:0"),
            ("PORTAL_LISTEN", "127.0.0.1:0"),
            ("LEADS_LISTEN", "127.0.0.1:0"),
            ("OPS_LISTEN", "127.0.0.1:0"),
            ("JWT_SECRET", JWT_SECRET),
            ("ADMIN_PASSWORD", "password"),
        ];
        Start {
            data: Arc::new(TempDir::new().expect("a temporary folder")),
            environment: environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            only: Some("gateway"),
            mount: None,
        }
    }

    /// The knowledge service with its models, behind a gateway.
    pub fn start_knowledge() -> Start {
        Self::start().only("gateway,knowledge").with_models()
    }

    /// The supervisor behind a gateway, without models: its agents use `vendor`, as this workflow says.
    pub fn start_supervisor(vendor: &Vendor, workflow: &str) -> Start {
        let start = Self::start().only("gateway,supervisor");
        let start =
            start.set("VENDOR_A_API_KEY", "sk-test-0123456789").set("VENDOR_A_BASE_URL", vendor.url());
        let file = start.path().join("workflow.toml");
        std::fs::write(start.path().join("role.md"), "You do what your name says.\n").expect("a prompt file");
        std::fs::write(&file, workflow).expect("a workflow file");
        // A short lease, so that another process soon takes over from a killed one.
        start.set("WORKFLOW", file.display()).set("JOB_LEASE", "600ms")
    }

    /// The portal behind a gateway.
    pub fn start_portal() -> Start {
        Self::start().only("gateway,portal")
    }

    /// All services with the default settings, except for the ports.
    pub fn start_bare() -> Start {
        let start = Self::start();
        let kept = |name: &String, _: &mut String| name.ends_with("_LISTEN");
        let mut environment = start.environment;
        environment.retain(kept);
        Start { environment, only: None, ..start }
    }

    /// Returns the data folder as the process sees it.
    pub fn data_folder(&self) -> PathBuf {
        seen_by(&self.child, self.data.path())
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.gateway)
    }

    /// Returns whether the log has this text, now or within two seconds: lines are written in batches.
    pub fn logs(&self, text: &str) -> bool {
        let deadline = Instant::now() + Duration::from_secs(2);
        while !self.log().contains(text) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.log().contains(text)
    }

    pub fn log(&self) -> String {
        self.stderr.lock().unwrap().clone()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.pid().to_string()]).status();
        assert!(sent.expect("kill is there").success());
    }

    /// Waits for the end. Returns the exit code and how long it took.
    pub fn wait(mut self) -> (Option<i32>, Duration) {
        let started = Instant::now();
        let status = self.child.wait().expect("the child can be waited for");
        (status.code(), started.elapsed())
    }

    /// Returns the memory of the process in MiB, without the pages of the program itself.
    pub fn memory(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("it runs");
        let line = status.lines().find(|line| line.starts_with("RssAnon:")).expect("it has memory");
        let kib: f64 = line.split_whitespace().nth(1).and_then(|text| text.parse().ok()).expect("a number");
        kib / 1024.0
    }
}

impl Drop for Stoa {
    fn drop(&mut self) {
        // First, since another server may get the ports at once.
        let workers = [self.knowledge, self.supervisor, self.portal, self.leads];
        workers.into_iter().flatten().chain([self.gateway]).for_each(schema::forget);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn seen_by(child: &Child, path: &Path) -> PathBuf {
    let root = PathBuf::from(format!("/proc/{}/root", child.id()));
    root.join(path.strip_prefix("/").expect("an absolute path"))
}

fn read_addresses(path: &Path) -> Option<Value> {
    serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()
}

fn collect(source: impl std::io::Read + Send + 'static) -> Arc<Mutex<String>> {
    let text: Arc<Mutex<String>> = Arc::default();
    let shared = text.clone();
    std::thread::spawn(move || {
        for line in BufReader::new(source).lines().map_while(Result::ok) {
            let mut text = shared.lock().unwrap();
            text.push_str(&line);
            text.push('\n');
        }
    });
    text
}

/// Returns the folder of `stoa models pull`.
#[expect(clippy::disallowed_methods, reason = "a test has no configuration to ask")]
pub fn models_dir() -> PathBuf {
    let given = std::env::var_os("STOA_MODELS_DIR").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache/stoa/models"));
    given.or(home).expect("STOA_MODELS_DIR or HOME says where the models are")
}
