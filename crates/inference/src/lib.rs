//! The embedded models: a MiniLM encoder, a reader of the same architecture and a Llama decoder, on int8 kernels. `docs/inference.md` explains how they
//! work.
//!
//! The rest of the program uses `Engine`. Below it are the models, then what they are made of: products
//! (`linear`, `blocks`) and `elementwise` operations, and at the bottom the kernels, chosen at run time. Readers of
//! model files and tokenizers are separate, as are `arrays`, files that are mapped, and `scan`, which compares stored
//! vectors.

pub mod arrays;
mod bert;
mod blocks;
pub mod chat_template;
pub mod decoder;
mod elementwise;
pub mod encoder;
mod engine;
mod error;
pub mod gguf;
mod kernel;
mod linear;
mod packed;
pub mod reader;
mod rescale;
pub mod safetensors;
pub mod scan;
mod simd;
mod task_pool;
pub mod tensor_kind;
pub mod tokenizer;

pub use engine::{
    Embeddings, Engine, EngineError, Event, FinishReason, Finished, Generation, Models, Priority, Readings,
    Request,
};
pub use error::ModelError;
pub use kernel::Kernel;
pub use task_pool::TaskPool;
