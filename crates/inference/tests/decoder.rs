//! The decoder with the real model: compared with the float reference, and in English.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod common;
#[path = "common/helpers.rs"]
mod helpers;
#[path = "common/random_model.rs"]
mod random_model;
#[path = "reference/decoder.rs"]
mod reference;

use helpers::with_helpers;
use inference::chat_template::Message;
use inference::decoder::{Decoder, Sampler, Sampling, Sequence};
use inference::{Kernel, ModelError, TaskPool};
use reference::{Past, Reference};
use std::path::PathBuf;

const TEXT: &str = "The harbour master keeps a ledger of every vessel that enters the north quay. In the spring of 1911 \
    it records a small schooner, carrying salt and dried fish from the northern islands. Plants turn light, water and \
    carbon dioxide into sugar and oxygen. The capital of France is Paris, and the capital of Germany is Berlin.";

const BEGINNINGS: [&str; 20] = [
    "The capital of France is",
    "Water boils at a temperature of",
    "Once upon a time there was a",
    "The three primary colours are",
    "To make a cup of tea, first",
    "The sun rises in the",
    "A triangle has three",
    "In 1969, people landed on the",
    "The opposite of hot is",
    "Dear Sir or Madam,",
    "The largest ocean on Earth is",
    "She opened the door and saw",
    "Photosynthesis is the process by which",
    "def add(a, b):\n    return",
    "1, 2, 3, 4,",
    "The best way to learn a language is",
    "My favourite animal is the",
    "Two plus two equals",
    "The heart pumps blood through the",
    "Thank you very much for your",
];

fn model() -> PathBuf {
    common::models_dir().join("smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf")
}

fn load(kernel: Kernel) -> Decoder {
    Decoder::load(&model(), kernel, 2).unwrap()
}

/// Runs `work` with a pool that the other threads help.
fn with_pool<T>(threads: usize, work: impl FnOnce(&TaskPool) -> T) -> T {
    let pool = TaskPool::new(threads);
    with_helpers(threads, || pool.help(), || work(&pool))
}

fn likeliest(logits: &[f32]) -> u32 {
    Sampler::new(Sampling::default()).choose(&mut logits.to_vec(), &[])
}

fn surprise(logits: &[f32], token: u32) -> f64 {
    let highest = f64::from(logits.iter().copied().fold(f32::MIN, f32::max));
    let sum: f64 = logits.iter().map(|logit| (f64::from(*logit) - highest).exp()).sum();
    sum.ln() + highest - f64::from(logits[token as usize])
}

/// Returns the tokens that follow greedily, each chosen after the one before was appended.
fn continuation(
    decoder: &Decoder,
    pool: &TaskPool,
    sequence: &mut Sequence,
    mut expected: Vec<f32>,
    count: usize,
) -> Vec<u32> {
    let mut tokens = Vec::new();
    for _ in 0..count {
        let token = likeliest(&decoder.logits(pool, &[expected])[0]);
        tokens.push(token);
        expected = decoder.write(pool, &mut [sequence], &[token]).remove(0);
    }
    tokens
}

#[test]
fn greedy_continuations_agree_with_the_float_reference_for_most_tokens() {
    let reference = Reference::load(&model());
    let decoder = load(Kernel::best());
    let count = 6;
    let agreed: usize = std::thread::scope(|scope| {
        let halves = BEGINNINGS.chunks(10).map(|beginnings| {
            let (reference, decoder) = (&reference, &decoder);
            scope.spawn(move || {
                let pool = TaskPool::new(1);
                let agreed = |text: &&str| agreement(reference, decoder, &pool, text, count);
                beginnings.iter().map(agreed).sum::<usize>()
            })
        });
        halves.collect::<Vec<_>>().into_iter().map(|half| half.join().unwrap()).sum()
    });
    let all = BEGINNINGS.len() * count;
    println!("{agreed} of {all} tokens agree");
    assert!(agreed * 100 >= all * 80, "{agreed} of {all}");
}

