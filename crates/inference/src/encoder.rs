//! The sentence encoder: turns texts into vectors of length 1.

pub use crate::bert::Scratch;

use crate::ModelError;
use crate::bert::{self, Bert, Input, Loaded};
use crate::elementwise;
use crate::kernel::Kernel;
use crate::tokenizer::WordPiece;
use std::ops::Range;
use std::path::Path;

/// Most tokens of a text that the model reads.
pub const MAX_TOKENS: usize = 256;

pub struct Encoder {
    bert: Bert,
    fingerprint: String,
    tokenizer: WordPiece,
}

impl Encoder {
    /// Loads a folder with `config.json`, `tokenizer.json` and `model.safetensors`.
    pub fn load(folder: &Path, kernel: Kernel) -> Result<Self, ModelError> {
        Self::load_with(folder, kernel, None)
    }

    /// Loads the model with its packed weights in the folder `cache`, which are made if they are not there.
    pub fn load_packed(folder: &Path, kernel: Kernel, cache: &Path) -> Result<Self, ModelError> {
        Self::load_with(folder, kernel, Some(cache))
    }

    fn load_with(folder: &Path, kernel: Kernel, cache: Option<&Path>) -> Result<Self, ModelError> {
        let (Loaded { bert, fingerprint }, tokenizer) = bert::load(folder, kernel, cache)?;
        Ok(Self { bert, fingerprint, tokenizer })
    }

    pub fn kernel(&self) -> Kernel {
        self.bert.kernel()
    }

    /// Returns the dimension of the vectors.
    pub fn dimension(&self) -> usize {
        self.bert.dimension()
    }

    /// Returns the SHA-256 of the weights' file in hex. Vectors of different fingerprints must not be compared.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    pub fn tokenizer(&self) -> &WordPiece {
        &self.tokenizer
    }

    /// Returns the bytes of weights held in memory.
    pub fn resident_bytes(&self) -> usize {
        self.bert.resident_bytes()
    }

    /// Returns how many tokens of a text the model reads.
    pub fn window(&self) -> usize {
        MAX_TOKENS.min(self.bert.max_tokens())
    }

    /// Returns how many tokens a text has, with those that mark its ends. The model may read fewer.
    pub fn count(&self, text: &str) -> usize {
        self.tokenizer.count(text) + self.tokenizer.markers()
    }

    /// Returns the tokens of a text, as many as the model reads.
    pub fn tokenize(&self, text: &str) -> Vec<u32> {
        self.tokenizer.encode(text, self.window())
    }

    /// Returns the vectors of a batch of texts, given as their tokens.
    pub fn embed(&self, texts: &[Vec<u32>], scratch: &mut Scratch) -> Vec<Vec<f32>> {
        let inputs: Vec<Input<'_>> =
            texts.iter().map(|tokens| Input { tokens, first: tokens.len() }).collect();
        let rows = self.bert.run(&inputs, scratch);
        rows.into_iter().map(|rows| self.pool(rows, scratch)).collect()
    }

    /// Returns the mean of a text's rows, scaled to length 1.
    fn pool(&self, rows: Range<usize>, scratch: &Scratch) -> Vec<f32> {
        let mut vector = vec![0.0; self.dimension()];
        for row in rows {
            elementwise::add(self.kernel().0, &mut vector, scratch.row(row, self.dimension()));
        }
        normalize(&mut vector);
        vector
    }
}

fn normalize(vector: &mut [f32]) {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt().max(1e-12);
    vector.iter_mut().for_each(|value| *value /= length);
}
