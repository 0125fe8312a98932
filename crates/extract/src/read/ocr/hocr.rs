//! Reads hOCR, in which `tesseract` describes a page: lines with their baselines, and words with their boxes.

use crate::read::printed::Glyph;
use crate::read::xml::{self, Element, Node};
use crate::{ExtractError, Kind};

/// A page of which the text was recognised.
#[derive(Default)]
pub(crate) struct Recognised {
    /// Words of one line without wide gaps between them. In pixels, from the bottom left of the page.
    pub runs: Vec<Glyph>,
    pub width: f64,
    /// How sure the program is of the middle word, in percent; zero if most words stand on end.
    pub confidence: f64,
}

impl Recognised {
    /// Returns whether the program has hardly read anything of what is there.
    pub fn is_doubtful(&self) -> bool {
        self.confidence < DOUBTFUL
    }
}

/// Words that the program itself believes less, in percent, are stains and pictures.
const LEAST_CONFIDENCE: f64 = 20.0;
const DOUBTFUL: f64 = 70.0;
/// A wider gap, in units of the size, separates columns.
const WIDE_GAP: f64 = 1.3;

pub(super) fn read(hocr: &[u8], kind: Kind) -> Result<Recognised, ExtractError> {
    let mut reader = Reader { angle: main_angle(&String::from_utf8_lossy(hocr)), ..Reader::default() };
    xml::walk(hocr, kind, |node| {
        reader.node(node);
        Ok(())
    })?;
    reader.page.confidence = reader.words.confidence();
    Ok(reader.page)
}

/// Returns by how many degrees most lines are turned, which only a page that was looked at for it has.
fn main_angle(hocr: &str) -> u32 {
    let lines = hocr.matches("x_size").count();
    let is_main = |angle: &u32| 2 * hocr.matches(&format!("textangle {angle};")).count() > lines;
    [90, 180, 270].into_iter().find(is_main).unwrap_or(0)
}

/// What tells whether the words of a page were read well.
#[derive(Default)]
struct Words {
    confidences: Vec<f64>,
    long: usize,
    on_end: usize,
}

impl Words {
    fn add(&mut self, word: &Word) {
        self.confidences.push(word.confidence);
        if word.text.chars().nth(2).is_some() {
            self.long += 1;
            self.on_end += usize::from(word.height > 1.5 * (word.right - word.left));
        }
    }

    fn confidence(mut self) -> f64 {
        if 2 * self.on_end > self.long {
            return 0.0;
        }
        self.confidences.sort_by(f64::total_cmp);
        // A page without words is blank.
        self.confidences.get(self.confidences.len() / 2).copied().unwrap_or(100.0)
    }
}

#[derive(Default)]
struct Reader {
    page: Recognised,
    /// Of the page, when it is upright.
    height: f64,
    /// Of the picture.
    sides: (f64, f64),
    angle: u32,
    words: Words,
    line: Line,
    word: Option<Word>,
    /// Whether the last run is of this line.
    has_run: bool,
}

#[derive(Default)]
struct Line {
    /// Of the start of the baseline, in pixels from the top.
    baseline: f64,
    size: f64,
}

struct Word {
    left: f64,
    right: f64,
    height: f64,
    confidence: f64,
    text: String,
}

impl Reader {
    fn node(&mut self, node: Node) {
        match node {
            Node::Open(element) => self.open(&element),
            Node::Text(text) => {
                if let Some(word) = &mut self.word {
                    word.text.push_str(text.trim());
                }
            }
            Node::Close("span") => {
                if let Some(word) = self.word.take().filter(|word| !word.text.is_empty()) {
                    self.words.add(&word);
                    if word.confidence >= LEAST_CONFIDENCE {
                        self.add(word);
                    }
                }
            }
            Node::Close(_) => {}
        }
    }

