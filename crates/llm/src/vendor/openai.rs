//! OpenAI's chat completions, the protocol of vendor-a and of many compatible servers. Answers are read in `answer`.

mod answer;

use super::question::{CallResult, Question, SentCall, Turn, base64};
use super::refusal::RefusedFields;
use super::{ApiKey, BaseUrl, Protocol, Reader, ServedModel};
use crate::{Format, Function, Picture, Schema, ToolChoice};
use answer::Completion;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

pub struct OpenAi;

impl Protocol for OpenAi {
    fn url(&self, base: &BaseUrl, _model: &str) -> Url {
        base.join(["chat", "completions"])
    }

    fn headers(&self, key: Option<&ApiKey>) -> HeaderMap {
        key.and_then(|key| key.header("Bearer ")).map(|value| (AUTHORIZATION, value)).into_iter().collect()
    }

    fn dispensable(&self) -> &'static [&'static str] {
        &["max_tokens", "temperature", "stop", "seed", "reasoning_effort", "stream_options"]
    }

    fn body(&self, question: &Question, refused: &RefusedFields) -> serde_json::Result<Vec<u8>> {
        let max_tokens = refused.unless("max_tokens", question.max_tokens);
        let system = question.system.as_deref().map(|text| Message::new("system", Content::Text(text)));
        let tools = question.tools.as_ref();
        serde_json::to_vec(&Body {
            model: &question.model,
            messages: system.into_iter().chain(question.turns.iter().flat_map(messages)).collect(),
            max_tokens,
            max_completion_tokens: max_tokens.is_none().then_some(question.max_tokens),
            temperature: refused.unless("temperature", question.temperature),
            stop: question.stop.as_deref().and_then(|stop| refused.unless("stop", stop)),
            seed: refused.unless("seed", question.seed),
            reasoning_effort: refused.unless("reasoning_effort", "none"),
            tools: tools.map(|tools| tools.functions.iter().map(Tool::from).collect()),
            tool_choice: tools.map(|tools| Choice::from(&tools.choice)),
            parallel_tool_calls: tools.and_then(|tools| tools.parallel),
            response_format: response_format(&question.format),
            stream: true,
            stream_options: refused.unless("stream_options", StreamOptions { include_usage: true }),
        })
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::<Completion>::default()
    }

    fn models_url(&self, base: &BaseUrl) -> Url {
        base.join(["models"])
    }

    fn models(&self, list: &Value) -> Option<Vec<ServedModel>> {
        ServedModel::all(list, "data", "id", &WINDOWS)
    }
}

/// Where servers say what a model reads at most: vLLM, Groq, Mistral, OpenRouter, LM Studio, llama.cpp.
const WINDOWS: [&str; 6] = [
    "/max_model_len",
    "/context_window",
    "/max_context_length",
    "/context_length",
    "/loaded_context_length",
    "/meta/n_ctx",
];

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Message<'a>>,
    /// Every compatible server knows this name. OpenAI's newer models accept only the other, which some servers
    /// ignore, writing without a limit. So this one is sent first, and the other if this one is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u32>,
    /// Newer models think by default, and their thoughts count towards the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<Tool<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    /// Null if the assistant only calls.
    content: Option<Content<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(&'a str),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    ImageUrl { image_url: ImageUrl },
    Text { text: &'a str },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: Called<'a>,
}

#[derive(Serialize)]
struct Called<'a> {
    name: &'a str,
    arguments: &'a str,
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Described<'a>,
}

#[derive(Serialize)]
struct Described<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Choice<'a> {
    Word(&'static str),
    Named {
        #[serde(rename = "type")]
        kind: &'static str,
        function: Name<'a>,
    },
}

#[derive(Serialize)]
struct Name<'a> {
    name: &'a str,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponseFormat<'a> {
    JsonObject,
    JsonSchema { json_schema: JsonSchema<'a> },
}

#[derive(Serialize)]
struct JsonSchema<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    schema: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

/// Returns a turn as messages: each result of a call is one of its own, before what else the user says.
fn messages(turn: &Turn) -> Vec<Message<'_>> {
    let mut messages: Vec<_> = turn.results.iter().map(Message::from).collect();
    let text = Some(turn.text.as_str()).filter(|text| !text.is_empty());
    if turn.pictures.is_empty() {
        if text.is_some() || !turn.calls.is_empty() {
            let role = if turn.assistant { "assistant" } else { "user" };
            let tool_calls = turn.calls.iter().map(Call::from).collect();
            let content = text.map(Content::Text);
            messages.push(Message { role, content, tool_calls, tool_call_id: None });
        }
        return messages;
    }
    let parts = turn.pictures.iter().map(Part::from).chain(text.map(|text| Part::Text { text }));
    messages.push(Message::new("user", Content::Parts(parts.collect())));
    messages
}

impl<'a> Message<'a> {
    fn new(role: &'static str, content: Content<'a>) -> Self {
        Self { role, content: Some(content), tool_calls: Vec::new(), tool_call_id: None }
    }
}

impl<'a> From<&'a CallResult> for Message<'a> {
    fn from(result: &'a CallResult) -> Self {
        Self { tool_call_id: Some(&result.call_id), ..Self::new("tool", Content::Text(&result.text)) }
    }
}

impl From<&Picture> for Part<'_> {
    fn from(picture: &Picture) -> Self {
        let url = format!("data:{};base64,{}", picture.media_type, base64(picture));
        Self::ImageUrl { image_url: ImageUrl { url } }
    }
}

impl<'a> From<&'a SentCall> for Call<'a> {
    fn from(call: &'a SentCall) -> Self {
        let function = Called { name: &call.name, arguments: &call.arguments };
        Self { id: &call.id, kind: "function", function }
    }
}

impl<'a> From<&'a Function> for Tool<'a> {
    fn from(function: &'a Function) -> Self {
        let Function { name, description, parameters, strict } = function;
        let (description, parameters) = (description.as_deref(), parameters.as_deref());
        Self { kind: "function", function: Described { name, description, parameters, strict: *strict } }
    }
}

impl<'a> From<&'a ToolChoice> for Choice<'a> {
    fn from(choice: &'a ToolChoice) -> Self {
        match choice {
            ToolChoice::Auto => Self::Word("auto"),
            ToolChoice::None => Self::Word("none"),
            ToolChoice::Required => Self::Word("required"),
            ToolChoice::Named(name) => Self::Named { kind: "function", function: Name { name } },
        }
    }
}

fn response_format(format: &Format) -> Option<ResponseFormat<'_>> {
    match format {
        Format::Text => None,
        Format::Json => Some(ResponseFormat::JsonObject),
        Format::Schema(Schema { name, description, schema, strict }) => {
            let description = description.as_deref();
            let json_schema = JsonSchema { name, description, schema, strict: *strict };
            Some(ResponseFormat::JsonSchema { json_schema })
        }
    }
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}
