//! A question of either protocol that was checked, and who answers it: a model below `stoa/` from the caller's documents,
//! any other without them.

use super::error::OpenAiError;
use super::names::{self, NamedModel};
use crate::chat::{AnswerPart, Ask, DEFAULT_TEMPERATURE, ModelChoice, NumberedSource, Source};
use crate::http::App;
use crate::http::fields::check_question;
use crate::http::scope::require_visible;
use crate::records::User;
use futures_util::StreamExt;
use llm::{
    Caller, Cause, ChatError, EDGE_AI, Format, Message, Piece, Purpose, Reply, Role, Skill, ToolCall, Tools,
    Usage, Who,
};

/// Tokens of an answer without retrieval, if the request sets none.
const DEFAULT_ANSWER: usize = 1024;

pub struct Asked {
    pub model: String,
    /// Come before the messages.
    pub instructions: Option<String>,
    pub messages: Vec<Message>,
    /// The field that the messages are in.
    pub messages_field: &'static str,
    /// The field of the first picture.
    pub first_picture: Option<String>,
    pub temperature: Option<f32>,
    pub max_tokens: Option<usize>,
    pub stop: Vec<String>,
    pub seed: Option<u64>,
    pub tools: Option<Tools>,
    pub format: Format,
    /// The field that the format is in.
    pub format_field: &'static str,
    pub document_ids: Vec<String>,
    pub space_ids: Vec<String>,
}

/// An answer that is being written.
pub struct Answered {
    /// The name of what answers.
    pub model: String,
    pub citations: Vec<NumberedSource>,
    pub notices: Vec<String>,
    pub pieces: Reply,
}

/// What an answer has once it is whole.
pub struct Whole {
    pub text: String,
    pub calls: Vec<ToolCall>,
    pub usage: Usage,
}

/// The messages as the grounded chat takes them.
struct Conversation {
    question: String,
    instructions: Option<String>,
    history: String,
}

impl Asked {
    pub async fn answer(self, app: &App, caller: &User) -> Result<Answered, OpenAiError> {
        let named = NamedModel::parse(&self.model, &app.chats);
        let named = named.ok_or_else(|| OpenAiError::unknown_model(&self.model))?;
        match named.agent {
            Some(_) => self.answer_from_documents(app, caller, named).await,
            None => self.answer_without_documents(app, caller, named).await,
        }
    }

    async fn answer_from_documents(
        self,
        app: &App,
        caller: &User,
        named: NamedModel,
    ) -> Result<Answered, OpenAiError> {
        let is_form = !matches!(self.format, Format::Text);
        let first = [
            self.tools.as_ref().map(|_| "tools".to_owned()),
            is_form.then(|| self.format_field.to_owned()),
            self.first_picture.clone(),
        ];
        if let Some(field) = first.into_iter().flatten().next() {
            return Err(only_without_documents(&field, &named));
        }
        let ask = self.grounded(&named)?;
        require_visible(app, &caller.id, &ask).await?;
        let answer = app.chats.answer(&caller.id, ask).await?;
        let pieces = answer.parts.map(|part| {
            part.map(|part| match part {
                AnswerPart::Text(text) => Piece::Text(text),
                AnswerPart::End(usage) => Piece::End(usage),
            })
        });
        Ok(Answered {
            model: names::answered(true, &answer.provider, &answer.model),
            citations: Source::numbered(&answer.sources),
            notices: answer.notices,
            pieces: pieces.boxed(),
        })
    }

