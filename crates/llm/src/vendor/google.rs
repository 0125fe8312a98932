//! Google's generateContent, the protocol of vendor-c.

use super::question::{Question, Turn};
use super::refusal::RefusedFields;
use super::{ApiKey, BaseUrl, Protocol, Reader, Reported, ServedModel, Step};
use crate::Cause;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName};
use serde::{Deserialize, Serialize};
use serde_json::Value;

const KEY: HeaderName = HeaderName::from_static("x-goog-api-key");

pub struct Google;

impl Protocol for Google {
    fn url(&self, base: &BaseUrl, model: &str) -> Url {
        let method = format!("{}:streamGenerateContent", model.strip_prefix("models/").unwrap_or(model));
        let mut url = base.join(["v1beta", "models", &method]);
        url.set_query(Some("alt=sse"));
        url
    }

    /// The vendor would accept the key in the address too, but addresses appear in logs.
    fn headers(&self, key: Option<&ApiKey>) -> HeaderMap {
        key.and_then(|key| key.header("")).map(|value| (KEY, value)).into_iter().collect()
    }

    fn dispensable(&self) -> &'static [&'static str] {
        &["temperature", "seed"]
    }

    fn body(&self, question: &Question, refused: &RefusedFields) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(&Body {
            system_instruction: question
                .system
                .as_deref()
                .map(|text| Content { role: None, parts: [Part { text }] }),
            contents: question.turns.iter().map(Content::from).collect(),
            generation_config: GenerationConfig {
                max_output_tokens: question.max_tokens,
                temperature: refused.unless("temperature", question.temperature),
                stop_sequences: question.stop.as_deref(),
                seed: refused.unless("seed", question.seed),
            },
        })
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::<Generation>::default()
    }

    fn models_url(&self, base: &BaseUrl) -> Url {
        let mut url = base.join(["v1beta", "models"]);
        url.set_query(Some("pageSize=1000"));
        url
    }

    fn models(&self, list: &Value) -> Option<Vec<ServedModel>> {
        let mut models = ServedModel::all(list, "models", "name", &["/inputTokenLimit"])?;
        for model in &mut models {
            model.name = model.name.trim_start_matches("models/").to_owned();
        }
        Some(models)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Content<'a>>,
    contents: Vec<Content<'a>>,
    generation_config: GenerationConfig<'a>,
}

#[derive(Serialize)]
struct Content<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    parts: [Part<'a>; 1],
}

impl<'a> From<&'a Turn> for Content<'a> {
    fn from(turn: &'a Turn) -> Self {
        Self { role: Some(if turn.assistant { "model" } else { "user" }), parts: [Part { text: &turn.text }] }
    }
}

#[derive(Serialize)]
struct Part<'a> {
    text: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig<'a> {
    max_output_tokens: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_sequences: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u32>,
}

#[derive(Default)]
struct Generation {
    reported: Reported,
    finished: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk {
    #[serde(default)]
    candidates: Vec<Candidate>,
    prompt_feedback: Option<PromptFeedback>,
    usage_metadata: Option<TokenCounts>,
    error: Option<Failure>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    content: Option<Written>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Written {
    #[serde(default)]
    parts: Vec<WrittenPart>,
}

#[derive(Deserialize)]
struct WrittenPart {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptFeedback {
    block_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TokenCounts {
    prompt_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
}

#[derive(Deserialize)]
struct Failure {
    code: u16,
    message: String,
}

impl Reader for Generation {
    fn read(&mut self, data: &str) -> Result<Step, Cause> {
        let chunk: Chunk = serde_json::from_str(data).map_err(|error| Cause::Broken(error.to_string()))?;
        if let Some(Failure { code, message }) = chunk.error {
            return Err(Cause::Refused { status: code, message, retry_after: None });
        }
        if let Some(reason) = chunk.prompt_feedback.and_then(|feedback| feedback.block_reason) {
            return Err(Cause::Declined(format!("the question is blocked: {reason}")));
        }
        if let Some(usage) = chunk.usage_metadata {
            self.count(&usage);
        }
        let Some(candidate) = chunk.candidates.into_iter().next() else { return Ok(Step::Quiet) };
        match candidate.finish_reason.as_deref() {
            None | Some("FINISH_REASON_UNSPECIFIED") => {}
            Some("STOP") => self.finished = true,
            Some("MAX_TOKENS") => (self.finished, self.reported.cut_off) = (true, true),
            Some(reason) => return Err(Cause::Declined(format!("the answer was stopped: {reason}"))),
        }
        let parts = candidate.content.map(|content| content.parts).unwrap_or_default();
        let said = parts.into_iter().filter(|part| !part.thought).filter_map(|part| part.text);
        Ok(Step::Text(said.collect()))
    }

    /// There is no final event: counts and even text may follow the finish reason.
    fn close(&mut self) -> Option<Reported> {
        self.finished.then_some(self.reported)
    }
}

impl Generation {
    fn count(&mut self, usage: &TokenCounts) {
        let written =
            usage.candidates_token_count.map(|tokens| tokens + usage.thoughts_token_count.unwrap_or(0));
        self.reported.input_tokens = usage.prompt_token_count.or(self.reported.input_tokens);
        self.reported.output_tokens = written.or(self.reported.output_tokens);
    }
}
