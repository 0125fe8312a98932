//! The keys and values of a GGUF file. Values stay encoded and are decoded on demand, so that they take no more
//! memory than in the file.

mod value;

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::header::Header;
use crate::ModelError;
use value::{Value, skip_value};

pub struct Metadata {
    header: Vec<u8>,
    values: HashMap<String, Value>,
}

pub fn read_entries(header: &mut Header, count: u64) -> Result<HashMap<String, Value>, ModelError> {
    let mut values = HashMap::new();
    for _ in 0..count {
        let key = header.text("metadata key")?.to_owned();
        let value = skip_value(header)?;
        match values.entry(key) {
            Entry::Vacant(place) => place.insert(value),
            Entry::Occupied(twice) => {
                return Err(ModelError::malformed(format!("metadata `{}` appears twice", twice.key())));
            }
        };
    }
    Ok(values)
}

impl Metadata {
    pub fn new(header: Vec<u8>, values: HashMap<String, Value>) -> Self {
        Self { header, values }
    }

    pub fn string(&self, key: &str) -> Result<Option<&str>, ModelError> {
        self.get(key, "a string", |value| value.as_str(&self.header))
    }

    pub fn u32(&self, key: &str) -> Result<Option<u32>, ModelError> {
        self.get(key, "an integer below 2^32", |value| value.as_integer(&self.header))
    }

    pub fn f32(&self, key: &str) -> Result<Option<f32>, ModelError> {
        self.get(key, "a number", |value| value.as_f32(&self.header))
    }

    pub fn bool(&self, key: &str) -> Result<Option<bool>, ModelError> {
        self.get(key, "true or false", |value| value.as_bool(&self.header))
    }

    pub fn strings(&self, key: &str) -> Result<Option<Vec<&str>>, ModelError> {
        self.get(key, "an array of strings", |value| value.strings(&self.header))
    }

    pub fn f32s(&self, key: &str) -> Result<Option<Vec<f32>>, ModelError> {
        self.get(key, "an array of numbers", |value| value.array(&self.header, Value::as_f32))
    }

    pub fn u32s(&self, key: &str) -> Result<Option<Vec<u32>>, ModelError> {
        self.get(key, "an array of integers below 2^32", |value| value.array(&self.header, Value::as_integer))
    }

    pub fn i32s(&self, key: &str) -> Result<Option<Vec<i32>>, ModelError> {
        self.get(key, "an array of 32-bit integers", |value| value.array(&self.header, Value::as_integer))
    }

    fn get<'a, T>(
        &'a self,
        key: &str,
        accepted: &str,
        decode: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, ModelError> {
        let Some(value) = self.values.get(key) else { return Ok(None) };
        let wrong = || ModelError::malformed(format!("metadata `{key}` is not {accepted}"));
        decode(value).ok_or_else(wrong).map(Some)
    }
}

/// Leaves out the values: a vocabulary is no use in a log.
impl std::fmt::Debug for Metadata {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.values.keys()).finish()
    }
}
