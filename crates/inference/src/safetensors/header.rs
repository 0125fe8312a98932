//! The JSON header of a safetensors file, checked so that its tensors can be read without further checks.

use std::collections::HashMap;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::ModelError;

#[derive(Debug, Deserialize)]
pub struct Entry {
    pub dtype: String,
    pub shape: Vec<usize>,
    data_offsets: (usize, usize),
}

impl Entry {
    /// Returns the range of the tensor's bytes after the header.
    pub fn range(&self) -> Range<usize> {
        self.data_offsets.0..self.data_offsets.1
    }
}

pub fn read(json: &[u8], data_len: u64) -> Result<HashMap<String, Entry>, ModelError> {
    let Header(entries) = serde_json::from_slice(json)
        .map_err(|error| ModelError::malformed(format!("the safetensors header cannot be read: {error}")))?;
    for (name, entry) in &entries {
        check(name, entry, data_len)?;
    }
    check_overlap(&entries)?;
    let count = entries.len();
    let tensors: HashMap<String, Entry> = entries.into_iter().collect();
    if tensors.len() != count {
        return Err(ModelError::malformed("the safetensors header names a tensor twice"));
    }
    Ok(tensors)
}

fn check(name: &str, entry: &Entry, data_len: u64) -> Result<(), ModelError> {
    let (start, end) = entry.data_offsets;
    if start > end || end as u64 > data_len {
        return Err(ModelError::malformed(format!(
            "tensor `{name}` at {start} to {end} is not inside the file's {data_len} bytes"
        )));
    }
    // Tensors of other types are never read.
    let Some(number_len) = number_len(&entry.dtype) else { return Ok(()) };
    let len = entry.shape.iter().try_fold(number_len, |len, dimension| len.checked_mul(*dimension));
    if len != Some(end - start) {
        return Err(ModelError::malformed(format!(
            "tensor `{name}` has {} bytes, which are not {:?} of {}",
            end - start,
            entry.shape,
            entry.dtype
        )));
    }
    Ok(())
}

fn check_overlap(entries: &[(String, Entry)]) -> Result<(), ModelError> {
    let mut by_place: Vec<&(String, Entry)> = entries.iter().collect();
    by_place.sort_by_key(|(_, entry)| entry.data_offsets);
    for pair in by_place.windows(2) {
        let [(first, before), (second, after)] = pair else { continue };
        if before.data_offsets.1 > after.data_offsets.0 {
            return Err(ModelError::malformed(format!("tensors `{first}` and `{second}` overlap")));
        }
    }
    Ok(())
}

fn number_len(dtype: &str) -> Option<usize> {
    match dtype {
        "F32" => Some(4),
        "F16" | "BF16" => Some(2),
        "I8" | "U8" => Some(1),
        _ => None,
    }
}

/// All entries in order, so that a duplicate key is noticed.
struct Header(Vec<(String, Entry)>);

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries)
    }
}

struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = Header;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Header, A::Error> {
        let mut entries = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            if name == "__metadata__" {
                map.next_value::<IgnoredAny>()?;
            } else {
                entries.push((name, map.next_value()?));
            }
        }
        Ok(Header(entries))
    }
}
