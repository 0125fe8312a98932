//! The vectors of the passages, and the search for those nearest to a query.
//!
//! The search scans bytes first. Every passage that could be among the nearest within the error bounds of the scan is
//! then compared by its floats in double precision, so the result is the same as comparing all floats. Many passages are
//! scanned by several threads. Beyond half a million in a file, a coarse look at their signs chooses which are scanned:
//! then one of a thousand may be missed.

use crate::top_k::{Scored, TopK};
use inference::Kernel;
use inference::arrays::{Array, ArrayReader, ArrayWriter, Damaged};
use inference::scan::{Codes, QueryCodes, SignQuery, precise_product, product};
use std::io::{self, Write};
use std::num::NonZero;
use std::ops::Range;
use std::thread;

/// Blocks of 64 passages that one thread scans at least, in about a millisecond.
const BLOCKS_OF_A_THREAD: usize = 500;
/// From so many passages in a file on, their signs are looked at first.
const COARSE_FROM: usize = 500_000;
/// The part of them that is compared after that, and how many times as many as are wanted.
const COARSE_SHARE: usize = 25;
const COARSE_LEAST: usize = 20;

pub struct Dense {
    dimension: usize,
    kernel: Kernel,
    codes: Codes,
    /// The vectors of the passages in a file, one after the other.
    mapped: Array<f32>,
    floats: Vec<Box<[f32]>>,
    coarse_from: usize,
}

