//! The body of a chat completion. What it may ask for and we cannot do is refused, not ignored: several answers, tools that
//! are no functions. Fields that we do not know are only named in the answer's header.

use super::asked::Asked;
use super::error::OpenAiError;
use super::messages::{MessageBody, ReadMessages};
use super::tools::{self, AskedTools, ChoiceWord, FunctionBody, SchemaBody};
use crate::http::chat::AnswerTokens;
use crate::http::fields::Number;
use crate::http::scope::{Ids, named_documents, named_spaces};
use kit::fields::{AnyText, Text, Whole};
use llm::{ToolChoice, is_model_name};
use serde::Deserialize;
use serde::de::IgnoredAny;
use utoipa::ToSchema;

/// OpenAI's own bound.
const MOST_STOPS: usize = 4;

/// A chat completion, as clients ask for it. Null counts as absent.
#[derive(Deserialize, ToSchema)]
pub struct CompletionBody {
    /// `stoa`, `stoa/{agent}` or `stoa/{provider}/{model}` answer from the caller's documents, `{provider}/{model}` does
    /// not.
    #[schema(value_type = String, min_length = 1, max_length = 200, example = "stoa")]
    model: Text,
    #[schema(min_items = 1)]
    messages: Vec<MessageBody>,
    /// From 0 to 2; models are at their most creative at 1.
    #[schema(inline)]
    temperature: Option<Number<0, 2>>,
    /// The most tokens of the answer.
    #[schema(inline)]
    max_completion_tokens: Option<AnswerTokens>,
    /// The older name of `max_completion_tokens`, which counts if both are given.
    #[schema(inline)]
    max_tokens: Option<AnswerTokens>,
    /// A text at which the model stops, or up to 4 of them.
    #[schema(inline)]
    stop: Option<Stop>,
    seed: Option<i64>,
    /// Whether the answer is sent in chunks.
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    /// Only 1 is supported.
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 1)]
    n: Option<f64>,
    /// Functions that the model may call, at most 128; not with a model below `stoa`, nor with the embedded one.
    tools: Option<Vec<ToolBody>>,
    #[schema(inline)]
    tool_choice: Option<ChoiceBody>,
    /// Whether one answer may have several calls.
    parallel_tool_calls: Option<bool>,
    /// Not supported: empty or absent.
    #[schema(value_type = Option<Vec<Object>>, max_items = 0)]
    functions: Option<Vec<IgnoredAny>>,
    /// The form of the answer; not with a model below `stoa`, nor with the embedded one.
    response_format: Option<ResponseFormat>,
    /// Search only this document, with a model below `stoa`. Not in OpenAI's protocol.
    #[serde(rename = "documentId")]
    #[schema(value_type = Option<String>)]
    document_id: Option<AnyText>,
    /// Search only these documents, with a model below `stoa`. Not in OpenAI's protocol.
    #[serde(rename = "documentIds")]
    #[schema(inline)]
    document_ids: Option<Ids>,
    /// Search only this space, with a model below `stoa`. Not in OpenAI's protocol.
    #[serde(rename = "spaceId")]
    #[schema(value_type = Option<String>)]
    space_id: Option<AnyText>,
    /// Search only these spaces, with a model below `stoa`. Not in OpenAI's protocol.
    #[serde(rename = "spaceIds")]
    #[schema(inline)]
    space_ids: Option<Ids>,
}

#[derive(Deserialize, ToSchema)]
#[serde(untagged, expecting = "is not a string or an array of at most 4, none of them empty")]
enum Stop {
    One(String),
    Several(Vec<String>),
}

#[derive(Deserialize, ToSchema)]
struct StreamOptions {
    /// Whether a stream ends with a chunk that has the usage.
    include_usage: Option<bool>,
}

#[derive(Deserialize, ToSchema)]
#[schema(as = Tool)]
struct ToolBody {
    /// Only `function` is supported.
    #[serde(rename = "type")]
    #[schema(required = true, nullable = false, example = "function")]
    kind: Option<String>,
    #[schema(value_type = FunctionBody)]
    function: Option<FunctionBody>,
}

/// `auto`, `none`, `required`, or a function that is to be called.
#[derive(Deserialize, ToSchema)]
#[serde(untagged, expecting = "is not `auto`, `none`, `required` or a function")]
enum ChoiceBody {
    Word(ChoiceWord),
    Named { function: NamedFunction },
}

