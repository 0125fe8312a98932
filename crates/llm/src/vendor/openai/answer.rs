//! Reads the chunks of a chat completion.

use crate::vendor::{Reader, Reported, Step};
use crate::{CallPiece, CallStart, Cause};
use serde::Deserialize;
use serde_json::Value;

/// More calls than this are no answer.
const MAX_CALLS: usize = 128;

#[derive(Default)]
pub struct Completion {
    reported: Reported,
    refusal: String,
    filtered: bool,
    /// The id and the server's own number of each call so far.
    calls: Vec<(String, Option<u64>)>,
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
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
struct CallDelta {
    index: Option<u64>,
    id: Option<String>,
    function: Option<CalledDelta>,
}

#[derive(Default, Deserialize)]
struct CalledDelta {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct TokenCounts {
    prompt_tokens: u64,
    completion_tokens: u64,
}

impl Reader for Completion {
    fn read(&mut self, data: &str) -> Result<Vec<Step>, Cause> {
        if data == "[DONE]" {
            return Ok(vec![self.end()?]);
        }
        let chunk: Chunk = serde_json::from_str(data).map_err(|error| Cause::Broken(error.to_string()))?;
        if let Some(error) = &chunk.error {
            return Err(refused(error));
        }
        if let Some(usage) = chunk.usage {
            self.reported.input_tokens = Some(usage.prompt_tokens);
            self.reported.output_tokens = Some(usage.completion_tokens);
        }
        let Some(choice) = chunk.choices.into_iter().next() else { return Ok(Vec::new()) };
        match choice.finish_reason.as_deref() {
            Some("length") => self.reported.cut_off = true,
            Some("content_filter") => self.filtered = true,
            _ => {}
        }
        let Some(delta) = choice.delta else { return Ok(Vec::new()) };
        self.refusal.push_str(delta.refusal.as_deref().unwrap_or_default());
        let mut steps: Vec<Step> = delta.content.map(Step::Text).into_iter().collect();
        for call in delta.tool_calls.unwrap_or_default() {
            steps.push(Step::Call(self.call(call)?));
        }
        Ok(steps)
    }
}

impl Completion {
    /// Reads a piece of a call. It belongs to the call of its number, or to the last one if it has none; another id than that
    /// call's begins a new one, since some servers number all of them 0.
    fn call(&mut self, delta: CallDelta) -> Result<CallPiece, Cause> {
        let CalledDelta { name, arguments } = delta.function.unwrap_or_default();
        let (name, id) = (name.unwrap_or_default(), delta.id.unwrap_or_default());
        let known = match delta.index {
            Some(index) => self.calls.iter().rposition(|(_, own)| *own == Some(index)),
            None => self.calls.len().checked_sub(1).filter(|_| name.is_empty()),
        };
        let known = known.filter(|known| {
            self.calls.get(*known).is_some_and(|(own, _)| id.is_empty() || id == *own || own.is_empty())
        });
        let arguments = arguments.unwrap_or_default();
        if let Some(index) = known {
            return Ok(CallPiece { index, start: None, arguments });
        }
        if name.is_empty() {
            return Err(Cause::Broken("it calls a tool without saying which".to_owned()));
        }
        let index = self.calls.len();
        if index == MAX_CALLS {
            return Err(Cause::Broken(format!("it calls more than {MAX_CALLS} tools")));
        }
        self.calls.push((id.clone(), delta.index));
        Ok(CallPiece { index, start: Some(CallStart { id, name }), arguments })
    }

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
