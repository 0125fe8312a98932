//! Anthropic's Messages API, the protocol of vendor-b.

use super::question::{Question, Turn};
use super::refusal::RefusedFields;
use super::{ApiKey, BaseUrl, Protocol, Reader, Reported, ServedModel, Step};
use crate::Cause;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    stream: bool,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
}

impl<'a> From<&'a Turn> for Message<'a> {
    fn from(turn: &'a Turn) -> Self {
        Self { role: if turn.assistant { "assistant" } else { "user" }, content: &turn.text }
    }
}

#[derive(Serialize)]
struct Thinking {
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Default)]
struct Answer {
    reported: Reported,
    declined: bool,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Started,
    },
    ContentBlockDelta {
        delta: BlockDelta,
    },
    MessageDelta {
        delta: MessageDelta,
        usage: Option<TokenCounts>,
    },
    MessageStop,
    Error {
        error: Failure,
    },
    /// `ping`, the borders of blocks, and events that may be added: the vendor asks clients to ignore unknown ones.
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct Started {
    usage: Option<TokenCounts>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BlockDelta {
    TextDelta {
        text: String,
    },
    /// Thoughts and their signatures.
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct MessageDelta {
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct TokenCounts {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct Failure {
    #[serde(rename = "type")]
    kind: String,
    message: String,
}

impl Reader for Answer {
    fn read(&mut self, data: &str) -> Result<Step, Cause> {
        match serde_json::from_str(data).map_err(|error| Cause::Broken(error.to_string()))? {
            Event::MessageStart { message } => self.count(message.usage),
            Event::ContentBlockDelta { delta: BlockDelta::TextDelta { text } } => {
                return Ok(Step::Text(text));
            }
            Event::MessageDelta { delta, usage } => {
                self.count(usage);
                match delta.stop_reason.as_deref() {
                    Some("max_tokens" | "model_context_window_exceeded") => self.reported.cut_off = true,
                    Some("refusal") => self.declined = true,
                    _ => {}
                }
            }
            Event::MessageStop if self.declined => {
                return Err(Cause::Declined("its rules against misuse stopped it".to_owned()));
            }
            Event::MessageStop => return Ok(Step::End(self.reported)),
            Event::Error { error } => return Err(refused(error)),
            Event::ContentBlockDelta { .. } | Event::Unknown => {}
        }
        Ok(Step::Quiet)
    }
}

impl Answer {
    /// Takes the latest counts, which are totals. Servers other than Anthropic's own begin with zeros.
    fn count(&mut self, usage: Option<TokenCounts>) {
        let Some(usage) = usage else { return };
        let cached =
            usage.cache_creation_input_tokens.unwrap_or(0) + usage.cache_read_input_tokens.unwrap_or(0);
        let input = usage.input_tokens.map(|tokens| tokens + cached).filter(|tokens| *tokens > 0);
        self.reported.input_tokens = input.or(self.reported.input_tokens);
        self.reported.output_tokens = usage.output_tokens.or(self.reported.output_tokens);
    }
}

/// Returns the cause for an error inside a stream, where the kind stands for the missing HTTP status.
fn refused(error: Failure) -> Cause {
    let status = match error.kind.as_str() {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => 500,
    };
    Cause::Refused { status, message: error.message, retry_after: None }
}
