//! `POST /v1/embeddings`: vectors of the caller's texts, by the embedded encoder. Nothing of them is kept.

use super::error::{AnyError, OpenAiError, OpenAiErrorBody};
use super::{MAX_BODY, OpenAiCaller, names};
use crate::embeddings::{self, Embedded, EmbeddingError};
use crate::http::App;
use axum::Json;
use axum::extract::{Request, State};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use kit::error::ApiError;
use kit::fields::{Text, Whole};
use kit::request::{from_fields, read_json};
use llm::is_model_name;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;
use utoipa::ToSchema;

/// OpenAI's own bound.
const MOST_TEXTS: usize = 2048;
const BUSY_RETRY_AFTER: Duration = Duration::from_secs(1);

/// Texts to be embedded. Null counts as absent.
#[derive(Deserialize, ToSchema)]
pub struct EmbeddingBody {
    /// The embedded encoder, by its name in `/v1/models`; its provider may be left out.
    #[schema(value_type = String, min_length = 1, max_length = 200, example = "edge-ai/all-minilm-l6-v2")]
    model: Text,
    #[schema(inline)]
    input: Input,
    /// How the vectors are written; `float` if absent.
    #[schema(inline)]
    encoding_format: Option<EncodingFormat>,
    /// How many numbers a vector has: only the model's own size is supported.
    #[schema(value_type = Option<i64>, minimum = 1, example = 384)]
    dimensions: Option<Whole<1, 65_536>>,
    /// Of any type; not used.
    #[schema(value_type = Option<serde_json::Value>)]
    #[expect(dead_code, reason = "clients may send it, and it changes nothing")]
    user: Option<IgnoredAny>,
}

/// A text, or up to 2,048 texts, none of them empty.
#[derive(Deserialize, ToSchema)]
#[serde(untagged, expecting = "is not a string or an array of strings")]
#[schema(example = "The pump P-204 circulates coolant.")]
enum Input {
    One(String),
    Several(Vec<String>),
}

#[derive(Clone, Copy, Default, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum EncodingFormat {
    /// An array of numbers.
    #[default]
    Float,
    /// The numbers as 32-bit floats, the low byte of each first, in base64.
    Base64,
}

#[derive(Serialize, ToSchema)]
pub struct EmbeddingList {
    #[schema(example = "list")]
    object: &'static str,
    /// One for each text, in their order.
    data: Vec<EmbeddingView>,
    #[schema(example = "edge-ai/all-minilm-l6-v2")]
    model: String,
    usage: EmbeddingUsage,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Embedding)]
struct EmbeddingView {
    #[schema(example = "embedding")]
    object: &'static str,
    /// The index of the text.
    #[schema(example = 0)]
    index: usize,
    #[schema(inline)]
    embedding: Vector,
}

/// A vector of length 1, as `encoding_format` says.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum Vector {
    Floats(Vec<f32>),
    Base64(String),
}

#[derive(Serialize, ToSchema)]
struct EmbeddingUsage {
    /// The tokens that the encoder has read, with the two that mark the ends of each text.
    #[schema(example = 12)]
    prompt_tokens: usize,
    /// The same: nothing is written.
    #[schema(example = 12)]
    total_tokens: usize,
}

/// Returns the vectors of texts, for an index of the caller's own.
#[utoipa::path(post, path = "/v1/embeddings", request_body = EmbeddingBody, responses(
    (status = 200, body = EmbeddingList),
    (status = 404, description = "`model_not_found`: there is no such embedding model.", body = OpenAiErrorBody),
    AnyError,
))]
pub async fn embed(
    State(app): State<App>,
    OpenAiCaller(caller): OpenAiCaller,
    request: Request,
) -> Result<Json<EmbeddingList>, OpenAiError> {
    let fields = read_json::<Map<String, Value>>(request, MAX_BODY).await?;
    refuse_tokens(&fields)?;
    let body = from_fields::<EmbeddingBody, _>(Value::Object(fields))?;
    if !is_model_name(&body.model.0) {
        return Err(OpenAiError::of_field("model", "`model` is not the name of a model"));
    }
    let model = names::find_encoder(&body.model.0, &app.settings.models)
        .ok_or_else(|| OpenAiError::unknown_encoder(&body.model.0, &app.settings.models))?;
    let input = body.input.check()?;
    let engine = app.engine.as_ref();
    let fault = |error| describe(error, input.is_list);
    let size = embeddings::encoder(engine).map_err(fault)?.dimension();
    if body.dimensions.is_some_and(|asked| asked.size() != size) {
        let message = format!("`dimensions` is not {size}: the vectors of `{model}` have no other size");
        return Err(OpenAiError::of_field("dimensions", message));
    }
    let embedded = embeddings::embed(engine, &caller.id, input.texts).await.map_err(fault)?;
    Ok(Json(EmbeddingList::new(model, embedded, body.encoding_format.unwrap_or_default())))
}

