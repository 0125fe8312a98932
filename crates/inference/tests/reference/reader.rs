//! The reader in plain floats.

#[path = "bert.rs"]
mod bert;

use bert::{Bert, Linear};
use inference::reader::{MAX_PAIR_TOKENS, Reading};
use inference::safetensors::Safetensors;
use inference::tokenizer::WordPiece;

const WIDTH_OF_HEADS: usize = 32;
const MAX_QUESTION_TOKENS: usize = 96;

pub struct Reference {
    bert: Bert,
    head: Linear,
    tokenizer: WordPiece,
}

impl Reference {
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let file = Safetensors::from_bytes(bytes).unwrap();
        let width = file.tensor("embeddings.LayerNorm.weight").unwrap().1.len();
        Self {
            bert: Bert::read(&file, width / WIDTH_OF_HEADS),
            head: Linear::read(&file, "head"),
            tokenizer: WordPiece::from_vocabulary(file.bytes("vocabulary", "U8").unwrap().1).unwrap(),
        }
    }

    pub fn read(&self, question: &str, text: &str) -> Reading {
        let mut tokens = self.tokenizer.encode(question, MAX_QUESTION_TOKENS);
        let first = tokens.len();
        let (second, ranges) = self.tokenizer.encode_with_ranges(text, MAX_PAIR_TOKENS - first + 1);
        tokens.extend(&second[1..]);
        let outputs = self.head.all(&self.bert.vectors(&tokens, first));
        let of_text =
            |output: usize| outputs[first..][..ranges.len()].iter().map(|all| all[output]).collect();
        Reading {
            start: of_text(0),
            end: of_text(1),
            nothing: outputs[0][0] + outputs[0][1],
            relevance: outputs[0][2],
            tokens: ranges,
        }
    }
}