    fn open(&mut self, element: &Element) {
        let title = element.attribute("title").unwrap_or_default();
        let values = |name: &str| values(&title, name);
        let in_picture = || <[f64; 4]>::try_from(values("bbox")).unwrap_or_default();
        let bbox = || self.upright(in_picture());
        match element.attribute("class").as_deref() {
            Some("ocr_page") => {
                let [_, _, width, height] = in_picture();
                self.sides = (width, height);
                let lies = matches!(self.angle, 90 | 270);
                (self.page.width, self.height) = if lies { (height, width) } else { (width, height) };
            }
            Some("ocr_line" | "ocr_header" | "ocr_caption" | "ocr_textfloat") => {
                let [_, top, _, bottom] = bbox();
                // Slope, and distance from the bottom of the box.
                let offset = values("baseline").get(1).copied().unwrap_or(0.0);
                let size = values("x_size").first().copied().unwrap_or(bottom - top);
                self.line = Line { baseline: bottom + offset, size };
                self.has_run = false;
            }
            Some("ocrx_word") => {
                let [left, top, right, bottom] = bbox();
                let confidence = values("x_wconf").first().copied().unwrap_or(0.0);
                let word = Word { left, right, height: bottom - top, confidence, text: String::new() };
                self.word = Some(word);
            }
            _ => {}
        }
    }

    /// Turns a box of the picture as the page is turned.
    fn upright(&self, [left, top, right, bottom]: [f64; 4]) -> [f64; 4] {
        let (width, height) = self.sides;
        match self.angle {
            90 => [height - bottom, left, height - top, right],
            180 => [width - right, height - bottom, width - left, height - top],
            270 => [top, width - right, bottom, width - left],
            _ => [left, top, right, bottom],
        }
    }

    /// Adds a word to the run before it, or begins another one. In Arabic and Hebrew, a word follows on the left.
    fn add(&mut self, word: Word) {
        let size = self.line.size;
        if size <= 0.0 {
            return;
        }
        if let Some(last) = self.page.runs.last_mut().filter(|_| self.has_run) {
            let gap = (word.left - (last.x + last.width)).max(last.x - word.right);
            if gap < WIDE_GAP * size {
                last.text.push(' ');
                last.text.push_str(&word.text);
                let right = (last.x + last.width).max(word.right);
                last.x = last.x.min(word.left);
                last.width = right - last.x;
                return;
            }
        }
        // All runs of a line are on one baseline, also if the page was scanned askew.
        let y = self.height - self.line.baseline;
        self.has_run = true;
        self.page.runs.push(Glyph {
            x: word.left,
            y,
            width: word.right - word.left,
            size,
            text: word.text,
            quarter_turns: 0,
        });
    }
}

/// Returns the numbers after a name: "bbox 1 2 3 4; x_size 9" has four for "bbox".
fn values(title: &str, name: &str) -> Vec<f64> {
    let property =
        title.split(';').map(str::trim).find_map(|property| property.strip_prefix(name)?.strip_prefix(' '));
    property.unwrap_or_default().split(' ').map_while(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_line_are_joined_up_to_a_wide_gap_and_doubtful_ones_are_left_out() {
        let page = "<div class='ocr_page' title='image \"x\"; bbox 0 0 1000 800; ppageno 0'>\
            <span class='ocr_line' title=\"bbox 100 90 500 120; baseline 0 -6; x_size 30; x_descenders 6\">\
            <span class='ocrx_word' title='bbox 100 90 180 120; x_wconf 95'>The</span> \
            <span class='ocrx_word' title='bbox 190 90 250 120; x_wconf 90'><strong>pump</strong></span>\
            <span class='ocrx_word' title='bbox 260 90 270 120; x_wconf 3'>~|</span>\
            <span class='ocrx_word' title='bbox 400 90 500 120; x_wconf 90'>3000</span></span></div>";
        let page = read(page.as_bytes(), Kind::Picture).unwrap();
        let runs: Vec<(&str, f64, f64, f64)> =
            page.runs.iter().map(|run| (run.text.as_str(), run.x, run.width, run.y)).collect();
        assert_eq!(runs, [("The pump", 100.0, 150.0, 686.0), ("3000", 400.0, 100.0, 686.0)]);
        assert_eq!((page.width, page.runs[0].size), (1000.0, 30.0));
    }
}
