//! Loads a model of BERT's kind: its tokenizer, and its weights from the packed file or from the model's own.

use super::weights::{Config, Norm, TensorFile, Weights};
use super::{Bert, Layer};
use crate::ModelError;
use crate::arrays::Array;
use crate::kernel::Kernel;
use crate::linear::ByteMatrix;
use crate::packed::{self, Packed, Reader, Writer};
use crate::tokenizer::WordPiece;
use std::path::Path;
use std::{fs, io};

/// Loads the folder of a model with the tensors of its head, which `head` reads by their names.
pub(crate) fn load<H: Packed>(
    folder: &Path,
    kernel: Kernel,
    cache: Option<&Path>,
    head: impl FnOnce(&TensorFile, usize) -> Result<H, ModelError>,
) -> Result<(Bert, H, WordPiece), ModelError> {
    let tokenizer = WordPiece::from_json(&read(folder, "tokenizer.json")?)?;
    let layout = if kernel.prefers_narrow() { "narrow" } else { "wide" };
    let name = format!("{}-{layout}", folder.file_name().unwrap_or_default().to_string_lossy());
    let source = TensorFile::path(folder);
    let Whole(bert, head) = packed::load(cache, &name, &source, kernel, || {
        let (file, fingerprint) = TensorFile::open(&source)?;
        let config = match fs::exists(folder.join("config.json")) {
            Ok(false) => Config::of_tensors(&file)?,
            _ => Config::parse(&read(folder, "config.json")?)?,
        };
        let bert = Bert::new(kernel, Weights::read(&file, config, fingerprint)?);
        let hidden = bert.dimension();
        Ok(Whole(bert, head(&file, hidden)?))
    })?;
    if tokenizer.len() > bert.vocabulary() {
        return Err(ModelError::malformed("`tokenizer.json` has more tokens than the model"));
    }
    Ok((bert, head, tokenizer))
}

fn read(folder: &Path, name: &str) -> Result<Vec<u8>, ModelError> {
    let path = folder.join(name);
    fs::read(&path).map_err(|source| ModelError::Read { path, source })
}

/// A model with its head.
struct Whole<H>(Bert, H);

impl<H: Packed> Packed for Whole<H> {
    fn write(&self, to: &mut Writer) -> io::Result<()> {
        self.0.write(to)?;
        self.1.write(to)
    }

    fn read(from: &mut Reader) -> Result<Self, ModelError> {
        Ok(Self(Bert::read(from)?, H::read(from)?))
    }
}

/// The head of a model that needs no weights for it.
impl Packed for () {
    fn write(&self, _: &mut Writer) -> io::Result<()> {
        Ok(())
    }

    fn read(_: &mut Reader) -> Result<Self, ModelError> {
        Ok(())
    }
}

impl Packed for Bert {
    fn write(&self, to: &mut Writer) -> io::Result<()> {
        to.put(self.fingerprint.as_bytes())?;
        to.put(&self.config.sizes())?;
        to.put(&[self.config.epsilon])?;
        to.put(&self.word_embeddings)?;
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

    fn read(from: &mut Reader) -> Result<Self, ModelError> {
        let fingerprint = String::from_utf8_lossy(&from.take::<u8>()?).into_owned();
        let sizes = from.take()?;
        let config = Config::of_sizes(&sizes, from.take_exactly::<f32>(1)?[0])?;
        let hidden = config.hidden_size;
        let word_embeddings = from.take_exactly(config.vocabulary * hidden)?;
        let positions = config.max_position_embeddings * hidden;
        let position_embeddings = [from.take_exactly(positions)?, from.take_exactly(positions)?];
        Ok(Self {
            kernel: from.kernel,
            fingerprint,
            word_embeddings,
            position_embeddings,
            embedding_norm: Norm::read(from)?,
            layers: (0..config.layers).map(|_| Layer::read(from, &config)).collect::<Result<_, _>>()?,
            config,
        })
    }
}

impl Layer {
    fn read(from: &mut Reader, config: &Config) -> Result<Self, ModelError> {
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
    fn write(&self, to: &mut Writer) -> io::Result<()> {
        to.put(&self.weight)?;
        to.put(&self.bias)?;
        to.put(&[self.epsilon])
    }

    fn read(from: &mut Reader) -> Result<Self, ModelError> {
        let (weight, bias): (Array<f32>, Array<f32>) = (from.take()?, from.take()?);
        Ok(Self { weight: weight.to_vec(), bias: bias.to_vec(), epsilon: from.take_exactly::<f32>(1)?[0] })
    }
}
