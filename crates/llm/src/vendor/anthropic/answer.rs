//! Reads the events of a message.

use crate::vendor::{Reader, Reported, Step};
use crate::{CallPiece, CallStart, Cause};
use serde::Deserialize;

#[derive(Default)]
pub struct Answer {
    reported: Reported,
    declined: bool,
    /// The number of the block of each call, and whether its arguments have begun.
    calls: Vec<(u64, bool)>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Started,
    },
    ContentBlockStart {
        index: u64,
        content_block: Block,
    },
    ContentBlockDelta {
        index: u64,
        delta: BlockDelta,
    },
    ContentBlockStop {
        index: u64,
    },
    MessageDelta {
        delta: MessageDelta,
        usage: Option<TokenCounts>,
    },
    MessageStop,
    Error {
        error: Failure,
    },
    /// `ping`, and events that may be added: the vendor asks clients to ignore unknown ones.
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct Started {
    usage: Option<TokenCounts>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    ToolUse {
        id: String,
        name: String,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BlockDelta {
    TextDelta {
        text: String,
    },
    /// More of a call's arguments.
    InputJsonDelta {
        partial_json: String,
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
    fn read(&mut self, data: &str) -> Result<Vec<Step>, Cause> {
        match serde_json::from_str(data).map_err(|error| Cause::Broken(error.to_string()))? {
            Event::MessageStart { message } => self.count(message.usage),
            Event::ContentBlockStart { index, content_block: Block::ToolUse { id, name } } => {
                let start = Some(CallStart { id, name });
                self.calls.push((index, false));
                let call = CallPiece { index: self.calls.len() - 1, start, arguments: String::new() };
                return Ok(vec![Step::Call(call)]);
            }
            Event::ContentBlockDelta { delta: BlockDelta::TextDelta { text }, .. } => {
                return Ok(vec![Step::Text(text)]);
            }
            Event::ContentBlockDelta { index, delta: BlockDelta::InputJsonDelta { partial_json } } => {
                let unknown = || Cause::Broken("it sends the arguments of no call".to_owned());
                return Ok(vec![self.arguments(index, partial_json).ok_or_else(unknown)?]);
            }
            // A call without arguments has no delta, or an empty one.
            Event::ContentBlockStop { index } if self.calls.contains(&(index, false)) => {
                return Ok(self.arguments(index, "{}".to_owned()).into_iter().collect());
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
            Event::MessageStop => return Ok(vec![Step::End(self.reported)]),
            Event::Error { error } => return Err(refused(error)),
            Event::ContentBlockStart { .. }
            | Event::ContentBlockDelta { .. }
            | Event::ContentBlockStop { .. }
            | Event::Unknown => {}
        }
        Ok(Vec::new())
    }
}

impl Answer {
    /// Returns more arguments of the call in a block; none if the block is no call.
    fn arguments(&mut self, block: u64, arguments: String) -> Option<Step> {
        let index = self.calls.iter().position(|(own, _)| *own == block)?;
        self.calls.get_mut(index)?.1 |= !arguments.is_empty();
        Some(Step::Call(CallPiece { index, start: None, arguments }))
    }

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
