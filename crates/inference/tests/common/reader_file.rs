//! Files of the reader: the trained one, and small ones with random weights that tests may break.

use std::fs;
use std::path::Path;

/// Returns the trained model of this repository.
pub fn trained() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/reader/reader.safetensors");
    assert!(path.is_file(), "no `{}`: the trained model is missing", path.display());
    fs::read(&path).unwrap()
}

/// A safetensors file to be.
pub struct ReaderFile(pub Vec<Tensor>);

pub struct Tensor {
    pub name: String,
    pub dtype: &'static str,
    pub shape: Vec<usize>,
    pub bytes: Vec<u8>,
}

const HIDDEN: usize = 64;
const INNER: usize = 96;
const LAYERS: usize = 2;
pub const POSITIONS: usize = 48;

impl ReaderFile {
    /// Returns a model whose words are single letters.
    pub fn small() -> Self {
        let mut file = Self(Vec::new());
        let mut seed = 1;
        let pieces = vocabulary();
        for (name, rows) in [
            ("embeddings.word_embeddings", pieces.len()),
            ("embeddings.position_embeddings", POSITIONS),
            ("embeddings.token_type_embeddings", 2),
        ] {
            file.bytes(name, rows, HIDDEN, &mut seed);
        }
        file.norm("embeddings.LayerNorm", &mut seed);
        for layer in 0..LAYERS {
            let name = |part: &str| format!("encoder.layer.{layer}.{part}");
            for (part, outputs, inputs) in [
                ("attention.self.query", HIDDEN, HIDDEN),
                ("attention.self.key", HIDDEN, HIDDEN),
                ("attention.self.value", HIDDEN, HIDDEN),
                ("attention.output.dense", HIDDEN, HIDDEN),
                ("intermediate.dense", INNER, HIDDEN),
                ("output.dense", HIDDEN, INNER),
            ] {
                file.bytes(&name(part), outputs, inputs, &mut seed);
                file.floats(&name(&format!("{part}.bias")), vec![outputs], || 0.2 * random(&mut seed));
            }
            file.norm(&name("attention.output.LayerNorm"), &mut seed);
            file.norm(&name("output.LayerNorm"), &mut seed);
        }
        file.floats("head.weight", vec![3, HIDDEN], || random(&mut seed));
        file.floats("head.bias", vec![3], || random(&mut seed));
        file.add("vocabulary", "U8", vec![pieces.join("\n").len()], pieces.join("\n").into_bytes());
        file
    }

    fn bytes(&mut self, name: &str, rows: usize, columns: usize, seed: &mut u64) {
        let bytes = (0..rows * columns).map(|_| (random(seed) * 127.0) as i8 as u8).collect();
        self.add(&format!("{name}.weight"), "I8", vec![rows, columns], bytes);
        self.floats(&format!("{name}.weight.scale"), vec![rows], || (1.5 + random(seed)) / 600.0);
    }

    fn norm(&mut self, name: &str, seed: &mut u64) {
        self.floats(&format!("{name}.weight"), vec![HIDDEN], || 1.0 + 0.5 * random(seed));
        self.floats(&format!("{name}.bias"), vec![HIDDEN], || 0.2 * random(seed));
    }

    fn floats(&mut self, name: &str, shape: Vec<usize>, mut next: impl FnMut() -> f32) {
        let count = shape.iter().product::<usize>();
        let bytes = (0..count).flat_map(|_| next().to_le_bytes()).collect();
        self.add(name, "F32", shape, bytes);
    }

    fn add(&mut self, name: &str, dtype: &'static str, shape: Vec<usize>, bytes: Vec<u8>) {
        self.0.push(Tensor { name: name.to_owned(), dtype, shape, bytes });
    }

    pub fn tensor(&mut self, name: &str) -> &mut Tensor {
        self.0.iter_mut().find(|tensor| tensor.name == name).unwrap()
    }

    /// Returns the header of the file, and what follows it.
    pub fn parts(&self) -> (String, Vec<u8>) {
        let (mut entries, mut data) = (Vec::new(), Vec::new());
        for Tensor { name, dtype, shape, bytes } in &self.0 {
            let (start, end) = (data.len(), data.len() + bytes.len());
            entries.push(format!(
                r#""{name}":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[{start},{end}]}}"#
            ));
            data.extend(bytes);
        }
        (format!("{{{}}}", entries.join(",")), data)
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let (header, data) = self.parts();
        with_header(header.as_bytes(), &data)
    }
}

pub fn with_header(header: &[u8], data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header, data].concat()
}

fn vocabulary() -> Vec<String> {
    let special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].map(str::to_owned);
    let letters = ('!'..='~').map(String::from);
    let continuations = ('a'..='z').map(|letter| format!("##{letter}"));
    special.into_iter().chain(letters).chain(continuations).collect()
}

/// Returns a number from -1 to 1.
fn random(seed: &mut u64) -> f32 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 40) as f32 / (1 << 23) as f32 - 1.0
}
