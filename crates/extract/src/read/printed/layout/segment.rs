//! Text on one baseline without wide gaps.

use super::direction::{Direction, direction};
use super::{WIDE_GAP, WORD_GAP};
use crate::read::printed::glyph::Glyph;

pub(super) struct Segment {
    pub text: String,
    pub x: f64,
    pub right: f64,
    pub y: f64,
    /// The largest of its sizes.
    pub size: f64,
    /// Whether its characters come in the order of reading from right to left.
    pub is_leftward: bool,
    /// Where its last character begins.
    last_x: f64,
    /// How many characters have which size.
    sizes: Vec<(f64, usize)>,
}

/// Further sizes in one line are not counted.
const MOST_SIZES: usize = 8;

impl Segment {
    pub fn new(glyph: &Glyph) -> Self {
        Self {
            text: glyph.text.clone(),
            x: glyph.x,
            right: glyph.x + glyph.width,
            y: glyph.y,
            size: glyph.size,
            is_leftward: false,
            last_x: glyph.x,
            sizes: vec![(glyph.size, 1)],
        }
    }

    /// Adds a character if it continues the text, and returns whether it does. A character that is struck twice is
    /// added once.
    pub fn add(&mut self, glyph: &Glyph, after_space: bool) -> bool {
        if !self.is_leftward && self.continues(glyph) {
            let is_shadow =
                (glyph.x - self.last_x).abs() < 0.08 * glyph.size && self.text.ends_with(&glyph.text);
            if !is_shadow {
                let gap = glyph.x - self.right;
                self.extend(glyph, after_space || gap > WORD_GAP * glyph.size.min(self.size));
            }
            return true;
        }
        let gap = self.x - (glyph.x + glyph.width);
        if !self.continues_leftward(glyph, gap) {
            return false;
        }
        self.is_leftward = true;
        self.extend(glyph, after_space || gap > WORD_GAP * glyph.size.min(self.size));
        true
    }

    fn continues(&self, glyph: &Glyph) -> bool {
        let size = self.size.max(glyph.size);
        let (gap, rise) = (glyph.x - self.right, (glyph.y - self.y).abs());
        let is_raised_or_lowered =
            rise < 0.6 * size && gap.abs() < 0.3 * size && (self.size - glyph.size).abs() > 0.1 * size;
        (rise < 0.25 * size && gap > -0.6 * size && gap < WIDE_GAP * size) || is_raised_or_lowered
    }

    /// Only letters that run to the left continue a text there, and signs among them.
    fn continues_leftward(&self, glyph: &Glyph, gap: f64) -> bool {
        let size = self.size.max(glyph.size);
        let letter = |text: &str| text.chars().rev().find_map(direction);
        let (own, new) = (letter(&self.text), letter(&glyph.text));
        let runs_left = own.or(new) == Some(Direction::Left) && new != Some(Direction::Right);
        let is_alone = self.is_leftward || self.text.chars().filter(|c| direction(*c).is_some()).count() <= 1;
        runs_left
            && is_alone
            && (glyph.y - self.y).abs() < 0.6 * size
            && gap > -0.6 * size
            && gap < WIDE_GAP * size
    }

    fn extend(&mut self, glyph: &Glyph, with_space: bool) {
        if with_space {
            self.text.push(' ');
        }
        self.text.push_str(&glyph.text);
        self.x = self.x.min(glyph.x);
        self.right = self.right.max(glyph.x + glyph.width);
        self.last_x = glyph.x;
        if glyph.size > self.size {
            (self.size, self.y) = (glyph.size, glyph.y);
        }
        self.count_size(glyph.size, 1);
    }

    /// Returns the gap to the next segment of the line.
    pub fn gap_to(&self, next: &Segment, leftward: bool) -> f64 {
        if leftward { self.x - next.right } else { next.x - self.right }
    }

    /// Adds the next segment of the line.
    pub fn join(&mut self, next: Segment, leftward: bool) {
        let apart = self.gap_to(&next, leftward) > WORD_GAP * self.size.min(next.size);
        if apart && !self.text.ends_with(' ') {
            self.text.push(' ');
        }
        self.text.push_str(&next.text);
        self.x = self.x.min(next.x);
        self.right = self.right.max(next.right);
        self.size = self.size.max(next.size);
        self.count_sizes(&next);
    }

    pub fn count_sizes(&mut self, other: &Segment) {
        other.sizes.iter().for_each(|(size, count)| self.count_size(*size, *count));
    }

    /// Returns the size of most characters, so that one large sign does not make a heading of a line.
    pub fn usual_size(&self) -> f64 {
        self.sizes.iter().max_by_key(|(_, count)| *count).map_or(self.size, |(size, _)| *size)
    }

    fn count_size(&mut self, size: f64, count: usize) {
        let known = self.sizes.iter().position(|(known, _)| (*known - size).abs() < 0.1);
        match known {
            Some(at) => self.sizes[at].1 += count,
            None if self.sizes.len() < MOST_SIZES => self.sizes.push((size, count)),
            None => {}
        }
    }
}
