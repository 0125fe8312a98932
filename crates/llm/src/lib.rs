//! Chat models: one trait, and the providers behind it.
//!
//! `Providers` selects a provider by name; the `Model` that it returns counts its use, and tells a `Ledger` of each call. The
//! embedded model is in `edge`, those of vendors are in `vendor`. The services decide what to ask.

mod default_model;
mod edge;
mod error;
mod ledger;
mod metered;
mod provider_name;
mod providers;
mod tools;
mod vendor;

pub use default_model::{DefaultModel, DefaultModelFault, is_model_name};
pub use edge::Edge;
pub use error::{Cause, ChatError};
pub use ledger::{Call, Caller, Ledger, Project, Who};
pub use metered::Model;
pub use provider_name::{EDGE_AI, UnknownProvider, VENDOR_A, VENDOR_B, VENDOR_C, canonical};
pub use providers::{NoClient, Providers, Purpose};
pub use tools::{CallPiece, CallStart, Format, Function, Schema, ToolCall, ToolChoice, Tools};
pub use vendor::{ApiKey, BaseUrl, Connection, Kind, ServedModel, Server, VendorSettings, Vendors};

use bytes::Bytes;
use futures_util::stream::Stream;
use std::pin::Pin;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    System,
    User,
    Assistant,
}

/// A picture beside a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Such as `image/png`.
    pub media_type: String,
    pub bytes: Bytes,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub role: Role,
    pub text: String,
    /// Only the user's messages have some, and not every model takes them.
    pub pictures: Vec<Picture>,
    /// What the assistant called, besides its text.
    pub calls: Vec<ToolCall>,
    /// The id of the call whose result the text is; in the user's messages only.
    pub result_of: Option<String>,
}

impl Message {
    pub fn new(role: Role, text: impl Into<String>) -> Self {
        Self { role, text: text.into(), pictures: Vec::new(), calls: Vec::new(), result_of: None }
    }

    pub fn system(text: impl Into<String>) -> Self {
        Self::new(Role::System, text)
    }

    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, text)
    }

    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, text)
    }
}

/// What a model is good for, by its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Skill {
    /// It invents more than it reads.
    Nothing,
    /// It writes what it is told to, but facts are found better by the reader.
    Writes,
    /// It answers in its own words from what it reads.
    Answers,
}

impl Skill {
    /// Of 135 million parameters, a model answered 22 of a hundred questions whose answer was in its prompt.
    const MIN_PARAMETERS_TO_WRITE: u64 = 1_000_000_000;
    /// Of 1.5 billion parameters, a model answered 27 of 50 questions over documents of strangers from the passages from which
    /// the reader answered 39, and refused 9 of 25 where the reader refused 24.
    const MIN_PARAMETERS_TO_ANSWER: u64 = 3_000_000_000;

    pub fn of_parameters(parameters: u64) -> Self {
        match parameters {
            0..Self::MIN_PARAMETERS_TO_WRITE => Self::Nothing,
            Self::MIN_PARAMETERS_TO_WRITE..Self::MIN_PARAMETERS_TO_ANSWER => Self::Writes,
            _ => Self::Answers,
        }
    }
}

/// What a picture is taken for: from 258 tokens at Google to some 1,600 at Anthropic.
const PICTURE_TOKENS: usize = 1000;

/// A question to a model.
#[derive(Clone, Debug)]
pub struct Chat {
    pub messages: Vec<Message>,
    /// Most tokens of the answer.
    pub max_tokens: usize,
    /// From 0 (always the likeliest token) to 1. Some models of vendors do not accept it and choose for themselves.
    pub temperature: f32,
    /// The answer ends before the first of these strings. A vendor gets at most four, and some models accept none.
    pub stop: Vec<String>,
    /// The same seed and question give the same answer, if the model supports it.
    pub seed: u64,
    /// Whether a user waits for the answer.
    pub urgent: bool,
    /// Whose question it is. The model inside this process takes turns between users.
    pub caller: Caller,
    /// How often a vendor that is overloaded or cannot be reached is asked in all, before the first token arrives.
    pub tries: u32,
    /// The functions that the model may call, and the form of its text. Not every model has them: see [`ChatModel::accepts`].
    pub tools: Option<Tools>,
    pub format: Format,
}

impl Chat {
    pub fn has_pictures(&self) -> bool {
        self.messages.iter().any(|message| !message.pictures.is_empty())
    }

    /// Estimates the tokens of the question, for models that do not count them.
    fn estimated_tokens(&self) -> usize {
        let bytes = self.messages.iter().map(|message| {
            let calls = message.calls.iter().map(|call| call.name.len() + call.arguments.len());
            message.text.len() + calls.sum::<usize>()
        });
        let pictures: usize = self.messages.iter().map(|message| message.pictures.len()).sum();
        let tools = self.tools.as_ref().map_or(0, Tools::bytes);
        vendor::estimate(bytes.sum::<usize>() + tools + self.format.bytes()) + pictures * PICTURE_TOKENS
    }
}

/// For callers that do not retry by themselves.
pub const USUAL_TRIES: u32 = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Text(String),
    /// Only if the question has tools.
    Call(CallPiece),
    /// The last piece of a complete answer.
    End(Usage),
}

/// Tokens as the model counts them, or an estimate if a vendor does not report them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Whether `max_tokens` or the model's window cut the answer off.
    pub cut_off: bool,
}

/// An answer that is being written. Dropping it cancels the answer.
pub type Reply = Pin<Box<dyn Stream<Item = Result<Piece, ChatError>> + Send>>;

pub trait ChatModel: Send + Sync {
    fn provider(&self) -> &str;

    fn model(&self) -> &str;

    /// Most tokens of the question and the answer together.
    fn window(&self) -> usize;

    /// Returns how many tokens a text has: for a vendor's model an estimate that is rather too high.
    fn tokens(&self, text: &str) -> usize;

    fn skill(&self) -> Skill {
        Skill::Answers
    }

    /// Returns whether the model is known to take no pictures.
    fn is_blind(&self) -> bool {
        false
    }

    /// Fails if the model is known to be missing. A vendor is not asked.
    fn check(&self) -> Result<(), ChatError> {
        Ok(())
    }

    /// Fails if the model is known not to take something that the question has: pictures, tools, a format. A vendor is not
    /// asked.
    fn accepts(&self, _: &Chat) -> Result<(), ChatError> {
        Ok(())
    }

    /// Returns pieces and then `Piece::End`, or an error as the last item. A vendor is first asked when the
    /// stream is polled.
    fn chat(&self, chat: Chat) -> Reply;
}