/// Refuses tokens in place of texts. They are of another model's tokenizer, and would mean other words here.
fn refuse_tokens(fields: &Map<String, Value>) -> Result<(), OpenAiError> {
    let Some(Value::Array(items)) = fields.get("input") else { return Ok(()) };
    let Some(index) = items.iter().position(|item| !item.is_string()) else { return Ok(()) };
    let name = format!("input[{index}]");
    let is_token = items[index].is_number() || items[index].is_array();
    let advice = if is_token { ": tokens are not supported, send the text itself" } else { "" };
    Err(OpenAiError::of_field(name.as_str(), format!("`{name}` is not a string{advice}")))
}

/// Texts that were checked.
struct Texts {
    texts: Vec<String>,
    /// Whether they came as an array, so that errors name an index.
    is_list: bool,
}

impl Input {
    fn check(self) -> Result<Texts, OpenAiError> {
        let (texts, is_list) = match self {
            Self::One(text) => (vec![text], false),
            Self::Several(texts) => (texts, true),
        };
        if texts.is_empty() {
            return Err(OpenAiError::of_field("input", "`input` is empty: at least one text"));
        }
        if texts.len() > MOST_TEXTS {
            let message = format!("`input` has {} texts: at most {MOST_TEXTS}", texts.len());
            return Err(OpenAiError::of_field("input", message));
        }
        if let Some(index) = texts.iter().position(String::is_empty) {
            let name = text_name(index, is_list);
            return Err(OpenAiError::of_field(name.as_str(), format!("`{name}` is empty")));
        }
        Ok(Texts { texts, is_list })
    }
}

/// Returns the name of a text in the request.
fn text_name(index: usize, is_list: bool) -> String {
    if is_list { format!("input[{index}]") } else { "input".to_owned() }
}

fn describe(error: EmbeddingError, is_list: bool) -> OpenAiError {
    let message = error.to_string();
    match error {
        EmbeddingError::TooLong { index, tokens, most } => {
            let name = text_name(index, is_list);
            let message = format!("`{name}` has {tokens} tokens: at most {most}, with the two at its ends");
            OpenAiError::of_field(name, message)
        }
        EmbeddingError::TooMany { .. } => OpenAiError::of_field("input", format!("`input`: {message}")),
        EmbeddingError::NoEncoder => ApiError::unavailable(message).into(),
        // In answers below `/v1`, 429 means that the caller asks too often.
        EmbeddingError::Busy => ApiError::unavailable(message).retry_after(BUSY_RETRY_AFTER).into(),
        EmbeddingError::Counting(_) | EmbeddingError::Engine(_) => ApiError::internal(message).into(),
    }
}

impl EmbeddingList {
    fn new(model: String, embedded: Embedded, format: EncodingFormat) -> Self {
        let views = embedded.vectors.into_iter().enumerate().map(|(index, vector)| EmbeddingView {
            object: "embedding",
            index,
            embedding: Vector::new(vector, format),
        });
        let usage = EmbeddingUsage { prompt_tokens: embedded.tokens, total_tokens: embedded.tokens };
        Self { object: "list", data: views.collect(), model, usage }
    }
}

impl Vector {
    fn new(values: Vec<f32>, format: EncodingFormat) -> Self {
        match format {
            EncodingFormat::Float => Self::Floats(values),
            EncodingFormat::Base64 => {
                let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                Self::Base64(BASE64_STANDARD.encode(bytes))
            }
        }
    }
}
