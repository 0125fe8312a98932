//! Reads the weights of an ONNX file: floats, or bytes with a scale and a zero point. The graph is used for one thing:
//! exporters rename the weights of linear layers, and only the node that multiplies with them has the layer's name.
//! The file is untrusted: sizes are checked before they are used.

use crate::ModelError;
use prost::Message;
use std::collections::HashMap;

const FLOAT: i32 = 1;
const UINT8: i32 = 2;
const INT8: i32 = 3;

pub struct Onnx {
    tensors: HashMap<String, Tensor>,
    /// The name of the weights that each product multiplies with, by the name of its layer.
    products: HashMap<String, String>,
}

#[derive(Message)]
struct Model {
    #[prost(message, optional, tag = "7")]
    graph: Option<Graph>,
}

#[derive(Message)]
struct Graph {
    #[prost(message, repeated, tag = "1")]
    nodes: Vec<Node>,
    #[prost(message, repeated, tag = "5")]
    initializers: Vec<Tensor>,
}

#[derive(Message)]
struct Node {
    #[prost(string, repeated, tag = "1")]
    inputs: Vec<String>,
    #[prost(string, tag = "3")]
    name: String,
    #[prost(string, tag = "4")]
    operation: String,
}

#[derive(Message)]
struct Tensor {
    #[prost(int64, repeated, tag = "1")]
    dimensions: Vec<i64>,
    #[prost(int32, tag = "2")]
    kind: i32,
    #[prost(float, repeated, tag = "4")]
    floats: Vec<f32>,
    #[prost(int32, repeated, tag = "5")]
    integers: Vec<i32>,
    #[prost(string, tag = "8")]
    name: String,
    #[prost(bytes = "vec", tag = "9")]
    raw: Vec<u8>,
}

impl Onnx {
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ModelError> {
        let malformed = |error| ModelError::malformed(format!("not an ONNX file: {error}"));
        let graph = Model::decode(bytes).map_err(malformed)?.graph;
        let Graph { nodes, initializers } =
            graph.ok_or_else(|| ModelError::malformed("the ONNX file has no graph"))?;
        let products = nodes.into_iter().filter_map(Node::product).collect();
        let tensors = initializers.into_iter().map(|tensor| (tensor.name.clone(), tensor)).collect();
        Ok(Self { tensors, products })
    }

    /// Returns a tensor's shape and its numbers, row by row.
    pub fn tensor(&self, name: &str) -> Result<(Vec<usize>, Vec<f32>), ModelError> {
        if let Some(tensor) = self.tensors.get(name) {
            let numbers = tensor.numbers()?;
            return Ok((tensor.shape()?, numbers));
        }
        let part = |suffix: &str| self.tensors.get(&format!("{name}{suffix}"));
        let (Some(bytes), Some(scale)) = (part("_quantized"), part("_scale")) else {
            return Err(ModelError::malformed(format!("no tensor `{name}`")));
        };
        let zero = part("_zero_point").map(Tensor::numbers).transpose()?.unwrap_or_default();
        let (shape, scale) = (bytes.shape()?, scale.numbers()?);
        let mut numbers = bytes.numbers()?;
        // Scales are for the whole tensor, or one for each column.
        let columns = shape.last().copied().unwrap_or_default();
        if scale.is_empty() || scale.len() > 1 && scale.len() != columns {
            return Err(ModelError::malformed(format!("`{name}` has {} scales", scale.len())));
        }
        for (index, number) in numbers.iter_mut().enumerate() {
            let column = if scale.len() == 1 { 0 } else { index % columns };
            *number = (*number - zero.get(column).copied().unwrap_or_default()) * scale[column];
        }
        Ok((shape, numbers))
    }

    /// Returns the weights of a linear layer, with a row for each output.
    pub fn linear(&self, layer: &str) -> Result<(Vec<usize>, Vec<f32>), ModelError> {
        let name = self.products.get(layer);
        let name = name.ok_or_else(|| ModelError::malformed(format!("no product of the layer `{layer}`")))?;
        let (shape, weights) = self.tensor(name)?;
        let &[inputs, outputs] = shape.as_slice() else {
            return Err(ModelError::malformed(format!("the weights of `{layer}` are no matrix")));
        };
        let row = |output: usize| (0..inputs).map(move |input| input * outputs + output);
        Ok((vec![outputs, inputs], (0..outputs).flat_map(row).map(|at| weights[at]).collect()))
    }
}

impl Node {
    /// Returns the name of the layer and of its weights, if the node multiplies with weights.
    fn product(self) -> Option<(String, String)> {
        if !matches!(self.operation.as_str(), "MatMul" | "MatMulInteger") {
            return None;
        }
        // `/bert/encoder/layer.0/attention/self/query/MatMul` belongs to `bert.encoder.layer.0.attention.self.query`.
        let (layer, _) = self.name.trim_start_matches('/').rsplit_once('/')?;
        let weights = self.inputs.into_iter().nth(1)?;
        let weights = weights.strip_suffix("_quantized").unwrap_or(&weights).to_owned();
        Some((layer.replace('/', "."), weights))
    }
}

impl Tensor {
    fn shape(&self) -> Result<Vec<usize>, ModelError> {
        let side = |side: &i64| usize::try_from(*side).ok();
        let shape: Option<Vec<usize>> = self.dimensions.iter().map(side).collect();
        let shape = shape.ok_or_else(|| self.wrong("has a negative side"))?;
        let numbers = shape.iter().try_fold(1usize, |numbers, side| numbers.checked_mul(*side));
        if numbers != Some(self.len()) {
            return Err(self.wrong("has other numbers than its shape says"));
        }
        Ok(shape)
    }

    fn len(&self) -> usize {
        let width = if self.kind == FLOAT { 4 } else { 1 };
        self.raw.len() / width + self.floats.len() + self.integers.len()
    }

    fn numbers(&self) -> Result<Vec<f32>, ModelError> {
        let raw = self.raw.iter();
        Ok(match self.kind {
            FLOAT if self.raw.is_empty() => self.floats.clone(),
            FLOAT => {
                let (numbers, rest) = self.raw.as_chunks::<4>();
                if !rest.is_empty() {
                    return Err(self.wrong("ends within a number"));
                }
                numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
            }
            UINT8 | INT8 if self.raw.is_empty() => self.integers.iter().map(|value| *value as f32).collect(),
            UINT8 => raw.map(|byte| f32::from(*byte)).collect(),
            INT8 => raw.map(|byte| f32::from(*byte as i8)).collect(),
            other => {
                return Err(ModelError::unsupported(format!(
                    "tensor `{}` is of ONNX type {other}: floats and bytes are read",
                    self.name
                )));
            }
        })
    }

    fn wrong(&self, what: &str) -> ModelError {
        ModelError::malformed(format!("tensor `{}` {what}", self.name))
    }
}
