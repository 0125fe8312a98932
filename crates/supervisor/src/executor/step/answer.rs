//! A model's answer to an agent: read as it is written, with reports of its progress, until it is whole or has failed.

use super::output;
use crate::live_text::LiveText;
use crate::workflow::Agent;
use futures_util::StreamExt;
use llm::{Cause, Chat, ChatError, Model, Piece, Usage};
use std::time::{Duration, Instant};
use store::StoreError;
use tokio::sync::mpsc;

/// Progress is reported if it has grown by this much, and at most once in `PROGRESS_PAUSE`.
const PROGRESS_STEP: i64 = 10;
const PROGRESS_PAUSE: Duration = Duration::from_millis(200);
/// The length of an answer is unknown until it ends, so before that its progress stays below 100.
const MAX_UNFINISHED: i64 = 99;
const MAX_BYTES_PER_TOKEN: usize = 16;
/// The longest wait that a provider can ask for.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);

/// What the step of an agent has written.
#[derive(Debug)]
pub struct StepOutput {
    pub content: String,
    pub provider: String,
    pub model: String,
    pub input_tokens: i64,
    pub output_tokens: i64,
    /// A warning for the log.
    pub note: Option<String>,
}

/// What is reported of an agent at work. `agent` is its index in the phase.
pub enum Report {
    Progress { agent: usize, percent: i64 },
    Trouble { agent: usize, message: String },
}

/// Why an attempt failed, and whether a retry may help.
pub struct Failure {
    pub message: String,
    pub is_final: bool,
    /// How long the provider asks to wait before a retry.
    pub retry_after: Option<Duration>,
}

impl Failure {
    /// A failure after which a retry may help.
    pub fn temporary(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_final: false, retry_after: None }
    }

    /// A failure after which no retry can help.
    pub fn permanent(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_final: true, retry_after: None }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::temporary(error.to_string())
    }
}

impl From<ChatError> for Failure {
    fn from(error: ChatError) -> Self {
        let (is_final, retry_after) = retry_rule(&error.cause);
        Self { message: error.to_string(), is_final, retry_after }
    }
}

/// Reads the model's whole answer. It is shown while it comes, and a percent of progress is reported for every so many
/// bytes.
pub async fn read_answer(
    model: &Model,
    chat: Chat,
    progress: &mut ProgressReporter<'_>,
    bytes_per_percent: usize,
) -> Result<(String, Usage), Failure> {
    let max_tokens = chat.max_tokens;
    // A vendor may send more than it was asked for.
    let max_bytes = max_tokens.saturating_mul(MAX_BYTES_PER_TOKEN);
    let mut reply = model.chat(chat);
    let mut text = String::new();
    while let Some(piece) = reply.next().await {
        match piece {
            Ok(Piece::Text(more)) => {
                text.push_str(&more);
                if text.len() > max_bytes {
                    let usage = Usage { output_tokens: max_tokens as u64, cut_off: true, ..Usage::default() };
                    return Ok((text, usage));
                }
                progress.show(&more);
                progress.report((text.len() / bytes_per_percent.max(1)) as i64).await;
            }
            // An agent is given no tools.
            Ok(Piece::Call(_)) => {}
            Ok(Piece::End(usage)) => return Ok((text, usage)),
            Err(error) => return Err(error.into()),
        }
    }
    Err(Failure::temporary("the model's answer has no end"))
}

/// Makes the step's output of a whole text.
pub fn step_output(agent: &Agent, model: &Model, text: &str, usage: Usage) -> Result<StepOutput, Failure> {
    let (content, note) = output::artifact(agent.output, text, usage.cut_off).map_err(Failure::temporary)?;
    Ok(StepOutput {
        content,
        provider: model.provider().to_owned(),
        model: model.model().to_owned(),
        input_tokens: usage.input_tokens as i64,
        output_tokens: usage.output_tokens as i64,
        note,
    })
}

/// Reports the progress of an agent's answer, and shows what it writes.
pub struct ProgressReporter<'a> {
    agent: usize,
    last_percent: i64,
    last_report: Instant,
    reports: &'a mpsc::Sender<Report>,
    text: LiveText,
}

impl<'a> ProgressReporter<'a> {
    pub fn new(agent: usize, reports: &'a mpsc::Sender<Report>, text: LiveText) -> Self {
        Self { agent, last_percent: 0, last_report: Instant::now(), reports, text }
    }

    /// Shows clients the next piece of what the agent writes.
    pub fn show(&self, text: &str) {
        self.text.push(text);
    }

    pub async fn report(&mut self, percent: i64) {
        let percent = percent.min(MAX_UNFINISHED);
        if percent < self.last_percent + PROGRESS_STEP || self.last_report.elapsed() < PROGRESS_PAUSE {
            return;
        }
        self.last_percent = percent;
        self.last_report = Instant::now();
        // The receiver is gone only if this step is about to be aborted.
        let _ = self.reports.send(Report::Progress { agent: self.agent, percent }).await;
    }
}

/// Returns whether a failure is final, and how long its provider asks to wait before a retry.
fn retry_rule(cause: &Cause) -> (bool, Option<Duration>) {
    match cause {
        Cause::NoModel
        | Cause::TooLong { .. }
        | Cause::Lacks(_)
        | Cause::Declined(_)
        | Cause::BudgetUsedUp { .. } => (true, None),
        Cause::Refused { status, retry_after, .. } => {
            let is_temporary = matches!(status, 408 | 409 | 425 | 429 | 500..);
            (!is_temporary, retry_after.map(|wait| wait.min(MAX_RETRY_AFTER)))
        }
        Cause::Busy | Cause::Unreachable(_) | Cause::Silent(_) | Cause::Broken(_) | Cause::Failed(_) => {
            (false, None)
        }
    }
}
