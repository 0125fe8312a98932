//! Reads the weights of a BERT model and its sizes, each checked against the others.

use super::GROUP;
use super::attention::MAX_DIMENSION;
use crate::ModelError;
use crate::kernel::BLOCK;
use crate::safetensors::Safetensors;
use serde::Deserialize;

#[derive(Clone, Copy)]
pub(crate) struct Config {
    pub hidden_size: usize,
    pub intermediate_size: usize,
    pub heads: usize,
    pub layers: usize,
    pub vocabulary: usize,
    pub max_position_embeddings: usize,
    pub epsilon: f32,
}

pub(crate) struct LayerWeights {
    pub query: Linear,
    pub key: Linear,
    pub value: Linear,
    pub attention_output: Linear,
    pub attention_norm: Norm,
    pub intermediate: Linear,
    pub output: Linear,
    pub output_norm: Norm,
}

/// Rows of numbers, as a file has them.
pub(crate) enum Matrix {
    Floats(Vec<f32>),
    /// With a scale for each row.
    Bytes {
        bytes: Vec<i8>,
        scales: Vec<f32>,
    },
}

/// Has a row of `weight` for each output.
pub(crate) struct Linear {
    pub weight: Vec<f32>,
    /// If the weights were bytes in the file, the scale of each row, else nothing.
    pub scales: Vec<f32>,
    pub bias: Vec<f32>,
}

impl Matrix {
    fn into_floats(self, columns: usize) -> Vec<f32> {
        match self {
            Self::Floats(values) => values,
            Self::Bytes { bytes, scales } => {
                let mut values = Vec::with_capacity(bytes.len());
                for (row, scale) in bytes.chunks_exact(columns).zip(&scales) {
                    values.extend(row.iter().map(|byte| f32::from(*byte) * scale));
                }
                values
            }
        }
    }
}

impl Linear {
    /// Joins three layers with the same input: the outputs of each for the first head, then for the second, and so
    /// on.
    pub fn by_head(parts: [&Self; 3], heads: usize) -> Self {
        let together = |of: fn(&Self) -> &Vec<f32>| {
            let of_head = |head: usize, part: &Self| {
                let each = of(part).len() / heads;
                of(part)[head * each..(head + 1) * each].to_vec()
            };
            (0..heads).flat_map(|head| parts.map(|part| of_head(head, part)).concat()).collect()
        };
        Self {
            weight: together(|part| &part.weight),
            scales: together(|part| &part.scales),
            bias: together(|part| &part.bias),
        }
    }

    /// Splits the layer into several that each take up to `width` of the `depth` inputs, and whose results add up to
    /// the whole. Returns each with its number of inputs.
    pub fn groups(&self, depth: usize, width: usize) -> Vec<(Self, usize)> {
        let group = |first: usize| {
            let taken = first..depth.min(first + width);
            let mut weight = Vec::with_capacity(self.bias.len() * taken.len());
            self.weight.chunks_exact(depth).for_each(|row| weight.extend_from_slice(&row[taken.clone()]));
            let bias = if first == 0 { self.bias.clone() } else { vec![0.0; self.bias.len()] };
            (Self { weight, scales: self.scales.clone(), bias }, taken.len())
        };
        (0..depth).step_by(width).map(group).collect()
    }
}

pub(crate) struct Norm {
    pub weight: Vec<f32>,
    pub bias: Vec<f32>,
    pub epsilon: f32,
}

impl Config {
    pub fn parse(json: &[u8]) -> Result<Self, ModelError> {
        #[derive(Deserialize)]
        struct File {
            model_type: String,
            hidden_act: String,
            hidden_size: usize,
            intermediate_size: usize,
            num_attention_heads: usize,
            num_hidden_layers: usize,
            vocab_size: usize,
            max_position_embeddings: usize,
            layer_norm_eps: f32,
        }
        let file: File = serde_json::from_slice(json)
            .map_err(|error| ModelError::malformed(format!("`config.json`: {error}")))?;
        if file.model_type != "bert" || file.hidden_act != "gelu" {
            return Err(ModelError::unsupported(format!(
                "`config.json` says `{}` with `{}`: only `bert` with `gelu`",
                file.model_type, file.hidden_act
            )));
        }
        let config = Self {
            hidden_size: file.hidden_size,
            intermediate_size: file.intermediate_size,
            heads: file.num_attention_heads,
            layers: file.num_hidden_layers,
            vocabulary: file.vocab_size,
            max_position_embeddings: file.max_position_embeddings,
            epsilon: file.layer_norm_eps,
        };
        config.check()?;
        Ok(config)
    }

