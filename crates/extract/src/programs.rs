//! Which programs that read some kinds of files are not installed, so that this can be said before a file is sent.

use crate::extractor::PATH;
use std::path::Path;

/// Files that are read by a program which may not be installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeedsProgram {
    /// Pictures, and PDF files whose pages are pictures.
    Scans,
    /// DOC, XLS and PPT.
    OldOffice,
}

impl NeedsProgram {
    pub const ALL: [Self; 2] = [Self::Scans, Self::OldOffice];

    /// Returns the programs with the packages of Debian that have them.
    fn programs(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Scans => &[("tesseract", "tesseract-ocr"), ("pdftoppm", "poppler-utils")],
            Self::OldOffice => &[("soffice", "libreoffice")],
        }
    }

    /// Returns the packages of Debian that have to be installed before such files can be read; none if all are there.
    pub fn missing_packages(self) -> Vec<&'static str> {
        let missing = self.programs().iter().filter(|(program, _)| !is_installed(program, PATH));
        missing.map(|(_, package)| *package).collect()
    }
}

/// Returns whether a program is in one of the folders of a path.
fn is_installed(program: &str, path: &str) -> bool {
    path.split(':').any(|folder| Path::new(folder).join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_looked_for_in_every_folder() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("reader"), "").unwrap();
        let path = format!("/nowhere:{}", folder.path().display());
        assert!(is_installed("reader", &path));
        assert!(!is_installed("other", &path) && !is_installed("reader", "/nowhere"));
    }
}
