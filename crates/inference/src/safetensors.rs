//! Reads safetensors files: a JSON header with names, shapes and positions, followed by the numbers. The file is
//! untrusted: everything in the header is checked before it is used.

mod header;

use std::collections::HashMap;

use crate::ModelError;
use crate::tensor_kind::TensorKind;
use header::Entry;

/// The limit of the format.
const MAX_HEADER: u64 = 100_000_000;

/// A file in memory, and the positions of its tensors.
pub struct Safetensors<'a> {
    data: &'a [u8],
    tensors: HashMap<String, Entry>,
}

impl<'a> Safetensors<'a> {
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self, ModelError> {
        let too_short = || ModelError::malformed("not a safetensors file: its header is not inside it");
        let (len, behind) = bytes.split_first_chunk().ok_or_else(too_short)?;
        let len = u64::from_le_bytes(*len);
        if len > MAX_HEADER || len > behind.len() as u64 {
            return Err(too_short());
        }
        let (json, data) = behind.split_at(len as usize);
        let tensors = header::read(json, data.len() as u64)?;
        Ok(Self { data, tensors })
    }

    /// Returns a tensor's shape and its numbers, row by row.
    pub fn tensor(&self, name: &str) -> Result<(Vec<usize>, Vec<f32>), ModelError> {
        let entry = self.entry(name)?;
        let kind = match entry.dtype.as_str() {
            "F32" => TensorKind::F32,
            "F16" => TensorKind::F16,
            "BF16" => TensorKind::BF16,
            other => {
                return Err(ModelError::unsupported(format!(
                    "tensor `{name}` is of type `{other}`: one of F32, F16, BF16"
                )));
            }
        };
        let bytes = &self.data[entry.range()];
        let mut numbers = vec![0.0; bytes.len() / kind.block_bytes()];
        kind.dequantize(bytes, &mut numbers);
        Ok((entry.shape.clone(), numbers))
    }

    /// Returns the shape and the bytes of a tensor of this type, which is `I8` or `U8`.
    pub fn bytes(&self, name: &str, dtype: &str) -> Result<(&[usize], &'a [u8]), ModelError> {
        let entry = self.entry(name)?;
        let found = &entry.dtype;
        if found != dtype {
            return Err(ModelError::unsupported(format!(
                "tensor `{name}` is of type `{found}`, not `{dtype}`"
            )));
        }
        // The lengths of other types need not be those of their shapes.
        if !["I8", "U8"].contains(&dtype) {
            return Err(ModelError::unsupported(format!(
                "tensor `{name}` is of type `{found}`: one of I8, U8"
            )));
        }
        Ok((&entry.shape, &self.data[entry.range()]))
    }

    /// Returns the type of a tensor's numbers, and its shape.
    pub fn describe(&self, name: &str) -> Result<(&str, &[usize]), ModelError> {
        self.entry(name).map(|entry| (entry.dtype.as_str(), entry.shape.as_slice()))
    }

    fn entry(&self, name: &str) -> Result<&Entry, ModelError> {
        self.tensors.get(name).ok_or_else(|| ModelError::malformed(format!("no tensor `{name}`")))
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }
}

impl std::fmt::Debug for Safetensors<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.tensors.keys()).finish()
    }
}
