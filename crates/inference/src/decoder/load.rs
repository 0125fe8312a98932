//! Loads a model from its file, several layers in parallel.

use super::config::Config;
use super::{Decoder, Layer, Weights, rope};
use crate::ModelError;
use crate::arrays::Array;
use crate::blocks::BlockMatrix;
use crate::chat_template::ChatTemplate;
use crate::gguf::{Gguf, Tensor};
use crate::kernel::{Aligned, Kernel};
use crate::packed::{self, Packed, PackedReader, PackedWriter};
use crate::tokenizer::TextTokenizer;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

impl Decoder {
    pub fn load(path: &Path, kernel: Kernel, threads: usize) -> Result<Self, ModelError> {
        Self::load_with(path, kernel, threads, None)
    }

    /// Loads the model with its packed weights in the folder `cache`, which are made if they are not there.
    pub fn load_packed(
        path: &Path,
        kernel: Kernel,
        threads: usize,
        cache: &Path,
    ) -> Result<Self, ModelError> {
        Self::load_with(path, kernel, threads, Some(cache))
    }

    fn load_with(
        path: &Path,
        kernel: Kernel,
        threads: usize,
        cache: Option<&Path>,
    ) -> Result<Self, ModelError> {
        let file = Gguf::open(path)?;
        let config = Config::read(&file)?;
        let tokenizer = TextTokenizer::from_gguf(&file)?;
        let source = TensorReader { file: &file, config: &config };
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let weights = packed::load(cache, &name, path, kernel, || {
            let fingerprint =
                fingerprint(path).map_err(|source| ModelError::Read { path: path.to_owned(), source })?;
            source.weights(fingerprint, tokenizer.len(), threads)
        })?;
        Ok(Self { kernel, template: ChatTemplate::from_gguf(&file)?, weights, tokenizer, config })
    }
}

impl Packed for Weights {
    fn write(&self, to: &mut PackedWriter) -> io::Result<()> {
        to.put(self.fingerprint.as_bytes())?;
        to.put(&[self.layers.len() as i32, i32::from(self.output.is_some())])?;
        self.embeddings.write(to)?;
        to.put(&self.output_norm)?;
        for layer in &self.layers {
            to.put(&layer.attention_norm)?;
            to.put(&layer.feed_forward_norm)?;
            layer.biases.iter().try_for_each(|bias| to.put(bias))?;
            layer.matrices().into_iter().try_for_each(|matrix| matrix.write(to))?;
        }
        self.output.iter().try_for_each(|matrix| matrix.write(to))
    }

    fn read(from: &mut PackedReader) -> Result<Self, ModelError> {
        let fingerprint = String::from_utf8_lossy(&from.take::<u8>()?).into_owned();
        let counts = from.take_exactly::<i32>(2)?;
        let embeddings = BlockMatrix::read(from)?;
        let output_norm = from.take()?;
        let layers = (0..counts[0]).map(|_| Layer::read(from)).collect::<Result<_, _>>()?;
        let output = if counts[1] == 1 { Some(BlockMatrix::read(from)?) } else { None };
        Ok(Self { fingerprint, embeddings, layers, output_norm, output })
    }
}

impl Layer {
    fn read(from: &mut PackedReader) -> Result<Self, ModelError> {
        Ok(Self {
            attention_norm: from.take()?,
            feed_forward_norm: from.take()?,
            biases: [from.take()?, from.take()?, from.take()?],
            // In the order of `matrices`.
            query: BlockMatrix::read(from)?,
            key: BlockMatrix::read(from)?,
            value: BlockMatrix::read(from)?,
            attention_output: BlockMatrix::read(from)?,
            gate: BlockMatrix::read(from)?,
            up: BlockMatrix::read(from)?,
            down: BlockMatrix::read(from)?,
        })
    }
}

fn fingerprint(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut part = vec![0; 1 << 20];
    loop {
        match file.read(&mut part)? {
            0 => return Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            count => hash.update(&part[..count]),
        }
    }
}

#[derive(Clone, Copy)]
struct TensorReader<'a> {
    file: &'a Gguf,
    config: &'a Config,
}

