//! OpenAI's chat completions, the protocol of vendor-a and of many compatible servers.

use super::question::{Question, Turn};
use super::refusal::RefusedFields;
use super::{ApiKey, BaseUrl, Protocol, Reader, Reported, ServedModel, Step};
use crate::Cause;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap};
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
        let system = question.system.as_deref().map(|content| Message { role: "system", content });
        serde_json::to_vec(&Body {
            model: &question.model,
            messages: system.into_iter().chain(question.turns.iter().map(Message::from)).collect(),
            max_tokens,
            max_completion_tokens: max_tokens.is_none().then_some(question.max_tokens),
            temperature: refused.unless("temperature", question.temperature),
            stop: question.stop.as_deref().and_then(|stop| refused.unless("stop", stop)),
            seed: refused.unless("seed", question.seed),
            reasoning_effort: refused.unless("reasoning_effort", "none"),
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
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
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
struct StreamOptions {
    include_usage: bool,
}

#[derive(Default)]
struct Completion {
    reported: Reported,
    refusal: String,
    filtered: bool,
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<TokenCounts>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    content: Option<String>,
    refusal: Option<String>,
}

#[derive(Deserialize)]
struct TokenCounts {
    prompt_tokens: u64,
    completion_tokens: u64,
}

impl Reader for Completion {
    fn read(&mut self, data: &str) -> Result<Step, Cause> {
        if data == "[DONE]" {
            return self.end();
        }
        let chunk: Chunk = serde_json::from_str(data).map_err(|error| Cause::Broken(error.to_string()))?;
        if let Some(error) = &chunk.error {
            return Err(refused(error));
        }
        if let Some(usage) = chunk.usage {
            self.reported.input_tokens = Some(usage.prompt_tokens);
            self.reported.output_tokens = Some(usage.completion_tokens);
        }
        let Some(choice) = chunk.choices.into_iter().next() else { return Ok(Step::Quiet) };
        match choice.finish_reason.as_deref() {
            Some("length") => self.reported.cut_off = true,
            Some("content_filter") => self.filtered = true,
            _ => {}
        }
        let Some(delta) = choice.delta else { return Ok(Step::Quiet) };
        self.refusal.push_str(delta.refusal.as_deref().unwrap_or_default());
        Ok(delta.content.map_or(Step::Quiet, Step::Text))
    }
}

impl Completion {
    fn end(&mut self) -> Result<Step, Cause> {
        if !self.refusal.is_empty() {
            return Err(Cause::Declined(std::mem::take(&mut self.refusal)));
        }
        if self.filtered {
            return Err(Cause::Declined("its content filter stopped it".to_owned()));
        }
        Ok(Step::End(self.reported))
    }
}

/// Returns the cause for an error inside a stream. Some servers put the missing HTTP status into the code.
fn refused(error: &Value) -> Cause {
    let text = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
    let code = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    let status = match (code, text("type")) {
        (Some(status @ 400..=599), _) => status,
        (_, "invalid_request_error") => 400,
        (_, "rate_limit_error" | "rate_limit_exceeded") => 429,
        _ => 500,
    };
    let message =
        error.get("message").and_then(Value::as_str).map_or_else(|| error.to_string(), str::to_owned);
    Cause::Refused { status, message, retry_after: None }
}
