//! The cross-encoder: reads a question and a text together and says how well the text answers the question.

use crate::ModelError;
use crate::arrays::Array;
use crate::bert::{self, Bert, Input, Linear, Scratch};
use crate::kernel::Kernel;
use crate::packed::{Packed, Reader, Writer};
use crate::tokenizer::WordPiece;
use std::io;
use std::path::Path;

/// Most tokens of a question and a text together.
pub const MAX_PAIR_TOKENS: usize = 384;
/// Most tokens of the question alone.
const MAX_QUESTION_TOKENS: usize = 96;

pub struct Reranker {
    bert: Bert,
    head: Head,
    tokenizer: WordPiece,
}

/// What makes a score of the first token's vector.
struct Head {
    pooler: Dense,
    classifier: Dense,
}

/// The tokens of a question and a text.
pub struct Pair {
    tokens: Vec<u32>,
    /// How many of them are the question's.
    first: usize,
}

impl Pair {
    /// Returns how many tokens the model reads.
    pub fn tokens(&self) -> usize {
        self.tokens.len()
    }
}

/// A layer of floats, for a single row.
struct Dense {
    weight: Array<f32>,
    bias: Array<f32>,
}

impl Reranker {
    /// Loads a folder with `tokenizer.json` and `model.onnx`.
    pub fn load(folder: &Path, kernel: Kernel) -> Result<Self, ModelError> {
        Self::load_with(folder, kernel, None)
    }

    /// Loads the model with its packed weights in the folder `cache`, which are made if they are not there.
    pub fn load_packed(folder: &Path, kernel: Kernel, cache: &Path) -> Result<Self, ModelError> {
        Self::load_with(folder, kernel, Some(cache))
    }

    fn load_with(folder: &Path, kernel: Kernel, cache: Option<&Path>) -> Result<Self, ModelError> {
        let (bert, head, tokenizer) = bert::load(folder, kernel, cache, |file, hidden| {
            Ok(Head {
                pooler: file.linear("pooler.dense", hidden, hidden)?.into(),
                classifier: file.linear("classifier", 1, hidden)?.into(),
            })
        })?;
        Ok(Self { bert, head, tokenizer })
    }

    pub fn kernel(&self) -> Kernel {
        self.bert.kernel()
    }

    /// Returns the tokens of a pair, as many as the model reads.
    pub fn tokenize(&self, question: &str, text: &str) -> Pair {
        let most = MAX_PAIR_TOKENS.min(self.bert.max_tokens());
        let mut tokens = self.tokenizer.encode(question, MAX_QUESTION_TOKENS.min(most));
        let first = tokens.len();
        // The second text has no token before it.
        let second = self.tokenizer.encode(text, most - first + 1);
        tokens.extend(&second[1..]);
        Pair { tokens, first }
    }

    /// Returns a logit for each pair: above 0, the text answers the question rather than not.
    pub fn score(&self, pairs: &[&Pair], scratch: &mut Scratch) -> Vec<f32> {
        let inputs: Vec<Input<'_>> =
            pairs.iter().map(|pair| Input { tokens: &pair.tokens, first: pair.first }).collect();
        let rows = self.bert.run(&inputs, scratch);
        rows.into_iter().map(|rows| self.classify(scratch.row(rows.start, self.bert.dimension()))).collect()
    }

    fn classify(&self, first_token: &[f32]) -> f32 {
        let pooled: Vec<f32> = self.head.pooler.times(first_token).map(f32::tanh).collect();
        self.head.classifier.times(&pooled).next().unwrap_or_default()
    }
}

impl From<Linear> for Dense {
    fn from(linear: Linear) -> Self {
        Self { weight: linear.weight.as_slice().into(), bias: linear.bias.as_slice().into() }
    }
}

impl Packed for Head {
    fn write(&self, to: &mut Writer) -> io::Result<()> {
        for dense in [&self.pooler, &self.classifier] {
            to.put(&dense.weight)?;
            to.put(&dense.bias)?;
        }
        Ok(())
    }

    fn read(from: &mut Reader) -> Result<Self, ModelError> {
        let mut dense = || Ok::<_, ModelError>(Dense { weight: from.take()?, bias: from.take()? });
        Ok(Self { pooler: dense()?, classifier: dense()? })
    }
}

impl Dense {
    fn times<'a>(&'a self, row: &'a [f32]) -> impl Iterator<Item = f32> + 'a {
        let output = move |(weights, bias): (&[f32], &f32)| {
            bias + weights.iter().zip(row).map(|(weight, value)| weight * value).sum::<f32>()
        };
        self.weight.chunks_exact(row.len()).zip(self.bias.iter()).map(output)
    }
}
