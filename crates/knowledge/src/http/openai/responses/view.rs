//! An answer in the shape of OpenAI's Responses.

use super::{FlatChoice, FlatTool, ResponseBody, TextConfig, TextFormat};
use crate::chat::NumberedSource;
use crate::http::openai::asked::{Answered, Whole};
use crate::http::openai::tools::ChoiceWord;
use base::Random;
use llm::{ToolCall, Usage};
use serde::Serialize;
use utoipa::ToSchema;

/// An answer, whole or as far as it is written.
#[derive(Clone, Serialize, ToSchema)]
#[schema(as = Response)]
pub struct ResponseView {
    #[schema(example = "resp_9f86d081884c7d659a2feaa0")]
    id: String,
    #[schema(example = "response")]
    object: &'static str,
    /// In seconds since 1970.
    #[schema(example = 1794821400)]
    created_at: i64,
    status: Status,
    /// If the model failed.
    error: Option<Failure>,
    /// If the answer is cut off.
    incomplete_details: Option<Incomplete>,
    /// What answers.
    #[schema(example = "stoa/edge-ai/SmolLM2-135M-Instruct.Q4_1")]
    model: String,
    pub output: Vec<OutputItem>,
    /// Null until the answer ends.
    usage: Option<ResponseUsage>,
    /// Always null.
    #[schema(value_type = Option<Object>)]
    previous_response_id: Option<()>,
    /// Always false.
    store: bool,
    /// Always empty.
    metadata: Empty,
    /// Always null.
    #[schema(value_type = Option<f64>)]
    top_p: Option<()>,
    #[schema(example = "disabled")]
    truncation: &'static str,
    /// The sources that were put before the model. Not in OpenAI's protocol.
    citations: Vec<NumberedSource>,
    /// What was not read for the answer, a sentence each. Not in OpenAI's protocol.
    notices: Vec<String>,
    #[serde(flatten)]
    echo: Echo,
}

/// What the request said.
#[derive(Clone, Serialize, ToSchema)]
#[schema(as = ResponseEcho)]
pub struct Echo {
    instructions: Option<String>,
    max_output_tokens: Option<u64>,
    temperature: Option<f64>,
    parallel_tool_calls: bool,
    #[schema(inline)]
    tool_choice: FlatChoice,
    tools: Vec<FlatTool>,
    text: TextConfig,
}

#[derive(Clone, Copy, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ResponseStatus)]
pub enum Status {
    InProgress,
    Completed,
    /// The limit of tokens ended it.
    Incomplete,
    Failed,
}

#[derive(Clone, Serialize, ToSchema)]
#[schema(as = ResponseFailure)]
struct Failure {
    #[schema(example = "server_error")]
    code: &'static str,
    message: String,
}

#[derive(Clone, Serialize, ToSchema)]
#[schema(as = ResponseIncomplete)]
struct Incomplete {
    #[schema(example = "max_output_tokens")]
    reason: &'static str,
}

#[derive(Clone, Serialize, ToSchema)]
struct Empty {}

#[derive(Clone, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schema(as = ResponseOutputItem)]
pub enum OutputItem {
    Message {
        #[schema(example = "msg_9f86d081884c7d659a2feaa0")]
        id: String,
        status: Status,
        #[schema(example = "assistant")]
        role: &'static str,
        content: Vec<OutputText>,
    },
    FunctionCall {
        #[schema(example = "fc_9f86d081884c7d659a2feaa0")]
        id: String,
        /// By which the result of the call names it.
        #[schema(example = "call_9f86d081884c7d659a2feaa0")]
        call_id: String,
        #[schema(example = "weather")]
        name: String,
        /// JSON, as the model wrote it.
        arguments: String,
        status: Status,
    },
}

#[derive(Clone, Serialize, ToSchema)]
#[schema(as = ResponseOutputText)]
pub struct OutputText {
    #[serde(rename = "type")]
    #[schema(example = "output_text")]
    kind: &'static str,
    #[schema(example = "The seal must be replaced every year [1].")]
    pub text: String,
    /// Always empty.
    #[schema(value_type = Vec<Object>)]
    annotations: [(); 0],
    /// Always empty.
    #[schema(value_type = Vec<Object>)]
    logprobs: [(); 0],
}

#[derive(Clone, Serialize, ToSchema)]
struct ResponseUsage {
    #[schema(example = 311)]
    input_tokens: u64,
    input_tokens_details: InputDetails,
    #[schema(example = 14)]
    output_tokens: u64,
    output_tokens_details: OutputDetails,
    #[schema(example = 325)]
    total_tokens: u64,
}

/// Not known: always 0.
#[derive(Clone, Default, Serialize, ToSchema)]
#[schema(as = ResponseInputDetails)]
struct InputDetails {
    cached_tokens: u64,
    cache_write_tokens: u64,
}

