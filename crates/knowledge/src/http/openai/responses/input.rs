//! What was said before an answer: a text, or messages, calls and their results.

use crate::http::openai::content::Content;
use crate::http::openai::error::OpenAiError;
use crate::http::openai::messages::{ReadMessages, RoleName};
use llm::{Message, Role, ToolCall};
use serde::Deserialize;
use utoipa::ToSchema;

/// A question, or what was said so far.
#[derive(Deserialize, ToSchema)]
#[serde(untagged, expecting = "is not a string or an array of items")]
#[schema(as = ResponseInput, example = "What does the pump P-204 circulate?")]
pub enum Input {
    Text(String),
    Items(Vec<InputItem>),
}

/// A message with `role` and `content`, a `function_call`, or a `function_call_output`.
#[derive(Deserialize, ToSchema)]
#[schema(as = ResponseInputItem)]
pub struct InputItem {
    /// `message` if absent.
    #[serde(rename = "type")]
    #[schema(example = "message")]
    kind: Option<String>,
    role: Option<RoleName>,
    #[schema(inline)]
    content: Option<Content>,
    /// Of a call and of its result.
    call_id: Option<String>,
    /// Of a call.
    name: Option<String>,
    /// Of a call: JSON.
    arguments: Option<String>,
    /// Of a result.
    #[schema(inline)]
    output: Option<Content>,
}

impl Input {
    pub fn read(self) -> Result<ReadMessages, OpenAiError> {
        let items = match self {
            Self::Text(text) => {
                return Ok(ReadMessages { messages: vec![Message::user(text)], first_picture: None });
            }
            Self::Items(items) => items,
        };
        if items.is_empty() {
            return Err(OpenAiError::of_field("input", "`input` is empty: at least one item"));
        }
        let mut read = ReadMessages::default();
        for (index, item) in items.into_iter().enumerate() {
            let message = item.read(&mut read, &format!("input[{index}]"))?;
            read.messages.push(message);
        }
        Ok(read)
    }
}

impl InputItem {
    fn read(self, read: &mut ReadMessages, field: &str) -> Result<Message, OpenAiError> {
        match self.kind.as_deref().unwrap_or("message") {
            "message" => {
                let role = Role::from(given(self.role, field, "role")?);
                read.content(given(self.content, field, "content")?, role, &format!("{field}.content"))
            }
            "function_call" => {
                let call = ToolCall {
                    id: given(self.call_id, field, "call_id")?,
                    name: given(self.name, field, "name")?,
                    arguments: given(self.arguments, field, "arguments")?,
                };
                Ok(Message { calls: vec![call], ..Message::assistant("") })
            }
            "function_call_output" => {
                let id = given(self.call_id, field, "call_id")?;
                let id = read.called(id, &format!("{field}.call_id"))?;
                let output = given(self.output, field, "output")?.read(&format!("{field}.output"))?;
                if let Some(picture) = output.first_picture {
                    let message =
                        format!("`{picture}` is a picture: only messages of role user may have some");
                    return Err(OpenAiError::of_field(picture, message));
                }
                Ok(Message { result_of: Some(id), ..Message::user(output.text) })
            }
            other => {
                let message = format!(
                    "`{field}` is of type `{other}`: one of message, function_call, function_call_output"
                );
                Err(OpenAiError::of_field(field, message))
            }
        }
    }
}

fn given<T>(value: Option<T>, field: &str, name: &str) -> Result<T, OpenAiError> {
    let field = format!("{field}.{name}");
    value.ok_or_else(|| OpenAiError::of_field(field.as_str(), format!("`{field}` is missing")))
}
