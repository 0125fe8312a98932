//! Text recognition in pictures and in scanned pages, by the program `tesseract`.

mod hocr;
mod patience;
mod sizes;
mod tiff;

use std::fs::File;
use std::process::Command;
use std::time::Duration;

use crate::document::Builder;
use crate::read::printed::{self, Page};
use crate::tool::{self, ToolError, ToolLimits};
use crate::{Excess, ExtractError, Kind, Limits, Progress};
pub(super) use hocr::Recognised;
pub(super) use patience::Patience;
pub(super) use sizes::settle;

/// Reads a picture: PNG, JPEG, WebP, or TIFF with any number of pages.
pub(super) fn read_picture(
    bytes: &[u8],
    builder: &mut Builder,
    limits: &Limits,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), ExtractError> {
    let kind = builder.kind();
    let recogniser = Recogniser::new(kind, limits)?;
    let count = tiff::pages(bytes, limits.ocr.pages + 1).unwrap_or(1);
    if count > limits.ocr.pages {
        return Err(ExtractError::too_large(kind, Excess::ScannedPages, limits.ocr.pages));
    }
    let (mut recognised, mut fault) = (Vec::new(), None);
    let mut patience = Patience::new(limits);
    for at in 0..count {
        progress(Progress { done: at, of: count });
        let page = recogniser.recognise(bytes, at);
        let allows_next = patience.allows_next(&page);
        match page {
            Ok(page) => recognised.push((at as u32 + 1, page)),
            Err(error) => fault = fault.or(Some(error)),
        }
        if !allows_next {
            break;
        }
    }
    if let (true, Some(error)) = (recognised.iter().all(|(_, page)| page.runs.is_empty()), fault) {
        return Err(error);
    }
    sizes::to_points(&mut recognised);
    settle(&mut recognised, None);
    let pages = recognised
        .iter()
        .map(|(number, page)| Page { number: *number, lines: printed::lines_of_runs(&page.runs) });
    printed::write(pages.collect(), builder)
}

/// The program with the languages that it is asked for.
pub(super) struct Recogniser<'a> {
    kind: Kind,
    limits: &'a Limits,
    /// Whether it can tell how a page is turned.
    finds_turn: bool,
}

/// How the program looks at a page.
#[derive(Clone, Copy)]
enum View {
    Upright,
    /// It finds out how the page is turned, which takes half as long again.
    Turned,
}

/// Bytes of the description of a page. A dense page has some hundred kilobytes.
const MOST_OUTPUT: usize = 64 << 20;

impl<'a> Recogniser<'a> {
    /// Checks that the program and the languages are installed.
    pub fn new(kind: Kind, limits: &'a Limits) -> Result<Self, ExtractError> {
        let mut recogniser = Self { kind, limits, finds_turn: false };
        let nothing = tool::input(b"").map_err(|error| ExtractError::Worker(error.to_string()))?;
        let list = recogniser.run(Command::new("tesseract").arg("--list-langs"), nothing)?;
        let list = String::from_utf8_lossy(&list);
        let is_installed = |language: &&str| list.lines().any(|line| line.trim() == *language);
        recogniser.finds_turn = is_installed(&"osd");
        match limits.ocr.languages.split('+').find(|language| !is_installed(language)) {
            None => Ok(recogniser),
            Some(missing) => Err(ExtractError::NotInstalled {
                kind,
                package: format!("tesseract-ocr-{}", missing.replace('_', "-")),
                purpose: format!("recognises the language `{missing}`"),
            }),
        }
    }

    /// Recognises one page of a picture, counted from 0. One that hardly makes sense may be lying on its side or upside
    /// down: it is tried again.
    pub fn recognise(&self, picture: &[u8], page: usize) -> Result<Recognised, ExtractError> {
        let upright = self.view(picture, page, View::Upright)?;
        if !upright.is_doubtful() || !self.finds_turn {
            return Ok(upright);
        }
        let turned = self.view(picture, page, View::Turned);
        Ok(turned.ok().filter(|turned| turned.confidence > upright.confidence).unwrap_or(upright))
    }

    fn view(&self, picture: &[u8], page: usize, view: View) -> Result<Recognised, ExtractError> {
        let input = tool::input(picture).map_err(|error| ExtractError::Worker(error.to_string()))?;
        let mut command = Command::new("tesseract");
        command.args(["stdin", "stdout", "-l", &self.limits.ocr.languages]);
        // The numbers are the program's own.
        command.args(["--psm", if matches!(view, View::Turned) { "1" } else { "3" }]);
        command.args(["-c", "tessedit_create_hocr=1", "-c", &format!("tessedit_page_number={page}")]);
        // One process is quicker with one thread, and pages of several files are read at once anyway.
        command.env("OMP_THREAD_LIMIT", "1");
        hocr::read(&self.run(&mut command, input)?, self.kind)
    }

    fn run(&self, command: &mut Command, input: File) -> Result<Vec<u8>, ExtractError> {
        let seconds = self.limits.ocr.seconds_per_page;
        let limits = ToolLimits {
            time: Duration::from_secs(seconds),
            memory: self.limits.memory,
            output: MOST_OUTPUT,
        };
        tool::run(command, input, &limits).map_err(|error| match error {
            ToolError::Missing => not_installed(self.kind),
            ToolError::Failed(message) => ExtractError::damaged(self.kind, message),
            other => other.of_file(self.limits, seconds),
        })
    }
}

fn not_installed(kind: Kind) -> ExtractError {
    ExtractError::NotInstalled {
        kind,
        package: "tesseract-ocr".to_owned(),
        purpose: "recognises text in pictures".to_owned(),
    }
}
