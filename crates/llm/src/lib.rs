//! Chat models: one trait, and the providers behind it.
//!
//! `Providers` knows which there are and picks one by name; the `Model` it gives counts what is used. The embedded
//! model is in `edge`, those of vendors are in `vendor`. What to say to a model is left to the services.

mod default_model;
mod edge;
mod error;
mod metered;
mod providers;
mod vendor;

pub use default_model::{DefaultModel, DefaultModelFault, is_model_name};
pub use edge::Edge;
pub use error::{Cause, ChatError};
pub use metered::Model;
pub use providers::{EDGE_AI, NoClient, Providers, UnknownProvider, VENDOR_A, VENDOR_B, VENDOR_C, canonical};
pub use vendor::{ApiKey, BaseUrl, VendorSettings, Vendors};

use futures_util::stream::Stream;
use std::pin::Pin;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    System,
    User,
    Assistant,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub role: Role,
    pub text: String,
}

impl Message {
    pub fn system(text: impl Into<String>) -> Self {
        Self { role: Role::System, text: text.into() }
    }

    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, text: text.into() }
    }

    pub fn assistant(text: impl Into<String>) -> Self {
        Self { role: Role::Assistant, text: text.into() }
    }
}

/// What a model is asked.
#[derive(Clone, Debug)]
pub struct Chat {
    pub messages: Vec<Message>,
    /// Tokens to write at most.
    pub max_tokens: usize,
    /// From 0, always the likeliest word, to 1. Some vendors' models take none and choose for themselves.
    pub temperature: f32,
    /// The answer ends before the first of these. A vendor is told of four at most, and some models take none.
    pub stop: Vec<String>,
    /// The same seed and question give the same answer, where the model can do that.
    pub seed: u64,
    /// Whether somebody waits for the answer.
    pub urgent: bool,
    /// How often a vendor that is overloaded or cannot be reached is asked, before it has said a word.
    pub tries: u32,
}

/// For whoever does not try again by itself.
pub const USUAL_TRIES: u32 = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Text(String),
    /// The last piece of an answer that came to its end.
    End(Usage),
}

/// As the model counts; an estimate where a vendor does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Whether `max_tokens`, or the model's window, cut the answer off.
    pub cut_off: bool,
}

/// An answer in the making. Dropping it ends the work on it.
pub type Reply = Pin<Box<dyn Stream<Item = Result<Piece, ChatError>> + Send>>;

pub trait ChatModel: Send + Sync {
    fn provider(&self) -> &'static str;

    fn model(&self) -> &str;

    /// Tokens that question and answer may have together.
    fn window(&self) -> usize;

    /// How many tokens a text has: for a vendor's model an estimate, rather too high.
    fn tokens(&self, text: &str) -> usize;

    /// Whether it is large enough to answer in its own words and stay with the sources.
    fn can_write(&self) -> bool {
        true
    }

    /// Text pieces and then `Piece::End`; or an error, which is the last item. A vendor is not asked before the first poll.
    fn chat(&self, chat: Chat) -> Reply;
}