/// Returns how many tokens both choose, each time after the tokens that the reference chose.
fn agreement(reference: &Reference, decoder: &Decoder, pool: &TaskPool, text: &str, count: usize) -> usize {
    let tokens = decoder.tokenizer().encode(text, false);
    let mut past = Past::default();
    let mut logits = Vec::new();
    tokens.iter().for_each(|token| logits = reference.next(&mut past, *token));
    let mut sequence = decoder.sequence(tokens.len() + count);
    let mut expected = decoder.read(pool, &mut sequence, &tokens);
    let mut agreed = 0;
    for _ in 0..count {
        let token = likeliest(&logits);
        agreed += usize::from(token == likeliest(&decoder.logits(pool, &[expected])[0]));
        expected = decoder.write(pool, &mut [&mut sequence], &[token]).remove(0);
        logits = reference.next(&mut past, token);
    }
    agreed
}

#[test]
fn every_architecture_expects_what_the_float_reference_does() {
    for (architecture, pre) in [("llama", "gpt-2"), ("qwen2", "qwen2")] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("random.gguf");
        random_model::write(&path, architecture, pre);
        let reference = Reference::load(&path);
        let tokens: Vec<u32> = (0..40).map(|at| at * 37 % random_model::TOKENS as u32).collect();
        for kernel in Kernel::available() {
            let mut past = Past::default();
            let decoder = Decoder::load(&path, *kernel, 1).unwrap();
            let pool = TaskPool::new(1);
            let mut sequence = decoder.sequence(tokens.len());
            let (first, others) = tokens.split_at(20);
            let mut expected = decoder.read_each(&pool, &mut sequence, first);
            for token in others {
                expected.push(decoder.write(&pool, &mut [&mut sequence], &[*token]).remove(0));
            }
            for (token, expected) in tokens.iter().zip(expected) {
                let exact = reference.next(&mut past, *token);
                let got = decoder.logits(&pool, &[expected]).remove(0);
                let likeness = cosine(&exact, &got);
                assert!(likeness > 0.995, "{architecture}, {kernel}, token {token}: {likeness}");
            }
        }
    }
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[test]
fn a_text_is_as_likely_as_for_the_float_reference_whether_read_or_written() {
    let reference = Reference::load(&model());
    let decoder = load(Kernel::best());
    let tokens = decoder.tokenizer().encode(TEXT, false);
    let mut past = Past::default();
    let next: Vec<u32> = tokens[1..].to_vec();
    let logits = tokens.iter().map(|token| reference.next(&mut past, *token));
    let exact: f64 = logits.zip(&next).map(|(logits, token)| surprise(&logits, *token)).sum();
    with_pool(2, |pool| {
        let mut sequence = decoder.sequence(tokens.len());
        let read = decoder.read_each(pool, &mut sequence, &tokens);
        let mut sequence = decoder.sequence(tokens.len());
        let written = tokens
            .iter()
            .map(|token| decoder.write(pool, &mut [&mut sequence], &[*token]).remove(0))
            .collect();
        for (how, rows) in [("read", read), ("written", written)] {
            let logits = decoder.logits(pool, &rows);
            let sum: f64 = logits.iter().zip(&next).map(|(logits, token)| surprise(logits, *token)).sum();
            assert!(
                (sum / exact - 1.0).abs() < 0.02,
                "{how}: {:.4} of {:.4}",
                sum / next.len() as f64,
                exact / next.len() as f64
            );
        }
    });
}

#[test]
fn every_kernel_expects_the_same() {
    let tokens = load(Kernel::best()).tokenizer().encode(TEXT, false);
    let mut all: Vec<(Kernel, Vec<f32>, Vec<f32>)> = Vec::new();
    for kernel in Kernel::available() {
        let decoder = load(*kernel);
        let (read, written) = with_pool(1, |pool| {
            let mut sequence = decoder.sequence(tokens.len() + 1);
            let read = decoder.read(pool, &mut sequence, &tokens[..48]);
            let written = decoder.write(pool, &mut [&mut sequence], &tokens[48..49]).remove(0);
            let mut logits = decoder.logits(pool, &[read, written]);
            (logits.remove(0), logits.remove(0))
        });
        all.push((*kernel, read, written));
    }
    let (portable, vectors) = all.split_last().unwrap();
    for (kernel, read, written) in vectors {
        let (_, first_read, first_written) = &vectors[0];
        assert!(
            read == first_read && written == first_written,
            "{kernel} does not compute as {}",
            vectors[0].0
        );
        // Without a fused multiply-add, sums are rounded once more, and a byte may differ now and then. The logits
        // differ from each other no more than they all do from the float reference.
        for (a, b) in [(read, &portable.1), (written, &portable.2)] {
            let mean = a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f32>() / a.len() as f32;
            assert!(mean < 1.0, "{kernel}: logits are {mean} from the portable ones");
        }
    }
}

