//! The body of a chat completion. What it may ask for and we cannot do is refused, not ignored: tools, images,
//! several answers, JSON by a schema. Fields that we do not know are only named in the answer's header.

use super::error::OpenAiError;
use crate::http::chat::AnswerTokens;
use crate::http::fields::{Number, check_question};
use crate::http::scope::{Ids, named_documents, named_spaces};
use kit::fields::{AnyText, Text, Whole};
use llm::{Message, Role, is_model_name};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// OpenAI's own bound.
const MOST_STOPS: usize = 4;

/// A chat completion, as clients ask for it. Null counts as absent.
#[derive(Deserialize, ToSchema)]
pub struct CompletionBody {
    /// `stoa`, `stoa/{agent}` or `stoa/{provider}/{model}` answer from the caller's documents, `{provider}/{model}` does
    /// not.
    #[schema(value_type = String, min_length = 1, max_length = 200, example = "stoa")]
    model: Text,
    #[schema(min_items = 1)]
    messages: Vec<MessageBody>,
    /// From 0 to 2; models are at their most creative at 1.
    #[schema(inline)]
    temperature: Option<Number<0, 2>>,
    /// The most tokens of the answer.
    #[schema(inline)]
    max_completion_tokens: Option<AnswerTokens>,
    /// The older name of `max_completion_tokens`, which counts if both are given.
    #[schema(inline)]
    max_tokens: Option<AnswerTokens>,
    /// A text at which the model stops, or up to 4 of them.
    #[schema(inline)]
    stop: Option<Stop>,
    seed: Option<i64>,
    /// Whether the answer is sent in chunks.
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    /// Only 1 is supported.
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 1)]
    n: Option<f64>,
    /// Not supported: empty or absent.
    #[schema(value_type = Option<Vec<Object>>, max_items = 0)]
    tools: Option<Vec<IgnoredAny>>,
    /// Not supported: empty or absent.
    #[schema(value_type = Option<Vec<Object>>, max_items = 0)]
    functions: Option<Vec<IgnoredAny>>,
    response_format: Option<ResponseFormat>,
    /// Search only this document, with a model below `stoa`. Not in OpenAI's protocol.
    #[serde(rename = "documentId")]
    #[schema(value_type = Option<String>)]
    document_id: Option<AnyText>,
    /// Search only these documents, with a model below `stoa`. Not in OpenAI's protocol.
    #[serde(rename = "documentIds")]
    #[schema(inline)]
    document_ids: Option<Ids>,
    /// Search only this space, with a model below `stoa`. Not in OpenAI's protocol.
    #[serde(rename = "spaceId")]
    #[schema(value_type = Option<String>)]
    space_id: Option<AnyText>,
    /// Search only these spaces, with a model below `stoa`. Not in OpenAI's protocol.
    #[serde(rename = "spaceIds")]
    #[schema(inline)]
    space_ids: Option<Ids>,
}

#[derive(Deserialize, ToSchema)]
#[schema(as = Message)]
struct MessageBody {
    role: RoleName,
    /// May be absent in messages of role assistant.
    #[schema(inline)]
    content: Option<Content>,
}

#[derive(Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Role)]
enum RoleName {
    User,
    Assistant,
    System,
    Developer,
    Tool,
    Function,
}

/// A text, or texts in parts.
#[derive(Deserialize, ToSchema)]
#[serde(untagged, expecting = "is not a string or an array of text parts")]
enum Content {
    Text(String),
    Parts(Vec<ContentPart>),
}

#[derive(Deserialize, ToSchema)]
struct ContentPart {
    /// Only `text` and `refusal` are read.
    #[serde(rename = "type")]
    #[schema(required = true, nullable = false, example = "text")]
    kind: Option<String>,
    text: Option<String>,
    refusal: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(untagged, expecting = "is not a string or an array of at most 4, none of them empty")]
enum Stop {
    One(String),
    Several(Vec<String>),
}

#[derive(Deserialize, ToSchema)]
struct StreamOptions {
    /// Whether a stream ends with a chunk that has the usage.
    include_usage: Option<bool>,
}

#[derive(Deserialize, ToSchema)]
struct ResponseFormat {
    /// Only `text` is supported.
    #[serde(rename = "type")]
    #[schema(example = "text")]
    kind: Option<String>,
}

/// A chat completion that was checked.
pub struct Completion {
    pub model: String,
    pub messages: Vec<Message>,
    pub temperature: Option<f32>,
    pub max_tokens: Option<usize>,
    pub stop: Vec<String>,
    pub seed: Option<u64>,
    pub document_ids: Vec<String>,
    pub space_ids: Vec<String>,
    pub streams: bool,
    /// Whether a stream ends with the usage.
    pub with_usage: bool,
}

/// The messages as the grounded chat takes them.
pub struct Conversation {
    pub question: String,
    pub instructions: Option<String>,
    pub history: String,
}

