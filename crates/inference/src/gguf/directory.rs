//! The tensor directory: names, shapes and positions, each checked to be inside the file.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::header::Header;
use crate::ModelError;
use crate::tensor_kind::TensorKind;

const MAX_DIMENSIONS: u32 = 4;

/// A matrix of weights in the file. Further dimensions count as rows.
#[derive(Debug, Clone)]
pub struct Tensor {
    pub name: String,
    pub kind: TensorKind,
    /// The length of a row: GGUF's first dimension, a whole number of blocks.
    pub columns: usize,
    pub rows: usize,
    pub(super) position: u64,
}

impl Tensor {
    pub fn row_bytes(&self) -> usize {
        self.columns / self.kind.block_len() * self.kind.block_bytes()
    }
}

pub struct Tensors {
    pub by_name: HashMap<String, Tensor>,
}

impl Tensors {
    /// Positions are relative to the start of the data until [`Self::place`] is called.
    pub fn read(header: &mut Header, count: u64) -> Result<Self, ModelError> {
        let mut by_name = HashMap::new();
        for _ in 0..count {
            let tensor = read_tensor(header)?;
            match by_name.entry(tensor.name.clone()) {
                Entry::Vacant(place) => place.insert(tensor),
                Entry::Occupied(twice) => {
                    return Err(ModelError::malformed(format!("tensor `{}` appears twice", twice.key())));
                }
            };
        }
        Ok(Self { by_name })
    }

    pub fn place(&mut self, header_end: usize, alignment: u32, file_len: u64) -> Result<(), ModelError> {
        if !alignment.is_power_of_two() {
            return Err(ModelError::malformed(format!(
                "metadata `general.alignment` is {alignment}, not a power of two"
            )));
        }
        let alignment = u64::from(alignment);
        let data_start = (header_end as u64).next_multiple_of(alignment);
        for tensor in self.by_name.values_mut() {
            if !tensor.position.is_multiple_of(alignment) {
                return Err(ModelError::malformed(format!(
                    "tensor `{}` begins at {}, not a multiple of {alignment}",
                    tensor.name, tensor.position
                )));
            }
            let position = data_start.checked_add(tensor.position);
            let bytes = tensor.row_bytes().checked_mul(tensor.rows);
            let end = position.zip(bytes).and_then(|(position, bytes)| position.checked_add(bytes as u64));
            if end.is_none_or(|end| end > file_len) {
                return Err(ModelError::malformed(format!(
                    "tensor `{}` of {} rows of {} bytes at {} reaches beyond the file's {file_len} bytes",
                    tensor.name,
                    tensor.rows,
                    tensor.row_bytes(),
                    tensor.position
                )));
            }
            tensor.position += data_start;
        }
        Ok(())
    }
}

fn read_tensor(header: &mut Header) -> Result<Tensor, ModelError> {
    let name = header.text("tensor name")?.to_owned();
    let dimensions = header.u32()?;
    if !(1..=MAX_DIMENSIONS).contains(&dimensions) {
        return Err(ModelError::malformed(format!(
            "tensor `{name}` has {dimensions} dimensions: 1 to {MAX_DIMENSIONS} are read"
        )));
    }
    let too_large = || ModelError::malformed(format!("tensor `{name}` has a shape without bounds"));
    let columns = usize::try_from(header.u64()?).map_err(|_| too_large())?;
    let mut rows: usize = 1;
    for _ in 1..dimensions {
        let dimension = usize::try_from(header.u64()?).map_err(|_| too_large())?;
        rows = rows.checked_mul(dimension).ok_or_else(too_large)?;
    }
    let kind = TensorKind::from_id(header.u32()?)?;
    let position = header.u64()?;
    if columns == 0 || rows == 0 || !columns.is_multiple_of(kind.block_len()) {
        return Err(ModelError::malformed(format!(
            "tensor `{name}` has {rows} rows of {columns}: neither may be 0, and a row is a multiple of {}",
            kind.block_len()
        )));
    }
    // A row has at most four bytes per column.
    columns.checked_mul(4).ok_or_else(too_large)?;
    Ok(Tensor { name, kind, columns, rows, position })
}
