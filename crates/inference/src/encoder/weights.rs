//! Reads a BERT model: its configuration, tokenizer and weights, each checked against the others.

use super::attention::MAX_DIMENSION;
use crate::ModelError;
use crate::kernel::BLOCK;
use crate::safetensors::Safetensors;
use crate::tokenizer::WordPiece;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;

#[derive(Clone, Copy)]
pub(super) struct Config {
    pub hidden_size: usize,
    pub intermediate_size: usize,
    pub heads: usize,
    pub layers: usize,
    pub vocabulary: usize,
    pub max_position_embeddings: usize,
    pub epsilon: f32,
}

pub(super) struct Weights {
    pub config: Config,
    pub tokenizer: WordPiece,
    pub fingerprint: String,
    pub word_embeddings: Vec<f32>,
    /// With the embedding of the only token type added to each.
    pub position_embeddings: Vec<f32>,
    pub embedding_norm: Norm,
    pub layers: Vec<LayerWeights>,
}

pub(super) struct LayerWeights {
    pub query: Linear,
    pub key: Linear,
    pub value: Linear,
    pub attention_output: Linear,
    pub attention_norm: Norm,
    pub intermediate: Linear,
    pub output: Linear,
    pub output_norm: Norm,
}

/// Has a row of `weight` for each output.
pub(super) struct Linear {
    pub weight: Vec<f32>,
    pub bias: Vec<f32>,
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
        Self { weight: together(|part| &part.weight), bias: together(|part| &part.bias) }
    }

    /// Splits the layer into several that each take up to `width` of the `depth` inputs, and whose results add up to
    /// the whole. Returns each with its number of inputs.
    pub fn groups(&self, depth: usize, width: usize) -> Vec<(Self, usize)> {
        let group = |first: usize| {
            let taken = first..depth.min(first + width);
            let weight =
                self.weight.chunks_exact(depth).flat_map(|row| &row[taken.clone()]).copied().collect();
            let bias = if first == 0 { self.bias.clone() } else { vec![0.0; self.bias.len()] };
            (Self { weight, bias }, taken.len())
        };
        (0..depth).step_by(width).map(group).collect()
    }
}

pub(super) struct Norm {
    pub weight: Vec<f32>,
    pub bias: Vec<f32>,
    pub epsilon: f32,
}

impl Weights {
    pub fn read(folder: &Path) -> Result<Self, ModelError> {
        let config = Config::parse(&read(folder, "config.json")?)?;
        let tokenizer = WordPiece::from_json(&read(folder, "tokenizer.json")?)?;
        if tokenizer.len() > config.vocabulary {
            return Err(ModelError::malformed("`tokenizer.json` has more tokens than `config.json` allows"));
        }
        let file = read(folder, "model.safetensors")?;
        let fingerprint = Sha256::digest(&file).iter().map(|byte| format!("{byte:02x}")).collect();
        let source = TensorReader::new(Safetensors::from_bytes(file)?, config);
        let hidden = config.hidden_size;
        let types = source.vector("embeddings.token_type_embeddings.weight", None)?;
        let only_type =
            types.get(..hidden).ok_or_else(|| ModelError::malformed("no token type embedding"))?;
        let mut position_embeddings =
            source.matrix("embeddings.position_embeddings.weight", config.max_position_embeddings, hidden)?;
        for position in position_embeddings.chunks_exact_mut(hidden) {
            position.iter_mut().zip(only_type).for_each(|(position, kind)| *position += kind);
        }
        Ok(Self {
            word_embeddings: source.matrix("embeddings.word_embeddings.weight", config.vocabulary, hidden)?,
            position_embeddings,
            embedding_norm: source.norm("embeddings.LayerNorm")?,
            layers: (0..config.layers).map(|layer| source.layer(layer)).collect::<Result<_, _>>()?,
            config,
            tokenizer,
            fingerprint,
        })
    }
}

fn read(folder: &Path, name: &str) -> Result<Vec<u8>, ModelError> {
    let path = folder.join(name);
    fs::read(&path).map_err(|source| ModelError::Read { path, source })
}

impl Config {
    fn parse(json: &[u8]) -> Result<Self, ModelError> {
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
        Err(ModelError::unsupported("`config.json`: sizes of layers and heads must be multiples of 32"))
    }
}

struct TensorReader {
    file: Safetensors,
    config: Config,
    prefix: &'static str,
}

impl TensorReader {
    /// Some files have `bert.` before every name.
    fn new(file: Safetensors, config: Config) -> Self {
        let plain = file.tensor("embeddings.LayerNorm.weight").is_ok();
        Self { file, config, prefix: if plain { "" } else { "bert." } }
    }

    fn vector(&self, name: &str, len: Option<usize>) -> Result<Vec<f32>, ModelError> {
        let name = format!("{}{name}", self.prefix);
        let (_, values) = self.file.tensor(&name)?;
        if len.is_some_and(|len| len != values.len()) {
            let expected = len.unwrap_or_default();
            return Err(ModelError::malformed(format!(
                "`{name}` holds {} numbers, not {expected}",
                values.len()
            )));
        }
        Ok(values)
    }

    fn matrix(&self, name: &str, rows: usize, columns: usize) -> Result<Vec<f32>, ModelError> {
        self.vector(name, Some(rows * columns))
    }

    fn linear(&self, name: &str, outputs: usize, inputs: usize) -> Result<Linear, ModelError> {
        Ok(Linear {
            weight: self.matrix(&format!("{name}.weight"), outputs, inputs)?,
            bias: self.vector(&format!("{name}.bias"), Some(outputs))?,
        })
    }

    fn norm(&self, name: &str) -> Result<Norm, ModelError> {
        let hidden = Some(self.config.hidden_size);
        Ok(Norm {
            weight: self.vector(&format!("{name}.weight"), hidden)?,
            bias: self.vector(&format!("{name}.bias"), hidden)?,
            epsilon: self.config.epsilon,
        })
    }

    fn layer(&self, index: usize) -> Result<LayerWeights, ModelError> {
        let (hidden, inner) = (self.config.hidden_size, self.config.intermediate_size);
        let linear = |name: &str, outputs, inputs| {
            self.linear(&format!("encoder.layer.{index}.{name}"), outputs, inputs)
        };
        let norm = |name: &str| self.norm(&format!("encoder.layer.{index}.{name}"));
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
}
