//! Embeds texts that a client sends, for an index of its own.

use inference::encoder::Encoder;
use inference::{Engine, EngineError, Priority};
use std::sync::Arc;
use tokio::task::{JoinError, spawn_blocking};

/// Most tokens of one request. OpenAI's own bound; at 40 texts per second, half a minute.
pub const MOST_TOKENS: usize = 300_000;
/// Texts that the encoder gets at a time: few, so that they interleave with the passages of documents.
const BATCH: usize = 32;

/// The vectors of texts, in their order, and how many tokens the encoder has read.
pub struct Embedded {
    pub vectors: Vec<Vec<f32>>,
    pub tokens: usize,
}

#[derive(Debug, thiserror::Error)]
pub enum EmbeddingError {
    #[error("the embedding model is missing: run `stoa models pull` and start again")]
    NoEncoder,
    #[error("a text has {tokens} tokens, the model reads at most {most}")]
    TooLong { index: usize, tokens: usize, most: usize },
    #[error("the texts have {tokens} tokens in all: at most {MOST_TOKENS} in one request")]
    TooMany { tokens: usize },
    #[error("too many texts are waiting: try again in a moment")]
    Busy,
    #[error("counting the tokens stopped: {0}")]
    Counting(#[from] JoinError),
    #[error(transparent)]
    Engine(EngineError),
}

/// Returns the encoder, if it is loaded.
pub fn encoder(engine: Option<&Arc<Engine>>) -> Result<&Encoder, EmbeddingError> {
    engine.and_then(|engine| engine.encoder()).ok_or(EmbeddingError::NoEncoder)
}

/// Embeds texts. Nothing is cut off: a text that the model would not read to its end is an error.
pub async fn embed(
    engine: Option<&Arc<Engine>>,
    user_id: &str,
    texts: Vec<String>,
) -> Result<Embedded, EmbeddingError> {
    let engine = engine.ok_or(EmbeddingError::NoEncoder)?;
    let (texts, tokens) = measure(engine.clone(), texts).await?;
    // A single text is mostly a question that a user waits for. Several must not delay the questions of others.
    let priority = if texts.len() == 1 { Priority::Interactive } else { Priority::Bulk };
    let mut vectors = Vec::with_capacity(texts.len());
    for batch in texts.chunks(BATCH) {
        let embeddings = engine.embed(user_id, batch.to_vec(), priority)?;
        vectors.extend(embeddings.await?);
    }
    Ok(Embedded { vectors, tokens })
}

/// Counts the tokens of all texts, on a thread that may take its time. Returns the texts with it.
async fn measure(engine: Arc<Engine>, texts: Vec<String>) -> Result<(Vec<String>, usize), EmbeddingError> {
    let counting = spawn_blocking(move || {
        let tokens = count_tokens(encoder(Some(&engine))?, &texts)?;
        Ok((texts, tokens))
    });
    counting.await?
}

fn count_tokens(encoder: &Encoder, texts: &[String]) -> Result<usize, EmbeddingError> {
    let most = encoder.window();
    let mut sum = 0;
    for (index, text) in texts.iter().enumerate() {
        let tokens = encoder.count(text);
        if tokens > most {
            return Err(EmbeddingError::TooLong { index, tokens, most });
        }
        sum += tokens;
    }
    match sum {
        0..=MOST_TOKENS => Ok(sum),
        tokens => Err(EmbeddingError::TooMany { tokens }),
    }
}

impl From<EngineError> for EmbeddingError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Busy => Self::Busy,
            EngineError::NoModel(_) => Self::NoEncoder,
            error => Self::Engine(error),
        }
    }
}
