//! Receives characters from the parser and turns those of a page into lines when the page ends.

use pdf_extract::{ColorSpace, MediaBox, OutputDev, OutputError, Path, Transform};

use super::grids::{self, MOST_RULES, Rule};
use crate::read::printed::{Glyph, Page, lines};

pub(super) struct Pages {
    pages: Vec<Page>,
    /// Of the current page.
    glyphs: Vec<Glyph>,
    rules: Vec<Rule>,
    count: usize,
    limit: usize,
}

impl Pages {
    pub fn new(limit: usize) -> Self {
        Self { pages: Vec::new(), glyphs: Vec::new(), rules: Vec::new(), count: 0, limit }
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

    /// Keeps only the text in the page's usual direction; the rest are stamps and labels of charts.
    fn lay_out(&mut self) {
        let mut glyphs = std::mem::take(&mut self.glyphs);
        let rotated = |by: u8| glyphs.iter().filter(|glyph| glyph.quarter_turns == by).count();
        let usual = (0..4).rev().max_by_key(|by| rotated(*by)).unwrap_or(0);
        glyphs.retain(|glyph| glyph.quarter_turns == usual);
        let rules = std::mem::take(&mut self.rules);
        let Some(page) = self.pages.last_mut() else { return };
        let tables = if usual == 0 { grids::take_tables(&rules, &mut glyphs) } else { Vec::new() };
        page.lines.extend(lines(&glyphs));
        tables.into_iter().for_each(|table| grids::insert(table, &mut page.lines));
    }

    fn add_rules(&mut self, transform: &Transform, path: &Path, is_filled: bool) {
        // One more than are used, so that it shows that there are too many.
        if self.rules.len() <= MOST_RULES {
            self.rules.extend(Rule::of_path(transform, path, is_filled));
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
        // The parser does not end a page on which it fails.
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
        transform: &Transform,
        width: f64,
        _spacing: f64,
        font_size: f64,
        text: &str,
    ) -> Result<(), OutputError> {
        self.count += 1;
        if self.is_over_limit() {
            return Err(OutputError::FormatError(std::fmt::Error));
        }
        self.glyphs.extend(Glyph::new(transform, width, font_size.abs(), text));
        Ok(())
    }

    fn stroke(
        &mut self,
        transform: &Transform,
        _: &ColorSpace,
        _: &[f64],
        path: &Path,
    ) -> Result<(), OutputError> {
        self.add_rules(transform, path, false);
        Ok(())
    }

    fn fill(
        &mut self,
        transform: &Transform,
        _: &ColorSpace,
        _: &[f64],
        path: &Path,
    ) -> Result<(), OutputError> {
        self.add_rules(transform, path, true);
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
