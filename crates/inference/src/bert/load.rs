//! Loads a folder with a model of BERT's kind: its tokenizer, and its weights from the packed file or from the model's
//! own.

use super::weights::{Config, Norm, TensorFile};
use super::{Bert, Layer, WordEmbeddings};
use crate::ModelError;
use crate::arrays::Array;
use crate::kernel::Kernel;
use crate::linear::ByteMatrix;
use crate::packed::{self, Packed, PackedReader, PackedWriter};
use crate::tokenizer::WordPiece;
use sha2::{Digest, Sha256};
use std::path::Path;
use std::{fs, io};

/// A model from a folder.
pub(crate) struct Loaded {
    pub bert: Bert,
    /// The SHA-256 of the weights' file in hex.
    pub fingerprint: String,
}

/// Loads the folder of a model.
pub(crate) fn load(
    folder: &Path,
    kernel: Kernel,
    cache: Option<&Path>,
) -> Result<(Loaded, WordPiece), ModelError> {
    let tokenizer = WordPiece::from_json(&read(folder, "tokenizer.json")?)?;
    let layout = if kernel.prefers_narrow() { "narrow" } else { "wide" };
    let name = format!("{}-{layout}", folder.file_name().unwrap_or_default().to_string_lossy());
    let source = folder.join("model.safetensors");
    let loaded = packed::load(cache, &name, &source, kernel, || {
        let bytes = read(folder, "model.safetensors")?;
        let config = Config::parse(&read(folder, "config.json")?)?;
        let fingerprint = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Loaded { bert: Bert::new(kernel, &TensorFile::from_bytes(&bytes)?, config)?, fingerprint })
    })?;
    if tokenizer.len() > loaded.bert.vocabulary() {
        return Err(ModelError::malformed("`tokenizer.json` has more tokens than the model"));
    }
    Ok((loaded, tokenizer))
}

fn read(folder: &Path, name: &str) -> Result<Vec<u8>, ModelError> {
    let path = folder.join(name);
    fs::read(&path).map_err(|source| ModelError::Read { path, source })
}

impl Packed for Loaded {
    fn write(&self, to: &mut PackedWriter) -> io::Result<()> {
        to.put(self.fingerprint.as_bytes())?;
        self.bert.write(to)
    }

    fn read(from: &mut PackedReader) -> Result<Self, ModelError> {
        let fingerprint = String::from_utf8_lossy(&from.take::<u8>()?).into_owned();
        Ok(Self { bert: Bert::read(from)?, fingerprint })
    }
}

impl Packed for Bert {
    fn write(&self, to: &mut PackedWriter) -> io::Result<()> {
        to.put(&self.config.sizes())?;
        to.put(&[self.config.epsilon])?;
        self.word_embeddings.write(to)?;
        self.position_embeddings.iter().try_for_each(|positions| to.put(positions))?;
        self.embedding_norm.write(to)?;
        for layer in &self.layers {
            layer.query_key_value.write(to)?;
            layer.attention_output.write(to)?;
            layer.attention_norm.write(to)?;
            layer.intermediate.write(to)?;
            layer.output.iter().try_for_each(|group| group.write(to))?;
            layer.output_norm.write(to)?;
        }
        Ok(())
    }

    fn read(from: &mut PackedReader) -> Result<Self, ModelError> {
        let sizes = from.take()?;
        let config = Config::of_sizes(&sizes, from.take_exactly::<f32>(1)?[0])?;
        let hidden = config.hidden_size;
        let word_embeddings = WordEmbeddings::read(from, &config)?;
        let positions = config.max_position_embeddings * hidden;
        let position_embeddings = [from.take_exactly(positions)?, from.take_exactly(positions)?];
        Ok(Self {
            kernel: from.kernel,
            word_embeddings,
            position_embeddings,
            embedding_norm: Norm::read(from)?,
            layers: (0..config.layers).map(|_| Layer::read(from, &config)).collect::<Result<_, _>>()?,
            config,
        })
    }
}

impl WordEmbeddings {
    /// Bytes follow an empty array of floats.
    fn write(&self, to: &mut PackedWriter) -> io::Result<()> {
        match self {
            Self::Floats(values) => to.put(values),
            Self::Bytes { bytes, scales } => {
                to.put::<f32>(&[])?;
                to.put(bytes)?;
                to.put(scales)
            }
        }
    }

    fn read(from: &mut PackedReader, config: &Config) -> Result<Self, ModelError> {
        let len = config.vocabulary * config.hidden_size;
        let values = from.take::<f32>()?;
        if values.len() == len {
            return Ok(Self::Floats(values));
        }
        Ok(Self::Bytes { bytes: from.take_exactly(len)?, scales: from.take_exactly(config.vocabulary)? })
    }
}

impl Layer {
    fn read(from: &mut PackedReader, config: &Config) -> Result<Self, ModelError> {
        Ok(Self {
            query_key_value: ByteMatrix::read(from)?,
            attention_output: ByteMatrix::read(from)?,
            attention_norm: Norm::read(from)?,
            intermediate: ByteMatrix::read(from)?,
            output: (0..config.groups()).map(|_| ByteMatrix::read(from)).collect::<Result<_, _>>()?,
            output_norm: Norm::read(from)?,
        })
    }
}

impl Packed for Norm {
    fn write(&self, to: &mut PackedWriter) -> io::Result<()> {
        to.put(&self.weight)?;
        to.put(&self.bias)?;
        to.put(&[self.epsilon])
    }

    fn read(from: &mut PackedReader) -> Result<Self, ModelError> {
        let (weight, bias): (Array<f32>, Array<f32>) = (from.take()?, from.take()?);
        Ok(Self { weight: weight.to_vec(), bias: bias.to_vec(), epsilon: from.take_exactly::<f32>(1)?[0] })
    }
}
