//! Passages to store, and queries.

#![allow(dead_code, reason = "not every test file uses all of it")]

use retrieval::{Hit, Index, Mention, Mode, Passage, Query};

pub const MODES: [Mode; 4] = [Mode::Dense, Mode::Lexical, Mode::Hybrid, Mode::Graph];

pub const DIMENSION: usize = 16;

/// Text, vector, and names with whether the passage is about them.
type Generated = (String, Vec<f32>, Vec<(String, bool)>);

/// Stores a document of some passages, different for every version.
pub fn put_generated(index: &mut Index, document: usize, version: u64) {
    let mut random = Random(document as u64 * 1000 + version);
    let title = random.text(2);
    let count = 1 + random.below(4);
    let generated: Vec<Generated> = (0..count)
        .map(|_| {
            let names =
                (0..3).map(|_| (format!("name {}", random.below(300)), random.next() < 0.4)).collect();
            (random.text(12), random.vector(DIMENSION), names)
        })
        .collect();
    let mentions: Vec<Vec<Mention<'_>>> = generated
        .iter()
        .map(|(_, _, names)| names.iter().map(|(key, defines)| Mention { key, defines: *defines }).collect())
        .collect();
    let passages: Vec<Passage<'_>> = generated
        .iter()
        .zip(&mentions)
        .map(|((text, vector, _), mentions)| Passage { title: &title, headings: &[], text, vector, mentions })
        .collect();
    index.put(&document.to_string(), &passages);
}

pub fn answers(index: &Index) -> Vec<(String, u32, f32)> {
    let mut random = Random(9);
    let mut answers = Vec::new();
    for mode in MODES {
        for _ in 0..20 {
            let (text, vector) = (random.text(4), random.vector(DIMENSION));
            let hits = index.search(&ask(&text, &vector, mode));
            answers.extend(hits.into_iter().map(|hit| (hit.document, hit.passage, hit.score)));
        }
    }
    answers
}

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