#[derive(Deserialize, ToSchema)]
struct NamedFunction {
    #[schema(example = "weather")]
    name: String,
}

#[derive(Deserialize, ToSchema)]
struct ResponseFormat {
    /// `text`, `json_object` or `json_schema`.
    #[serde(rename = "type")]
    #[schema(example = "json_schema")]
    kind: Option<String>,
    json_schema: Option<SchemaBody>,
}

/// A chat completion that was checked.
pub struct Completion {
    pub asked: Asked,
    pub streams: bool,
    /// Whether a stream ends with the usage.
    pub with_usage: bool,
}

impl Completion {
    pub fn check(body: CompletionBody) -> Result<Self, OpenAiError> {
        refuse_unsupported(&body)?;
        if !is_model_name(&body.model.0) {
            return Err(OpenAiError::of_field("model", "`model` is not the name of a model"));
        }
        if body.messages.is_empty() {
            return Err(OpenAiError::of_field("messages", "`messages` is empty: at least one message"));
        }
        let ReadMessages { messages, first_picture } = ReadMessages::of_completion(body.messages)?;
        let functions = body.tools.unwrap_or_default().into_iter().enumerate();
        let functions = functions.map(|(index, tool)| tool.read(&format!("tools[{index}]")));
        let tools = AskedTools {
            functions: functions.collect::<Result<_, _>>()?,
            choice: body.tool_choice.map(ToolChoice::from),
            parallel: body.parallel_tool_calls,
        };
        let (kind, schema) =
            body.response_format.map_or((None, None), |format| (format.kind, format.json_schema));
        let field = "response_format";
        let asked = Asked {
            model: body.model.0,
            instructions: None,
            messages,
            messages_field: "messages",
            first_picture,
            // OpenAI's models take up to 2; ours are at their most creative at 1.
            temperature: body.temperature.map(|temperature| temperature.0.min(1.0) as f32),
            max_tokens: body.max_completion_tokens.or(body.max_tokens).map(Whole::size),
            stop: body.stop.map_or(Ok(Vec::new()), Stop::read)?,
            seed: body.seed.map(i64::cast_unsigned),
            tools: tools.check()?,
            format: tools::format(kind.as_deref(), schema, field, "response_format.json_schema")?,
            format_field: field,
            document_ids: named_documents(body.document_id, body.document_ids)?,
            space_ids: named_spaces(body.space_id, body.space_ids)?,
        };
        let with_usage = body.stream_options.and_then(|options| options.include_usage).unwrap_or_default();
        Ok(Self { asked, streams: body.stream.unwrap_or_default(), with_usage })
    }
}

impl ToolBody {
    /// Returns the function with its field.
    fn read(self, field: &str) -> Result<(String, FunctionBody), OpenAiError> {
        let kind = self.kind.as_deref().unwrap_or("nothing");
        if kind != "function" {
            let message = format!("`{field}` is of type `{kind}`: only functions are supported");
            return Err(OpenAiError::of_field(field, message));
        }
        let field = format!("{field}.function");
        let missing = || OpenAiError::of_field(field.as_str(), format!("`{field}` is missing"));
        let function = self.function.ok_or_else(missing)?;
        Ok((field, function))
    }
}

impl From<ChoiceBody> for ToolChoice {
    fn from(choice: ChoiceBody) -> Self {
        match choice {
            ChoiceBody::Word(word) => word.into(),
            ChoiceBody::Named { function } => Self::Named(function.name),
        }
    }
}

fn refuse_unsupported(body: &CompletionBody) -> Result<(), OpenAiError> {
    if body.n.is_some_and(|n| n != 1.0) {
        return Err(OpenAiError::of_field("n", "`n` is not 1: one answer is given for each request"));
    }
    if body.functions.as_ref().is_some_and(|list| !list.is_empty()) {
        let message = "`functions` is not supported: `tools` has taken its place";
        return Err(OpenAiError::of_field("functions", message));
    }
    Ok(())
}

impl Stop {
    fn read(self) -> Result<Vec<String>, OpenAiError> {
        let stops = match self {
            Self::One(stop) => vec![stop],
            Self::Several(stops) => stops,
        };
        match stops.len() <= MOST_STOPS && stops.iter().all(|stop| !stop.is_empty()) {
            true => Ok(stops),
            false => {
                let message = "`stop` is not a string or an array of at most 4, none of them empty";
                Err(OpenAiError::of_field("stop", message))
            }
        }
    }
}
