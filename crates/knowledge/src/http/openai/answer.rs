//! A completion, whole or in chunks, with the sources of the answer as `citations`.

use super::error::OpenAiError;
use super::names;
use crate::chat::{Answer, AnswerPart, NumberedSource, Source};
use crate::http::chat::collect;
use axum::Json;
use axum::response::{IntoResponse, Response};
use base::Random;
use futures_util::stream::{self, StreamExt};
use kit::sse;
use llm::{ChatError, Usage};
use serde::Serialize;
use utoipa::ToSchema;

/// What every part of a completion says.
pub struct CompletionHead {
    id: String,
    created: i64,
    model: String,
    sources: Vec<Source>,
    notices: Vec<String>,
}

/// A whole completion.
#[derive(Serialize, ToSchema)]
#[schema(as = Completion)]
pub struct CompletionView {
    #[schema(example = "chatcmpl-9f86d081884c7d659a2feaa0")]
    id: String,
    #[schema(example = "chat.completion")]
    object: &'static str,
    /// In seconds since 1970.
    #[schema(example = 1794821400)]
    created: i64,
    /// What answered.
    #[schema(example = "stoa/edge-ai/SmolLM2-135M-Instruct.Q4_1")]
    model: String,
    choices: Vec<CompletionChoice>,
    usage: CompletionUsage,
    /// The sources that were put before the model. Not in OpenAI's protocol.
    citations: Vec<NumberedSource>,
    /// What was not read for the answer, a sentence each. Not in OpenAI's protocol.
    notices: Vec<String>,
}

#[derive(Serialize, ToSchema)]
struct CompletionChoice {
    #[schema(example = 0)]
    index: usize,
    message: AssistantMessage,
    #[schema(example = "stop")]
    finish_reason: FinishReason,
    /// Always null.
    #[schema(value_type = Option<Object>)]
    logprobs: Option<()>,
}

#[derive(Serialize, ToSchema)]
struct AssistantMessage {
    #[schema(example = "assistant")]
    role: &'static str,
    #[schema(example = "The seal must be replaced every year [1].")]
    content: String,
    /// Always null.
    #[schema(value_type = Option<Object>)]
    refusal: Option<()>,
}

#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum FinishReason {
    Stop,
    /// The limit of tokens ended the answer.
    Length,
}

#[derive(Serialize, ToSchema)]
struct CompletionUsage {
    #[schema(example = 311)]
    prompt_tokens: u64,
    #[schema(example = 14)]
    completion_tokens: u64,
    #[schema(example = 325)]
    total_tokens: u64,
}

/// A part of a completion that is streamed.
#[derive(Serialize, ToSchema)]
pub struct CompletionChunk<'a> {
    #[schema(example = "chatcmpl-9f86d081884c7d659a2feaa0")]
    id: &'a str,
    #[schema(example = "chat.completion.chunk")]
    object: &'static str,
    /// In seconds since 1970.
    #[schema(example = 1794821400)]
    created: i64,
    #[schema(example = "stoa/edge-ai/SmolLM2-135M-Instruct.Q4_1")]
    model: &'a str,
    /// Empty in the chunk that has the usage.
    choices: Vec<ChunkChoice>,
    /// With `include_usage`: null, but in the last chunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Option<CompletionUsage>>,
    /// In the chunk that has the `finish_reason`. Not in OpenAI's protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    citations: Option<Vec<NumberedSource>>,
    /// In the same chunk. Not in OpenAI's protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    notices: Option<Vec<String>>,
}

#[derive(Serialize, ToSchema)]
struct ChunkChoice {
    #[schema(example = 0)]
    index: usize,
    delta: Delta,
    finish_reason: Option<FinishReason>,
    /// Always null.
    #[schema(value_type = Option<Object>)]
    logprobs: Option<()>,
}

#[derive(Default, Serialize, ToSchema)]
struct Delta {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "assistant")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "The seal")]
    content: Option<String>,
}

impl CompletionHead {
    pub fn new(answer: &Answer, retrieves: bool, random: &Random, created: i64) -> Self {
        Self {
            id: format!("chatcmpl-{}", random.hex::<12>()),
            created,
            model: names::answered(retrieves, &answer.provider, &answer.model),
            sources: answer.sources.clone(),
            notices: answer.notices.clone(),
        }
    }

    pub async fn whole(self, answer: Answer) -> Result<Response, OpenAiError> {
        let (content, usage) = collect(answer).await?;
        let message = AssistantMessage { role: "assistant", content, refusal: None };
        let finish_reason = finish_reason(usage);
        let body = CompletionView {
            id: self.id,
            object: "chat.completion",
            created: self.created,
            model: self.model,
            choices: vec![CompletionChoice { index: 0, message, finish_reason, logprobs: None }],
            usage: usage.into(),
            citations: Source::numbered(&self.sources),
            notices: self.notices,
        };
        Ok(Json(body).into_response())
    }

    pub fn stream(self, answer: Answer, with_usage: bool) -> Response {
        let role = Delta { role: Some("assistant"), content: Some(String::new()) };
        let first = to_line(self.chunk(role, None, with_usage));
        let rest = answer.parts.flat_map(move |part| stream::iter(self.lines(part, with_usage)));
        sse::respond_data(stream::once(async move { first }).chain(rest))
    }

    fn lines(&self, part: Result<AnswerPart, ChatError>, with_usage: bool) -> Vec<String> {
        match part {
            Ok(AnswerPart::Text(text)) => {
                let delta = Delta { role: None, content: Some(text) };
                vec![to_line(self.chunk(delta, None, with_usage))]
            }
            Ok(AnswerPart::End(usage)) => {
                let last = self.chunk(Delta::default(), Some(finish_reason(usage)), with_usage);
                let citations = Some(Source::numbered(&self.sources));
                let notices = Some(self.notices.clone());
                let mut lines = vec![to_line(CompletionChunk { citations, notices, ..last })];
                if with_usage {
                    let used = self.chunk(Delta::default(), None, true);
                    let usage = Some(Some(usage.into()));
                    lines.push(to_line(CompletionChunk { choices: Vec::new(), usage, ..used }));
                }
                lines.push("[DONE]".to_owned());
                lines
            }
            // Without `[DONE]`, since the answer is not complete.
            Err(error) => vec![to_line(OpenAiError::from(error).body())],
        }
    }

    /// If the usage comes in the last chunk, those before it have null.
    fn chunk(
        &self,
        delta: Delta,
        finish_reason: Option<FinishReason>,
        with_usage: bool,
    ) -> CompletionChunk<'_> {
        CompletionChunk {
            id: &self.id,
            object: "chat.completion.chunk",
            created: self.created,
            model: &self.model,
            choices: vec![ChunkChoice { index: 0, delta, finish_reason, logprobs: None }],
            usage: with_usage.then_some(None),
            citations: None,
            notices: None,
        }
    }
}

fn to_line(data: impl Serialize) -> String {
    serde_json::to_string(&data).unwrap_or_default()
}

fn finish_reason(usage: Usage) -> FinishReason {
    if usage.cut_off { FinishReason::Length } else { FinishReason::Stop }
}

impl From<Usage> for CompletionUsage {
    fn from(usage: Usage) -> Self {
        Self {
            prompt_tokens: usage.input_tokens,
            completion_tokens: usage.output_tokens,
            total_tokens: usage.input_tokens + usage.output_tokens,
        }
    }
}