/// Not known: always 0.
#[derive(Clone, Default, Serialize, ToSchema)]
#[schema(as = ResponseOutputDetails)]
struct OutputDetails {
    reasoning_tokens: u64,
}

/// An answer that is being written.
pub struct Writing {
    pub view: ResponseView,
    random: Random,
}

impl Echo {
    pub fn of(body: &ResponseBody) -> Self {
        let text = || TextFormat {
            kind: Some("text".to_owned()),
            name: None,
            description: None,
            schema: None,
            strict: None,
        };
        let format = body.text.as_ref().and_then(|text| text.format.clone());
        Self {
            instructions: body.instructions.clone(),
            max_output_tokens: body.max_output_tokens.map(|most| most.0),
            temperature: body.temperature.map(|temperature| temperature.0),
            parallel_tool_calls: body.parallel_tool_calls.unwrap_or(true),
            tool_choice: body.tool_choice.clone().unwrap_or(FlatChoice::Word(ChoiceWord::Auto)),
            tools: body.tools.clone().unwrap_or_default(),
            text: TextConfig { format: Some(format.unwrap_or_else(text)) },
        }
    }
}

impl Writing {
    pub fn new(echo: Echo, answer: &Answered, random: &Random, created_at: i64) -> Self {
        let view = ResponseView {
            id: format!("resp_{}", random.hex::<12>()),
            object: "response",
            created_at,
            status: Status::InProgress,
            error: None,
            incomplete_details: None,
            model: answer.model.clone(),
            output: Vec::new(),
            usage: None,
            previous_response_id: None,
            store: false,
            metadata: Empty {},
            top_p: None,
            truncation: "disabled",
            citations: answer.citations.clone(),
            notices: answer.notices.clone(),
            echo,
        };
        Self { view, random: random.clone() }
    }

    pub fn whole(mut self, whole: Whole) -> ResponseView {
        let Whole { text, calls, usage } = whole;
        if !text.is_empty() || calls.is_empty() {
            let message = self.message(&text);
            self.view.output.push(message);
        }
        for call in calls {
            let call = self.call(call);
            self.view.output.push(call);
        }
        self.end(usage);
        self.view
    }

    /// Makes a message that has begun.
    pub fn message(&self, text: &str) -> OutputItem {
        OutputItem::Message {
            id: format!("msg_{}", self.random.hex::<12>()),
            status: Status::InProgress,
            role: "assistant",
            content: vec![OutputText::new(text)],
        }
    }

    /// Makes a call that has begun.
    pub fn call(&self, call: ToolCall) -> OutputItem {
        let ToolCall { id, name, arguments } = call;
        let own = format!("fc_{}", self.random.hex::<12>());
        OutputItem::FunctionCall { id: own, call_id: id, name, arguments, status: Status::InProgress }
    }

    /// Ends the answer, and what is still being written of it.
    pub fn end(&mut self, usage: Usage) {
        let status = if usage.cut_off { Status::Incomplete } else { Status::Completed };
        self.view.status = status;
        self.view.incomplete_details = usage.cut_off.then_some(Incomplete { reason: "max_output_tokens" });
        self.view.usage = Some(usage.into());
        for item in &mut self.view.output {
            if item.status() == Status::InProgress {
                item.end(status);
            }
        }
    }

    pub fn fail(&mut self, message: String) {
        self.view.status = Status::Failed;
        self.view.error = Some(Failure { code: "server_error", message });
    }
}

impl ResponseView {
    pub fn status(&self) -> Status {
        self.status
    }
}

impl OutputItem {
    pub fn id(&self) -> &str {
        match self {
            Self::Message { id, .. } | Self::FunctionCall { id, .. } => id,
        }
    }

    pub fn status(&self) -> Status {
        match self {
            Self::Message { status, .. } | Self::FunctionCall { status, .. } => *status,
        }
    }

    pub fn end(&mut self, end: Status) {
        match self {
            Self::Message { status, .. } | Self::FunctionCall { status, .. } => *status = end,
        }
    }

    /// Adds to the text of a message, or to the arguments of a call.
    pub fn add(&mut self, more: &str) {
        match self {
            Self::Message { content, .. } => {
                if let Some(part) = content.last_mut() {
                    part.text.push_str(more);
                }
            }
            Self::FunctionCall { arguments, .. } => arguments.push_str(more),
        }
    }
}

impl OutputText {
    pub fn new(text: &str) -> Self {
        Self { kind: "output_text", text: text.to_owned(), annotations: [], logprobs: [] }
    }
}

impl From<Usage> for ResponseUsage {
    fn from(usage: Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            input_tokens_details: InputDetails::default(),
            output_tokens: usage.output_tokens,
            output_tokens_details: OutputDetails::default(),
            total_tokens: usage.input_tokens + usage.output_tokens,
        }
    }
}