    /// Takes the sizes from the shapes of tensors, for a model that comes without `config.json`. Heads are as wide as in all small
    /// models of this kind.
    pub fn of_tensors(file: &TensorFile) -> Result<Self, ModelError> {
        const HEAD: usize = 32;
        let len = |name: &str| file.shape(name).map(|shape| shape.first().copied().unwrap_or_default());
        let hidden_size = len("embeddings.LayerNorm.weight")?;
        let layer = |index: &usize| len(&format!("encoder.layer.{index}.output.LayerNorm.weight")).is_ok();
        let config = Self {
            hidden_size,
            intermediate_size: len("encoder.layer.0.intermediate.dense.bias")?,
            heads: hidden_size / HEAD,
            layers: (0..1 << 10).take_while(layer).count(),
            vocabulary: len("embeddings.word_embeddings.weight")?,
            max_position_embeddings: len("embeddings.position_embeddings.weight")?,
            epsilon: 1e-12,
        };
        config.check()?;
        Ok(config)
    }

    /// Returns the sizes as `of_sizes` reads them.
    pub fn sizes(&self) -> [i32; 6] {
        let Self {
            hidden_size, intermediate_size, heads, layers, vocabulary, max_position_embeddings, ..
        } = self;
        [hidden_size, intermediate_size, heads, layers, vocabulary, max_position_embeddings]
            .map(|size| *size as i32)
    }

    pub fn of_sizes(sizes: &[i32], epsilon: f32) -> Result<Self, ModelError> {
        let sizes: Vec<usize> = sizes.iter().filter_map(|size| usize::try_from(*size).ok()).collect();
        let &[hidden_size, intermediate_size, heads, layers, vocabulary, max_position_embeddings] =
            sizes.as_slice()
        else {
            return Err(ModelError::malformed("packed weights without their sizes"));
        };
        let config = Self {
            hidden_size,
            intermediate_size,
            heads,
            layers,
            vocabulary,
            max_position_embeddings,
            epsilon,
        };
        config.check()?;
        Ok(config)
    }

    /// Returns in how many groups the feed-forward part is computed.
    pub fn groups(&self) -> usize {
        self.intermediate_size.div_ceil(GROUP)
    }

    fn check(&self) -> Result<(), ModelError> {
        const MOST: usize = 1 << 16;
        let sides = [self.hidden_size, self.intermediate_size];
        let whole = |side: &usize| side.is_multiple_of(BLOCK) && (1..=MOST).contains(side);
        let heads_fit = self.heads > 0
            && self.hidden_size.is_multiple_of(self.heads)
            && (self.hidden_size / self.heads).is_multiple_of(BLOCK)
            && self.hidden_size / self.heads <= MAX_DIMENSION;
        let counts_fit = (1..=1 << 10).contains(&self.layers)
            && (1..=1 << 24).contains(&self.vocabulary)
            && (8..=MOST).contains(&self.max_position_embeddings);
        if sides.iter().all(whole) && heads_fit && counts_fit {
            return Ok(());
        }
        Err(ModelError::unsupported("sizes of layers and heads must be multiples of 32"))
    }
}

/// The tensors of a model, by their names in PyTorch.
pub(crate) struct TensorFile<'a> {
    file: Safetensors<'a>,
    prefix: &'static str,
}

impl<'a> TensorFile<'a> {
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self, ModelError> {
        let mut file = Self { file: Safetensors::from_bytes(bytes)?, prefix: "" };
        // Some files have `bert.` before the names.
        if file.shape("embeddings.LayerNorm.weight").is_err() {
            file.prefix = "bert.";
        }
        Ok(file)
    }

    fn shape(&self, name: &str) -> Result<&[usize], ModelError> {
        self.file.describe(&self.full_name(name)).map(|(_, shape)| shape)
    }

