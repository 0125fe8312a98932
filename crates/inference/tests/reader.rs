//! The reader with the trained model: compared with the same weights in floats, on every kernel, alone and in batches,
//! for any text. Broken files are small ones with random weights.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

#[path = "common/reader_file.rs"]
mod reader_file;
#[path = "reference/reader.rs"]
mod reference;

use inference::Kernel;
use inference::encoder::Scratch;
use inference::reader::{MAX_PAIR_TOKENS, Pair, Reader, Reading};
use mutations::mutations;
use reader_file::{POSITIONS, ReaderFile, Tensor, trained, with_header};
use reference::Reference;

const BERLIN: &str =
    "Berlin has a population of 3,520,031 registered inhabitants in an area of 891.82 square kilometers.";
const PUMP: &str = "The pump P-204 circulates coolant. Replace its seals every 4,000 hours.";

const PAIRS: [(&str, &str); 8] = [
    ("How many people live in Berlin?", BERLIN),
    ("How many people live in Berlin?", "New York City is famous for the Metropolitan Museum of Art."),
    (
        "How long may an idle connection stay open?",
        "IDLE_TIMEOUT: how long a connection without a request may stay open (default 75 s).",
    ),
    ("Who wrote the manual?", PUMP),
    ("When should the seals be replaced?", PUMP),
    ("What does the quay take?", "The quay takes ships of nine metres."),
    (
        "Which port does the gateway listen on?",
        "The supervisor listens on port 8082 and answers only programs on the same machine.",
    ),
    (
        "What is the boiling point of water?",
        "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.",
    ),
];

fn load(kernel: Kernel) -> Reader {
    Reader::from_bytes(&trained(), kernel).unwrap()
}

fn read(reader: &Reader, pairs: &[(&str, &str)]) -> Vec<Reading> {
    let pairs: Vec<Pair> = pairs.iter().map(|(question, text)| reader.tokenize(question, text)).collect();
    reader.read(&pairs.iter().collect::<Vec<_>>(), &mut Scratch::default())
}

/// Returns the logits of each kind, so that the kinds can be compared one by one.
fn logits(reading: &Reading) -> [Vec<f32>; 3] {
    let Reading { start, end, nothing, relevance, .. } = reading.clone();
    [start, end, vec![nothing, relevance]]
}

/// Returns the mean distance of logits, as a part of how far the expected ones are from zero.
fn distance(found: &[Reading], expected: &[Reading]) -> [f32; 3] {
    std::array::from_fn(|kind| {
        let of_kind = |readings: &[Reading]| -> Vec<f32> {
            readings.iter().flat_map(|reading| logits(reading)[kind].clone()).collect()
        };
        let (found, expected) = (of_kind(found), of_kind(expected));
        assert_eq!(found.len(), expected.len());
        apart(&found, &expected)
    })
}

fn apart(found: &[f32], expected: &[f32]) -> f32 {
    let squares: f32 = found.iter().zip(expected).map(|(a, b)| (a - b).powi(2)).sum();
    (squares / expected.iter().map(|value| value.powi(2)).sum::<f32>()).sqrt()
}

#[test]
fn readings_agree_with_the_weights_in_floats_on_every_kernel() {
    let reference = Reference::from_bytes(&trained());
    let expected = PAIRS.map(|(question, text)| reference.read(question, text));
    for kernel in Kernel::available() {
        let readings = read(&load(*kernel), &PAIRS);
        assert!(readings.iter().zip(&expected).all(|(found, expected)| found.tokens == expected.tokens));
        let distances = distance(&readings, &expected);
        assert!(distances.iter().all(|distance| *distance < 0.05), "{kernel}: {distances:?}");
    }
}

/// Its weights are spread evenly, which is hardest for the bytes of AVX2.
#[test]
fn so_do_readings_of_a_model_of_another_size() {
    let bytes = ReaderFile::small().to_bytes();
    let reference = Reference::from_bytes(&bytes);
    let pairs = [("ab?", "x yz, w"), ("", "q"), ("to be", "or not")];
    let expected = pairs.map(|(question, text)| reference.read(question, text));
    for kernel in Kernel::available() {
        let distances = distance(&read(&Reader::from_bytes(&bytes, *kernel).unwrap(), &pairs), &expected);
        assert!(distances.iter().all(|distance| *distance < 0.15), "{kernel}: {distances:?}");
    }
}

#[test]
fn a_pair_has_the_same_reading_alone_and_among_others() {
    let reader = load(Kernel::best());
    for (pair, together) in PAIRS.iter().zip(read(&reader, &PAIRS)) {
        let alone = read(&reader, &[*pair]);
        let distances = distance(&alone, &[together]);
        assert!(distances.iter().all(|distance| *distance < 0.002), "{pair:?}: {distances:?}");
    }
    assert!(read(&reader, &[]).is_empty());
}

#[test]
fn a_reading_is_of_its_text_up_to_the_end() {
    let reader = load(Kernel::best());
    let readings = read(&reader, &[PAIRS[0], PAIRS[1], (PAIRS[1].0, "")]);
    assert_ne!(readings[0].relevance, readings[1].relevance);
    assert_eq!(&BERLIN[readings[0].tokens[0].clone()], "Berlin");
    assert_eq!(readings[0].tokens.last().map(|last| last.end), Some(BERLIN.len()));
    assert_eq!(readings[2].tokens, []);
}

