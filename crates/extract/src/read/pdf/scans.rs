//! Pages without text, as scanners make them: draws each as a picture, and has its text recognised.

use std::collections::BTreeMap;
use std::fs::File;
use std::process::Command;
use std::time::Duration;

use pdf_extract::{Dictionary, Document, LoadOptions, Object, ObjectId};

use super::filters;
use crate::read::ocr::{Patience, Recognised, Recogniser, settle};
use crate::read::printed::{Page, lines_of_runs};
use crate::tool::{self, ToolError, ToolLimits};
use crate::{Excess, ExtractError, Kind, Limits, Progress};

/// A page with fewer letters and digits has no text of its own: a stamp or a number that a scanner adds.
const LEAST_TEXT: usize = 12;

/// Adds the text of pages that only show pictures. If it cannot be recognised, the text of the other pages must do.
pub(super) fn add(
    document: &Document,
    bytes: &[u8],
    pages: &mut Vec<Page>,
    limits: &Limits,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), ExtractError> {
    let scanned = scanned(document, pages);
    if scanned.is_empty() {
        return Ok(());
    }
    let has_text = pages.iter().any(|page| letters(page) > 0);
    let answer = recognise(document, bytes, &scanned, limits, progress);
    let mut recognised = match answer {
        Ok(recognised) => recognised,
        // Not caused by the pages, or for the user to decide.
        Err(error @ (ExtractError::Worker(_) | ExtractError::TooLarge { .. })) => return Err(error),
        Err(_) if has_text => return Ok(()),
        Err(error) => return Err(error),
    };
    settle(&mut recognised, text_size(pages));
    for (number, page) in recognised.into_iter().filter(|(_, page)| !page.runs.is_empty()) {
        let lines = lines_of_runs(&page.runs);
        match pages.binary_search_by_key(&number, |page| page.number) {
            Ok(at) => pages[at].lines = lines,
            Err(at) => pages.insert(at, Page { number, lines }),
        }
    }
    Ok(())
}

/// Returns the pages that show pictures and have no text.
fn scanned(document: &Document, pages: &[Page]) -> Vec<(u32, ObjectId)> {
    let texts: BTreeMap<u32, usize> = pages.iter().map(|page| (page.number, letters(page))).collect();
    let is_textless = |number: &u32| texts.get(number).copied().unwrap_or(0) < LEAST_TEXT;
    let pages = document.get_pages().into_iter().filter(|(number, _)| is_textless(number));
    pages.filter(|(_, id)| !pictures(document, *id).is_empty()).collect()
}

fn letters(page: &Page) -> usize {
    page.lines.iter().flat_map(|line| line.text.chars()).filter(|c| c.is_alphanumeric()).count()
}

/// Returns the size of most text on the pages that have some.
fn text_size(pages: &[Page]) -> Option<f64> {
    let mut sizes: Vec<f64> = pages.iter().flat_map(|page| &page.lines).map(|line| line.size).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.get(sizes.len() / 2).copied()
}

/// Returns the pictures of a page, and the drawings that may hold some.
fn pictures(document: &Document, page: ObjectId) -> Vec<ObjectId> {
    let Ok((own, inherited)) = document.get_page_resources(page) else { return Vec::new() };
    let inherited = inherited.iter().filter_map(|id| document.get_dictionary(*id).ok());
    let is_shown = |id: &ObjectId| {
        let kind = document.get_object(*id).and_then(Object::as_stream).map(|stream| &stream.dict);
        let kind = kind.and_then(|stream| stream.get(b"Subtype")).and_then(Object::as_name);
        kind.is_ok_and(|kind| kind == b"Image" || kind == b"Form")
    };
    let objects = own.into_iter().chain(inherited).filter_map(|resources| objects(document, resources));
    objects.flatten().filter(is_shown).collect()
}

fn objects(document: &Document, resources: &Dictionary) -> Option<Vec<ObjectId>> {
    let (_, objects) = document.dereference(resources.get(b"XObject").ok()?).ok()?;
    Some(objects.as_dict().ok()?.iter().filter_map(|(_, object)| object.as_reference().ok()).collect())
}