impl Dense {
    pub fn new(dimension: usize) -> Self {
        Self {
            dimension,
            kernel: Kernel::best(),
            codes: Codes::new(dimension),
            mapped: Array::default(),
            floats: Vec::new(),
            coarse_from: COARSE_FROM,
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

    /// Returns the nearest of the accepted passages with their exact cosines. Of very many passages in a file, only those
    /// whose signs fit best are compared.
    pub fn nearest(&self, query: &[f32], most: usize, accepted: impl Fn(u32) -> bool + Sync) -> Vec<Scored> {
        let codes = QueryCodes::new(query, self.dimension);
        let found = if self.codes.mapped_len() < self.coarse_from {
            let blocks = self.codes.blocks();
            in_parallel(blocks, BLOCKS_OF_A_THREAD, |blocks| self.scan(&codes, blocks, most, &accepted))
        } else {
            let fitting = self.fitting(query, most, &accepted);
            vec![
                self.compare(&codes, fitting, most),
                self.scan(&codes, self.codes.added_blocks(), most, &accepted),
            ]
        };
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

    /// Returns the accepted passages of the file whose signs fit the query best, in the order of their numbers.
    fn fitting(&self, query: &[f32], most: usize, accepted: impl Fn(u32) -> bool + Sync) -> Vec<u32> {
        let rows = self.codes.mapped_len();
        let kept = (rows / COARSE_SHARE).max(most * COARSE_LEAST);
        let signs = SignQuery::new(query, self.dimension);
        let parts = in_parallel(rows, BLOCKS_OF_A_THREAD * 64, |rows| {
            let mut best = TopK::new(kept);
            self.codes.scan_signs(&signs, rows, |row, score| {
                let passage = row as u32;
                if score >= best.threshold() && accepted(passage) {
                    best.offer(Scored { passage, score });
                }
            });
            best.into_sorted()
        });
        let mut best = TopK::new(kept);
        parts.into_iter().flatten().for_each(|found| best.offer(found));
        let mut fitting: Vec<u32> = best.into_sorted().iter().map(|found| found.passage).collect();
        fitting.sort_unstable();
        fitting
    }

    fn compare(&self, query: &QueryCodes, passages: Vec<u32>, most: usize) -> Possible {
        let (mut lowest, mut highest) = (TopK::new(most), Vec::new());
        for passage in passages {
            let estimate = self.codes.estimate(self.kernel, query, passage as usize);
            lowest.offer(Scored { passage, score: estimate.score - estimate.error });
            highest.push(Scored { passage, score: estimate.score + estimate.error });
        }
        Possible { lowest: lowest.into_sorted(), highest }
    }

    fn scan(
        &self,
        query: &QueryCodes,
        blocks: Range<usize>,
        most: usize,
        accepted: impl Fn(u32) -> bool,
    ) -> Possible {
        let (mut lowest, mut highest) = (TopK::new(most), Vec::new());
        self.codes.scan(self.kernel, query, blocks, |first, estimates| {
            for (passage, estimate) in (first as u32..).zip(estimates) {
                let reach = estimate.score + estimate.error;
                if reach >= lowest.threshold() && accepted(passage) {
                    lowest.offer(Scored { passage, score: estimate.score - estimate.error });
                    highest.push(Scored { passage, score: reach });
                }
            }
        });
        Possible { lowest: lowest.into_sorted(), highest }
    }
}

/// Runs `work` on parts of `0..all`, each at least so long, in as many threads as there are processors.
fn in_parallel<T: Send>(all: usize, least: usize, work: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
    let most_threads = thread::available_parallelism().map_or(1, NonZero::get);
    let threads = (all / least).clamp(1, most_threads);
    let share = all.div_ceil(threads).max(1);
    let part = |start: usize| work(start..all.min(start + share));
    thread::scope(|scope| {
        let others: Vec<_> =
            (share..all).step_by(share).map(|start| scope.spawn(move || part(start))).collect();
        let mut done = vec![part(0)];
        done.extend(others.into_iter().filter_map(|other| other.join().ok()));
        done
    })
}

/// What a scan leaves open.
struct Possible {
    /// Lower bounds of the nearest cosines.
    lowest: Vec<Scored>,
    /// Upper bounds of the passages that could reach them.
    highest: Vec<Scored>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::BufWriter;

    const DIMENSION: usize = 96;

    fn noise(seed: &mut u64) -> f32 {
        *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*seed >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    fn unit(seed: &mut u64, near: Option<&[f32]>) -> Vec<f32> {
        let near = |index: usize| near.map_or(0.0, |near| near[index] * 4.0);
        let vector: Vec<f32> = (0..DIMENSION).map(|index| noise(seed) + near(index)).collect();
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.iter().map(|value| value / length).collect()
    }

    #[test]
    fn the_signs_lead_to_nearly_all_of_the_nearest() {
        let mut seed = 5;
        let centers: Vec<Vec<f32>> = (0..200).map(|_| unit(&mut seed, None)).collect();
        let mut dense = Dense::new(DIMENSION);
        for number in 0..20_000 {
            dense.push(&unit(&mut seed, Some(&centers[number % 200])));
        }
        let path = std::env::temp_dir().join(format!("stoa-signs-{}", std::process::id()));
        let mut writer = ArrayWriter::new(BufWriter::new(File::create(&path).unwrap()));
        dense.write(&mut writer, &(0..20_000).collect::<Vec<u32>>()).unwrap();
        writer.into_inner().flush().unwrap();
        let mut reader = ArrayReader::open(&File::open(&path).unwrap()).unwrap();
        let mut mapped = Dense::read(&mut reader, DIMENSION, 20_000).unwrap();
        std::fs::remove_file(path).unwrap();
        mapped.coarse_from = 0;
        mapped.push(&centers[0]);
        let mut hits = 0;
        for center in &centers {
            let query = unit(&mut seed, Some(center));
            let exact = dense.nearest(&query, 10, |_| true);
            let coarse = mapped.nearest(&query, 10, |_| true);
            hits += exact.iter().filter(|found| coarse.contains(found)).count();
        }
        assert!(hits >= 1_980, "{hits} of 2000");
        assert_eq!(
            mapped.nearest(&centers[0], 1, |_| true)[0].passage,
            20_000,
            "what is in memory is compared, too"
        );
        // However few are accepted, they are found.
        let few = mapped.nearest(&centers[3], 10, |passage| passage % 4_000 == 7);
        assert_eq!(few, dense.nearest(&centers[3], 10, |passage| passage % 4_000 == 7));
        assert_eq!(few.len(), 5);
    }
}
