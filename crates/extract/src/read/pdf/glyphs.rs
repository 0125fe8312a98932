//! What the parser reports: each character with its place and size. A page's characters become lines when it ends.

use pdf_extract::{MediaBox, OutputDev, OutputError, Transform};

use super::layout::{self, Line};

pub(super) struct Page {
    pub number: u32,
    pub lines: Vec<Line>,
}

/// The start of its baseline, in points from the bottom left of a page that is turned so that its text is upright.
pub(super) struct Glyph {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub size: f64,
    pub text: String,
    /// In quarter turns.
    turn: u8,
}

pub(super) struct Pages {
    pages: Vec<Page>,
    /// Of the page that is being read.
    glyphs: Vec<Glyph>,
    count: usize,
    limit: usize,
}

impl Pages {
    pub fn new(limit: usize) -> Self {
        Self { pages: Vec::new(), glyphs: Vec::new(), count: 0, limit }
    }

    pub fn last_number(&self) -> u32 {
        self.pages.last().map_or(0, |page| page.number)
    }

    pub fn is_over_limit(&self) -> bool {
        self.count > self.limit
    }

    pub fn finish(mut self) -> Vec<Page> {
        self.lay_out();
        self.pages
    }

    /// Only the text that runs as most of its page does: the rest are stamps and labels of charts.
    fn lay_out(&mut self) {
        let mut glyphs = std::mem::take(&mut self.glyphs);
        let turned = |turn: u8| glyphs.iter().filter(|glyph| glyph.turn == turn).count();
        let most = (0..4).rev().max_by_key(|turn| turned(*turn)).unwrap_or(0);
        glyphs.retain(|glyph| glyph.turn == most);
        if let Some(page) = self.pages.last_mut() {
            page.lines.extend(layout::lines(&glyphs));
        }
    }
}

impl OutputDev for Pages {
    fn begin_page(
        &mut self,
        number: u32,
        _: &MediaBox,
        _: Option<(f64, f64, f64, f64)>,
    ) -> Result<(), OutputError> {
        // The page before did not end where the parser gave up on it.
        self.lay_out();
        self.pages.push(Page { number, lines: Vec::new() });
        Ok(())
    }

    fn end_page(&mut self) -> Result<(), OutputError> {
        self.lay_out();
        Ok(())
    }

    fn output_character(
        &mut self,
        place: &Transform,
        width: f64,
        _spacing: f64,
        font_size: f64,
        text: &str,
    ) -> Result<(), OutputError> {
        self.count += 1;
        if self.is_over_limit() {
            return Err(OutputError::FormatError(std::fmt::Error));
        }
        self.glyphs.extend(glyph(place, width, font_size.abs(), text));
        Ok(())
    }

    fn begin_word(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_word(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), OutputError> {
        Ok(())
    }
}

fn glyph(place: &Transform, width: f64, font_size: f64, text: &str) -> Option<Glyph> {
    let size = place.m21.hypot(place.m22) * font_size;
    let width = (width * place.m11.hypot(place.m12) * font_size).max(0.0);
    let is_level = place.m11.abs() >= place.m12.abs();
    let (turn, x, y) = match (is_level, place.m11 >= 0.0, place.m12 >= 0.0) {
        (true, true, _) => (0, place.m31, place.m32),
        (true, false, _) => (2, -place.m31, -place.m32),
        (false, _, true) => (1, place.m32, -place.m31),
        (false, _, false) => (3, -place.m32, place.m31),
    };
    let is_sane = [x, y, width, size].iter().all(|value| value.is_finite() && value.abs() < 1e6);
    let text = text.to_owned();
    (is_sane && size > 0.5 && !text.is_empty()).then_some(Glyph { x, y, width, size, text, turn })
}

#[cfg(test)]
impl Glyph {
    pub fn new(x: f64, y: f64, width: f64, size: f64, c: char) -> Self {
        Self { x, y, width, size, text: c.to_string(), turn: 0 }
    }
}
