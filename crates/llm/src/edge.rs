//! `edge-ai`: the language model inside this process.

use crate::{Cause, Chat, ChatError, ChatModel, EDGE_AI, Format, Message, Piece, Reply, Role, Skill, Usage};
use futures_util::stream;
use inference::chat_template;
use inference::decoder::{Decoder, Sampling};
use inference::{Engine, EngineError, Event, FinishReason, Finished, Generation, Priority, Request};
use std::sync::Arc;

const TOP_P: f32 = 0.9;
/// Longest prompt and answer together. Models can read more, but attention over a long window takes minutes on two
/// cores.
const WIDEST_WINDOW: usize = 4096;

pub struct Edge {
    engine: Option<Arc<Engine>>,
    model: String,
}

impl Edge {
    /// `model` is the name that answers carry.
    pub fn new(engine: Option<Arc<Engine>>, model: impl Into<String>) -> Self {
        Self { engine, model: model.into() }
    }

    fn decoder(&self) -> Option<&Decoder> {
        self.engine.as_ref()?.decoder()
    }

    fn start(&self, chat: Chat) -> Result<Generation, EngineError> {
        let engine = self.engine.as_ref().ok_or(EngineError::NoModel("language"))?;
        engine.generate(Request {
            messages: chat.messages.into_iter().map(templated).collect(),
            max_tokens: chat.max_tokens,
            sampling: Sampling {
                temperature: chat.temperature,
                top_p: TOP_P,
                seed: chat.seed,
                ..Sampling::default()
            },
            stop: chat.stop,
            priority: if chat.urgent { Priority::Interactive } else { Priority::Bulk },
            user: chat.caller.who.turn().into(),
        })
    }
}

impl ChatModel for Edge {
    fn provider(&self) -> &str {
        EDGE_AI
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn window(&self) -> usize {
        self.decoder().map_or(WIDEST_WINDOW, Decoder::context).min(WIDEST_WINDOW)
    }

    fn tokens(&self, text: &str) -> usize {
        self.decoder().map_or(text.len() / 3, |decoder| decoder.tokenizer().encode(text, false).len())
    }

    fn skill(&self) -> Skill {
        self.decoder().map_or(Skill::Nothing, |decoder| Skill::of_parameters(decoder.parameters() as u64))
    }

    fn is_blind(&self) -> bool {
        true
    }

    fn check(&self) -> Result<(), ChatError> {
        let missing =
            || ChatError { provider: EDGE_AI.to_owned(), model: self.model.clone(), cause: Cause::NoModel };
        self.decoder().map(|_| ()).ok_or_else(missing)
    }

    fn accepts(&self, chat: &Chat) -> Result<(), ChatError> {
        let lacks = |what: &str| {
            let message = format!("the embedded model {what}: name the model of a connection");
            Err(ChatError {
                provider: EDGE_AI.to_owned(),
                model: self.model.clone(),
                cause: Cause::Lacks(message),
            })
        };
        match chat {
            _ if chat.has_pictures() => lacks("takes no pictures"),
            Chat { tools: Some(_), .. } => lacks("calls no tools"),
            Chat { format: Format::Json | Format::Schema(_), .. } => lacks("writes no JSON by a schema"),
            _ => Ok(()),
        }
    }

    fn chat(&self, chat: Chat) -> Reply {
        if let Err(error) = self.accepts(&chat) {
            return Box::pin(stream::once(std::future::ready(Err(error))));
        }
        let model = self.model.clone();
        let failed = move |error| ChatError {
            provider: EDGE_AI.to_owned(),
            model: model.clone(),
            cause: cause(error),
        };
        match self.start(chat) {
            Err(error) => Box::pin(stream::once(std::future::ready(Err(failed(error))))),
            Ok(generation) => Box::pin(stream::unfold(Some((generation, failed)), |state| async {
                let (mut generation, failed) = state?;
                Some(match generation.next().await {
                    Some(Event::Text(text)) => (Ok(Piece::Text(text)), Some((generation, failed))),
                    Some(Event::Finished(finished)) => (Ok(Piece::End(usage(finished))), None),
                    Some(Event::Failed(error)) => (Err(failed(error)), None),
                    None => (Err(failed(EngineError::Stopped)), None),
                })
            })),
        }
    }
}

fn templated(message: Message) -> chat_template::Message {
    let role = match message.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    chat_template::Message { role: role.to_owned(), content: message.text }
}

fn usage(finished: Finished) -> Usage {
    Usage {
        input_tokens: finished.prompt_tokens as u64,
        output_tokens: finished.answer_tokens as u64,
        cut_off: finished.reason == FinishReason::Length,
    }
}

fn cause(error: EngineError) -> Cause {
    match error {
        EngineError::NoModel(_) => Cause::NoModel,
        EngineError::Busy => Cause::Busy,
        EngineError::PromptTooLong { tokens, most } => Cause::TooLong { tokens, most },
        error => Cause::Failed(error.to_string()),
    }
}
