//! Reads a BERT model: its configuration, tokenizer and weights, each checked against the others.

use super::GROUP;
use super::attention::MAX_DIMENSION;
use crate::ModelError;
use crate::kernel::BLOCK;
use crate::onnx::Onnx;
use crate::safetensors::Safetensors;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};

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

pub(crate) struct Weights {
    pub config: Config,
    pub fingerprint: String,
    pub word_embeddings: Vec<f32>,
    /// With the embedding of the first and of the second token type added to each.
    pub position_embeddings: [Vec<f32>; 2],
    pub embedding_norm: Norm,
    pub layers: Vec<LayerWeights>,
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

/// Has a row of `weight` for each output.
pub(crate) struct Linear {
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

pub(crate) struct Norm {
    pub weight: Vec<f32>,
    pub bias: Vec<f32>,
    pub epsilon: f32,
}

impl Weights {
    pub fn read(file: &TensorFile, config: Config, fingerprint: String) -> Result<Self, ModelError> {
        let hidden = config.hidden_size;
        let types = file.vector("embeddings.token_type_embeddings.weight", None)?;
        let first = types.get(..hidden).ok_or_else(|| ModelError::malformed("no token type embedding"))?;
        let second = types.get(hidden..2 * hidden).unwrap_or(first);
        let positions = file
            .vector("embeddings.position_embeddings.weight", Some(config.max_position_embeddings * hidden))?;
        let of_type = |kind: &[f32]| {
            positions.iter().zip(kind.iter().cycle()).map(|(position, kind)| position + kind).collect()
        };
        Ok(Self {
            word_embeddings: file
                .vector("embeddings.word_embeddings.weight", Some(config.vocabulary * hidden))?,
            position_embeddings: [of_type(first), of_type(second)],
            embedding_norm: file.norm("embeddings.LayerNorm", &config)?,
            layers: (0..config.layers).map(|layer| file.layer(layer, &config)).collect::<Result<_, _>>()?,
            config,
            fingerprint,
        })
    }
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

    /// Takes the sizes from the tensors, for a model that comes without `config.json`. Heads are as wide as in all small
    /// models of this kind.
    pub fn of_tensors(file: &TensorFile) -> Result<Self, ModelError> {
        const HEAD: usize = 32;
        let len = |name: &str| file.vector(name, None).map(|values| values.len());
        let hidden_size = len("embeddings.LayerNorm.weight")?.max(1);
        let layer = |index: &usize| len(&format!("encoder.layer.{index}.output.LayerNorm.weight")).is_ok();
        let config = Self {
            hidden_size,
            intermediate_size: len("encoder.layer.0.intermediate.dense.bias")?,
            heads: hidden_size / HEAD,
            layers: (0..1 << 10).take_while(layer).count(),
            vocabulary: len("embeddings.word_embeddings.weight")? / hidden_size,
            max_position_embeddings: len("embeddings.position_embeddings.weight")? / hidden_size,
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
        Err(ModelError::unsupported("`config.json`: sizes of layers and heads must be multiples of 32"))
    }
}

/// The tensors of a model, by their names in PyTorch.
pub(crate) struct TensorFile {
    format: Format,
    prefix: &'static str,
}

enum Format {
    Safetensors(Safetensors),
    Onnx(Onnx),
}

impl TensorFile {
    /// Returns the path of `model.onnx` if it is there, else of `model.safetensors`.
    pub fn path(folder: &Path) -> PathBuf {
        let onnx = folder.join("model.onnx");
        if onnx.exists() { onnx } else { folder.join("model.safetensors") }
    }

    /// Opens a file. Returns it with its SHA-256 in hex.
    pub fn open(path: &Path) -> Result<(Self, String), ModelError> {
        let bytes = fs::read(path).map_err(|source| ModelError::Read { path: path.to_owned(), source })?;
        let fingerprint = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let is_onnx = path.extension().is_some_and(|extension| extension == "onnx");
        let format = match is_onnx {
            true => Format::Onnx(Onnx::from_bytes(&bytes)?),
            false => Format::Safetensors(Safetensors::from_bytes(bytes)?),
        };
        let mut file = Self { format, prefix: "" };
        // Some files have `bert.` before the names of all layers but the last.
        if file.vector("embeddings.LayerNorm.weight", None).is_err() {
            file.prefix = "bert.";
        }
        Ok((file, fingerprint))
    }

    fn vector(&self, name: &str, len: Option<usize>) -> Result<Vec<f32>, ModelError> {
        let name = self.full_name(name);
        let (_, values) = match &self.format {
            Format::Safetensors(file) => file.tensor(&name)?,
            Format::Onnx(file) => file.tensor(&name)?,
        };
        check_len(&name, &values, len)?;
        Ok(values)
    }

    pub fn linear(&self, name: &str, outputs: usize, inputs: usize) -> Result<Linear, ModelError> {
        let full_name = self.full_name(name);
        let (_, weight) = match &self.format {
            Format::Safetensors(file) => file.tensor(&format!("{full_name}.weight"))?,
            Format::Onnx(file) => file.linear(&full_name)?,
        };
        check_len(&full_name, &weight, Some(outputs * inputs))?;
        Ok(Linear { weight, bias: self.vector(&format!("{name}.bias"), Some(outputs))? })
    }

    fn full_name(&self, name: &str) -> String {
        let prefix = if name.starts_with("classifier") { "" } else { self.prefix };
        format!("{prefix}{name}")
    }

    fn norm(&self, name: &str, config: &Config) -> Result<Norm, ModelError> {
        let hidden = Some(config.hidden_size);
        Ok(Norm {
            weight: self.vector(&format!("{name}.weight"), hidden)?,
            bias: self.vector(&format!("{name}.bias"), hidden)?,
            epsilon: config.epsilon,
        })
    }

    fn layer(&self, index: usize, config: &Config) -> Result<LayerWeights, ModelError> {
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
}

fn check_len(name: &str, values: &[f32], len: Option<usize>) -> Result<(), ModelError> {
    match len {
        Some(len) if len != values.len() => {
            Err(ModelError::malformed(format!("`{name}` holds {} numbers, not {len}", values.len())))
        }
        _ => Ok(()),
    }
}
