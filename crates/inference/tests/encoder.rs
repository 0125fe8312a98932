//! The encoder with the real model: compared with the float reference, on every kernel, for any text.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod common;
#[path = "common/reader_file.rs"]
#[allow(dead_code, reason = "small models are for the tests of the reader")]
mod reader_file;
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
    for name in ["tokenizer.json", "model.safetensors", "config.json"] {
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

/// The second load reads what the first has packed; a changed or broken file is packed anew.
#[test]
fn packed_weights_give_the_same_vectors() {
    let cache = tempfile::tempdir().unwrap();
    let texts = ["The quay takes ships of nine metres.", "", "Replace its seals every 4,000 hours."];
    for kernel in Kernel::available() {
        let expected = embed(&Encoder::load(&folder(), *kernel).unwrap(), &texts);
        for _ in 0..2 {
            let packed = Encoder::load_packed(&folder(), *kernel, cache.path()).unwrap();
            assert_eq!(embed(&packed, &texts), expected, "{kernel}");
        }
    }
    let kernel = Kernel::best();
    let expected = embed(&Encoder::load(&folder(), kernel).unwrap(), &texts);
    for file in fs::read_dir(cache.path()).unwrap() {
        let path = file.unwrap().path();
        let whole = fs::read(&path).unwrap();
        for len in [0, 63, 64, 1000, whole.len() / 2, whole.len() - 64] {
            // As the program does it: a file that is in use is never changed.
            fs::remove_file(&path).unwrap();
            fs::write(&path, &whole[..len]).unwrap();
            let packed = Encoder::load_packed(&folder(), kernel, cache.path()).unwrap();
            assert_eq!(embed(&packed, &texts), expected, "{len} bytes");
        }
    }
    let unwritable = cache.path().join("file");
    fs::write(&unwritable, "not a folder").unwrap();
    let unpacked = Encoder::load_packed(&folder(), kernel, &unwritable).unwrap();
    assert_eq!(embed(&unpacked, &texts), expected, "without a cache");
}

#[test]
fn a_model_whose_weights_are_bytes_can_be_packed() {
    let (copy, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::copy(folder().join("tokenizer.json"), copy.path().join("tokenizer.json")).unwrap();
    fs::write(copy.path().join("model.safetensors"), reader_file::trained()).unwrap();
    let config = fs::read_to_string(folder().join("config.json")).unwrap();
    let config = config.replace("\"num_hidden_layers\": 6", "\"num_hidden_layers\": 12");
    fs::write(copy.path().join("config.json"), config).unwrap();
    for kernel in Kernel::available() {
        let expected = embed(&Encoder::load(copy.path(), *kernel).unwrap(), &["The quay is deep."]);
        for _ in 0..2 {
            let packed = Encoder::load_packed(copy.path(), *kernel, cache.path()).unwrap();
            assert_eq!(embed(&packed, &["The quay is deep."]), expected, "{kernel}");
        }
    }
}

#[test]
fn the_fingerprint_is_that_of_the_weights() {
    let encoder = Encoder::load(&folder(), Kernel::best()).unwrap();
    assert_eq!(encoder.fingerprint().len(), 64);
    assert_eq!(encoder.fingerprint(), Encoder::load(&folder(), Kernel::best()).unwrap().fingerprint());
}
