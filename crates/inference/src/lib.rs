//! The embedded models: a MiniLM encoder and a Llama decoder on int8 kernels of our own.

pub mod chat_template;
mod error;
pub mod gguf;
pub mod safetensors;
pub mod tensor_kind;
pub mod tokenizer;

pub use error::ModelError;
