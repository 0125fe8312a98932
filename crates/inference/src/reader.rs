//! The reader: reads a question and a text together and says where the text answers the question, if it does.

use crate::ModelError;
use crate::bert::{Bert, Config, Input, Linear, Scratch, TensorFile};
use crate::kernel::Kernel;
use crate::scan::product;
use crate::tokenizer::WordPiece;
use std::ops::Range;

/// Most tokens of a question and a text together.
pub const MAX_PAIR_TOKENS: usize = 384;
/// Most tokens of the question alone.
const MAX_QUESTION_TOKENS: usize = 96;

/// Outputs of the head: `start` and `end`, which each token has, then `relevance`, which only the first token has.
const RELEVANCE: usize = 2;
const OUTPUTS: usize = RELEVANCE + 1;

pub struct Reader {
    bert: Bert,
    /// A row for each output.
    head: Linear,
    tokenizer: WordPiece,
}

/// The tokens of a question and a text.
pub struct Pair {
    tokens: Vec<u32>,
    /// How many of them are the question's.
    first: usize,
    /// Where in the text its tokens come from, without the token after it.
    ranges: Vec<Range<usize>>,
}

/// What the model says about a question and a text. All numbers but the ranges are logits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// The bytes in the text of each of its tokens that was read, in order and on boundaries of characters. Tokens of
    /// one character have the same range.
    pub tokens: Vec<Range<usize>>,
    /// For each of these tokens, whether an answer starts with it.
    pub start: Vec<f32>,
    /// For each of these tokens, whether an answer ends with it.
    pub end: Vec<f32>,
    /// The start and the end at the first token of all, added: the text has no answer.
    pub nothing: f32,
    /// How well the text goes with the question, to order texts by it.
    pub relevance: f32,
}

impl Pair {
    /// Returns how many tokens the model reads.
    pub fn tokens(&self) -> usize {
        self.tokens.len()
    }
}

impl Reader {
    /// Loads a safetensors file with the weights, the head and the vocabulary.
    pub fn from_bytes(bytes: &[u8], kernel: Kernel) -> Result<Self, ModelError> {
        let file = TensorFile::from_bytes(bytes)?;
        let config = Config::of_tensors(&file)?;
        let tokenizer = WordPiece::from_vocabulary(file.bytes("vocabulary")?)?;
        if tokenizer.len() > config.vocabulary {
            return Err(ModelError::malformed("the vocabulary has more pieces than the model"));
        }
        let head = file.linear("head", OUTPUTS, config.hidden_size)?;
        Ok(Self { bert: Bert::new(kernel, &file, config)?, head, tokenizer })
    }

    pub fn kernel(&self) -> Kernel {
        self.bert.kernel()
    }

    /// Returns the bytes of weights held in memory.
    pub fn resident_bytes(&self) -> usize {
        self.bert.resident_bytes()
    }

    /// Returns the tokens of a pair, as many as the model reads.
    pub fn tokenize(&self, question: &str, text: &str) -> Pair {
        let most = MAX_PAIR_TOKENS.min(self.bert.max_tokens());
        let mut tokens = self.tokenizer.encode(question, MAX_QUESTION_TOKENS.min(most));
        let first = tokens.len();
        // The text has no token before it.
        let (second, ranges) = self.tokenizer.encode_with_ranges(text, most - first + 1);
        tokens.extend(&second[1..]);
        Pair { tokens, first, ranges }
    }

    /// Reads a batch of pairs.
    pub fn read(&self, pairs: &[&Pair], scratch: &mut Scratch) -> Vec<Reading> {
        let inputs: Vec<Input<'_>> =
            pairs.iter().map(|pair| Input { tokens: &pair.tokens, first: pair.first }).collect();
        let rows = self.bert.run(&inputs, scratch);
        rows.into_iter().zip(pairs).map(|(rows, pair)| self.reading(rows.start, pair, scratch)).collect()
    }

    /// Applies the head to the vectors of a pair, which begin at a row.
    fn reading(&self, row: usize, pair: &Pair, scratch: &Scratch) -> Reading {
        let output = |row, output| self.output(output, scratch.row(row, self.bert.dimension()));
        let text = row + pair.first..row + pair.first + pair.ranges.len();
        let of_text = |of| text.clone().map(|token| output(token, of)).collect();
        Reading {
            tokens: pair.ranges.clone(),
            start: of_text(0),
            end: of_text(1),
            nothing: output(row, 0) + output(row, 1),
            relevance: output(row, RELEVANCE),
        }
    }

    fn output(&self, output: usize, vector: &[f32]) -> f32 {
        let weights = &self.head.weight[output * vector.len()..][..vector.len()];
        product(self.kernel(), weights, vector) + self.head.bias[output]
    }
}
