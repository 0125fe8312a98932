//! The messages of a chat completion.

use super::content::Content;
use super::error::OpenAiError;
use llm::{Message, Role, ToolCall};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Deserialize, ToSchema)]
#[schema(as = Message)]
pub struct MessageBody {
    role: RoleName,
    /// May be absent in messages of role assistant. Only the user's messages may have pictures.
    #[schema(inline)]
    content: Option<Content>,
    /// What the assistant called.
    tool_calls: Option<Vec<CallBody>>,
    /// Of role tool: which call the content is the result of.
    tool_call_id: Option<String>,
}

#[derive(Clone, Copy, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Role)]
pub enum RoleName {
    User,
    Assistant,
    System,
    Developer,
    Tool,
    Function,
}

#[derive(Deserialize, ToSchema)]
#[schema(as = MessageToolCall)]
struct CallBody {
    id: String,
    /// Only `function` is known.
    #[serde(rename = "type")]
    #[schema(example = "function")]
    kind: Option<String>,
    function: CalledBody,
}

#[derive(Deserialize, ToSchema)]
#[schema(as = CalledFunction)]
struct CalledBody {
    name: String,
    /// JSON.
    arguments: String,
}

/// Messages that were read.
#[derive(Default)]
pub struct ReadMessages {
    pub messages: Vec<Message>,
    /// The field of the first picture.
    pub first_picture: Option<String>,
}

impl ReadMessages {
    pub fn of_completion(bodies: Vec<MessageBody>) -> Result<Self, OpenAiError> {
        let mut read = Self::default();
        for (index, body) in bodies.into_iter().enumerate() {
            read.read(body, &format!("messages[{index}]"))?;
        }
        Ok(read)
    }

    fn read(&mut self, body: MessageBody, field: &str) -> Result<(), OpenAiError> {
        let role = Role::from(body.role);
        let content = format!("{field}.content");
        let mut message = match body.content {
            Some(own) => self.content(own, role, &content)?,
            // A message that only calls tools has no text.
            None if role == Role::Assistant => Message::assistant(""),
            None => {
                let message = format!("`{content}` is missing: a string, or an array of parts");
                return Err(OpenAiError::of_field(content, message));
            }
        };
        if role == Role::Assistant {
            let calls = body.tool_calls.unwrap_or_default().into_iter().enumerate();
            let calls = calls.map(|(index, call)| call.read(&format!("{field}.tool_calls[{index}]")));
            message.calls = calls.collect::<Result<_, _>>()?;
        }
        if matches!(body.role, RoleName::Tool) {
            let id = body.tool_call_id.unwrap_or_default();
            message.result_of = Some(self.called(id, &format!("{field}.tool_call_id"))?);
        }
        self.messages.push(message);
        Ok(())
    }

    /// Reads what a message says.
    pub fn content(&mut self, own: Content, role: Role, field: &str) -> Result<Message, OpenAiError> {
        let read = own.read(field)?;
        if let Some(picture) = read.first_picture {
            if role != Role::User {
                let message = format!("`{picture}` is a picture: only messages of role user may have some");
                return Err(OpenAiError::of_field(picture, message));
            }
            self.first_picture.get_or_insert(picture);
        }
        Ok(Message { pictures: read.pictures, ..Message::new(role, read.text) })
    }

    /// Returns the id of a call before, whose result a message is.
    pub fn called(&self, id: String, field: &str) -> Result<String, OpenAiError> {
        let calls = self.messages.iter().flat_map(|message| &message.calls);
        match calls.into_iter().any(|call| call.id == id) {
            true => Ok(id),
            false => {
                let message = format!("`{field}` is not the id of a call in a message before it");
                Err(OpenAiError::of_field(field, message))
            }
        }
    }
}

impl CallBody {
    fn read(self, field: &str) -> Result<ToolCall, OpenAiError> {
        match self.kind.as_deref() {
            None | Some("function") => {
                let CalledBody { name, arguments } = self.function;
                Ok(ToolCall { id: self.id, name, arguments })
            }
            Some(other) => {
                let message = format!("`{field}` is of type `{other}`: only calls of functions are read");
                Err(OpenAiError::of_field(field, message))
            }
        }
    }
}

impl From<RoleName> for Role {
    fn from(role: RoleName) -> Self {
        match role {
            RoleName::System | RoleName::Developer => Self::System,
            // The result of a tool is new to the model, as a question is.
            RoleName::User | RoleName::Tool | RoleName::Function => Self::User,
            RoleName::Assistant => Self::Assistant,
        }
    }
}
