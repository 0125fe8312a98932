//! The encoder's tokenizer with the real vocabulary, compared with the tokens of Hugging Face's implementation.

use inference::ModelError;
use inference::tokenizer::WordPiece;
use serde_json::Value;

use crate::common::models_dir;
use crate::many_texts::{digest, many_texts};

const CLS: u32 = 101;
const SEP: u32 = 102;

fn tokenizer_json() -> Vec<u8> {
    let path = models_dir().join("all-minilm-l6-v2/tokenizer.json");
    assert!(path.is_file(), "no `{}`: run `make test` or `stoa models pull`", path.display());
    std::fs::read(&path).unwrap()
}

pub fn tokenizer() -> WordPiece {
    WordPiece::from_json(&tokenizer_json()).unwrap()
}

/// Returns the pieces of the vocabulary in the order of their ids.
pub fn pieces() -> Vec<String> {
    let file: Value = serde_json::from_slice(&tokenizer_json()).unwrap();
    let vocabulary = file["model"]["vocab"].as_object().unwrap();
    let mut pieces = vec![String::new(); vocabulary.len()];
    vocabulary.iter().for_each(|(piece, id)| pieces[id.as_u64().unwrap() as usize] = piece.clone());
    pieces
}

#[test]
fn texts_become_the_tokens_that_the_model_was_trained_with() {
    let tokenizer = tokenizer();
    let longest_word = "x".repeat(100);
    let too_long_word = "x".repeat(101);
    let longest_word_tokens = [&[22038][..], &[20348; 49]].concat();
    let cases: &[(&str, &[u32])] = &[
        ("The quick brown fox", &[1996, 4248, 2829, 4419]),
        ("Überraschung, naïve CAFÉ!", &[19169, 8180, 20760, 3070, 1010, 15743, 7668, 999]),
        ("don't [SEP] [mask] [MASK]x", &[2123, 1005, 1056, 102, 1031, 7308, 1033, 103, 1060]),
        ("日本語 한국어", &[1864, 1876, 1950, 1469, 30006, 30021, 29991, 30014, 30020, 29999, 30008]),
        ("a\0b\u{200b}c\u{a0}d\te", &[5925, 1040, 1041]),
        ("e\u{301}\u{301}te\u{301}", &[3802, 2063]),
        ("ﬁne \u{bd} \u{b2} \u{2167}", &[1984, 2638, 1092, 1082, 100]),
        ("İstanbul ΣΑΣ ẞ", &[9960, 1173, 14608, 29733, 1096]),
        ("\u{1f469}\u{200d}\u{1f467} \u{1f1e9}\u{1f1ea} ok", &[100, 100, 7929]),
        (
            "unaffable antidisestablishmentarianism",
            &[14477, 20961, 3468, 3424, 10521, 4355, 7875, 13602, 3672, 12199, 2964],
        ),
        (&longest_word, &longest_word_tokens),
        (&too_long_word, &[100]),
        ("$3.50-4%", &[1002, 1017, 1012, 2753, 1011, 1018, 1003]),
        ("", &[]),
        ("   ", &[]),
        ("\u{37e}\u{1fef} \u{2028}x", &[1025, 1036, 1060]),
        ("مرحبا שלום", &[1295, 17149, 29820, 29816, 25573, 1266, 29799, 29792, 29800]),
        ("##ing", &[1001, 1001, 13749]),
    ];
    for (text, expected) in cases {
        assert_eq!(tokenizer.encode(text, 512), [&[CLS][..], expected, &[SEP]].concat(), "{text:?}");
        assert_eq!(tokenizer.count(text), expected.len(), "{text:?}");
        assert_eq!(tokenizer.markers(), 2, "{text:?}");
    }
}

#[test]
fn thousands_of_mixed_texts_have_the_reference_tokens() {
    let tokenizer = tokenizer();
    assert_eq!(digest(many_texts().map(|text| tokenizer.encode(&text, usize::MAX))), 0x0451_ac24_370e_6b62);
}

#[test]
fn a_plain_vocabulary_gives_the_same_tokens() {
    let tokenizer = WordPiece::from_vocabulary(pieces().join("\n").as_bytes()).unwrap();
    assert_eq!(tokenizer.len(), 30522);
    assert_eq!(digest(many_texts().map(|text| tokenizer.encode(&text, usize::MAX))), 0x0451_ac24_370e_6b62);
    assert_eq!(tokenizer.encode(&"x".repeat(101), 9), [CLS, 100, SEP]);
    for (vocabulary, expected) in [
        (&b"[PAD]\n[UNK]\n[CLS]\n[MASK]"[..], "no piece `[SEP]`"),
        (b"", "no piece `[CLS]`"),
        (b"[PAD]\n\xff", "the vocabulary is no text"),
    ] {
        let error = WordPiece::from_vocabulary(vocabulary).unwrap_err().to_string();
        assert!(error.contains(expected), "`{error}` does not say `{expected}`");
    }
}

#[test]
fn every_character_has_the_reference_tokens() {
    let tokenizer = tokenizer();
    let texts = ('\0'..=char::MAX).map(|c| format!("a{c}b {c}{c}"));
    assert_eq!(digest(texts.map(|text| tokenizer.encode(&text, usize::MAX))), 0x8e55_0356_9707_72b8);
}

#[test]
fn long_texts_are_cut_to_the_limit() {
    let tokenizer = tokenizer();
    let all = tokenizer.encode("one two unaffable three", 512);
    assert_eq!(all.len(), 8);
    for limit in 2..8 {
        let cut = tokenizer.encode("one two unaffable three", limit);
        assert_eq!(cut, [&all[..limit - 1], &[SEP]].concat(), "at most {limit}");
    }
    assert_eq!(tokenizer.encode("one", 1), [SEP]);
    assert!(tokenizer.encode("one", 0).is_empty());
    assert_eq!(tokenizer.encode(&"word ".repeat(2_000_000), 256).len(), 256);
}

#[test]
fn the_vocabulary_has_as_many_tokens_as_the_embedding_has_rows() {
    assert_eq!(tokenizer().len(), 30522);
}

#[test]
fn other_kinds_of_tokenizer_are_named() {
    let json = String::from_utf8(tokenizer_json()).unwrap();
    let error = |from: &str, to: &str| {
        assert!(json.contains(from), "{from}");
        WordPiece::from_json(json.replacen(from, to, 1).as_bytes()).unwrap_err()
    };
    let unsupported = error("\"BertNormalizer\"", "\"NFC\"");
    assert!(matches!(unsupported, ModelError::Unsupported(_)));
    assert!(unsupported.to_string().contains("normalizer `NFC`: `BertNormalizer` is read"), "{unsupported}");
    assert!(error("\"lstrip\":false", "\"lstrip\":true").to_string().contains("`lstrip`"));
    assert!(error("\"[UNK]\":100", "\"[UNKNOWN]\":100").to_string().contains("no token `[UNK]`"));
    assert!(matches!(WordPiece::from_json(b"{}").unwrap_err(), ModelError::Malformed(_)));
}
