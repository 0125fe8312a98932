//! The decoder's tokenizer, as its GGUF file describes it: text to tokens, and tokens to bytes.

use std::borrow::Cow;

use super::special::SpecialTokens;
use super::split::Splitter;
use super::vocabulary::{TokenKind, Vocabulary};
use super::{bpe, sentencepiece};
use crate::ModelError;
use crate::gguf::Gguf;

/// Inserted into user text that looks like a special token, so that it is not taken for one. Unicode reserves this
/// character for internal use, so no text has it.
pub const GUARD: char = '\u{fdd0}';

/// A vocabulary and the rules to split text into it.
#[derive(Debug)]
pub struct TextTokenizer {
    model: Model,
    special: SpecialTokens,
    pieces: Vec<u8>,
    piece_ends: Vec<usize>,
    bos: Option<u32>,
    ends: Vec<u32>,
}

#[derive(Debug)]
enum Model {
    BytePairs(bpe::BytePairs),
    SentencePiece(sentencepiece::SentencePiece),
}

impl TextTokenizer {
    pub fn from_gguf(gguf: &Gguf) -> Result<Self, ModelError> {
        let vocabulary = Vocabulary::read(gguf)?;
        let (model, adds_bos) = match gguf.required_string("tokenizer.ggml.model")? {
            "gpt2" => {
                let splitter = Splitter::named(gguf.string("tokenizer.ggml.pre")?)?;
                let merges = gguf.required_strings("tokenizer.ggml.merges")?;
                let model = bpe::BytePairs::new(splitter, &vocabulary.tokens, &merges)?;
                (Model::BytePairs(model), splitter == Splitter::Llama3)
            }
            "llama" => {
                let scores = gguf.required_f32s("tokenizer.ggml.scores")?;
                let unknown = vocabulary.named(gguf, "tokenizer.ggml.unknown_token_id")?;
                let space_first = gguf.bool("tokenizer.ggml.add_space_prefix")?.unwrap_or(true);
                let model = sentencepiece::SentencePiece::new(&vocabulary, scores, unknown, space_first)?;
                (Model::SentencePiece(model), true)
            }
            other => {
                return Err(ModelError::unsupported(format!(
                    "`tokenizer.ggml.model` is `{other}`: one of gpt2, llama"
                )));
            }
        };
        let adds_bos = gguf.bool("tokenizer.ggml.add_bos_token")?.unwrap_or(adds_bos);
        let bos = vocabulary.named(gguf, "tokenizer.ggml.bos_token_id")?.filter(|_| adds_bos);
        let (pieces, piece_ends) = pieces(&vocabulary, &model);
        Ok(Self {
            model,
            special: SpecialTokens::new(vocabulary.special()),
            pieces,
            piece_ends,
            bos,
            ends: vocabulary.ends(gguf)?,
        })
    }

    /// Returns the tokens of a text. With `special`, control and user-defined tokens in it are recognised.
    pub fn encode(&self, text: &str, special: bool) -> Vec<u32> {
        let mut tokens = Vec::new();
        let mut rest = text;
        let mut begins = true;
        while special && let Some((at, len, id)) = self.special.find(rest) {
            self.encode_plain(&rest[..at], begins, &mut tokens);
            tokens.push(id);
            rest = &rest[at + len..];
            begins = true;
        }
        self.encode_plain(rest, begins, &mut tokens);
        tokens
    }

    fn encode_plain(&self, text: &str, begins: bool, tokens: &mut Vec<u32>) {
        let text = match text.contains(GUARD) {
            true => Cow::Owned(text.replace(GUARD, "")),
            false => Cow::Borrowed(text),
        };
        if text.is_empty() {
            return;
        }
        match &self.model {
            Model::BytePairs(model) => model.encode(&text, tokens),
            Model::SentencePiece(model) => model.encode(&text, begins, tokens),
        }
    }

    /// Returns the bytes of a token. Empty for control tokens, and for numbers that are no token.
    pub fn piece(&self, id: u32) -> &[u8] {
        let id = id as usize;
        let Some(&end) = self.piece_ends.get(id) else { return &[] };
        let start = id.checked_sub(1).map_or(0, |before| self.piece_ends[before]);
        &self.pieces[start..end]
    }

    /// Returns whether the model ends its answer with this token.
    pub fn is_end(&self, id: u32) -> bool {
        self.ends.binary_search(&id).is_ok()
    }

    /// Returns the token that some models need before every text.
    pub fn bos(&self) -> Option<u32> {
        self.bos
    }

    /// Returns the number of tokens.
    pub fn len(&self) -> usize {
        self.piece_ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.piece_ends.is_empty()
    }

    /// Returns the text with nothing in it that could be taken for a special token: see [`GUARD`].
    pub fn guarded(&self, text: &str) -> String {
        let text = text.replace(GUARD, "");
        let mut guarded = String::with_capacity(text.len());
        for (at, character) in text.char_indices() {
            guarded.push(character);
            let rest = &text[at..];
            let found =
                self.special.may_begin_with(rest.as_bytes()[0]).then(|| self.special.at(rest)).flatten();
            // Special tokens of white space are harmless, and a guard would change the tokens around them.
            if found.is_some_and(|(len, _)| !rest[..len].trim().is_empty()) {
                guarded.push(GUARD);
            }
        }
        guarded
    }
}

fn pieces(vocabulary: &Vocabulary<'_>, model: &Model) -> (Vec<u8>, Vec<usize>) {
    let mut pieces = Vec::new();
    let mut ends = Vec::with_capacity(vocabulary.tokens.len());
    for (token, kind) in vocabulary.tokens.iter().zip(&vocabulary.kinds) {
        match (kind, model) {
            (TokenKind::Control | TokenKind::Unknown, _) => {}
            (TokenKind::UserDefined, _) => pieces.extend(token.as_bytes()),
            (_, Model::BytePairs(_)) => pieces.extend(bpe::token_bytes(token)),
            (_, Model::SentencePiece(_)) => pieces.extend(sentencepiece::token_bytes(token, *kind)),
        }
        ends.push(pieces.len());
    }
    (pieces, ends)
}