impl Completion {
    pub fn check(body: CompletionBody) -> Result<Self, OpenAiError> {
        refuse_unsupported(&body)?;
        if !is_model_name(&body.model.0) {
            return Err(OpenAiError::of_field("model", "`model` is not the name of a model"));
        }
        if body.messages.is_empty() {
            return Err(OpenAiError::of_field("messages", "`messages` is empty: at least one message"));
        }
        let messages = body.messages.into_iter().enumerate();
        Ok(Self {
            model: body.model.0,
            messages: messages.map(|(index, message)| message.read(index)).collect::<Result<_, _>>()?,
            // OpenAI's models take up to 2; ours are at their most creative at 1.
            temperature: body.temperature.map(|temperature| temperature.0.min(1.0) as f32),
            max_tokens: body.max_completion_tokens.or(body.max_tokens).map(Whole::size),
            stop: body.stop.map_or(Ok(Vec::new()), Stop::read)?,
            seed: body.seed.map(i64::cast_unsigned),
            document_ids: named_documents(body.document_id, body.document_ids)?,
            space_ids: named_spaces(body.space_id, body.space_ids)?,
            streams: body.stream.unwrap_or_default(),
            with_usage: body.stream_options.and_then(|options| options.include_usage).unwrap_or_default(),
        })
    }

    pub fn conversation(&self) -> Result<Conversation, OpenAiError> {
        let is_question = |message: &Message| message.role == Role::User && !message.text.trim().is_empty();
        let last = self.messages.iter().rposition(is_question);
        let last = last.ok_or_else(|| {
            OpenAiError::of_field("messages", "`messages` has no question: a message of role user with text")
        })?;
        let name = format!("messages[{last}]");
        let question = self.messages[last].text.trim();
        check_question(&name, question)
            .map_err(|error| OpenAiError::of_field(name.as_str(), error.message()))?;
        let instructions: Vec<&str> =
            self.messages.iter().filter(|one| one.role == Role::System).map(|one| one.text.trim()).collect();
        let instructions = instructions.join("\n\n");
        let others = self.messages.iter().enumerate().filter(|(index, _)| *index != last);
        let said = others.filter_map(|(_, message)| match message.role {
            Role::System => None,
            Role::User => Some(format!("User: {}", message.text.trim())),
            Role::Assistant => Some(format!("Assistant: {}", message.text.trim())),
        });
        Ok(Conversation {
            question: question.to_owned(),
            instructions: Some(instructions).filter(|text| !text.trim().is_empty()),
            history: said.collect::<Vec<String>>().join("\n"),
        })
    }
}

fn refuse_unsupported(body: &CompletionBody) -> Result<(), OpenAiError> {
    if body.n.is_some_and(|n| n != 1.0) {
        return Err(OpenAiError::of_field("n", "`n` is not 1: one answer is given for each request"));
    }
    for (name, list) in [("tools", &body.tools), ("functions", &body.functions)] {
        if list.as_ref().is_some_and(|list| !list.is_empty()) {
            return Err(OpenAiError::of_field(name, format!("`{name}` is not supported: leave it out")));
        }
    }
    let format = body.response_format.as_ref().and_then(|format| format.kind.as_deref());
    if format.is_some_and(|kind| kind != "text") {
        let message = "`response_format` is not supported: only the type `text`";
        return Err(OpenAiError::of_field("response_format", message));
    }
    Ok(())
}

impl MessageBody {
    fn read(self, index: usize) -> Result<Message, OpenAiError> {
        let role = match self.role {
            RoleName::System | RoleName::Developer => Role::System,
            // The result of a tool is new to the model, as a question is.
            RoleName::User | RoleName::Tool | RoleName::Function => Role::User,
            RoleName::Assistant => Role::Assistant,
        };
        let text = match self.content {
            Some(Content::Text(text)) => text,
            Some(Content::Parts(parts)) => {
                let texts = parts.into_iter().enumerate().map(|(part, content)| {
                    let name = format!("messages[{index}].content[{part}]");
                    content
                        .read()
                        .map_err(|what| OpenAiError::of_field(name.as_str(), format!("`{name}` {what}")))
                });
                texts.collect::<Result<Vec<String>, OpenAiError>>()?.join("\n")
            }
            // A message that only calls tools has no text.
            None if role == Role::Assistant => String::new(),
            None => {
                let name = format!("messages[{index}].content");
                let message = format!("`{name}` is missing: a string, or an array of text parts");
                return Err(OpenAiError::of_field(name, message));
            }
        };
        Ok(Message::new(role, text))
    }
}

impl ContentPart {
    fn read(self) -> Result<String, String> {
        let text = match self.kind.as_deref().unwrap_or("nothing") {
            "text" => self.text,
            "refusal" => self.refusal,
            other => return Err(format!("is of type `{other}`: only parts of type `text` are read")),
        };
        text.ok_or_else(|| "has no text".to_owned())
    }
}

impl Stop {
    fn read(self) -> Result<Vec<String>, OpenAiError> {
        let stops = match self {
            Self::One(stop) => vec![stop],
            Self::Several(stops) => stops,
        };
        match stops.len() <= MOST_STOPS && stops.iter().all(|stop| !stop.is_empty()) {
            true => Ok(stops),
            false => {
                let message = "`stop` is not a string or an array of at most 4, none of them empty";
                Err(OpenAiError::of_field("stop", message))
            }
        }
    }
}
