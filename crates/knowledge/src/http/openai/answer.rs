//! A completion, whole or in chunks, with the sources of the answer as `citations`.

use super::asked::{Answered, Whole};
use super::error::OpenAiError;
use crate::chat::NumberedSource;
use axum::Json;
use axum::response::{IntoResponse, Response};
use base::Random;
use futures_util::stream::{self, StreamExt};
use kit::sse;
use llm::{CallPiece, ChatError, Piece, ToolCall, Usage};
use serde::Serialize;
use utoipa::ToSchema;

/// What every part of a completion says.
pub struct CompletionHead {
    id: String,
    created: i64,
    model: String,
    citations: Vec<NumberedSource>,
    notices: Vec<String>,
    /// Whether a tool was called.
    calls: bool,
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
    /// Null if the model only calls.
    content: Option<String>,
    /// Always null.
    #[schema(value_type = Option<Object>)]
    refusal: Option<()>,
    /// If the model calls functions of the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    tool_calls: Vec<CallView>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ToolCall)]
struct CallView {
    #[schema(example = "call_9f86d081884c7d659a2feaa0")]
    id: String,
    #[serde(rename = "type")]
    #[schema(example = "function")]
    kind: &'static str,
    function: CalledView,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ToolCallFunction)]
struct CalledView {
    #[schema(example = "weather")]
    name: String,
    /// JSON, as the model wrote it.
    arguments: String,
}

#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum FinishReason {
    Stop,
    /// The model waits for what its calls return.
    ToolCalls,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<[CallDelta; 1]>,
}

/// A piece of a call: id and name are in its first.
#[derive(Serialize, ToSchema)]
#[schema(as = ToolCallDelta)]
struct CallDelta {
    index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    #[schema(example = "function")]
    kind: Option<&'static str>,
    function: CalledDelta,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ToolCallFunctionDelta)]
struct CalledDelta {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    arguments: String,
}

impl CompletionHead {
    pub fn new(answer: &Answered, random: &Random, created: i64) -> Self {
        Self {
            id: format!("chatcmpl-{}", random.hex::<12>()),
            created,
            model: answer.model.clone(),
            citations: answer.citations.clone(),
            notices: answer.notices.clone(),
            calls: false,
        }
    }

    pub async fn whole(self, answer: Answered) -> Result<Response, OpenAiError> {
        let Whole { text, calls, usage } = answer.whole().await?;
        let finish_reason = finish_reason(usage, !calls.is_empty());
        let content = Some(text).filter(|text| calls.is_empty() || !text.is_empty());
        let tool_calls = calls.into_iter().map(CallView::from).collect();
        let message = AssistantMessage { role: "assistant", content, refusal: None, tool_calls };
        let body = CompletionView {
            id: self.id,
            object: "chat.completion",
            created: self.created,
            model: self.model,
            choices: vec![CompletionChoice { index: 0, message, finish_reason, logprobs: None }],
            usage: usage.into(),
            citations: self.citations,
            notices: self.notices,
        };
        Ok(Json(body).into_response())
    }

    pub fn stream(mut self, answer: Answered, with_usage: bool) -> Response {
        let role = Delta { role: Some("assistant"), content: Some(String::new()), tool_calls: None };
        let first = to_line(self.chunk(role, None, with_usage));
        let rest = answer.pieces.flat_map(move |piece| stream::iter(self.lines(piece, with_usage)));
        sse::respond_data(stream::once(async move { first }).chain(rest))
    }

    fn lines(&mut self, piece: Result<Piece, ChatError>, with_usage: bool) -> Vec<String> {
        match piece {
            Ok(Piece::Text(text)) => {
                let delta = Delta { content: Some(text), ..Delta::default() };
                vec![to_line(self.chunk(delta, None, with_usage))]
            }
            Ok(Piece::Call(piece)) => {
                self.calls = true;
                let delta = Delta { tool_calls: Some([piece.into()]), ..Delta::default() };
                vec![to_line(self.chunk(delta, None, with_usage))]
            }
            Ok(Piece::End(usage)) => {
                let reason = finish_reason(usage, self.calls);
                let last = self.chunk(Delta::default(), Some(reason), with_usage);
                let citations = Some(self.citations.clone());
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

fn finish_reason(usage: Usage, calls: bool) -> FinishReason {
    match usage.cut_off {
        true => FinishReason::Length,
        false if calls => FinishReason::ToolCalls,
        false => FinishReason::Stop,
    }
}

impl From<ToolCall> for CallView {
    fn from(call: ToolCall) -> Self {
        let ToolCall { id, name, arguments } = call;
        Self { id, kind: "function", function: CalledView { name, arguments } }
    }
}

impl From<CallPiece> for CallDelta {
    fn from(piece: CallPiece) -> Self {
        let CallPiece { index, start, arguments } = piece;
        let kind = start.as_ref().map(|_| "function");
        let (id, name) = start.map(|start| (start.id, start.name)).unzip();
        Self { index, id, kind, function: CalledDelta { name, arguments } }
    }
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
