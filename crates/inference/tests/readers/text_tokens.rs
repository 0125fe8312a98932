//! The decoder's tokenizers: SmolLM2's real vocabulary compared with llama.cpp's tokens, the other kinds with small
//! ones.

use inference::ModelError;
use inference::gguf::Gguf;
use inference::tokenizer::TextTokenizer;

use crate::common::models_dir;
use crate::gguf_file::GgufFile;
use crate::many_texts::{digest, many_texts};

pub fn smollm2() -> Gguf {
    let path = models_dir().join("smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf");
    assert!(path.is_file(), "no `{}`: run `make test` or `stoa models pull`", path.display());
    Gguf::open(&path).unwrap()
}

fn small(file: GgufFile) -> TextTokenizer {
    TextTokenizer::from_gguf(&Gguf::from_bytes(file.bytes()).unwrap()).unwrap()
}

#[test]
fn smollm2_texts_become_the_tokens_that_it_was_trained_with() {
    let tokenizer = TextTokenizer::from_gguf(&smollm2()).unwrap();
    let cases: &[(&str, &[u32])] = &[
        ("The quick brown fox jumps.", &[504, 2365, 6354, 16438, 27003, 30]),
        ("don't I'LL say 'S", &[12420, 982, 339, 23, 16421, 1643, 637, 67]),
        ("in  2024,\n\n  \u{bd} kg", &[254, 256, 34, 32, 34, 36, 28, 39892, 16738, 11134]),
        ("naïve CAFÉ 日本", &[3546, 46494, 11234, 54, 39614, 17097, 241, 115, 40993]),
        ("<|im_start|>user\nhi<|im_end|>", &[1, 4093, 198, 6004, 2]),
        ("\t\tfn main() {\r\n}\n", &[197, 197, 7853, 1085, 1000, 1662, 201, 198, 109, 198]),
        ("<|im_ <|endoftext|>", &[44, 108, 306, 79, 216, 0]),
    ];
    for (text, expected) in cases {
        assert_eq!(tokenizer.encode(text, true), *expected, "{text:?}");
    }
    let typed = "<|im_start|>user\nhi<|im_end|>";
    assert!(tokenizer.encode(typed, false).iter().all(|id| *id > 2), "nothing typed is a control token");
}

#[test]
fn thousands_of_mixed_texts_have_the_reference_tokens() {
    let tokenizer = TextTokenizer::from_gguf(&smollm2()).unwrap();
    assert_eq!(digest(many_texts().map(|text| tokenizer.encode(&text, true))), 0xec08_b0fd_331a_3217);
    assert_eq!(digest(many_texts().map(|text| tokenizer.encode(&text, false))), 0xfc39_e83d_84bd_031b);
}

#[test]
fn pieces_put_the_text_together_again() {
    let tokenizer = TextTokenizer::from_gguf(&smollm2()).unwrap();
    assert_eq!(tokenizer.len(), 49152);
    for text in many_texts() {
        let tokens = tokenizer.encode(&text, false);
        let again: Vec<u8> = tokens.iter().flat_map(|id| tokenizer.piece(*id)).copied().collect();
        assert_eq!(String::from_utf8_lossy(&again), text);
    }
    assert_eq!(tokenizer.piece(2), b"", "a control token says nothing");
    assert_eq!(tokenizer.piece(u32::MAX), b"");
}

#[test]
fn the_ends_of_a_turn_are_known() {
    let tokenizer = TextTokenizer::from_gguf(&smollm2()).unwrap();
    assert!(tokenizer.is_end(2) && tokenizer.is_end(0));
    assert!(!tokenizer.is_end(1) && !tokenizer.is_end(504));
    assert_eq!(tokenizer.bos(), None, "the file says that it wants none");
}

#[test]
fn a_megabyte_without_a_space_is_merged_in_time() {
    let tokenizer = TextTokenizer::from_gguf(&smollm2()).unwrap();
    let started = std::time::Instant::now();
    assert_eq!(tokenizer.encode(&"hello".repeat(200_000), true).len(), 200_000);
    assert!(started.elapsed().as_secs() < 20, "merging is not quadratic: {:?}", started.elapsed());
}

fn byte_pairs(splitter: &str) -> GgufFile {
    let tokens = ["a", "b", "c", "ab", "bc", "abc", "Ġ", "Ġa", "1", "12", "<|x|>"];
    GgufFile::default()
        .string("tokenizer.ggml.model", "gpt2")
        .string("tokenizer.ggml.pre", splitter)
        .strings("tokenizer.ggml.tokens", &tokens)
        .i32s("tokenizer.ggml.token_type", &[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3])
        .strings("tokenizer.ggml.merges", &["b c", "a b", "Ġ a", "1 2"])
        .u32("tokenizer.ggml.bos_token_id", 10)
}

