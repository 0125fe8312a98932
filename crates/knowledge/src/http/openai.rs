//! OpenAI's chat completions over the same chat: `POST /v1/chat/completions`, `GET /v1/models`.
//!
//! `names` says what a model's name means, `request` reads the body, `answer` writes the answer, `error` the errors.
//! `embeddings` is `POST /v1/embeddings`.
//! Models below `stoa/` answer from the caller's documents, all others without documents.

mod answer;
pub mod embeddings;
mod error;
mod names;
mod request;

pub use error::{unknown_path, wrong_method};

use super::App;
use super::caller::Caller;
use super::chat::MAX_BODY;
use super::limit::{CountedQuestion, Excess};
use super::scope::require_visible;
use crate::chat::{Answer, Ask, ModelChoice};
use crate::records::User;
use answer::{CompletionChunk, CompletionHead, CompletionView};
use axum::Json;
use axum::extract::{FromRequestParts, Request, State};
use axum::response::Response;
use error::{AnyError, OpenAiError, OpenAiErrorBody};
use http::request::Parts;
use kit::error::ApiError;
use kit::request::{PathId, from_fields, read_json};
use llm::{EDGE_AI, Skill};
use names::NamedModel;
use request::{Completion, CompletionBody};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// Tokens of an answer without retrieval, if the request sets none.
const DEFAULT_ANSWER: usize = 1024;

/// A [`Caller`] who reads errors in OpenAI's shape.
pub struct OpenAiCaller(User);

impl FromRequestParts<App> for OpenAiCaller {
    type Rejection = OpenAiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, OpenAiError> {
        let Caller(user) = Caller::from_request_parts(parts, app).await?;
        Ok(Self(user))
    }
}

#[derive(Serialize, ToSchema)]
pub struct CompletionModels {
    #[schema(example = "list")]
    object: &'static str,
    data: Vec<ModelView>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Model)]
pub struct ModelView {
    #[schema(example = "stoa/rag-chat")]
    id: String,
    #[schema(example = "model")]
    object: &'static str,
    /// In seconds since 1970.
    #[schema(example = 1794821400)]
    created: i64,
    #[schema(example = "edge-ai")]
    owned_by: String,
}

/// Lists the models, as OpenAI's protocol does.
#[utoipa::path(get, path = "/v1/models", responses((status = 200, body = CompletionModels), AnyError))]
pub async fn list_models(State(app): State<App>, _: OpenAiCaller) -> Json<CompletionModels> {
    let encoder = names::encoder(&app.settings.models).filter(|_| has_encoder(&app));
    let models = names::all(app.chats.providers()).into_iter().chain(encoder);
    let data = models.map(|(id, owner)| model(&app, id, owner)).collect();
    Json(CompletionModels { object: "list", data })
}

/// Returns one model.
#[utoipa::path(get, path = "/v1/models/{*id}",
    params(("id" = String, Path, description = "The model's name, which may have slashes.")),
    responses(
        (status = 200, body = ModelView),
        (status = 404, description = "`model_not_found`: there is no such model.", body = OpenAiErrorBody),
        AnyError,
    ))]
pub async fn get_model(
    State(app): State<App>,
    _: OpenAiCaller,
    PathId(id): PathId,
) -> Result<Json<ModelView>, OpenAiError> {
    if has_encoder(&app) && names::find_encoder(&id, &app.settings.models).is_some() {
        return Ok(Json(model(&app, id, EDGE_AI.to_owned())));
    }
    let named = NamedModel::parse(&id, &app.chats).ok_or_else(|| OpenAiError::unknown_model(&id))?;
    // A vendor without a key has no models, although others answer in its place.
    let owner = named.owner().ok_or_else(|| OpenAiError::unknown_model(&id))?.to_owned();
    Ok(Json(model(&app, id, owner)))
}

fn has_encoder(app: &App) -> bool {
    app.engine.as_ref().is_some_and(|engine| engine.encoder().is_some())
}

fn model(app: &App, id: String, owned_by: String) -> ModelView {
    ModelView { id, object: "model", created: seconds(app), owned_by }
}

/// Completes a chat, with the caller's documents for models below `stoa`.
#[utoipa::path(post, path = "/v1/chat/completions", request_body = CompletionBody, responses(
    (status = 200, description = "The answer; with `stream` the data of server-sent events, up to `[DONE]`.",
        content((CompletionView = "application/json"), (CompletionChunk = "text/event-stream")),
        headers(
            ("X-RateLimit-Remaining" = i64, description = "Questions that are left in this window."),
            ("X-RateLimit-Reset" = i64, description = "When the window ends, in milliseconds since 1970."),
        )),
    (status = 404, description = "`model_not_found` or `not_found`: there is no such model, or no such document.",
        body = OpenAiErrorBody),
    (status = 429, description = "`rate_limit_exceeded`: too many questions in this minute.", body = OpenAiErrorBody),
    (status = 502, description = "`provider_failed`: the provider of the model failed.", body = OpenAiErrorBody),
    AnyError,
))]
pub async fn complete(
    State(app): State<App>,
    OpenAiCaller(caller): OpenAiCaller,
    request: Request,
) -> Result<Response, OpenAiError> {
    let (counted, fields) = read_counted(&app, &caller, request).await?;
    let answered = match fields {
        Ok(fields) => respond(&app, &caller, fields).await,
        Err(error) => Err(error),
    };
    Ok(counted.mark(answered))
}

