//! The layers of BERT, which the encoder and the reader share: from tokens to a vector for each of them.
//!
//! Texts are concatenated into batches of about 256 tokens, so that no product is too small and none is padded. One
//! thread takes a batch through all layers, with everything but the weights in its second-level cache.

mod attention;
mod load;
mod weights;

pub(crate) use load::{Loaded, load};
pub(crate) use weights::{Config, Linear, TensorFile};

use crate::ModelError;
use crate::arrays::Array;
use crate::elementwise;
use crate::kernel::{self, Aligned, BLOCK, Isa, Kernel, Pair, Session};
use crate::linear::{self, ByteMatrix, ByteRows, Rows, stride};
use crate::rescale::{Epilogue, Out};
use crate::simd::LANES;
use attention::Head;
use std::ops::Range;
use weights::{LayerWeights, Matrix, Norm};

/// Columns of the feed-forward part that are computed together. Their weights stay in the second-level cache while
/// all blocks of rows pass by, each from its input bytes to its output sums.
const GROUP: usize = 384;

/// A model without its head.
pub(crate) struct Bert {
    kernel: Kernel,
    config: Config,
    word_embeddings: WordEmbeddings,
    /// For tokens of the first and of the second text.
    position_embeddings: [Array<f32>; 2],
    embedding_norm: Norm,
    layers: Vec<Layer>,
}

/// A vector for each token, as precise as the file has it.
enum WordEmbeddings {
    Floats(Array<f32>),
    /// With a scale for each token.
    Bytes {
        bytes: Array<i8>,
        scales: Array<f32>,
    },
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
        let matrix = |linear: &Linear, depth| {
            ByteMatrix::new(kernel, &linear.weight, depth, &linear.bias, &linear.scales)
        };
        let together = Linear::by_head([&weights.query, &weights.key, &weights.value], config.heads);
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

/// One text, or two that are read together.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    pub tokens: &'a [u32],
    /// How many of the tokens belong to the first text.
    pub first: usize,
}

impl Bert {
    pub fn new(kernel: Kernel, file: &TensorFile<'_>, config: Config) -> Result<Self, ModelError> {
        let layer = |index| Ok(Layer::new(kernel, file.layer(index, &config)?, &config));
        let positions = file.position_embeddings(&config)?;
        Ok(Self {
            kernel,
            word_embeddings: file.word_embeddings(&config)?.into(),
            position_embeddings: positions.map(|positions| positions.as_slice().into()),
            embedding_norm: file.embedding_norm(&config)?,
            layers: (0..config.layers).map(layer).collect::<Result<_, ModelError>>()?,
            config,
        })
    }

    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// Returns the dimension of a token's vector.
    pub fn dimension(&self) -> usize {
        self.config.hidden_size
    }

    /// Returns how many tokens the model knows.
    pub fn vocabulary(&self) -> usize {
        self.config.vocabulary
    }

    pub fn max_tokens(&self) -> usize {
        self.config.max_position_embeddings
    }

    /// Returns the bytes of weights held in memory.
    pub fn resident_bytes(&self) -> usize {
        let layer = |layer: &Layer| {
            layer.query_key_value.resident_bytes()
                + layer.attention_output.resident_bytes()
                + layer.intermediate.resident_bytes()
                + layer.output.iter().map(ByteMatrix::resident_bytes).sum::<usize>()
        };
        self.word_embeddings.resident_bytes()
            + 4 * 2 * self.position_embeddings[0].len()
            + self.layers.iter().map(layer).sum::<usize>()
    }

    /// Reads a batch. Returns the rows of each input, whose vectors are in `scratch` then.
    pub fn run(&self, inputs: &[Input<'_>], scratch: &mut Scratch) -> Vec<Range<usize>> {
        let session = self.kernel.session();
        let batch = Batch::new(inputs);
        if batch.rows == 0 {
            return batch.texts;
        }
        scratch.fit(&self.config, batch.rows);
        self.embed_tokens(inputs, scratch);
        for layer in &self.layers {
            self.attend(&session, layer, &batch, scratch);
            self.feed_forward(&session, layer, scratch);
        }
        batch.texts
    }

    fn embed_tokens(&self, inputs: &[Input<'_>], scratch: &mut Scratch) {
        let hidden = self.config.hidden_size;
        let isa = self.kernel.0;
        let positions = inputs.iter().flat_map(|input| (0..input.tokens.len()).map(move |at| (input, at)));
        for (row, (input, position)) in positions.enumerate() {
            let values = &mut scratch.hidden[row * hidden..][..hidden];
            self.word_embeddings.copy(input.tokens[position] as usize, values);
            let positions = &self.position_embeddings[usize::from(position >= input.first)];
            elementwise::add(isa, values, &positions[position * hidden..][..hidden]);
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
}

impl From<Matrix> for WordEmbeddings {
    fn from(matrix: Matrix) -> Self {
        match matrix {
            Matrix::Floats(values) => Self::Floats(values.as_slice().into()),
            Matrix::Bytes { bytes, scales } => {
                Self::Bytes { bytes: bytes.as_slice().into(), scales: scales.as_slice().into() }
            }
        }
    }
}

impl WordEmbeddings {
    fn copy(&self, token: usize, to: &mut [f32]) {
        let row = token * to.len()..(token + 1) * to.len();
        match self {
            Self::Floats(values) => to.copy_from_slice(&values[row]),
            Self::Bytes { bytes, scales } => {
                let scale = scales[token];
                to.iter_mut().zip(&bytes[row]).for_each(|(to, byte)| *to = f32::from(*byte) * scale);
            }
        }
    }

    fn resident_bytes(&self) -> usize {
        match self {
            Self::Floats(values) => 4 * values.len(),
            Self::Bytes { bytes, scales } => bytes.len() + 4 * scales.len(),
        }
    }
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
    fn new(inputs: &[Input<'_>]) -> Self {
        let mut rows = 0;
        let texts = inputs
            .iter()
            .map(|input| {
                rows += input.tokens.len();
                rows - input.tokens.len()..rows
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
    /// Returns the vector of a row, after a run.
    pub(crate) fn row(&self, row: usize, dimension: usize) -> &[f32] {
        &self.hidden[row * dimension..][..dimension]
    }

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