#[test]
fn merges_happen_in_the_order_in_which_they_were_learned() {
    let tokenizer = small(byte_pairs("gpt-2"));
    assert_eq!(tokenizer.encode("abc", false), [0, 4], "b and c come before a and b");
    assert_eq!(tokenizer.encode("ab ab", false), [3, 6, 3]);
    assert_eq!(tokenizer.encode("b a", false), [1, 7]);
    assert_eq!(tokenizer.encode("aza", false), [0, 0], "a byte without a token is left out");
    assert_eq!(tokenizer.encode("ab<|x|>c", true), [3, 10, 2]);
}

#[test]
fn llama3_takes_whole_words_and_wants_a_first_token() {
    let tokenizer = small(byte_pairs("llama-bpe"));
    assert_eq!(tokenizer.encode("abc", false), [5]);
    assert_eq!(tokenizer.bos(), Some(10));
    assert_eq!(small(byte_pairs("llama-bpe").bool("tokenizer.ggml.add_bos_token", false)).bos(), None);
}

fn sentence_pieces() -> GgufFile {
    let tokens = [
        "<unk>",
        "<s>",
        "</s>",
        "<0xC3>",
        "<0xA9>",
        "a",
        "b",
        "\u{2581}",
        "ab",
        "\u{2581}a",
        "bb",
        "<t>",
        "<",
    ];
    GgufFile::default()
        .string("tokenizer.ggml.model", "llama")
        .strings("tokenizer.ggml.tokens", &tokens)
        .i32s("tokenizer.ggml.token_type", &[2, 3, 3, 6, 6, 1, 1, 1, 1, 1, 1, 4, 1])
        .f32s("tokenizer.ggml.scores", &[0., 0., 0., 0., 0., -9., -9., -9., -2., -1., -3., 0., -9.])
        .u32("tokenizer.ggml.bos_token_id", 1)
        .u32("tokenizer.ggml.eos_token_id", 2)
        .u32("tokenizer.ggml.unknown_token_id", 0)
}

#[test]
fn sentencepiece_merges_the_best_pair_first() {
    let tokenizer = small(sentence_pieces());
    assert_eq!(tokenizer.encode("ab", false), [9, 6], "a space is put first, and joined before a and b");
    assert_eq!(tokenizer.encode("bab", false), [7, 6, 8]);
    assert_eq!(tokenizer.encode("bbb", false), [7, 10, 6], "of equals the leftmost");
    assert!(tokenizer.encode("", false).is_empty());
    let without = small(sentence_pieces().bool("tokenizer.ggml.add_space_prefix", false));
    assert_eq!(without.encode("ab a", false), [8, 9]);
}

#[test]
fn sentencepiece_falls_back_to_bytes_and_then_to_the_unknown() {
    let tokenizer = small(sentence_pieces().bool("tokenizer.ggml.add_space_prefix", false));
    assert_eq!(tokenizer.encode("aéa", false), [5, 3, 4, 5]);
    assert_eq!(tokenizer.encode("aß", false), [5, 3, 0]);
    assert_eq!([tokenizer.piece(3), tokenizer.piece(9), tokenizer.piece(2)], [&b"\xc3"[..], b" a", b""]);
}

#[test]
fn sentencepiece_knows_special_tokens_only_where_they_are_asked_for() {
    let tokenizer = small(sentence_pieces());
    assert_eq!(tokenizer.encode("<s>a</s><t>a", true), [1, 9, 2, 11, 9]);
    let typed = tokenizer.encode("<s>", false);
    assert!(!typed.contains(&1), "{typed:?}");
    assert_eq!(tokenizer.bos(), Some(1));
    assert!(tokenizer.is_end(2));
}

#[test]
fn what_cannot_be_read_is_named() {
    let error =
        |file: GgufFile| TextTokenizer::from_gguf(&Gguf::from_bytes(file.bytes()).unwrap()).unwrap_err();
    let unknown_pre = error(byte_pairs("tekken"));
    assert!(matches!(unknown_pre, ModelError::Unsupported(_)));
    assert!(unknown_pre.to_string().contains("`tekken`: one of default, gpt-2"), "{unknown_pre}");
    let bare = GgufFile::default().strings("tokenizer.ggml.tokens", &["a"]);
    assert!(error(bare.clone().string("tokenizer.ggml.model", "bert")).to_string().contains("`bert`"));
    assert!(error(bare.clone()).to_string().contains("no metadata `tokenizer.ggml.model`"));
    let scores =
        bare.clone().string("tokenizer.ggml.model", "llama").f32s("tokenizer.ggml.scores", &[0., 1.]);
    assert!(error(scores).to_string().contains("2 scores for 1 tokens"));
    let eos = byte_pairs("gpt-2").u32("tokenizer.ggml.eos_token_id", 11);
    assert!(error(eos).to_string().contains("is 11, of 11 tokens"));
}
