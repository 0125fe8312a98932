//! The vectors of the passages, and the search for those nearest to a query.
//!
//! The search scans bytes first. Every passage that could be among the nearest within the error bounds of the scan is
//! then compared by its floats in double precision, so the result is the same as comparing all floats; only a file of
//! 200,000 passages and more is first looked through more coarsely, which may miss one in a thousand. Many passages
//! are scanned by several threads.

use crate::top_k::{Scored, TopK};
use inference::Kernel;
use inference::arrays::{Array, ArrayReader, ArrayWriter, Damaged};
use inference::scan::{Codes, QueryCodes, precise_product, product};
use std::io::{self, Write};
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Blocks of 64 passages that are worth another thread: about a millisecond.
const BLOCKS_OF_A_THREAD: usize = 500;
/// Blocks that a thread takes at a time, so that none waits for another that has less of a processor.
const BLOCKS_AT_A_TIME: usize = 50;

pub struct Dense {
    dimension: usize,
    kernel: Kernel,
    codes: Codes,
    /// The vectors of the passages in a file, one after the other.
    mapped: Array<f32>,
    floats: Vec<Box<[f32]>>,
}

impl Dense {
    pub fn new(dimension: usize) -> Self {
        Self {
            dimension,
            kernel: Kernel::best(),
            codes: Codes::new(dimension),
            mapped: Array::default(),
            floats: Vec::new(),
        }
    }

    pub fn read(from: &mut ArrayReader, dimension: usize, passages: usize) -> Result<Self, Damaged> {
        let codes = Codes::read(from, dimension, passages)?;
        let mapped = from.take_exactly(passages.checked_mul(dimension).ok_or(Damaged)?)?;
        Ok(Self { codes, mapped, ..Self::new(dimension) })
    }

    pub fn write(&self, to: &mut ArrayWriter<impl Write>, passages: &[u32]) -> io::Result<()> {
        self.codes.write(to, passages)?;
        let vectors = passages.iter().map(|passage| self.vector(*passage));
        to.put_parts(passages.len() * self.dimension, vectors)
    }

    pub fn dimension(&self) -> usize {
        self.dimension
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

    /// Keeps the passages for which `keep` returns true, in their order. None of them may be in a file.
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

    fn vector(&self, passage: u32) -> &[f32] {
        let start = passage as usize * self.dimension;
        match start.checked_sub(self.mapped.len()) {
            None => &self.mapped[start..][..self.dimension],
            Some(beyond) => &self.floats[beyond / self.dimension.max(1)],
        }
    }

    /// Returns the cosine of a query and a passage.
    pub fn cosine(&self, query: &[f32], passage: u32) -> f32 {
        product(self.kernel, query, self.vector(passage))
    }

    /// Returns the cosine of two passages.
    pub fn likeness(&self, one: u32, other: u32) -> f32 {
        self.cosine(self.vector(one), other)
    }

    /// Returns the nearest of the accepted passages with their exact cosines.
    pub fn nearest(&self, query: &[f32], most: usize, accepted: impl Fn(u32) -> bool + Sync) -> Vec<Scored> {
        let codes = QueryCodes::new(query, self.dimension);
        let blocks = self.codes.blocks();
        let most_threads = thread::available_parallelism().map_or(1, NonZero::get);
        let threads = (blocks / BLOCKS_OF_A_THREAD).clamp(1, most_threads);
        let next = AtomicUsize::new(0);
        let scan = || self.scan(&codes, &next, most, &accepted);
        let found = thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(scan)).collect();
            let mut found = vec![scan()];
            found.extend(others.into_iter().filter_map(|other| other.join().ok()));
            found
        });
        let mut at_least = TopK::new(most);
        found.iter().flat_map(|found| &found.lowest).for_each(|lowest| at_least.offer(*lowest));
        at_least.discard_rest();
        let mut best = TopK::new(most);
        for Scored { passage, score } in found.into_iter().flat_map(|found| found.highest) {
            if score >= at_least.threshold() {
                let cosine = precise_product(self.kernel, query, self.vector(passage));
                best.offer(Scored { passage, score: cosine as f32 });
            }
        }
        best.into_sorted()
    }

    /// Scans blocks from `next` on, together with other threads.
    fn scan(
        &self,
        query: &QueryCodes,
        next: &AtomicUsize,
        most: usize,
        accepted: impl Fn(u32) -> bool,
    ) -> Possible {
        let (mut lowest, mut highest) = (TopK::new(most), Vec::new());
        let take = || next.fetch_add(BLOCKS_AT_A_TIME, Ordering::Relaxed);
        let all = self.codes.blocks();
        while let first = take()
            && first < all
        {
            let blocks = first..all.min(first + BLOCKS_AT_A_TIME);
            self.codes.scan(self.kernel, query, blocks, lowest.threshold(), |row, estimate| {
                let (passage, reach) = (row as u32, estimate.score + estimate.error);
                if reach >= lowest.threshold() && accepted(passage) {
                    lowest.offer(Scored { passage, score: estimate.score - estimate.error });
                    highest.push(Scored { passage, score: reach });
                }
                lowest.threshold()
            });
        }
        Possible { lowest: lowest.into_sorted(), highest }
    }
}

/// What a scan leaves open.
struct Possible {
    /// Lower bounds of the nearest cosines.
    lowest: Vec<Scored>,
    /// Upper bounds of the passages that could reach them.
    highest: Vec<Scored>,
}
