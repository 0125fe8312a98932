//! The encoder with the real model: compared with the float reference, on every kernel, for any text.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod common;
#[path = "reference/encoder.rs"]
mod reference;

use inference::encoder::{Encoder, MAX_TOKENS, Scratch};
use inference::{Kernel, ModelError};
use reference::Reference;
use std::fs;
use std::path::PathBuf;

fn folder() -> PathBuf {
    common::models_dir().join("all-minilm-l6-v2")
}

fn embed(encoder: &Encoder, texts: &[&str]) -> Vec<Vec<f32>> {
    let tokens: Vec<Vec<u32>> = texts.iter().map(|text| encoder.tokenize(text)).collect();
    encoder.embed(&tokens, &mut Scratch::default())
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns paragraphs of the project's own documents.
fn paragraphs(count: usize) -> Vec<String> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = ["README.md", "ARCHITECTURE.md", "docs/operations.md", "docs/scaling.md", "docs/api.md"];
    let text: String =
        files.iter().map(|file| fs::read_to_string(root.join(file)).unwrap() + "\n\n").collect();
    let all: Vec<String> = text.split("\n\n").filter(|part| part.len() > 80).map(str::to_owned).collect();
    let step = all.len() / count;
    assert!(step > 0, "only {} paragraphs", all.len());
    all.into_iter().step_by(step).take(count).collect()
}

#[test]
fn vectors_agree_with_the_float_reference_on_every_kernel() {
    let texts = paragraphs(8);
    let reference = Reference::load(&folder());
    let expected: Vec<Vec<f32>> = texts.iter().map(|text| reference.embed(text)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    for kernel in Kernel::available() {
        let vectors = embed(&Encoder::load(&folder(), *kernel).unwrap(), &texts);
        let cosines: Vec<f32> = vectors.iter().zip(&expected).map(|(a, b)| cosine(a, b)).collect();
        let mean = cosines.iter().sum::<f32>() / cosines.len() as f32;
        let lowest = cosines.iter().copied().fold(1.0, f32::min);
        assert!(lowest >= 0.99 && mean >= 0.995, "{kernel}: lowest {lowest}, mean {mean}");
    }
}

/// Kernels add floats in different orders, the fastest uses a table for its softmax, and AVX2 has coarser weights.
#[test]
fn kernels_agree_with_each_other() {
    let texts =
        ["The quay takes ships of nine metres.", "a", "Zwölf Boxkämpfer jagen Viktor quer über den Deich."];
    let embed_with = |kernel: &Kernel| embed(&Encoder::load(&folder(), *kernel).unwrap(), &texts);
    let (portable, others) = Kernel::available().split_last().unwrap();
    let portable = embed_with(portable);
    for kernel in others {
        for (vector, portable) in embed_with(kernel).iter().zip(&portable) {
            let cosine = cosine(vector, portable);
            assert!(cosine > 0.98, "{kernel}: {cosine}");
        }
    }
}

#[test]
fn a_text_has_the_same_vector_alone_and_among_others() {
    let encoder = Encoder::load(&folder(), Kernel::best()).unwrap();
    let texts = paragraphs(5);
    let texts: Vec<&str> = texts.iter().map(String::as_str).chain(["short", ""]).collect();
    let together = embed(&encoder, &texts);
    for (text, vector) in texts.iter().zip(&together) {
        assert!(cosine(&embed(&encoder, &[text])[0], vector) > 0.9999, "{text}");
    }
}

#[test]
fn what_means_the_same_lies_close() {
    let encoder = Encoder::load(&folder(), Kernel::best()).unwrap();
    let vectors = embed(
        &encoder,
        &["How deep may a ship be?", "The largest allowed draught of vessels", "A recipe for apple pie"],
    );
    assert!(cosine(&vectors[0], &vectors[1]) > cosine(&vectors[0], &vectors[2]) + 0.2);
}

#[test]
fn any_text_has_a_vector_of_length_one() {
    let encoder = Encoder::load(&folder(), Kernel::best()).unwrap();
    let huge = "wind tunnel ".repeat(500_000);
    let texts =
        ["", " \n\t ", "\0\u{fffd}\u{200b}", "🦀🦀🦀", "漢字かな交じり文", &"x".repeat(100_000), &huge];
    for (text, vector) in texts.iter().zip(embed(&encoder, &texts)) {
        assert_eq!(vector.len(), encoder.dimension());
        assert!(
            (cosine(&vector, &vector) - 1.0).abs() < 1e-4,
            "{:?}",
            text.chars().take(10).collect::<String>()
        );
    }
    assert_eq!(encoder.tokenize(&huge).len(), MAX_TOKENS);
    assert!(embed(&encoder, &[]).is_empty());
}

#[test]
fn a_folder_that_holds_no_model_says_what_is_wrong() {
    let copy = tempfile::tempdir().unwrap();
    for name in ["tokenizer.json", "model.safetensors"] {
        let error = Encoder::load(copy.path(), Kernel::best()).err().unwrap();
        assert!(matches!(&error, ModelError::Read { path, .. } if path.ends_with(name)), "{error}");
        fs::copy(folder().join(name), copy.path().join(name)).unwrap();
    }
    let config = fs::read_to_string(folder().join("config.json")).unwrap();
    for (from, to, message) in [
        ("\"hidden_size\": 384", "\"hidden_size\": 416", "multiples of 32"),
        ("\"intermediate_size\": 1536", "\"intermediate_size\": 1568", "not"),
        ("\"num_hidden_layers\": 6", "\"num_hidden_layers\": 7", "encoder.layer.6"),
        ("\"model_type\": \"bert\"", "\"model_type\": \"t5\"", "only `bert`"),
        ("\"vocab_size\": 30522", "\"vocab_size\": 99", "not 38016"),
    ] {
        assert!(config.contains(from));
        fs::write(copy.path().join("config.json"), config.replace(from, to)).unwrap();
        let error = Encoder::load(copy.path(), Kernel::best()).err().unwrap().to_string();
        assert!(error.contains(message), "{to}: {error}");
    }
    fs::write(copy.path().join("config.json"), "{").unwrap();
    assert!(matches!(Encoder::load(copy.path(), Kernel::best()), Err(ModelError::Malformed(_))));
}

#[test]
fn the_fingerprint_is_that_of_the_weights() {
    let encoder = Encoder::load(&folder(), Kernel::best()).unwrap();
    assert_eq!(encoder.fingerprint().len(), 64);
    assert_eq!(encoder.fingerprint(), Encoder::load(&folder(), Kernel::best()).unwrap().fingerprint());
}
