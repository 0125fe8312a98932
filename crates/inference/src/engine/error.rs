//! Why the engine cannot serve a request.

use crate::chat_template::TemplateError;

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("too much is waiting already: try again later")]
    Busy,
    #[error("no {0} model is loaded")]
    NoModel(&'static str),
    #[error("the prompt has {tokens} tokens, the model reads at most {most}")]
    PromptTooLong { tokens: usize, most: usize },
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error("the model failed")]
    Failed,
    #[error("the engine is shutting down")]
    Stopped,
}
