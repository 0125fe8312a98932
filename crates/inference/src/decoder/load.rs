//! Loads a model from its file, several layers in parallel.

use super::config::Config;
use super::{Decoder, Layer, rope};
use crate::ModelError;
use crate::blocks::BlockMatrix;
use crate::chat_template::ChatTemplate;
use crate::gguf::{Gguf, Tensor};
use crate::kernel::Kernel;
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
        let file = Gguf::open(path)?;
        let config = Config::read(&file)?;
        let tokenizer = TextTokenizer::from_gguf(&file)?;
        let fingerprint =
            fingerprint(path).map_err(|source| ModelError::Read { path: path.to_owned(), source })?;
        let source = TensorReader { file: &file, config: &config };
        let embeddings = source.embeddings(tokenizer.len())?;
        let output = match file.tensor("output.weight") {
            Some(tensor) => Some(source.load(tensor, tokenizer.len(), config.hidden)?),
            None => None,
        };
        Ok(Self {
            kernel,
            template: ChatTemplate::from_gguf(&file)?,
            fingerprint,
            embeddings,
            layers: source.layers(threads)?,
            output_norm: source.vector("output_norm.weight", config.hidden)?,
            output,
            tokenizer,
            config,
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
            attention_output: self.matrix(&name("attn_output"), hidden, queries)?,
            feed_forward_norm: self.vector(&name("ffn_norm"), hidden)?,
            gate: self.matrix(&name("ffn_gate"), inner, hidden)?,
            up: self.matrix(&name("ffn_up"), inner, hidden)?,
            down: self.matrix(&name("ffn_down"), hidden, inner)?,
        })
    }

    fn embeddings(self, tokens: usize) -> Result<BlockMatrix, ModelError> {
        self.matrix("token_embd.weight", tokens, self.config.hidden)
    }

    fn vector(self, name: &str, len: usize) -> Result<Vec<f32>, ModelError> {
        let tensor = self.file.required_tensor(name)?;
        check(tensor, 1, len)?;
        let mut values = vec![0.0; len];
        tensor.kind.dequantize(&self.file.read_rows(tensor, 0..1)?, &mut values);
        Ok(values)
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
