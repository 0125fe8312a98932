//! The sentence encoder: turns texts into vectors of length 1.
//!
//! Texts are concatenated into batches of about 256 tokens, so that no product is too small and none is padded. One
//! thread takes a batch through all layers, with everything but the weights in its second-level cache.

mod attention;
mod weights;

use crate::ModelError;
use crate::elementwise;
use crate::kernel::{self, Aligned, BLOCK, Isa, Kernel, Pair, Session};
use crate::linear::{self, ByteMatrix, ByteRows, Rows, stride};
use crate::rescale::{Epilogue, Out};
use crate::simd::LANES;
use crate::tokenizer::WordPiece;
use attention::Head;
use std::ops::Range;
use std::path::Path;
use weights::{Config, LayerWeights, Norm, Weights};

/// Most tokens of a text that the model reads.
pub const MAX_TOKENS: usize = 256;
/// Columns of the feed-forward part that are computed together. Their weights stay in the second-level cache while
/// all blocks of rows pass by, each from its input bytes to its output sums.
const GROUP: usize = 384;

pub struct Encoder {
    kernel: Kernel,
    config: Config,
    tokenizer: WordPiece,
    fingerprint: String,
    word_embeddings: Vec<f32>,
    position_embeddings: Vec<f32>,
    embedding_norm: Norm,
    layers: Vec<Layer>,
}

struct Layer {
    query_key_value: ByteMatrix,
    attention_output: ByteMatrix,
    attention_norm: Norm,
    intermediate: ByteMatrix,
    /// The matrix in groups of its depth, whose results add up.
    output: Vec<ByteMatrix>,
    output_norm: Norm,
}

impl Layer {
    fn new(kernel: Kernel, weights: LayerWeights, config: &Config) -> Self {
        let hidden = config.hidden_size;
        let matrix =
            |linear: &weights::Linear, depth| ByteMatrix::new(kernel, &linear.weight, depth, &linear.bias);
        let together = weights::Linear::by_head([&weights.query, &weights.key, &weights.value], config.heads);
        let groups = weights.output.groups(config.intermediate_size, GROUP);
        Self {
            query_key_value: matrix(&together, hidden),
            attention_output: matrix(&weights.attention_output, hidden),
            attention_norm: weights.attention_norm,
            intermediate: matrix(&weights.intermediate, hidden),
            output: groups.iter().map(|(group, depth)| matrix(group, *depth)).collect(),
            output_norm: weights.output_norm,
        }
    }
}

impl Encoder {
    /// Loads a folder with `config.json`, `tokenizer.json` and `model.safetensors`.
    pub fn load(folder: &Path, kernel: Kernel) -> Result<Self, ModelError> {
        let weights = Weights::read(folder)?;
        let config = weights.config;
        Ok(Self {
            kernel,
            tokenizer: weights.tokenizer,
            fingerprint: weights.fingerprint,
            word_embeddings: weights.word_embeddings,
            position_embeddings: weights.position_embeddings,
            embedding_norm: weights.embedding_norm,
            layers: weights.layers.into_iter().map(|layer| Layer::new(kernel, layer, &config)).collect(),
            config,
        })
    }

    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// Returns the dimension of the vectors.
    pub fn dimension(&self) -> usize {
        self.config.hidden_size
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
        let layer = |layer: &Layer| {
            layer.query_key_value.resident_bytes()
                + layer.attention_output.resident_bytes()
                + layer.intermediate.resident_bytes()
                + layer.output.iter().map(ByteMatrix::resident_bytes).sum::<usize>()
        };
        4 * (self.word_embeddings.len() + self.position_embeddings.len())
            + self.layers.iter().map(layer).sum::<usize>()
    }

    /// Returns how many tokens of a text the model reads.
    pub fn window(&self) -> usize {
        MAX_TOKENS.min(self.config.max_position_embeddings)
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
        let session = self.kernel.session();
        let batch = Batch::new(texts);
        if batch.rows == 0 {
            return Vec::new();
        }
        scratch.fit(&self.config, batch.rows);
        self.embed_tokens(texts, scratch);
        for layer in &self.layers {
            self.attend(&session, layer, &batch, scratch);
            self.feed_forward(&session, layer, scratch);
        }
        batch.texts.iter().map(|rows| self.pool(rows.clone(), &scratch.hidden)).collect()
    }

    fn embed_tokens(&self, texts: &[Vec<u32>], scratch: &mut Scratch) {
        let hidden = self.config.hidden_size;
        let isa = self.kernel.0;
        let tokens = texts.iter().flat_map(|text| text.iter().copied().enumerate());
        for (row, (position, token)) in tokens.enumerate() {
            let values = &mut scratch.hidden[row * hidden..][..hidden];
            values.copy_from_slice(&self.word_embeddings[token as usize * hidden..][..hidden]);
            elementwise::add(isa, values, &self.position_embeddings[position * hidden..][..hidden]);
            self.embedding_norm.apply(isa, values);
            scratch.bytes.set(isa, row..row + 1, values, hidden, 1.0);
        }
    }

