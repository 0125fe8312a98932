//! The language model: Llama's architecture and Qwen2's, from a GGUF file.
//!
//! A prompt is read many tokens at a time with the byte products of `linear`, its rows split over threads. Text is
//! written one token of each sequence at a time with `blocks`, the columns split over threads.

mod attention;
mod config;
mod load;
mod read;
mod rope;
mod sampler;
mod write;

pub use sampler::{Sampler, Sampling};

use crate::arrays::Array;
use crate::blocks::BlockMatrix;
use crate::chat_template::ChatTemplate;
use crate::kernel::Kernel;
use crate::tokenizer::TextTokenizer;
use attention::KeyValues;
use config::Config;

pub struct Decoder {
    kernel: Kernel,
    config: Config,
    tokenizer: TextTokenizer,
    template: ChatTemplate,
    weights: Weights,
}

struct Weights {
    /// The SHA-256 of the model's file in hex.
    fingerprint: String,
    embeddings: BlockMatrix,
    layers: Vec<Layer>,
    output_norm: Array<f32>,
    /// None if the embeddings also serve as output.
    output: Option<BlockMatrix>,
}

struct Layer {
    attention_norm: Array<f32>,
    query: BlockMatrix,
    key: BlockMatrix,
    value: BlockMatrix,
    /// What is added to queries, keys and values; empty where a model has none.
    biases: [Array<f32>; 3],
    attention_output: BlockMatrix,
    feed_forward_norm: Array<f32>,
    gate: BlockMatrix,
    up: BlockMatrix,
    down: BlockMatrix,
}

impl Layer {
    fn matrices(&self) -> [&BlockMatrix; 7] {
        [&self.query, &self.key, &self.value, &self.attention_output, &self.gate, &self.up, &self.down]
    }
}

impl Decoder {
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    pub fn tokenizer(&self) -> &TextTokenizer {
        &self.tokenizer
    }

    pub fn template(&self) -> &ChatTemplate {
        &self.template
    }

    /// Returns the most tokens of prompt and answer together.
    pub fn context(&self) -> usize {
        self.config.context
    }

    /// Returns the SHA-256 of the model's file in hex.
    pub fn fingerprint(&self) -> &str {
        &self.weights.fingerprint
    }

    /// Returns the bytes of weights held in memory.
    pub fn resident_bytes(&self) -> usize {
        self.matrices().map(BlockMatrix::resident_bytes).sum()
    }

    /// Returns the number of parameters.
    pub fn parameters(&self) -> usize {
        self.matrices().map(BlockMatrix::weights).sum()
    }

    fn matrices(&self) -> impl Iterator<Item = &BlockMatrix> {
        let Weights { layers, embeddings, output, .. } = &self.weights;
        layers.iter().flat_map(Layer::matrices).chain([embeddings]).chain(output)
    }

    /// Creates a sequence for at most `capacity` tokens.
    pub fn sequence(&self, capacity: usize) -> Sequence {
        let head = || KeyValues::new(self.config.head_dimension, capacity);
        let layer = || (0..self.config.key_heads).map(|_| head()).collect();
        Sequence { past: (0..self.config.layers).map(|_| layer()).collect(), tokens: Vec::new(), capacity }
    }

    fn output(&self) -> &BlockMatrix {
        self.weights.output.as_ref().unwrap_or(&self.weights.embeddings)
    }
}

/// A text that is being read or written, with the keys and values of its tokens.
pub struct Sequence {
    /// `[layer][key head]`
    past: Vec<Vec<KeyValues>>,
    tokens: Vec<u32>,
    capacity: usize,
}

impl Sequence {
    #[expect(clippy::len_without_is_empty, reason = "no caller needs it")]
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Takes the first `len` tokens of another sequence with their keys and values.
    pub(crate) fn begin_with(&mut self, other: &Self, len: usize) {
        for (layer, other) in self.past.iter_mut().zip(&other.past) {
            for (head, other) in layer.iter_mut().zip(other) {
                head.copy_from(other, len);
            }
        }
        self.tokens.clear();
        self.tokens.extend_from_slice(&other.tokens[..len]);
    }

    pub(crate) fn resident_bytes(&self) -> usize {
        self.past.iter().flatten().map(KeyValues::resident_bytes).sum()
    }
}
