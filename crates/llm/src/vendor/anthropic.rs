//! Anthropic's Messages API, the protocol of vendor-b. Answers are read in `answer`.

mod answer;

use super::question::{Question, Turn, base64, unreadable_call};
use super::refusal::RefusedFields;
use super::{ApiKey, BaseUrl, Protocol, Reader, ServedModel};
use crate::{Chat, Format, Function, Picture, ToolChoice, Tools};
use answer::Answer;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

const KEY: HeaderName = HeaderName::from_static("x-api-key");
const VERSION: HeaderName = HeaderName::from_static("anthropic-version");

pub struct Anthropic;

impl Protocol for Anthropic {
    fn url(&self, base: &BaseUrl, _model: &str) -> Url {
        base.join(["v1", "messages"])
    }

    fn headers(&self, key: Option<&ApiKey>) -> HeaderMap {
        let version = (VERSION, HeaderValue::from_static("2023-06-01"));
        key.and_then(|key| key.header("")).map(|value| (KEY, value)).into_iter().chain([version]).collect()
    }

    fn dispensable(&self) -> &'static [&'static str] {
        &["temperature", "stop_sequences", "thinking"]
    }

    fn lacks(&self, chat: &Chat) -> Option<String> {
        match &chat.format {
            Format::Json => Some("it writes no JSON without a schema: give a `json_schema`".to_owned()),
            _ => unreadable_call(chat),
        }
    }

    fn body(&self, question: &Question, refused: &RefusedFields) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(&Body {
            model: &question.model,
            system: question.system.as_deref(),
            messages: question.turns.iter().map(Message::from).collect(),
            max_tokens: question.max_tokens,
            temperature: refused.unless("temperature", question.temperature),
            stop_sequences: refused
                .unless("stop_sequences", stops(question))
                .filter(|stops| !stops.is_empty()),
            thinking: refused.unless("thinking", Thinking { kind: "disabled" }),
            tools: question.tools.iter().flat_map(|tools| &tools.functions).map(Tool::from).collect(),
            tool_choice: question.tools.as_ref().map(Choice::from),
            output_config: match &question.format {
                Format::Schema(schema) => {
                    Some(OutputConfig { format: OutputFormat::JsonSchema { schema: &schema.schema } })
                }
                Format::Text | Format::Json => None,
            },
            stream: true,
        })
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::<Answer>::default()
    }

    fn models_url(&self, base: &BaseUrl) -> Url {
        let mut url = base.join(["v1", "models"]);
        url.set_query(Some("limit=1000"));
        url
    }

    fn models(&self, list: &Value) -> Option<Vec<ServedModel>> {
        ServedModel::all(list, "data", "id", &[])
    }
}

/// Returns the stop strings, without those of white space alone, which the vendor refuses.
fn stops(question: &Question) -> Vec<&str> {
    let stops = question.stop.iter().flatten().map(String::as_str);
    stops.filter(|stop| !stop.trim().is_empty()).collect()
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<&'a str>,
    messages: Vec<Message<'a>>,
    max_tokens: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_sequences: Option<Vec<&'a str>>,
    /// Newer models think by default, and their thoughts count towards `max_tokens`.
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'a>>,
    stream: bool,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Content<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(&'a str),
    Blocks(Vec<Block<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    ToolResult { tool_use_id: &'a str, content: &'a str },
    Image { source: Source<'a> },
    Text { text: &'a str },
    ToolUse { id: &'a str, name: &'a str, input: Map<String, Value> },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Source<'a> {
    Base64 { media_type: &'a str, data: String },
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    input_schema: InputSchema<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum InputSchema<'a> {
    Given(&'a RawValue),
    /// The vendor wants one also of a function that takes nothing.
    Nothing {
        #[serde(rename = "type")]
        kind: &'static str,
    },
}

#[derive(Serialize)]
struct Choice<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disable_parallel_tool_use: Option<bool>,
}

#[derive(Serialize)]
struct OutputConfig<'a> {
    format: OutputFormat<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum OutputFormat<'a> {
    JsonSchema { schema: &'a RawValue },
}

impl<'a> From<&'a Turn> for Message<'a> {
    fn from(turn: &'a Turn) -> Self {
        let role = if turn.assistant { "assistant" } else { "user" };
        let text = Some(turn.text.as_str()).filter(|text| !text.is_empty());
        if turn.results.is_empty() && turn.pictures.is_empty() && turn.calls.is_empty() {
            return Self { role, content: Content::Text(&turn.text) };
        }
        // The vendor wants results first, and reads pictures best before the text.
        let results = turn
            .results
            .iter()
            .map(|result| Block::ToolResult { tool_use_id: &result.call_id, content: &result.text });
        let calls = turn.calls.iter().map(|call| Block::ToolUse {
            id: &call.id,
            name: &call.name,
            input: call.input().unwrap_or_default(),
        });
        let blocks = results
            .chain(turn.pictures.iter().map(Block::from))
            .chain(text.map(|text| Block::Text { text }))
            .chain(calls);
        Self { role, content: Content::Blocks(blocks.collect()) }
    }
}

impl<'a> From<&'a Picture> for Block<'a> {
    fn from(picture: &'a Picture) -> Self {
        let source = Source::Base64 { media_type: &picture.media_type, data: base64(picture) };
        Self::Image { source }
    }
}

impl<'a> From<&'a Function> for Tool<'a> {
    fn from(function: &'a Function) -> Self {
        let input_schema = match &function.parameters {
            Some(schema) => InputSchema::Given(schema),
            None => InputSchema::Nothing { kind: "object" },
        };
        let description = function.description.as_deref();
        Self { name: &function.name, description, input_schema, strict: function.strict }
    }
}

impl<'a> From<&'a Tools> for Choice<'a> {
    fn from(tools: &'a Tools) -> Self {
        let (kind, name) = match &tools.choice {
            ToolChoice::Auto => ("auto", None),
            ToolChoice::None => return Self { kind: "none", name: None, disable_parallel_tool_use: None },
            ToolChoice::Required => ("any", None),
            ToolChoice::Named(name) => ("tool", Some(name.as_str())),
        };
        Self { kind, name, disable_parallel_tool_use: tools.parallel.map(|parallel| !parallel) }
    }
}

#[derive(Serialize)]
struct Thinking {
    #[serde(rename = "type")]
    kind: &'static str,
}