/// Reads the body and counts the request, whatever the body says, as for `/api/chat`. Returns the body's fields unless the
/// request is one too many.
async fn read_counted(
    app: &App,
    caller: &User,
    request: Request,
) -> Result<(CountedQuestion, Result<Map<String, Value>, OpenAiError>), OpenAiError> {
    let body = read_json::<Map<String, Value>>(request, MAX_BODY).await;
    let counted = CountedQuestion::count(app, &caller.id).await?;
    let fields = match counted.excess(app) {
        Some(excess) => Err(too_many(excess)),
        None => body.map_err(OpenAiError::from),
    };
    Ok((counted, fields))
}

fn too_many(Excess { message, wait }: Excess) -> OpenAiError {
    ApiError::too_many_requests(message, wait).into()
}

async fn respond(app: &App, caller: &User, fields: Map<String, Value>) -> Result<Response, OpenAiError> {
    let asked = Completion::check(from_fields::<CompletionBody, _>(Value::Object(fields))?)?;
    let named = NamedModel::parse(&asked.model, &app.chats);
    let named = named.ok_or_else(|| OpenAiError::unknown_model(&asked.model))?;
    let (streams, with_usage, retrieves) = (asked.streams, asked.with_usage, named.agent.is_some());
    let answer = match named.agent {
        Some(agent) => {
            let mut ask = grounded(asked, &named)?;
            ask.agent = agent;
            require_visible(app, &caller.id, &ask).await?;
            app.chats.answer(&caller.id, ask).await?
        }
        None if !asked.document_ids.is_empty() => {
            return Err(reads_no_documents("documentIds", &asked.model));
        }
        None if !asked.space_ids.is_empty() => return Err(reads_no_documents("spaceIds", &asked.model)),
        None => converse(app, caller, asked, named),
    };
    let head = CompletionHead::new(&answer, retrieves, &app.random, seconds(app));
    match streams {
        true => Ok(head.stream(answer, with_usage)),
        false => head.whole(answer).await,
    }
}

fn reads_no_documents(field: &'static str, model: &str) -> OpenAiError {
    let message = format!("`{field}` needs a model that reads documents: `stoa/{model}`");
    OpenAiError::of_field(field, message)
}

/// Makes a question of the last message of the user, with the messages before it as its history.
fn grounded(asked: Completion, named: &NamedModel) -> Result<Ask, OpenAiError> {
    let conversation = asked.conversation()?;
    let mut ask = Ask::new(conversation.question);
    // Most clients send instructions. A model that is too small to follow them quotes the documents instead.
    ask.system_prompt = conversation.instructions.filter(|_| named.model.skill() > Skill::Nothing);
    ask.history = conversation.history;
    ask.document_ids = asked.document_ids;
    ask.space_ids = asked.space_ids;
    ask.choice = Some(ModelChoice {
        provider: named.model.provider().to_owned(),
        model: Some(named.model.model().to_owned()),
        max_tokens: asked.max_tokens,
    });
    ask.temperature = asked.temperature.unwrap_or(ask.temperature);
    ask.stop = asked.stop;
    ask.seed = asked.seed;
    Ok(ask)
}

/// Lets the model answer the messages as they are, without documents.
fn converse(app: &App, caller: &User, asked: Completion, named: NamedModel) -> Answer {
    let model = named.model;
    let chat = llm::Chat {
        messages: asked.messages,
        max_tokens: asked.max_tokens.unwrap_or(DEFAULT_ANSWER).min(model.window() / 2),
        temperature: asked.temperature.unwrap_or(crate::chat::DEFAULT_TEMPERATURE),
        stop: asked.stop,
        seed: asked.seed.unwrap_or_else(|| u64::from_le_bytes(app.random.bytes())),
        urgent: true,
        user: caller.id.clone(),
        tries: llm::USUAL_TRIES,
    };
    Answer {
        sources: Vec::new(),
        notices: Vec::new(),
        provider: model.provider().to_owned(),
        model: model.model().to_owned(),
        parts: app.chats.converse(&model, chat),
    }
}

fn seconds(app: &App) -> i64 {
    app.clock.now_ms() / 1000
}
