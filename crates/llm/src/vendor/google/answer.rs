//! Reads the chunks of generated content.

use crate::vendor::question::signed;
use crate::vendor::{Reader, Reported, Step};
use crate::{CallPiece, CallStart, Cause};
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Default)]
pub struct Generation {
    reported: Reported,
    finished: bool,
    /// How many calls there were.
    calls: usize,
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
#[serde(rename_all = "camelCase")]
struct WrittenPart {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
    function_call: Option<WrittenCall>,
    thought_signature: Option<String>,
}

/// A call, which comes whole.
#[derive(Deserialize)]
struct WrittenCall {
    id: Option<String>,
    name: String,
    args: Option<Map<String, Value>>,
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
    fn read(&mut self, data: &str) -> Result<Vec<Step>, Cause> {
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
        let Some(candidate) = chunk.candidates.into_iter().next() else { return Ok(Vec::new()) };
        match candidate.finish_reason.as_deref() {
            None | Some("FINISH_REASON_UNSPECIFIED") => {}
            Some("STOP") => self.finished = true,
            Some("MAX_TOKENS") => (self.finished, self.reported.cut_off) = (true, true),
            Some(reason) => return Err(Cause::Declined(format!("the answer was stopped: {reason}"))),
        }
        let parts = candidate.content.map(|content| content.parts).unwrap_or_default();
        Ok(parts.into_iter().filter(|part| !part.thought).filter_map(|part| self.step(part)).collect())
    }

    /// There is no final event: counts and even text may follow the finish reason.
    fn close(&mut self) -> Option<Reported> {
        self.finished.then_some(self.reported)
    }
}

impl Generation {
    fn step(&mut self, part: WrittenPart) -> Option<Step> {
        let Some(WrittenCall { id, name, args }) = part.function_call else {
            return part.text.map(Step::Text);
        };
        let mut id = id.unwrap_or_default();
        if let Some(signature) = part.thought_signature {
            id = signed(&id, &signature);
        }
        let index = self.calls;
        self.calls += 1;
        let arguments = Value::Object(args.unwrap_or_default()).to_string();
        Some(Step::Call(CallPiece { index, start: Some(CallStart { id, name }), arguments }))
    }

    fn count(&mut self, usage: &TokenCounts) {
        let written =
            usage.candidates_token_count.map(|tokens| tokens + usage.thoughts_token_count.unwrap_or(0));
        self.reported.input_tokens = usage.prompt_token_count.or(self.reported.input_tokens);
        self.reported.output_tokens = written.or(self.reported.output_tokens);
    }
}