    /// Lets the model answer the messages as they are.
    async fn answer_without_documents(
        self,
        app: &App,
        caller: &User,
        named: NamedModel,
    ) -> Result<Answered, OpenAiError> {
        for (field, ids) in [("documentIds", &self.document_ids), ("spaceIds", &self.space_ids)] {
            if !ids.is_empty() {
                let needs = format!("`{field}` needs a model that reads documents: `stoa/{}`", self.model);
                return Err(OpenAiError::of_field(field, needs));
            }
        }
        let model = named.model;
        let instructions = self.instructions.map(Message::system);
        let chat = llm::Chat {
            messages: instructions.into_iter().chain(self.messages).collect(),
            max_tokens: self.max_tokens.unwrap_or(DEFAULT_ANSWER).min(model.window() / 2),
            temperature: self.temperature.unwrap_or(DEFAULT_TEMPERATURE),
            stop: self.stop,
            seed: self.seed.unwrap_or_else(|| u64::from_le_bytes(app.random.bytes())),
            urgent: true,
            caller: Caller::new(Who::User(caller.id.clone()), Purpose::Api),
            tries: llm::USUAL_TRIES,
            tools: self.tools,
            format: self.format,
        };
        model.accepts(&chat)?;
        let is_callers = chat.tools.is_some() || !matches!(chat.format, Format::Text) || chat.has_pictures();
        let pieces =
            model.begin(chat).await?.map(move |piece| piece.map_err(|error| refused(error, is_callers)));
        Ok(Answered {
            model: names::answered(false, model.provider(), model.model()),
            citations: Vec::new(),
            notices: Vec::new(),
            pieces: pieces.boxed(),
        })
    }

    /// Makes a question of the last message of the user, with the messages before it as its history.
    fn grounded(self, named: &NamedModel) -> Result<Ask, OpenAiError> {
        let conversation = self.conversation()?;
        let mut ask = Ask::new(conversation.question);
        ask.agent = named.agent.unwrap_or_default();
        ask.purpose = Purpose::Api;
        // Most clients send instructions. A model that is too small to follow them quotes the documents instead.
        ask.system_prompt = conversation.instructions.filter(|_| named.model.skill() > Skill::Nothing);
        ask.history = conversation.history;
        ask.document_ids = self.document_ids;
        ask.space_ids = self.space_ids;
        ask.choice = Some(ModelChoice {
            provider: named.model.provider().to_owned(),
            model: Some(named.model.model().to_owned()),
            max_tokens: self.max_tokens,
        });
        ask.temperature = self.temperature.unwrap_or(ask.temperature);
        ask.stop = self.stop;
        ask.seed = self.seed;
        Ok(ask)
    }

    fn conversation(&self) -> Result<Conversation, OpenAiError> {
        let field = self.messages_field;
        let is_question = |message: &Message| message.role == Role::User && !message.text.trim().is_empty();
        let last = self.messages.iter().rposition(is_question);
        let last = last.ok_or_else(|| {
            let message = format!("`{field}` has no question: a message of role user with text");
            OpenAiError::of_field(field, message)
        })?;
        let name = format!("{field}[{last}]");
        let question = self.messages[last].text.trim();
        check_question(&name, question)
            .map_err(|error| OpenAiError::of_field(name.as_str(), error.message()))?;
        let system = self.messages.iter().filter(|one| one.role == Role::System).map(|one| one.text.trim());
        let instructions: Vec<&str> = self.instructions.as_deref().into_iter().chain(system).collect();
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

/// Makes a server's refusal the caller's own fault, if what it may refuse came from the caller as it was: a client would try
/// again after another error.
fn refused(error: ChatError, is_callers: bool) -> ChatError {
    match error.cause {
        Cause::Refused { status: 400 | 422, message, .. } if is_callers => {
            ChatError { cause: Cause::Lacks(format!("its server refuses: {message}")), ..error }
        }
        _ => error,
    }
}

/// Refuses what only a model without documents takes.
fn only_without_documents(field: &str, named: &NamedModel) -> OpenAiError {
    let instead = match named.model.provider() {
        EDGE_AI => "the model of a connection takes it, without `stoa/` before its name".to_owned(),
        provider => format!("`{provider}/{}` takes it, without documents", named.model.model()),
    };
    OpenAiError::of_field(field, format!("`{field}` is not for models below `stoa/`: {instead}"))
}

impl Answered {
    pub async fn whole(mut self) -> Result<Whole, ChatError> {
        let mut whole = Whole { text: String::new(), calls: Vec::new(), usage: Usage::default() };
        while let Some(piece) = self.pieces.next().await {
            match piece? {
                Piece::Text(text) => whole.text.push_str(&text),
                Piece::Call(piece) => ToolCall::collect(&mut whole.calls, piece),
                Piece::End(usage) => whole.usage = usage,
            }
        }
        Ok(whole)
    }
}
