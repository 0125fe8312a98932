//! What an answer may be besides free text: calls of the caller's functions, and JSON.

use serde_json::value::RawValue;

/// The functions that a model may call.
#[derive(Clone, Debug)]
pub struct Tools {
    pub functions: Vec<Function>,
    pub choice: ToolChoice,
    /// Whether one answer may have several calls. None: as the vendor decides.
    pub parallel: Option<bool>,
}

/// A function of the caller. The model only asks for it; the caller runs it.
#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    pub description: Option<String>,
    /// The JSON Schema of its arguments, as the caller wrote it: the order of its fields means something to a model.
    pub parameters: Option<Box<RawValue>>,
    /// Whether the arguments follow the schema exactly.
    pub strict: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    None,
    /// It calls a function, whichever.
    Required,
    Named(String),
}

/// What the text of an answer is.
#[derive(Clone, Debug, Default)]
pub enum Format {
    #[default]
    Text,
    /// A JSON object, with whatever it has.
    Json,
    Schema(Schema),
}

/// A JSON Schema that the answer follows.
#[derive(Clone, Debug)]
pub struct Schema {
    pub name: String,
    pub description: Option<String>,
    pub schema: Box<RawValue>,
    pub strict: Option<bool>,
}

/// A call that a model has asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolCall {
    /// By which the call's result names it.
    pub id: String,
    pub name: String,
    /// JSON, unless the model wrote something else.
    pub arguments: String,
}

/// A piece of a call that is being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallPiece {
    /// Which of the answer's calls it belongs to, from 0.
    pub index: usize,
    /// In the first piece of a call.
    pub start: Option<CallStart>,
    /// What follows in its arguments; may be empty.
    pub arguments: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallStart {
    pub id: String,
    pub name: String,
}

impl Tools {
    /// Returns how long the descriptions are.
    pub(crate) fn bytes(&self) -> usize {
        let bytes = self.functions.iter().map(|function| {
            let schema = function.parameters.as_ref().map_or(0, |schema| schema.get().len());
            function.name.len() + function.description.as_ref().map_or(0, String::len) + schema
        });
        bytes.sum()
    }
}

impl Format {
    /// Returns how long the schema is, if there is one.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Schema(schema) => schema.schema.get().len(),
            Self::Text | Self::Json => 0,
        }
    }
}

impl ToolCall {
    /// Adds a piece to the calls of an answer. Pieces of a call that has not begun are left out.
    pub fn collect(calls: &mut Vec<Self>, piece: CallPiece) {
        if let Some(CallStart { id, name }) = piece.start {
            calls.push(Self { id, name, arguments: String::new() });
        }
        if let Some(call) = calls.get_mut(piece.index) {
            call.arguments.push_str(&piece.arguments);
        }
    }
}
