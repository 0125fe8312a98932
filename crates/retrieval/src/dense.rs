//! The vectors of the passages, and the search for those nearest to a query.
//!
//! The search scans bytes first. Every passage that could be among the nearest within the error bounds of the scan is
//! then compared by its floats in double precision, so the result is the same as comparing all floats.

use crate::top_k::{Scored, TopK};
use inference::Kernel;
use inference::scan::{Codes, QueryCodes, precise_product, product};

pub struct Dense {
    dimension: usize,
    kernel: Kernel,
    codes: Codes,
    floats: Vec<Box<[f32]>>,
}

impl Dense {
    pub fn new(dimension: usize) -> Self {
        Self { dimension, kernel: Kernel::best(), codes: Codes::new(dimension), floats: Vec::new() }
    }

    /// Adds a vector. One of another dimension, or with a NaN or an infinity, is stored as zeros and is near nothing.
    pub fn push(&mut self, vector: &[f32]) {
        let vector = if self.is_usable(vector) { vector.to_vec() } else { vec![0.0; self.dimension] };
        self.codes.push(&vector);
        self.floats.push(vector.into());
    }

    pub fn is_usable(&self, vector: &[f32]) -> bool {
        vector.len() == self.dimension && vector.iter().all(|value| value.is_finite())
    }

    /// Keeps the passages for which `keep` returns true, in their order.
    pub fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let mut numbers = 0..;
        self.floats.retain(|_| numbers.next().is_some_and(&keep));
        self.floats.shrink_to_fit();
        self.codes.retain(keep);
    }

    pub fn bytes(&self) -> usize {
        let row = size_of::<Box<[f32]>>() + size_of::<f32>() * self.dimension;
        self.codes.resident_bytes() + row * self.floats.len()
    }

    /// Returns the cosine of a query and a passage.
    pub fn cosine(&self, query: &[f32], passage: u32) -> f32 {
        product(self.kernel, query, &self.floats[passage as usize])
    }

    /// Returns the cosine of two passages.
    pub fn likeness(&self, one: u32, other: u32) -> f32 {
        self.cosine(&self.floats[one as usize], other)
    }

    /// Returns the nearest of the accepted passages with their exact cosines.
    pub fn nearest(&self, query: &[f32], most: usize, accepted: impl Fn(u32) -> bool) -> Vec<Scored> {
        // Lower bounds of the nearest cosines, and all passages whose upper bound reaches them.
        let mut at_least = TopK::new(most);
        let mut possible = Vec::new();
        self.codes.scan(self.kernel, &QueryCodes::new(query, self.dimension), |first, estimates| {
            for (passage, estimate) in (first as u32..).zip(estimates) {
                let highest = estimate.score + estimate.error;
                if highest >= at_least.threshold() && accepted(passage) {
                    at_least.offer(Scored { passage, score: estimate.score - estimate.error });
                    possible.push(Scored { passage, score: highest });
                }
            }
        });
        at_least.discard_rest();
        let mut best = TopK::new(most);
        for Scored { passage, .. } in possible.into_iter().filter(|found| found.score >= at_least.threshold())
        {
            let cosine = precise_product(self.kernel, query, &self.floats[passage as usize]);
            best.offer(Scored { passage, score: cosine as f32 });
        }
        best.into_sorted()
    }
}
