//! Measures how fast files are read: `throughput WORKER FILE...` reads each through an `Extractor`, small ones many
//! times.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "an example talks to a terminal")]

use std::time::{Duration, Instant};

use extract::{Extractor, Limits, passages};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let worker = arguments.next().unwrap();
    let extractor = Extractor::new(worker.into(), Vec::new(), 2, Limits::default());
    for path in arguments {
        let bytes = std::fs::read(&path).unwrap();
        let started = Instant::now();
        let (mut rounds, mut cutting, mut found) = (0, Duration::ZERO, 0);
        while started.elapsed() < Duration::from_secs(1) {
            if let Ok(document) = extractor.extract(&path, &bytes) {
                let before_cut = Instant::now();
                found = passages(&document, "", 256, &|text| text.split_whitespace().count() * 4 / 3).len();
                cutting += before_cut.elapsed();
            }
            rounds += 1;
        }
        let each = started.elapsed() / rounds;
        println!(
            "{path}: {} bytes, {each:?} each, of which {:?} cutting, {found} passages",
            bytes.len(),
            cutting / rounds
        );
    }
}
