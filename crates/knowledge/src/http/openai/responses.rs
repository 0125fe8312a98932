//! `POST /v1/responses`: OpenAI's newer protocol, for texts, pictures, functions and JSON by a schema. Nothing is kept of an
//! answer, so that none continues another by its id.
//!
//! `input` reads what was said, `view` has the answer, `events` its stream.

mod events;
mod input;
mod view;

use super::asked::Asked;
use super::error::{AnyError, OpenAiError, OpenAiErrorBody};
use super::tools::{self, AskedTools, ChoiceWord, FunctionBody, SchemaBody};
use super::{App, OpenAiCaller, User, read_counted, seconds};
use crate::http::chat::AnswerTokens;
use crate::http::fields::Number;
use crate::http::scope::{Ids, named_documents, named_spaces};
use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use events::ResponseEvent;
use input::Input;
use kit::fields::{AnyText, Text, Whole};
use kit::request::from_text;
use kit::sse;
use llm::{ToolChoice, is_model_name};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use view::{Echo, ResponseView, Writing};

/// A question, as clients ask it. Null counts as absent.
#[derive(Deserialize, ToSchema)]
pub struct ResponseBody {
    /// `stoa`, `stoa/{agent}` or `stoa/{provider}/{model}` answer from the caller's documents, `{provider}/{model}` does
    /// not.
    #[schema(value_type = String, min_length = 1, max_length = 200, example = "stoa")]
    model: Text,
    #[schema(inline)]
    input: Input,
    /// What the model is told before the input.
    instructions: Option<String>,
    /// The most tokens of the answer.
    #[schema(inline)]
    max_output_tokens: Option<AnswerTokens>,
    /// From 0 to 2; models are at their most creative at 1.
    #[schema(inline)]
    temperature: Option<Number<0, 2>>,
    /// Whether the answer is sent as events.
    stream: Option<bool>,
    /// Functions that the model may call, at most 128; not with a model below `stoa`, nor with the embedded one.
    tools: Option<Vec<FlatTool>>,
    #[schema(inline)]
    tool_choice: Option<FlatChoice>,
    /// Whether one answer may have several calls.
    parallel_tool_calls: Option<bool>,
    text: Option<TextConfig>,
    /// Nothing is kept: send the whole conversation as `input`.
    #[schema(value_type = Option<String>)]
    previous_response_id: Option<IgnoredAny>,
    /// Not supported, for the same reason.
    #[schema(value_type = Option<Object>)]
    conversation: Option<IgnoredAny>,
    /// Only false is supported.
    background: Option<bool>,
    /// Not used: nothing is kept.
    #[expect(dead_code, reason = "clients may send it, and it changes nothing")]
    store: Option<bool>,
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

#[derive(Clone, Deserialize, Serialize, ToSchema)]
#[schema(as = ResponseTool)]
struct FlatTool {
    /// Only `function` is supported.
    #[serde(rename = "type")]
    #[schema(required = true, nullable = false, example = "function")]
    kind: Option<String>,
    /// At most 64 letters, digits, `_` and `-`.
    #[schema(required = true, nullable = false, example = "weather")]
    name: Option<String>,
    #[schema(example = "The weather in a city.")]
    description: Option<String>,
    /// The JSON Schema of its arguments, which goes to the model's server as it is.
    #[schema(value_type = Option<Object>)]
    parameters: Option<Box<RawValue>>,
    /// Whether the arguments follow the schema exactly.
    strict: Option<bool>,
}

/// `auto`, `none`, `required`, or a function that is to be called.
#[derive(Clone, Deserialize, Serialize, ToSchema)]
#[serde(untagged, expecting = "is not `auto`, `none`, `required` or a function")]
#[schema(as = ResponseToolChoice)]
enum FlatChoice {
    Word(ChoiceWord),
    Named {
        #[serde(rename = "type")]
        #[schema(example = "function")]
        kind: String,
        #[schema(example = "weather")]
        name: String,
    },
}

/// What the text of the answer is.
#[derive(Clone, Deserialize, Serialize, ToSchema)]
#[schema(as = ResponseText)]
struct TextConfig {
    format: Option<TextFormat>,
}

#[derive(Clone, Deserialize, Serialize, ToSchema)]
#[schema(as = ResponseTextFormat)]
struct TextFormat {
    /// `text`, `json_object` or `json_schema`, which is not with a model below `stoa`, nor with the embedded one.
    #[serde(rename = "type")]
    #[schema(example = "json_schema")]
    kind: Option<String>,
    /// Of a schema: at most 64 letters, digits, `_` and `-`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "report")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// The JSON Schema, which goes to the model's server as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    schema: Option<Box<RawValue>>,
    /// Whether the answer follows the schema exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

/// Answers as OpenAI's Responses do, with the caller's documents for models below `stoa`.
#[utoipa::path(post, path = "/v1/responses", request_body = ResponseBody, responses(
    (status = 200, description = "The answer; with `stream` the events of OpenAI's protocol, up to `response.completed`, \
        `response.incomplete` or `response.failed`.",
        content((ResponseView = "application/json"), (ResponseEvent = "text/event-stream")),
        headers(
            ("X-RateLimit-Remaining" = i64, description = "Questions that are left in this window."),
            ("X-RateLimit-Reset" = i64, description = "When the window ends, in milliseconds since 1970."),
        )),
    (status = 404, description = "`model_not_found` or `not_found`: there is no such model, or no such document.",
        body = OpenAiErrorBody),
    (status = 429, description = "`rate_limit_exceeded`: too many questions in this minute.", body = OpenAiErrorBody),
    (status = 502, description = "`provider_failed`: the provider of the model failed.", body = OpenAiErrorBody),
    AnyError,
))]
pub async fn respond(
    State(app): State<App>,
    OpenAiCaller(caller): OpenAiCaller,
    request: Request,
) -> Result<Response, OpenAiError> {
    let (counted, body) = read_counted(&app, &caller, request).await?;
    let answered = match body {
        Ok(body) => answer(&app, &caller, &body).await,
        Err(error) => Err(error),
    };
    Ok(counted.mark(answered))
}

