//! The tokens of a GGUF file, and the few that have a meaning for the program.

use crate::ModelError;
use crate::gguf::Gguf;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    Text,
    Unknown,
    Control,
    UserDefined,
    Byte,
}

pub struct Vocabulary<'a> {
    pub tokens: Vec<&'a str>,
    pub kinds: Vec<TokenKind>,
}

/// Tokens with which models end their answer. Older files do not mark them as control tokens.
const ENDS: [&str; 7] =
    ["<|im_end|>", "<|eot_id|>", "<|endoftext|>", "</s>", "<|end|>", "<|end_of_text|>", "<end_of_turn>"];
const BEGINS: [&str; 3] = ["<|im_start|>", "<|start_header_id|>", "<|end_header_id|>"];

impl<'a> Vocabulary<'a> {
    pub fn read(gguf: &'a Gguf) -> Result<Self, ModelError> {
        let tokens = gguf.required_strings("tokenizer.ggml.tokens")?;
        if tokens.is_empty() || u32::try_from(tokens.len()).is_err() {
            return Err(ModelError::malformed(format!("a vocabulary of {} tokens", tokens.len())));
        }
        let types = gguf.i32s("tokenizer.ggml.token_type")?.unwrap_or_else(|| vec![1; tokens.len()]);
        if types.len() != tokens.len() {
            return Err(ModelError::malformed(format!(
                "{} token types for {} tokens",
                types.len(),
                tokens.len()
            )));
        }
        let kinds = tokens.iter().zip(types).map(|(token, number)| kind(token, number)).collect();
        Ok(Self { tokens, kinds })
    }

    /// Returns the token that the file names under this key.
    pub fn named(&self, gguf: &Gguf, key: &str) -> Result<Option<u32>, ModelError> {
        let Some(id) = gguf.u32(key)? else { return Ok(None) };
        if id as usize >= self.tokens.len() {
            return Err(ModelError::malformed(format!(
                "metadata `{key}` is {id}, of {} tokens",
                self.tokens.len()
            )));
        }
        Ok(Some(id))
    }

    pub fn ends(&self, gguf: &Gguf) -> Result<Vec<u32>, ModelError> {
        let mut ends: Vec<u32> =
            (0..).zip(&self.tokens).filter(|(_, token)| ENDS.contains(token)).map(|(id, _)| id).collect();
        for key in ["eos", "eot", "eom"] {
            ends.extend(self.named(gguf, &format!("tokenizer.ggml.{key}_token_id"))?);
        }
        ends.sort_unstable();
        ends.dedup();
        Ok(ends)
    }

    /// Returns the tokens that are recognised literally in a text. Those of a single character are left to the
    /// merges, since they could not be distinguished from user text.
    pub fn special(&self) -> impl Iterator<Item = (&'a str, u32)> {
        let all = (0..).zip(&self.tokens).zip(&self.kinds);
        all.filter(|((_, token), kind)| {
            matches!(kind, TokenKind::Control | TokenKind::UserDefined) && token.chars().nth(1).is_some()
        })
        .map(|((id, token), _)| (*token, id))
    }
}

fn kind(token: &str, number: i32) -> TokenKind {
    match number {
        2 => TokenKind::Unknown,
        3 => TokenKind::Control,
        4 => TokenKind::UserDefined,
        6 => TokenKind::Byte,
        _ if ENDS.contains(&token) || BEGINS.contains(&token) => TokenKind::Control,
        _ => TokenKind::Text,
    }
}