    fn attend(&self, session: &Session, layer: &Layer, batch: &Batch, scratch: &mut Scratch) {
        let Config { hidden_size: hidden, heads, .. } = self.config;
        let (dimension, isa) = (hidden / heads, session.isa());
        let (panels, apart) = (3 * dimension / BLOCK, stride(3 * dimension));
        for head in 0..heads {
            let (left, out) = (scratch.bytes.all(), Out { values: &mut scratch.inner, stride: apart });
            let panels = head * panels..(head + 1) * panels;
            let panels = layer.query_key_value.panels(panels);
            linear::product(isa, session, &left, panels, Epilogue::Set, out, &mut scratch.sums);
            for rows in &batch.texts {
                let values = &mut scratch.inner[rows.start * apart..rows.end * apart];
                scratch.head.set(session, dimension, values, apart);
                let context = &mut scratch.context[rows.start * hidden + head * dimension..];
                scratch.head.attend(session, Out { values: context, stride: hidden });
            }
        }
        scratch.other.reset(batch.rows, hidden);
        scratch.other.set_all(isa, &scratch.context[..batch.rows * hidden], hidden, 1.0);
        self.add_product(session, &layer.attention_output, 0, scratch);
        self.finish(isa, &layer.attention_norm, scratch);
    }

    fn feed_forward(&self, session: &Session, layer: &Layer, scratch: &mut Scratch) {
        let isa = session.isa();
        for (group, first) in layer.output.iter().zip((0..).step_by(GROUP)) {
            let width = group.depth();
            let panels = layer.intermediate.panels(first / BLOCK..(first + width) / BLOCK);
            for first in (0..scratch.bytes.rows()).step_by(BLOCK) {
                let rows = first..scratch.bytes.rows().min(first + BLOCK);
                let left = Rows { bytes: &scratch.bytes, range: rows.clone() };
                let out = Out { values: &mut scratch.inner, stride: stride(width) };
                linear::product(isa, session, &left, panels, Epilogue::Gelu, out, &mut scratch.sums);
                scratch.other.reset(rows.len(), width);
                scratch.other.set_all(isa, &scratch.inner, stride(width), 1.0);
                self.add_product(session, group, rows.start, scratch);
            }
        }
        self.finish(isa, &layer.output_norm, scratch);
    }

    /// Computes `hidden = hidden + other · matrix`, starting at a row.
    fn add_product(&self, session: &Session, matrix: &ByteMatrix, row: usize, scratch: &mut Scratch) {
        let mut out = Out { values: &mut scratch.hidden, stride: self.config.hidden_size };
        let (left, out) = (scratch.other.all(), out.at(row, 0));
        linear::product(session.isa(), session, &left, matrix.all(), Epilogue::Add, out, &mut scratch.sums);
    }

    /// Computes `hidden = norm(hidden)`, and `bytes` from it.
    fn finish(&self, isa: Isa, norm: &Norm, scratch: &mut Scratch) {
        let (hidden, rows) = (self.config.hidden_size, scratch.bytes.rows());
        for first in (0..rows).step_by(LANES) {
            let some = first..rows.min(first + LANES);
            let values = &mut scratch.hidden[some.start * hidden..some.end * hidden];
            values.chunks_exact_mut(hidden).for_each(|row| norm.apply(isa, row));
            scratch.bytes.set(isa, some, values, hidden, 1.0);
        }
    }

    /// Returns the mean of a text's rows, scaled to length 1.
    fn pool(&self, rows: Range<usize>, hidden: &[f32]) -> Vec<f32> {
        let width = self.config.hidden_size;
        let mut vector = vec![0.0; width];
        for row in rows {
            elementwise::add(self.kernel.0, &mut vector, &hidden[row * width..][..width]);
        }
        normalize(&mut vector);
        vector
    }
}

fn normalize(vector: &mut [f32]) {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt().max(1e-12);
    vector.iter_mut().for_each(|value| *value /= length);
}

impl Norm {
    fn apply(&self, isa: Isa, row: &mut [f32]) {
        elementwise::layer_norm(isa, row, &self.weight, &self.bias, self.epsilon);
    }
}

/// Concatenated texts.
struct Batch {
    rows: usize,
    texts: Vec<Range<usize>>,
}

impl Batch {
    fn new(texts: &[Vec<u32>]) -> Self {
        let mut rows = 0;
        let texts = texts
            .iter()
            .map(|text| {
                rows += text.len();
                rows - text.len()..rows
            })
            .collect();
        Self { rows, texts }
    }
}

/// The buffers for a batch; each thread keeps one.
pub struct Scratch {
    hidden: Aligned<f32>,
    /// The same as `hidden`, as bytes.
    bytes: ByteRows,
    /// The result of attention or of the feed-forward part, as bytes.
    other: ByteRows,
    head: Head,
    context: Aligned<f32>,
    inner: Aligned<f32>,
    sums: Box<Pair>,
    rows: usize,
}

impl Default for Scratch {
    fn default() -> Self {
        Self {
            hidden: Aligned::zeroed(0),
            bytes: ByteRows::new(),
            other: ByteRows::new(),
            head: Head::new(),
            context: Aligned::zeroed(0),
            inner: Aligned::zeroed(0),
            sums: kernel::pair(),
            rows: 0,
        }
    }
}

impl Scratch {
    fn fit(&mut self, config: &Config, rows: usize) {
        let dimension = config.hidden_size / config.heads;
        if rows > self.rows {
            self.rows = rows;
            self.hidden.reserve(rows * config.hidden_size);
            self.context.reserve(rows * config.hidden_size);
            self.inner.reserve((rows * stride(3 * dimension)).max(BLOCK * stride(GROUP)));
        }
        self.bytes.reset(rows, config.hidden_size);
    }
}