#[test]
fn sequences_written_together_are_written_as_alone() {
    let decoder = load(Kernel::best());
    with_pool(2, |pool| {
        let begin = |text: &str| {
            let tokens = decoder.tokenizer().encode(text, false);
            let mut sequence = decoder.sequence(tokens.len() + 12);
            let expected = decoder.read(pool, &mut sequence, &tokens);
            (sequence, expected)
        };
        let alone: Vec<Vec<u32>> = BEGINNINGS[..5]
            .iter()
            .map(|text| {
                let (mut sequence, expected) = begin(text);
                continuation(&decoder, pool, &mut sequence, expected, 12)
            })
            .collect();
        let (mut sequences, mut expected): (Vec<Sequence>, Vec<Vec<f32>>) =
            BEGINNINGS[..5].iter().map(|text| begin(text)).unzip();
        let mut together = vec![Vec::new(); 5];
        for _ in 0..12 {
            let tokens: Vec<u32> =
                decoder.logits(pool, &expected).iter().map(|logits| likeliest(logits)).collect();
            together.iter_mut().zip(&tokens).for_each(|(text, token)| text.push(*token));
            expected = decoder.write(pool, &mut sequences.iter_mut().collect::<Vec<_>>(), &tokens);
        }
        assert_eq!(together, alone);
    });
}

#[test]
fn small_questions_get_answers_in_english() {
    let decoder = load(Kernel::best());
    let questions = [
        ("What is the capital of France?", "Paris"),
        ("What colour is the sky on a clear day?", "blue"),
        ("How many legs does a spider have?", "leg"),
        ("Name a fruit that is yellow.", "anana"),
        ("What do bees make?", "honey"),
        ("Write one sentence about the sea.", "sea"),
        ("What is the opposite of cold?", "hot"),
        ("What is the largest ocean on Earth?", "pacific"),
        ("What is ice made of?", "water"),
        ("Who wrote Romeo and Juliet?", "Shakespeare"),
    ];
    let right = with_pool(2, |pool| {
        let answer = |question: &str| {
            let message = Message { role: "user".to_owned(), content: question.to_owned() };
            let tokens = decoder.template().chat_tokens(decoder.tokenizer(), &[message], true).unwrap();
            let mut sequence = decoder.sequence(tokens.len() + 40);
            let expected = decoder.read(pool, &mut sequence, &tokens);
            let tokens = continuation(&decoder, pool, &mut sequence, expected, 40);
            let answer = tokens.iter().take_while(|token| !decoder.tokenizer().is_end(**token));
            let bytes: Vec<u8> =
                answer.flat_map(|token| decoder.tokenizer().piece(*token).to_vec()).collect();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        questions
            .iter()
            .filter(|(question, expected)| {
                let answer = answer(question);
                println!("{question}\n    {answer}");
                let words =
                    answer.split_whitespace().filter(|word| word.chars().any(|c| c.is_ascii_alphabetic()));
                assert!(words.count() > 0, "{question}: {answer}");
                answer.to_lowercase().contains(&expected.to_lowercase())
            })
            .count()
    });
    assert!(right >= 4, "{right} of ten answers name what was asked for");
}

#[test]
fn a_file_that_is_no_model_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    assert!(matches!(Decoder::load(&path, Kernel::best(), 1), Err(ModelError::Read { .. })));
    let whole = std::fs::read(model()).unwrap();
    for len in [0, 3, 24, 1000, 2_000_000, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&path, &whole[..len]).unwrap();
        let error = Decoder::load(&path, Kernel::best(), 1).err().unwrap();
        assert!(matches!(error, ModelError::Malformed(_)), "{len}: {error}");
    }
}
