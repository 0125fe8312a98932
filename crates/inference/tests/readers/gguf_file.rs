//! Writes small GGUF files for the tests, valid or broken.

/// A file that is being built. Everything is written in the order of the calls.
#[derive(Default, Clone)]
pub struct GgufFile {
    metadata: Vec<u8>,
    keys: u64,
    directory: Vec<u8>,
    tensors: u64,
    data: Vec<u8>,
}

impl GgufFile {
    pub fn string(self, key: &str, value: &str) -> Self {
        self.raw(key, 8, &text(value))
    }

    pub fn u32(self, key: &str, value: u32) -> Self {
        self.raw(key, 4, &value.to_le_bytes())
    }

    pub fn bool(self, key: &str, value: bool) -> Self {
        self.raw(key, 7, &[u8::from(value)])
    }

    pub fn strings(self, key: &str, values: &[&str]) -> Self {
        let items: Vec<u8> = values.iter().flat_map(|value| text(value)).collect();
        self.array(key, 8, values.len(), &items)
    }

    pub fn f32s(self, key: &str, values: &[f32]) -> Self {
        let items: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.array(key, 6, values.len(), &items)
    }

    pub fn i32s(self, key: &str, values: &[i32]) -> Self {
        let items: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.array(key, 5, values.len(), &items)
    }

    pub fn array(self, key: &str, item_type: u32, count: usize, items: &[u8]) -> Self {
        let mut value = item_type.to_le_bytes().to_vec();
        value.extend((count as u64).to_le_bytes());
        value.extend(items);
        self.raw(key, 9, &value)
    }

    pub fn raw(mut self, key: &str, value_type: u32, value: &[u8]) -> Self {
        self.keys += 1;
        self.metadata.extend(text(key));
        self.metadata.extend(value_type.to_le_bytes());
        self.metadata.extend(value);
        self
    }

    pub fn tensor(mut self, name: &str, kind: u32, dimensions: &[u64], data: &[u8]) -> Self {
        let offset = self.data.len().next_multiple_of(32);
        self.data.resize(offset, 0);
        self.data.extend(data);
        self.tensor_at(name, kind, dimensions, offset as u64)
    }

    pub fn tensor_at(mut self, name: &str, kind: u32, dimensions: &[u64], offset: u64) -> Self {
        self.tensors += 1;
        self.directory.extend(text(name));
        self.directory.extend((dimensions.len() as u32).to_le_bytes());
        self.directory.extend(dimensions.iter().flat_map(|dimension| dimension.to_le_bytes()));
        self.directory.extend(kind.to_le_bytes());
        self.directory.extend(offset.to_le_bytes());
        self
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = b"GGUF\x03\0\0\0".to_vec();
        bytes.extend(self.tensors.to_le_bytes());
        bytes.extend(self.keys.to_le_bytes());
        bytes.extend(&self.metadata);
        bytes.extend(&self.directory);
        bytes.resize(bytes.len().next_multiple_of(32), 0);
        bytes.extend(&self.data);
        bytes
    }
}

fn text(value: &str) -> Vec<u8> {
    let mut bytes = (value.len() as u64).to_le_bytes().to_vec();
    bytes.extend(value.as_bytes());
    bytes
}
