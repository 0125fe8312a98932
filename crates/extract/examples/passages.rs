//! Prints the passages of a file: `cargo run -p extract --example passages FILE`. Words are counted as tokens here.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to a terminal")]

use extract::{Limits, extract, passages};

fn main() {
    for path in std::env::args().skip(1) {
        let Ok(bytes) = std::fs::read(&path) else {
            eprintln!("cannot read `{path}`");
            continue;
        };
        let started = std::time::Instant::now();
        let document = match extract(&path, &bytes, &Limits::default()) {
            Ok(document) => document,
            Err(error) => {
                println!("{path}: {error}");
                continue;
            }
        };
        let taken = started.elapsed();
        let title = document.title.clone().unwrap_or_default();
        let passages = passages(&document, &title, 256, &|text| text.split_whitespace().count() * 4 / 3);
        println!(
            "{path}: {} `{title}` by {:?}, {} blocks, {taken:?}",
            document.kind,
            document.author,
            document.blocks.len()
        );
        for passage in passages {
            println!(
                "--- page {:?}, offset {}, {}",
                passage.page,
                passage.offset,
                passage.headings.join(" > ")
            );
            println!("{}", passage.text);
        }
    }
}