    /// Returns a tensor of bytes, whatever they mean.
    pub fn bytes(&self, name: &str) -> Result<&'a [u8], ModelError> {
        self.file.bytes(name, "U8").map(|(_, bytes)| bytes)
    }

    fn vector(&self, name: &str, len: usize) -> Result<Vec<f32>, ModelError> {
        let name = self.full_name(name);
        let (_, values) = self.file.tensor(&name)?;
        check_len(&name, values.len(), len)?;
        Ok(values)
    }

    /// Returns floats, or bytes of which `NAME.scale` has the scale of each row.
    fn matrix(&self, name: &str, rows: usize, columns: usize) -> Result<Matrix, ModelError> {
        let full_name = self.full_name(name);
        if self.file.describe(&full_name)?.0 != "I8" {
            return Ok(Matrix::Floats(self.vector(name, rows.saturating_mul(columns))?));
        }
        let (_, bytes) = self.file.bytes(&full_name, "I8")?;
        check_len(&full_name, bytes.len(), rows.saturating_mul(columns))?;
        Ok(Matrix::Bytes {
            bytes: bytes.iter().map(|byte| *byte as i8).collect(),
            scales: self.vector(&format!("{name}.scale"), rows)?,
        })
    }

    pub fn linear(&self, name: &str, outputs: usize, inputs: usize) -> Result<Linear, ModelError> {
        let matrix = self.matrix(&format!("{name}.weight"), outputs, inputs)?;
        let scales = match &matrix {
            Matrix::Floats(_) => Vec::new(),
            Matrix::Bytes { scales, .. } => scales.clone(),
        };
        let bias = self.vector(&format!("{name}.bias"), outputs)?;
        Ok(Linear { weight: matrix.into_floats(inputs), scales, bias })
    }

    pub fn word_embeddings(&self, config: &Config) -> Result<Matrix, ModelError> {
        self.matrix("embeddings.word_embeddings.weight", config.vocabulary, config.hidden_size)
    }

    /// Returns the embeddings of positions, with that of the first and of the second token type added to each.
    pub fn position_embeddings(&self, config: &Config) -> Result<[Vec<f32>; 2], ModelError> {
        let hidden = config.hidden_size;
        let floats = |name: &str, rows| Ok(self.matrix(name, rows, hidden)?.into_floats(hidden));
        let positions = floats("embeddings.position_embeddings.weight", config.max_position_embeddings)?;
        const TYPES: &str = "embeddings.token_type_embeddings.weight";
        let types = floats(TYPES, self.shape(TYPES)?.first().copied().unwrap_or_default())?;
        let first = types.get(..hidden).ok_or_else(|| ModelError::malformed("no token type embedding"))?;
        let second = types.get(hidden..2 * hidden).unwrap_or(first);
        let of_type = |kind: &[f32]| {
            positions.iter().zip(kind.iter().cycle()).map(|(position, kind)| position + kind).collect()
        };
        Ok([of_type(first), of_type(second)])
    }

    pub fn embedding_norm(&self, config: &Config) -> Result<Norm, ModelError> {
        self.norm("embeddings.LayerNorm", config)
    }

    fn norm(&self, name: &str, config: &Config) -> Result<Norm, ModelError> {
        Ok(Norm {
            weight: self.vector(&format!("{name}.weight"), config.hidden_size)?,
            bias: self.vector(&format!("{name}.bias"), config.hidden_size)?,
            epsilon: config.epsilon,
        })
    }

    pub fn layer(&self, index: usize, config: &Config) -> Result<LayerWeights, ModelError> {
        let (hidden, inner) = (config.hidden_size, config.intermediate_size);
        let linear = |name: &str, outputs, inputs| {
            self.linear(&format!("encoder.layer.{index}.{name}"), outputs, inputs)
        };
        let norm = |name: &str| self.norm(&format!("encoder.layer.{index}.{name}"), config);
        Ok(LayerWeights {
            query: linear("attention.self.query", hidden, hidden)?,
            key: linear("attention.self.key", hidden, hidden)?,
            value: linear("attention.self.value", hidden, hidden)?,
            attention_output: linear("attention.output.dense", hidden, hidden)?,
            attention_norm: norm("attention.output.LayerNorm")?,
            intermediate: linear("intermediate.dense", inner, hidden)?,
            output: linear("output.dense", hidden, inner)?,
            output_norm: norm("output.LayerNorm")?,
        })
    }

    fn full_name(&self, name: &str) -> String {
        let prefix = if name.starts_with("head.") { "" } else { self.prefix };
        format!("{prefix}{name}")
    }
}

fn check_len(name: &str, found: usize, len: usize) -> Result<(), ModelError> {
    if found == len {
        return Ok(());
    }
    Err(ModelError::malformed(format!("`{name}` holds {found} numbers, not {len}")))
}
