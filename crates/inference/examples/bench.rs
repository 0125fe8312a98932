//! This engine's part of the benchmarks: loads a model, runs the commands on standard input and prints how long each
//! took, so that the rounds of several engines can be interleaved.
//!
//! `bench embed --models DIR --texts FILE` understands `go` and `vectors FILE`;
//! `bench llm --model FILE` understands `prefill N` and `decode N`. Both take `--kernel NAME` and `--threads N`.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "not the product"
)]

#[path = "../tests/common/helpers.rs"]
mod helpers;

use inference::decoder::{Decoder, Sampler, Sampling};
use inference::encoder::Encoder;
use inference::{Engine, Kernel, Models, Priority, TaskPool};
use std::collections::HashMap;
use std::io::BufRead;
use std::path::Path;
use std::time::Instant;
use std::{env, fs, io};

fn main() {
    let mut arguments = env::args().skip(1);
    let what = arguments.next().expect("embed or llm");
    let mut options = HashMap::new();
    while let (Some(name), Some(value)) = (arguments.next(), arguments.next()) {
        options.insert(name.trim_start_matches("--").to_owned(), value);
    }
    let option = |name: &str| options.get(name).unwrap_or_else(|| panic!("--{name} is missing")).as_str();
    let kernel = match options.get("kernel").map(String::as_str) {
        None | Some("auto") => Kernel::best(),
        Some(name) => Kernel::named(name).unwrap_or_else(|| panic!("no kernel `{name}` here")),
    };
    let threads = options.get("threads").map_or(2, |threads| threads.parse().expect("a number of threads"));
    match what.as_str() {
        "embed" => embed(Path::new(option("models")), Path::new(option("texts")), kernel, threads),
        "llm" => llm(Path::new(option("model")), kernel, threads),
        other => panic!("unknown `{other}`: embed or llm"),
    }
}

fn embed(models: &Path, texts: &Path, kernel: Kernel, threads: usize) {
    let texts = fs::read_to_string(texts).expect("texts");
    let texts: Vec<String> =
        texts.lines().map(|line| serde_json::from_str(line).expect("a JSON string")).collect();
    let start = Instant::now();
    let encoder = Encoder::load(models, kernel).expect("the model");
    let tokens: usize = texts.iter().map(|text| encoder.tokenize(text).len()).sum();
    ready(kernel, start, encoder.resident_bytes());
    let engine = Engine::start(Models { encoder: Some(encoder), threads, ..Models::default() });
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let start = Instant::now();
        let vectors = runtime.block_on(engine.embed("", texts.clone(), Priority::Bulk).unwrap()).unwrap();
        match line.split_once(' ') {
            None => println!("{{\"seconds\":{},\"tokens\":{tokens}}}", start.elapsed().as_secs_f64()),
            Some((_, file)) => {
                let bytes: Vec<u8> = vectors.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
                fs::write(file, bytes).expect("the vectors' file");
                println!("{{\"vectors\":{}}}", vectors.len());
            }
        }
    }
}

fn llm(model: &Path, kernel: Kernel, threads: usize) {
    let start = Instant::now();
    let decoder = Decoder::load(model, kernel, threads).expect("the model");
    ready(kernel, start, decoder.resident_bytes());
    let pool = TaskPool::new(threads);
    let mut sequence = decoder.sequence(1);
    let mut expected = Vec::new();
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let (what, count) = line.split_once(' ').expect("a word and a number");
        let count: usize = count.parse().expect("a number of tokens");
        // Helpers spin: they must not take time from another program while this one waits for its turn.
        let seconds = helpers::with_helpers(
            threads,
            || pool.help(),
            || {
                let start = Instant::now();
                if what == "prefill" {
                    let tokens: Vec<u32> = (0..count as u32).map(|i| 1000 + i * 37 % 20_000).collect();
                    sequence = decoder.sequence(count + 1024);
                    expected = decoder.read(&pool, &mut sequence, &tokens);
                } else {
                    let mut sampler = Sampler::new(Sampling::default());
                    for _ in 0..count {
                        let mut logits = decoder.logits(&pool, std::slice::from_ref(&expected));
                        let token = sampler.choose(&mut logits[0], &[]);
                        expected = decoder.write(&pool, &mut [&mut sequence], &[token]).remove(0);
                    }
                }
                start.elapsed().as_secs_f64()
            },
        );
        println!("{{\"seconds\":{seconds}}}");
    }
}

fn ready(kernel: Kernel, start: Instant, weights: usize) {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
    let kilobytes: usize = line.trim().trim_end_matches("kB").trim().parse().unwrap_or_default();
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{{\"ready\":true,\"kernel\":\"{kernel}\",\"load_seconds\":{seconds},\"resident_bytes\":{},\"weight_bytes\":{weights}}}",
        kilobytes * 1024
    );
}
