//! The vectors, and the nearest of them to a query's.
//!
//! Bytes are scanned, and every passage that could be among the nearest by the bounds of the scan is looked at again
//! with its floats in double precision: what comes out is what comparing all floats would give.

use crate::best::{Best, Scored};
use inference::Kernel;
use inference::scan::{Codes, Estimate, Probe, product};

/// Rows that are scanned at a time: their estimates stay in the first-level cache.
const TOGETHER: usize = 512;

pub struct Dense {
    dimension: usize,
    kernel: Kernel,
    codes: Codes,
    floats: Vec<f32>,
}

impl Dense {
    pub fn new(dimension: usize) -> Self {
        Self { dimension, kernel: Kernel::best(), codes: Codes::new(dimension), floats: Vec::new() }
    }

    /// A vector of another dimension, or with numbers that are none, is near nothing.
    pub fn push(&mut self, vector: &[f32]) {
        let end = self.floats.len() + self.dimension;
        if self.is_usable(vector) {
            self.floats.extend_from_slice(vector);
        } else {
            self.floats.resize(end, 0.0);
        }
        self.codes.push(&self.floats[end - self.dimension..]);
    }

    pub fn is_usable(&self, vector: &[f32]) -> bool {
        vector.len() == self.dimension && vector.iter().all(|value| value.is_finite())
    }

    /// Keeps the passages for which `keep` says so, in their order.
    pub fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let kept = (0..self.codes.len()).filter(|passage| keep(*passage));
        let mut floats = Vec::with_capacity(kept.clone().count() * self.dimension);
        kept.for_each(|passage| floats.extend_from_slice(self.vector(passage as u32)));
        self.floats = floats;
        self.codes.retain(keep);
    }

    pub fn bytes(&self) -> usize {
        self.codes.resident_bytes() + size_of::<f32>() * self.floats.capacity()
    }

    /// The exact cosine of a query and a passage.
    pub fn cosine(&self, query: &[f32], passage: u32) -> f32 {
        product(self.kernel, query, self.vector(passage)) as f32
    }

    /// The cosine of two passages.
    pub fn likeness(&self, one: u32, other: u32) -> f32 {
        self.cosine(self.vector(one), other)
    }

    fn vector(&self, passage: u32) -> &[f32] {
        &self.floats[passage as usize * self.dimension..][..self.dimension]
    }

    /// The nearest passages among those that are accepted, with their exact cosines.
    pub fn nearest(&self, query: &[f32], most: usize, accepted: impl Fn(u32) -> bool) -> Vec<Scored> {
        let probe = Probe::new(query, self.dimension);
        let mut estimates = [Estimate::default(); TOGETHER];
        // The scores that the nearest surely have, and all that could have more than the last of these.
        let mut sure = Best::of(most);
        let mut possible = Vec::new();
        for start in (0..self.codes.len()).step_by(TOGETHER) {
            let end = self.codes.len().min(start + TOGETHER);
            let estimates = &mut estimates[..end - start];
            self.codes.scan(self.kernel, &probe, start..end, estimates);
            for (passage, estimate) in (start as u32..).zip(estimates) {
                if estimate.score + estimate.error >= sure.bar() && accepted(passage) {
                    sure.show(Scored { passage, score: estimate.score - estimate.error });
                    possible.push(Scored { passage, score: estimate.score + estimate.error });
                }
            }
        }
        sure.sort_out();
        let bar = sure.bar();
        let mut best = Best::of(most);
        for candidate in possible.iter().filter(|candidate| candidate.score >= bar) {
            let passage = candidate.passage;
            best.show(Scored { passage, score: self.cosine(query, passage) });
        }
        best.into_sorted()
    }
}
