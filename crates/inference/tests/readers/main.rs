//! The readers of model files: good files are read, and bad ones do no harm.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

#[path = "../common/mod.rs"]
mod common;

mod chat;
mod gguf;
mod gguf_file;
mod many_texts;
mod safetensors;
mod text_tokens;
mod token_ranges;
mod wordpiece;
