//! The reranker with the real model: compared with the same weights in floats, on every kernel, alone and in batches.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod common;

use inference::Kernel;
use inference::encoder::Scratch;
use inference::reranker::{Pair, Reranker};
use std::fs;

const BERLIN: &str =
    "Berlin has a population of 3,520,031 registered inhabitants in an area of 891.82 square kilometers.";
const PUMP: &str = "The pump P-204 circulates coolant. Replace its seals every 4,000 hours.";

/// Questions, texts, and the logits of the file's weights in floats, computed with numpy.
const PAIRS: [(&str, &str, f32); 8] = [
    ("How many people live in Berlin?", BERLIN, 9.267),
    (
        "How many people live in Berlin?",
        "New York City is famous for the Metropolitan Museum of Art.",
        -11.187,
    ),
    (
        "How long may an idle connection stay open?",
        "IDLE_TIMEOUT: how long a connection without a request may stay open (default 75 s).",
        6.166,
    ),
    ("Who wrote the manual?", PUMP, -11.243),
    ("When should the seals be replaced?", PUMP, 0.706),
    ("What does the quay take?", "The quay takes ships of nine metres.", 6.991),
    (
        "Which port does the gateway listen on?",
        "The supervisor listens on port 8082 and answers only programs on the same machine.",
        1.048,
    ),
    (
        "What is the boiling point of water?",
        "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.",
        -11.199,
    ),
];

fn load(kernel: Kernel) -> Reranker {
    Reranker::load(&common::models_dir().join("ms-marco-minilm-l12-v2"), kernel).unwrap()
}

fn score(reranker: &Reranker, pairs: &[(&str, &str)]) -> Vec<f32> {
    let pairs: Vec<Pair> = pairs.iter().map(|(question, text)| reranker.tokenize(question, text)).collect();
    reranker.score(&pairs.iter().collect::<Vec<_>>(), &mut Scratch::default())
}

#[test]
fn scores_agree_with_the_weights_in_floats_on_every_kernel() {
    let pairs = PAIRS.map(|(question, text, _)| (question, text));
    for kernel in Kernel::available() {
        let scores = score(&load(*kernel), &pairs);
        let differences = scores.iter().zip(PAIRS).map(|(score, (.., expected))| (score - expected).abs());
        let highest = differences.fold(0.0, f32::max);
        assert!(highest < 0.6, "{kernel}: {scores:?}");
    }
}

#[test]
fn a_pair_has_the_same_score_alone_and_among_others() {
    let reranker = load(Kernel::best());
    let pairs = PAIRS.map(|(question, text, _)| (question, text));
    for (pair, together) in pairs.iter().zip(score(&reranker, &pairs)) {
        let alone = score(&reranker, &[*pair])[0];
        assert!((alone - together).abs() < 0.02, "{pair:?}: {alone}, {together}");
    }
}

#[test]
fn any_text_has_a_score() {
    let reranker = load(Kernel::best());
    let long = "How many people live in Berlin? ".repeat(2000);
    let scores = score(&reranker, &[("", ""), (&long, &long), ("How many?", &long), (&long, BERLIN)]);
    assert!(scores.iter().all(|score| score.is_finite()), "{scores:?}");
}

/// The second load reads what the first has packed; a changed or broken file is packed anew.
#[test]
fn packed_weights_give_the_same_scores() {
    let models = common::models_dir();
    let folder = models.join("ms-marco-minilm-l12-v2");
    let cache = tempfile::tempdir().unwrap();
    let pairs = PAIRS.map(|(question, text, _)| (question, text));
    for kernel in Kernel::available() {
        let expected = score(&load(*kernel), &pairs);
        for _ in 0..2 {
            let packed = Reranker::load_packed(&folder, *kernel, cache.path()).unwrap();
            assert_eq!(score(&packed, &pairs), expected, "{kernel}");
        }
    }
    let kernel = Kernel::best();
    let expected = score(&load(kernel), &pairs);
    for file in fs::read_dir(cache.path()).unwrap() {
        let path = file.unwrap().path();
        let whole = fs::read(&path).unwrap();
        for len in [0, 63, 64, 1000, whole.len() / 2, whole.len() - 64] {
            // As the program does it: a file that is in use is never changed.
            fs::remove_file(&path).unwrap();
            fs::write(&path, &whole[..len]).unwrap();
            let packed = Reranker::load_packed(&folder, kernel, cache.path()).unwrap();
            assert_eq!(score(&packed, &pairs), expected, "{len} bytes");
        }
    }
    let unwritable = cache.path().join("file");
    fs::write(&unwritable, "not a folder").unwrap();
    let unpacked = Reranker::load_packed(&folder, kernel, &unwritable).unwrap();
    assert_eq!(score(&unpacked, &pairs), expected, "without a cache");
}
