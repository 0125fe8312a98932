//! Passages to store, and queries.

#![allow(dead_code, reason = "not every test file uses all of it")]

use retrieval::{Hit, Index, Mention, Mode, Passage, Query};

pub const MODES: [Mode; 4] = [Mode::Dense, Mode::Lexical, Mode::Hybrid, Mode::Graph];

/// A document of one passage.
#[derive(Clone, Copy)]
pub struct Page<'a> {
    pub title: &'a str,
    pub text: &'a str,
    pub vector: &'a [f32],
    pub about: &'a [&'a str],
    pub names: &'a [&'a str],
}

pub fn put(index: &mut Index, page: Page<'_>) {
    let about = page.about.iter().map(|key| Mention { key, defines: true });
    let mentions: Vec<Mention<'_>> =
        about.chain(page.names.iter().map(|key| Mention { key, defines: false })).collect();
    let Page { title, text, vector, .. } = page;
    index.put(title, &[Passage { title, headings: &[], text, vector, mentions: &mentions }]);
}

pub fn ask<'a>(text: &'a str, vector: &'a [f32], mode: Mode) -> Query<'a> {
    Query { text, vector: Some(vector), names: &[], mode, limit: 10, accept: None }
}

pub fn titles(hits: &[Hit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.document.as_str()).collect()
}

/// A generator that gives the same numbers in every run.
pub struct Random(pub u64);

impl Random {
    /// Returns a number from 0 to 1.
    pub fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 40) as f32 / (1 << 24) as f32
    }

    pub fn below(&mut self, limit: usize) -> usize {
        ((self.next() * limit as f32) as usize).min(limit - 1)
    }

    pub fn vector(&mut self, dimension: usize) -> Vec<f32> {
        let vector: Vec<f32> = (0..dimension).map(|_| self.next() - 0.5).collect();
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.iter().map(|value| value / length).collect()
    }

    pub fn text(&mut self, words: usize) -> String {
        (0..words).map(|_| format!("w{} ", 200f32.powf(self.next()) as usize)).collect()
    }
}
