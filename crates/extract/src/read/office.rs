//! Office files from before 2007: LibreOffice converts them into those of today, which are then read.

use std::path::Path;
use std::process::Command;

use super::{docx, pptx, xlsx};
use crate::document::Builder;
use crate::tool::{self, ToolError, ToolLimits};
use crate::{ExtractError, Kind, Limits};

pub(super) fn read(bytes: &[u8], builder: &mut Builder, limits: &Limits) -> Result<(), ExtractError> {
    let kind = builder.kind();
    match kind {
        Kind::Xls => xlsx::read(&converted(bytes, kind, "xls", "xlsx", limits)?, builder, limits),
        Kind::Ppt => pptx::read(&converted(bytes, kind, "ppt", "pptx", limits)?, builder, limits),
        _ => docx::read(&converted(bytes, kind, "doc", "docx", limits)?, builder, limits),
    }
}

/// The part of a file's time that the conversion may take. The rest is for reading its result.
const CONVERSION: f64 = 0.8;

/// Converts a file in a directory of its own, which is also the home of the program: it leaves nothing elsewhere, and
/// two of it do not wait for each other.
fn converted(
    bytes: &[u8],
    kind: Kind,
    from: &str,
    to: &str,
    limits: &Limits,
) -> Result<Vec<u8>, ExtractError> {
    let ours = |error: std::io::Error| ExtractError::Worker(error.to_string());
    let place = tempfile::tempdir().map_err(ours)?;
    let (source, result) = (place.path().join(format!("in.{from}")), place.path().join(format!("in.{to}")));
    std::fs::write(&source, bytes).map_err(ours)?;
    let time = limits.time(bytes.len()).mul_f64(CONVERSION);
    let tool_limits = ToolLimits { time, memory: limits.memory, output: 1 << 20 };
    let nothing = tool::input(b"").map_err(ours)?;
    let output = tool::run(&mut command(place.path(), &source, to), nothing, &tool_limits);
    let output = output.map_err(|error| match error {
        ToolError::Missing => ExtractError::NotInstalled {
            kind,
            package: "libreoffice".to_owned(),
            purpose: "converts Office files from before 2007".to_owned(),
        },
        ToolError::Failed(message) => ExtractError::damaged(kind, message),
        other => other.of_file(limits, time.as_secs()),
    })?;
    let most = limits.unpacked_from(bytes.len());
    match std::fs::metadata(&result) {
        Ok(file) if file.len() > most as u64 => {
            Err(ExtractError::too_large(kind, crate::Excess::BytesUnpacked, most))
        }
        Ok(_) => std::fs::read(&result).map_err(ours),
        // It also ends well if it cannot read the file.
        Err(_) => Err(ExtractError::damaged(kind, last_line(&output))),
    }
}

fn command(place: &Path, source: &Path, to: &str) -> Command {
    let mut command = Command::new("soffice");
    command.args(["--headless", "--norestore", "--nolockcheck", "--nodefault", "--convert-to", to]);
    command.arg(format!("-env:UserInstallation=file://{}/profile", place.display()));
    command.arg("--outdir").arg(place).arg(source);
    command.env("HOME", place).env("TMPDIR", place).current_dir(place);
    command
}

fn last_line(output: &[u8]) -> String {
    let output = String::from_utf8_lossy(output);
    let last =
        output.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("LibreOffice cannot read it");
    last.trim().to_owned()
}
