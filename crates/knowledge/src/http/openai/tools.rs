//! The functions that a caller lets a model call, and the form that an answer is to have: what chat completions and
//! responses share of them.

use super::error::OpenAiError;
use llm::{Format, Function, Schema, ToolChoice, Tools};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

const MAX_TOOLS: usize = 128;
/// Of a function or a schema, in characters: OpenAI's own bound.
const MAX_NAME: usize = 64;

/// A function, as the caller describes it.
#[derive(Clone, Deserialize, Serialize, ToSchema)]
pub struct FunctionBody {
    /// At most 64 letters, digits, `_` and `-`.
    #[schema(required = true, nullable = false, example = "weather")]
    pub name: Option<String>,
    #[schema(example = "The weather in a city.")]
    pub description: Option<String>,
    /// The JSON Schema of its arguments, which goes to the model's server as it is.
    #[schema(value_type = Option<Object>)]
    pub parameters: Option<Box<RawValue>>,
    /// Whether the arguments follow the schema exactly.
    pub strict: Option<bool>,
}

#[derive(Clone, Copy, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ToolChoiceWord)]
pub enum ChoiceWord {
    /// The model decides.
    Auto,
    None,
    /// It calls a function, whichever.
    Required,
}

/// A JSON Schema that the answer is to follow.
#[derive(Clone, Deserialize, Serialize, ToSchema)]
#[schema(as = AnswerSchema)]
pub struct SchemaBody {
    /// At most 64 letters, digits, `_` and `-`.
    #[schema(required = true, nullable = false, example = "report")]
    pub name: Option<String>,
    pub description: Option<String>,
    #[schema(value_type = Object, required = true, nullable = false)]
    pub schema: Option<Box<RawValue>>,
    /// Whether the answer follows the schema exactly.
    pub strict: Option<bool>,
}

/// What a request says of tools, with the fields that its errors name.
#[derive(Default)]
pub struct AskedTools {
    /// Each with its field.
    pub functions: Vec<(String, FunctionBody)>,
    pub choice: Option<ToolChoice>,
    pub parallel: Option<bool>,
}

impl AskedTools {
    pub fn check(self) -> Result<Option<Tools>, OpenAiError> {
        let fault = |message: String| Err(OpenAiError::of_field("tool_choice", message));
        match &self.choice {
            Some(ToolChoice::Required) if self.functions.is_empty() => {
                return fault("`tool_choice` requires a call, and there are no `tools`".to_owned());
            }
            Some(ToolChoice::Named(name))
                if !self.functions.iter().any(|(_, own)| own.name.as_ref() == Some(name)) =>
            {
                return fault(format!("`tool_choice` names `{name}`, which `tools` has not"));
            }
            _ => {}
        }
        if self.functions.is_empty() {
            return Ok(None);
        }
        if self.functions.len() > MAX_TOOLS {
            return Err(OpenAiError::of_field("tools", format!("`tools` has more than {MAX_TOOLS}")));
        }
        let mut functions: Vec<Function> = Vec::new();
        for (field, function) in self.functions {
            let function = function.check(&field)?;
            if functions.iter().any(|other| other.name == function.name) {
                let message = format!("`{field}.name` is `{}`, as another's", function.name);
                return Err(OpenAiError::of_field(format!("{field}.name"), message));
            }
            functions.push(function);
        }
        Ok(Some(Tools { functions, choice: self.choice.unwrap_or_default(), parallel: self.parallel }))
    }
}

impl From<ChoiceWord> for ToolChoice {
    fn from(word: ChoiceWord) -> Self {
        match word {
            ChoiceWord::Auto => Self::Auto,
            ChoiceWord::None => Self::None,
            ChoiceWord::Required => Self::Required,
        }
    }
}

impl FunctionBody {
    fn check(self, field: &str) -> Result<Function, OpenAiError> {
        let Self { name, description, parameters, strict } = self;
        let name = checked_name(name, field)?;
        if let Some(parameters) = &parameters {
            check_object(parameters, &format!("{field}.parameters"))?;
        }
        Ok(Function { name, description, parameters, strict })
    }
}

/// Makes the form of an answer. `field` is the one with the type, `schema_field` the one with the schema.
pub fn format(
    kind: Option<&str>,
    schema: Option<SchemaBody>,
    field: &str,
    schema_field: &str,
) -> Result<Format, OpenAiError> {
    match kind {
        None | Some("text") => Ok(Format::Text),
        Some("json_object") => Ok(Format::Json),
        Some("json_schema") => {
            let missing =
                |field: String| OpenAiError::of_field(field.as_str(), format!("`{field}` is missing"));
            let SchemaBody { name, description, schema, strict } =
                schema.ok_or_else(|| missing(schema_field.to_owned()))?;
            let name = checked_name(name, schema_field)?;
            let schema = schema.ok_or_else(|| missing(format!("{schema_field}.schema")))?;
            check_object(&schema, &format!("{schema_field}.schema"))?;
            Ok(Format::Schema(Schema { name, description, schema, strict }))
        }
        Some(other) => {
            let message = format!("unknown `{field}.type` `{other}`: one of text, json_object, json_schema");
            Err(OpenAiError::of_field(field, message))
        }
    }
}

fn checked_name(name: Option<String>, field: &str) -> Result<String, OpenAiError> {
    let field = format!("{field}.name");
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    match name {
        None => Err(OpenAiError::of_field(field.as_str(), format!("`{field}` is missing"))),
        Some(name) if (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(is_sign) => Ok(name),
        Some(_) => {
            let message = format!("`{field}` is not 1 to {MAX_NAME} letters, digits, `_` and `-`");
            Err(OpenAiError::of_field(field, message))
        }
    }
}

fn check_object(value: &RawValue, field: &str) -> Result<(), OpenAiError> {
    match value.get().starts_with('{') {
        true => Ok(()),
        false => Err(OpenAiError::of_field(field, format!("`{field}` is not an object"))),
    }
}