async fn answer(app: &App, caller: &User, body: &[u8]) -> Result<Response, OpenAiError> {
    let body: ResponseBody = from_text(body)?;
    let (echo, streams) = (Echo::of(&body), body.stream.unwrap_or_default());
    let answer = check(body)?.answer(app, caller).await?;
    let writing = Writing::new(echo, &answer, &app.random, seconds(app));
    match streams {
        true => Ok(sse::respond_to_end(events::of(writing, answer.pieces))),
        false => Ok(Json(writing.whole(answer.whole().await?)).into_response()),
    }
}

fn check(body: ResponseBody) -> Result<Asked, OpenAiError> {
    let kept = [
        ("previous_response_id", body.previous_response_id.is_some()),
        ("conversation", body.conversation.is_some()),
        ("background", body.background == Some(true)),
    ];
    if let Some((field, _)) = kept.iter().find(|(_, is_given)| *is_given) {
        let message = format!(
            "`{field}` is not supported, since no answer is kept: send the whole conversation as `input`"
        );
        return Err(OpenAiError::of_field(*field, message));
    }
    if !is_model_name(&body.model.0) {
        return Err(OpenAiError::of_field("model", "`model` is not the name of a model"));
    }
    let read = body.input.read()?;
    let functions = body.tools.unwrap_or_default().into_iter().enumerate();
    let functions = functions.map(|(index, tool)| tool.read(format!("tools[{index}]")));
    let tools = AskedTools {
        functions: functions.collect::<Result<_, _>>()?,
        choice: body.tool_choice.map(ToolChoice::from),
        parallel: body.parallel_tool_calls,
    };
    let format = body.text.and_then(|text| text.format);
    let kind = format.as_ref().and_then(|format| format.kind.clone());
    let schema = format.map(|TextFormat { name, description, schema, strict, .. }| SchemaBody {
        name,
        description,
        schema,
        strict,
    });
    let field = "text.format";
    Ok(Asked {
        model: body.model.0,
        instructions: body.instructions.filter(|text| !text.trim().is_empty()),
        messages: read.messages,
        messages_field: "input",
        first_picture: read.first_picture,
        // OpenAI's models take up to 2; ours are at their most creative at 1.
        temperature: body.temperature.map(|temperature| temperature.0.min(1.0) as f32),
        max_tokens: body.max_output_tokens.map(Whole::size),
        stop: Vec::new(),
        seed: None,
        tools: tools.check()?,
        format: tools::format(kind.as_deref(), schema, field, field)?,
        format_field: field,
        document_ids: named_documents(body.document_id, body.document_ids)?,
        space_ids: named_spaces(body.space_id, body.space_ids)?,
    })
}

impl FlatTool {
    /// Returns the function with its field.
    fn read(self, field: String) -> Result<(String, FunctionBody), OpenAiError> {
        let Self { kind, name, description, parameters, strict } = self;
        match kind.as_deref().unwrap_or("nothing") {
            "function" => Ok((field, FunctionBody { name, description, parameters, strict })),
            other => {
                let message = format!("`{field}` is of type `{other}`: only functions are supported");
                Err(OpenAiError::of_field(field, message))
            }
        }
    }
}

impl From<FlatChoice> for ToolChoice {
    fn from(choice: FlatChoice) -> Self {
        match choice {
            FlatChoice::Word(word) => word.into(),
            FlatChoice::Named { name, .. } => Self::Named(name),
        }
    }
}