impl TensorReader<'_> {
    fn weights(self, fingerprint: String, tokens: usize, threads: usize) -> Result<Weights, ModelError> {
        let output = match self.file.tensor("output.weight") {
            Some(tensor) => Some(self.load(tensor, tokens, self.config.hidden)?),
            None => None,
        };
        Ok(Weights {
            fingerprint,
            embeddings: self.matrix("token_embd.weight", tokens, self.config.hidden)?,
            layers: self.layers(threads)?,
            output_norm: self.vector("output_norm.weight", self.config.hidden)?,
            output,
        })
    }

    fn layers(self, threads: usize) -> Result<Vec<Layer>, ModelError> {
        let next = AtomicUsize::new(0);
        let loaded = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for _ in 0..threads.max(1) {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        if index >= self.config.layers {
                            return;
                        }
                        let layer = self.layer(index);
                        let mut loaded = loaded.lock().unwrap_or_else(PoisonError::into_inner);
                        loaded.push((index, layer));
                    }
                });
            }
        });
        let mut loaded = loaded.into_inner().unwrap_or_else(PoisonError::into_inner);
        loaded.sort_by_key(|(index, _)| *index);
        loaded.into_iter().map(|(_, layer)| layer).collect()
    }

    fn layer(self, index: usize) -> Result<Layer, ModelError> {
        let Config { hidden, inner, heads, key_heads, head_dimension, .. } = *self.config;
        let name = |part: &str| format!("blk.{index}.{part}.weight");
        let (queries, keys) = (heads * head_dimension, key_heads * head_dimension);
        Ok(Layer {
            attention_norm: self.vector(&name("attn_norm"), hidden)?,
            query: self.rotated(&name("attn_q"), queries, hidden)?,
            key: self.rotated(&name("attn_k"), keys, hidden)?,
            value: self.matrix(&name("attn_v"), keys, hidden)?,
            biases: [
                self.bias(&format!("blk.{index}.attn_q.bias"), queries, self.config.pairs_adjoin)?,
                self.bias(&format!("blk.{index}.attn_k.bias"), keys, self.config.pairs_adjoin)?,
                self.bias(&format!("blk.{index}.attn_v.bias"), keys, false)?,
            ],
            attention_output: self.matrix(&name("attn_output"), hidden, queries)?,
            feed_forward_norm: self.vector(&name("ffn_norm"), hidden)?,
            gate: self.matrix(&name("ffn_gate"), inner, hidden)?,
            up: self.matrix(&name("ffn_up"), inner, hidden)?,
            down: self.matrix(&name("ffn_down"), hidden, inner)?,
        })
    }

    fn vector(self, name: &str, len: usize) -> Result<Array<f32>, ModelError> {
        let tensor = self.file.required_tensor(name)?;
        check(tensor, 1, len)?;
        let mut values = Aligned::zeroed(len);
        tensor.kind.dequantize(&self.file.read_rows(tensor, 0..1)?, &mut values);
        Ok(values.into())
    }

    /// Returns what is added to a product, in the order of its rows; empty if the file has none.
    fn bias(self, name: &str, len: usize, reordered: bool) -> Result<Array<f32>, ModelError> {
        if self.file.tensor(name).is_none() {
            return Ok(Aligned::zeroed(0).into());
        }
        let stored = self.vector(name, len)?;
        let source = |at| if reordered { rope::source_row(at, self.config.head_dimension) } else { at };
        let ordered: Vec<f32> = (0..len).map(|at| stored[source(at)]).collect();
        Ok(ordered.as_slice().into())
    }

    fn matrix(self, name: &str, rows: usize, columns: usize) -> Result<BlockMatrix, ModelError> {
        self.load(self.file.required_tensor(name)?, rows, columns)
    }

    fn load(self, tensor: &Tensor, rows: usize, columns: usize) -> Result<BlockMatrix, ModelError> {
        check(tensor, rows, columns)?;
        BlockMatrix::load(tensor.kind, rows, columns, |rows| self.file.read_rows(tensor, rows))
    }

    /// Loads weights whose products are rotated by position: see `rope`.
    fn rotated(self, name: &str, rows: usize, columns: usize) -> Result<BlockMatrix, ModelError> {
        let tensor = self.file.required_tensor(name)?;
        if !self.config.pairs_adjoin {
            return self.load(tensor, rows, columns);
        }
        check(tensor, rows, columns)?;
        let all = self.file.read_rows(tensor, 0..rows)?;
        let row_bytes = tensor.row_bytes();
        BlockMatrix::load(tensor.kind, rows, columns, |rows| {
            let sources = rows.map(|row| rope::source_row(row, self.config.head_dimension) * row_bytes);
            Ok(sources.flat_map(|start| all[start..start + row_bytes].iter().copied()).collect())
        })
    }
}

fn check(tensor: &Tensor, rows: usize, columns: usize) -> Result<(), ModelError> {
    if (tensor.rows, tensor.columns) == (rows, columns) {
        return Ok(());
    }
    let Tensor { name, rows: has_rows, columns: has_columns, .. } = tensor;
    Err(ModelError::malformed(format!(
        "tensor `{name}` is {has_rows} × {has_columns}, not {rows} × {columns}"
    )))
}
