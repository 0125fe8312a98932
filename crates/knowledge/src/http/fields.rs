//! Types and checks of fields that several requests have.

use kit::error::ApiError;
use kit::fields::AnyText;
use retrieval::Mode;
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use std::fmt;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// In bytes. A longer text is a document, or belongs into `historyContext`.
const LONGEST_QUESTION: usize = 32 << 10;

/// Of a space or a source, in characters.
const LONGEST_NAME: usize = 100;

/// Returns the name that a person gives to a space or a source.
pub fn name(text: &AnyText) -> Result<String, ApiError> {
    let name = text.0.trim();
    match name.chars().count() {
        0 => Err(ApiError::invalid("`name` is missing: what it is called")),
        1..=LONGEST_NAME if !name.chars().any(char::is_control) => Ok(name.to_owned()),
        1..=LONGEST_NAME => Err(ApiError::invalid("`name` has a control character")),
        _ => Err(ApiError::invalid(format!("`name` is longer than {LONGEST_NAME} characters"))),
    }
}

/// A number within bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number<const LEAST: u32, const MOST: u32>(pub f64);

impl<'de, const LEAST: u32, const MOST: u32> Deserialize<'de> for Number<LEAST, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_f64(NumberVisitor::<LEAST, MOST>).map(Self)
    }
}

struct NumberVisitor<const LEAST: u32, const MOST: u32>;

impl<const LEAST: u32, const MOST: u32> Visitor<'_> for NumberVisitor<LEAST, MOST> {
    type Value = f64;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "a number from {LEAST} to {MOST}")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<f64, E> {
        self.visit_f64(number as f64)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<f64, E> {
        self.visit_f64(number as f64)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<f64, E> {
        match (f64::from(LEAST)..=f64::from(MOST)).contains(&number) {
            true => Ok(number),
            false => Err(E::invalid_value(Unexpected::Float(number), &self)),
        }
    }
}

impl<const LEAST: u32, const MOST: u32> PartialSchema for Number<LEAST, MOST> {
    fn schema() -> RefOr<Schema> {
        let number = ObjectBuilder::new().schema_type(Type::Number);
        number.minimum(Some(f64::from(LEAST))).maximum(Some(f64::from(MOST))).into()
    }
}

impl<const LEAST: u32, const MOST: u32> ToSchema for Number<LEAST, MOST> {
    fn name() -> Cow<'static, str> {
        Cow::Owned(format!("Number{LEAST}To{MOST}"))
    }
}

/// How passages are found.
#[derive(Clone, Copy, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SearchMode {
    /// By meaning.
    Dense,
    /// By words.
    Lexical,
    /// By meaning and by words.
    Hybrid,
    /// By both, and over the names that connect passages.
    #[default]
    Graph,
}

impl From<SearchMode> for Mode {
    fn from(mode: SearchMode) -> Self {
        match mode {
            SearchMode::Dense => Self::Dense,
            SearchMode::Lexical => Self::Lexical,
            SearchMode::Hybrid => Self::Hybrid,
            SearchMode::Graph => Self::Graph,
        }
    }
}

/// What a node of the graph names.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum NodeType {
    Concept,
    Person,
    Organization,
    Place,
    Event,
    Product,
    Term,
}

impl From<graph::Kind> for NodeType {
    fn from(kind: graph::Kind) -> Self {
        match kind {
            graph::Kind::Concept => Self::Concept,
            graph::Kind::Person => Self::Person,
            graph::Kind::Organization => Self::Organization,
            graph::Kind::Place => Self::Place,
            graph::Kind::Event => Self::Event,
            graph::Kind::Product => Self::Product,
            graph::Kind::Term => Self::Term,
        }
    }
}

/// Refuses a required text that is empty.
pub fn filled<'a>(name: &str, text: &'a str) -> Result<&'a str, ApiError> {
    match text.is_empty() {
        true => Err(ApiError::invalid(format!("`{name}` is missing: a string that is not empty"))),
        false => Ok(text),
    }
}

/// Checks the length of a question, which the request has under `name`.
pub fn check_question(name: &str, question: &str) -> Result<(), ApiError> {
    match question.len() {
        0..=LONGEST_QUESTION => Ok(()),
        bytes => Err(ApiError::invalid(format!("`{name}` has {bytes} bytes: at most {LONGEST_QUESTION}"))),
    }
}
