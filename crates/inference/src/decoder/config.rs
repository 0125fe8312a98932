//! The shape of a model, as its file states it.

use super::attention::MAX_DIMENSION;
use crate::ModelError;
use crate::gguf::Gguf;
use crate::kernel::BLOCK;

/// The families of models that are read.
const ARCHITECTURES: [&str; 2] = ["llama", "qwen2"];

pub(super) struct Config {
    pub layers: usize,
    pub hidden: usize,
    pub inner: usize,
    pub heads: usize,
    pub key_heads: usize,
    pub head_dimension: usize,
    pub epsilon: f32,
    pub context: usize,
    /// Rotation per position of each pair of a head's dimensions, in radians.
    pub frequencies: Vec<f32>,
    /// Whether the file has the two dimensions of a pair side by side.
    pub pairs_adjoin: bool,
}

impl Config {
    pub fn read(file: &Gguf) -> Result<Self, ModelError> {
        let architecture = file.required_string("general.architecture")?;
        if !ARCHITECTURES.contains(&architecture) {
            let known = ARCHITECTURES.join(", ");
            return Err(ModelError::unsupported(format!("architecture `{architecture}`: one of {known}")));
        }
        let named = |key: &str| format!("{architecture}.{key}");
        let number = |key: &str| Ok::<_, ModelError>(file.required_u32(&named(key))? as usize);
        let optional = |key: &str| Ok::<_, ModelError>(file.u32(&named(key))?.map(|value| value as usize));
        let heads = number("attention.head_count")?;
        let hidden = number("embedding_length")?;
        let head_dimension = match optional("attention.key_length")? {
            Some(dimension) => dimension,
            None => hidden.checked_div(heads).unwrap_or_default(),
        };
        let config = Self {
            layers: number("block_count")?,
            hidden,
            inner: number("feed_forward_length")?,
            heads,
            key_heads: optional("attention.head_count_kv")?.unwrap_or(heads),
            head_dimension,
            epsilon: file.required_f32(&named("attention.layer_norm_rms_epsilon"))?,
            context: number("context_length")?,
            frequencies: Vec::new(),
            pairs_adjoin: architecture == "llama",
        };
        config.check(optional("rope.dimension_count")?)?;
        Ok(Self { frequencies: frequencies(file, named, head_dimension)?, ..config })
    }

    fn check(&self, rotated: Option<usize>) -> Result<(), ModelError> {
        let whole = |side: usize| side.is_multiple_of(BLOCK) && (1..=1 << 16).contains(&side);
        let few = |count: usize| (1..=1 << 10).contains(&count);
        if !whole(self.hidden)
            || !whole(self.inner)
            || !few(self.layers)
            || !(1..=1 << 20).contains(&self.context)
        {
            return Err(ModelError::unsupported("sizes of layers must be multiples of 32, up to 65536"));
        }
        if !few(self.heads) || !few(self.key_heads) || !self.heads.is_multiple_of(self.key_heads) {
            return Err(ModelError::unsupported("heads must be a multiple of the heads for keys"));
        }
        if !whole(self.head_dimension) || self.head_dimension > MAX_DIMENSION || self.group() > BLOCK {
            return Err(ModelError::unsupported("a head's dimension must be a multiple of 32, up to 256"));
        }
        if rotated.is_some_and(|rotated| rotated != self.head_dimension) {
            return Err(ModelError::unsupported("positions that turn only a part of each head"));
        }
        Ok(())
    }

    /// Returns the number of query heads that share a key head.
    pub fn group(&self) -> usize {
        self.heads / self.key_heads
    }
}

/// Returns the frequencies: from the file's base, a linear scaling, and the divisors of files with Llama 3's scaling.
fn frequencies(
    file: &Gguf,
    named: impl Fn(&str) -> String,
    dimension: usize,
) -> Result<Vec<f32>, ModelError> {
    let base = file.f32(&named("rope.freq_base"))?.unwrap_or(10_000.0);
    let scaling = match file.string(&named("rope.scaling.type"))? {
        Some("linear") => file.required_f32(&named("rope.scaling.factor"))?,
        None | Some("none") => 1.0,
        Some(other) => {
            return Err(ModelError::unsupported(format!("rope scaling `{other}`: `linear` or `none`")));
        }
    };
    let mut frequencies: Vec<f32> =
        (0..dimension / 2).map(|pair| base.powf(-2.0 * pair as f32 / dimension as f32) / scaling).collect();
    if let Some(tensor) = file.tensor("rope_freqs.weight") {
        if tensor.columns * tensor.rows != frequencies.len() {
            return Err(ModelError::malformed("`rope_freqs.weight` does not fit the heads"));
        }
        let mut divisors = vec![0.0; frequencies.len()];
        tensor.kind.dequantize(&file.read_rows(tensor, 0..tensor.rows)?, &mut divisors);
        frequencies.iter_mut().zip(divisors).for_each(|(frequency, divisor)| *frequency /= divisor);
    }
    Ok(frequencies)
}