fn recognise(
    document: &Document,
    bytes: &[u8],
    scanned: &[(u32, ObjectId)],
    limits: &Limits,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<(u32, Recognised)>, ExtractError> {
    let recogniser = Recogniser::new(Kind::Pdf, limits)?;
    if scanned.len() > limits.ocr.pages {
        return Err(ExtractError::too_large(Kind::Pdf, Excess::ScannedPages, limits.ocr.pages));
    }
    let file = tool::input(bytes).map_err(|error| ExtractError::Worker(error.to_string()))?;
    let mut painter = Painter { bytes, file, limits, whole: None };
    let (mut recognised, mut fault) = (Vec::new(), None);
    let mut patience = Patience::new(limits);
    for (done, (number, id)) in scanned.iter().enumerate() {
        progress(Progress { done, of: scanned.len() });
        let page = painter.paint(*number, *id, longest_side(document, *id)).and_then(|picture| {
            let mut page = recogniser.recognise(&picture.bytes, 0)?;
            let points = picture.points_per_pixel.unwrap_or(PAPER / page.width.max(1.0));
            page.scale(points);
            Ok(page)
        });
        let allows_next = patience.allows_next(&page);
        match page {
            Ok(page) => recognised.push((*number, page)),
            Err(error @ (ExtractError::NotInstalled { .. } | ExtractError::Worker(_))) => return Err(error),
            // One bad page does not cost the others.
            Err(error) => fault = fault.or(Some(error)),
        }
        if !allows_next {
            break;
        }
    }
    match fault {
        Some(error) if recognised.is_empty() => Err(error),
        _ => Ok(recognised),
    }
}

/// The width of paper in points, for pictures whose size on the page is not known.
const PAPER: f64 = 595.0;
/// Dots per inch, and the longest side of a picture in pixels, which a larger page is scaled to.
const DOTS: f64 = 300.0;
const LONGEST_SIDE: f64 = 5000.0;
/// Bytes of a page's picture.
const MOST_PICTURE: usize = 64 << 20;

/// Makes pictures of pages: draws them with `pdftoppm`, or takes the photograph that a page consists of.
struct Painter<'a> {
    bytes: &'a [u8],
    /// The same, as the input of a program.
    file: File,
    limits: &'a Limits,
    /// The document with its pictures, if the drawing program is missing.
    whole: Option<Document>,
}

struct Picture {
    bytes: Vec<u8>,
    points_per_pixel: Option<f64>,
}

impl Painter<'_> {
    fn paint(&mut self, number: u32, page: ObjectId, longest: f64) -> Result<Picture, ExtractError> {
        if self.whole.is_none() {
            match self.draw(number, longest) {
                Err(ToolError::Missing) => self.whole = Some(whole(self.bytes)?),
                Err(ToolError::Failed(message)) => return Err(ExtractError::damaged(Kind::Pdf, message)),
                Err(error) => return Err(error.of_file(self.limits, self.limits.ocr.seconds_per_page)),
                Ok(picture) => return Ok(picture),
            }
        }
        let photograph = self.whole.as_ref().and_then(|document| photograph(document, page));
        let bytes = photograph.ok_or_else(|| ExtractError::NotInstalled {
            kind: Kind::Pdf,
            package: "poppler-utils".to_owned(),
            purpose: "draws scanned pages".to_owned(),
        })?;
        Ok(Picture { bytes, points_per_pixel: None })
    }

    fn draw(&self, number: u32, longest: f64) -> Result<Picture, ToolError> {
        let dots = (LONGEST_SIDE / longest * 72.0).clamp(1.0, DOTS).floor();
        let mut command = Command::new("pdftoppm");
        // Opened by this name, the file is read from its start each time.
        let number = number.to_string();
        command.args(["-q", "-gray", "-r", &dots.to_string(), "-f", &number, "-l", &number, "/dev/stdin"]);
        let limits = ToolLimits {
            time: Duration::from_secs(self.limits.ocr.seconds_per_page),
            memory: self.limits.memory,
            output: MOST_PICTURE,
        };
        let bytes = tool::run(&mut command, self.file.try_clone()?, &limits)?;
        Ok(Picture { bytes, points_per_pixel: Some(72.0 / dots) })
    }
}

fn whole(bytes: &[u8]) -> Result<Document, ExtractError> {
    let options = LoadOptions::with_filter(filters::admit_pictures);
    let loaded = Document::load_mem_with_options(bytes, options);
    loaded.map_err(|error| ExtractError::damaged(Kind::Pdf, error))
}

/// Returns the largest photograph of a page as the JPEG file that it is.
fn photograph(document: &Document, page: ObjectId) -> Option<Vec<u8>> {
    let streams =
        pictures(document, page).into_iter().filter_map(|id| document.get_object(id).ok()?.as_stream().ok());
    let photographs =
        streams.filter(|stream| stream.filters().is_ok_and(|filters| filters == [b"DCTDecode"]));
    photographs.map(|stream| &stream.content).max_by_key(|content| content.len()).cloned()
}

/// Returns the longest side of a page in points.
fn longest_side(document: &Document, page: ObjectId) -> f64 {
    let mut node = document.get_dictionary(page).ok();
    // A hostile file could make a circle of parents.
    for _ in 0..32 {
        let Some(dictionary) = node else { break };
        if let Some(longest) = dictionary.get(b"MediaBox").ok().and_then(|object| side_of(document, object)) {
            return longest;
        }
        let parent = dictionary.get(b"Parent").and_then(Object::as_reference).ok();
        node = parent.and_then(|parent| document.get_dictionary(parent).ok());
    }
    792.0
}

fn side_of(document: &Document, object: &Object) -> Option<f64> {
    let (_, array) = document.dereference(object).ok()?;
    let number = |object: &Object| document.dereference(object).ok()?.1.as_float().ok().map(f64::from);
    let sides: Vec<f64> = array.as_array().ok()?.iter().filter_map(number).collect();
    let [left, bottom, right, top] = sides[..] else { return None };
    let longest = (right - left).abs().max((top - bottom).abs());
    (longest.is_finite() && longest > 1.0).then_some(longest)
}