#[test]
fn any_text_has_a_reading() {
    let reader = load(Kernel::best());
    let long = "How many people live in Berlin? ".repeat(2000);
    let word = "x".repeat(1_000_000);
    let texts = [
        "",
        " \n\t ",
        "\0\u{fffd}\u{200b}",
        "🦀🦀🦀",
        "漢字かな交じり文",
        "e\u{301}\u{301}",
        "\u{301}",
        "[SEP] [CLS] [PAD]",
        &word,
        &long,
    ];
    for question in ["", "How many?", "[SEP]", &long] {
        let pairs = texts.map(|text| (question, text));
        for ((_, text), reading) in pairs.iter().zip(read(&reader, &pairs)) {
            let all = logits(&reading).concat();
            assert!(all.iter().all(|logit| logit.is_finite()), "{all:?}");
            let counts = [&reading.start, &reading.end].map(Vec::len);
            assert_eq!(counts, [reading.tokens.len(); 2]);
            assert!(reading.tokens.iter().all(|range| text.get(range.clone()).is_some()));
        }
    }
    assert_eq!(reader.tokenize("How many?", &long).tokens(), MAX_PAIR_TOKENS);
    let with_long_question = &read(&reader, &[(&long, BERLIN)])[0];
    assert_eq!(with_long_question.tokens.last().map(|last| last.end), Some(BERLIN.len()));
}

#[test]
fn a_small_model_reads_no_more_than_it_has_positions_for() {
    let reader = Reader::from_bytes(&ReaderFile::small().to_bytes(), Kernel::best()).unwrap();
    for (question, text) in [("a b c".repeat(9), "d e f".repeat(90)), ("a ".repeat(90), "b ".repeat(90))] {
        assert_eq!(reader.tokenize(&question, &text).tokens(), POSITIONS);
        assert_eq!(read(&reader, &[(&question, &text)]).len(), 1);
    }
}

/// The name of a tensor, what the error says, and how the tensor is changed.
type Contradiction = (&'static str, &'static str, fn(&mut Tensor));

#[test]
fn contradictions_in_the_file_are_named() {
    let cases: [Contradiction; 9] = [
        ("vocabulary", "no tensor `vocabulary`", |tensor| tensor.name = "words".to_owned()),
        ("vocabulary", "of type `I8`, not `U8`", |tensor| tensor.dtype = "I8"),
        ("vocabulary", "no piece `[SEP]`", |tensor| tensor.bytes[18..23].copy_from_slice(b"[sep]")),
        ("vocabulary", "is no text", |tensor| tensor.bytes[3] = 0xff),
        ("vocabulary", "more pieces than the model", |tensor| {
            tensor.bytes.extend(b"\nmore");
            tensor.shape[0] = tensor.bytes.len();
        }),
        ("head.bias", "`head.bias` holds 2 numbers, not 3", |tensor| {
            tensor.bytes.truncate(8);
            tensor.shape = vec![2];
        }),
        ("encoder.layer.1.output.dense.weight.scale", "no tensor `encoder.layer.1.output", |tensor| {
            tensor.name.push('s');
        }),
        ("embeddings.LayerNorm.weight", "multiples of 32", |tensor| {
            tensor.bytes.truncate(4 * 48);
            tensor.shape = vec![48];
        }),
        ("encoder.layer.0.attention.self.key.weight", "holds 2048 numbers, not 4096", |tensor| {
            tensor.bytes.truncate(2048);
            tensor.shape = vec![32, 64];
        }),
    ];
    for (name, message, change) in cases {
        let mut file = ReaderFile::small();
        change(file.tensor(name));
        let error = Reader::from_bytes(&file.to_bytes(), Kernel::best()).err().unwrap().to_string();
        assert!(error.contains(message), "`{error}` does not say `{message}`");
    }
}

#[test]
fn no_broken_file_brings_the_reader_down() {
    let file = ReaderFile::small();
    let (header, data) = file.parts();
    let mut readable = 0;
    let mut try_file = |bytes: &[u8]| {
        let Ok(reader) = Reader::from_bytes(bytes, Kernel::best()) else { return };
        readable += 1;
        let pair = reader.tokenize("what is it?", "it is [SEP] so");
        let readings = reader.read(&[&pair, &pair], &mut Scratch::default());
        assert_eq!((readings.len(), readings[1].tokens.len()), (2, readings[1].end.len()));
    };
    let whole = file.to_bytes();
    let tried = mutations(&whole, 1500, |bytes| try_file(&bytes));
    let tried = tried + mutations(header.as_bytes(), 3000, |header| try_file(&with_header(&header, &data)));
    (0..whole.len()).step_by(101).for_each(|len| {
        assert!(
            Reader::from_bytes(&whole[..len], Kernel::best()).is_err(),
            "{len} bytes are taken for a model"
        );
    });
    assert!((tried / 100..tried * 19 / 20).contains(&readable), "{readable} of {tried} were readable");
}
