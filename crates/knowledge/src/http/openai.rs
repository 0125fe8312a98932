//! OpenAI's protocols over the same chat: `POST /v1/chat/completions`, `POST /v1/responses`, `GET /v1/models`.
//!
//! `request` reads the body of a completion with its `messages`, `answer` writes the answer; `responses` does both for
//! responses. What they ask is an `asked::Asked`, whatever the protocol: with `content`, `pictures` and `tools`. `names`
//! says what a model's name means, `error` writes the errors. `embeddings` is `POST /v1/embeddings`.
//! Models below `stoa/` answer from the caller's documents, all others without documents.

mod answer;
mod asked;
mod content;
pub mod embeddings;
mod error;
mod messages;
mod names;
mod pictures;
mod request;
pub mod responses;
mod tools;

pub use error::{unknown_path, wrong_method};

use super::App;
use super::caller::Caller;
use super::chat::MAX_BODY;
use super::limit::{CountedQuestion, Excess};
use crate::records::User;
use answer::{CompletionChunk, CompletionHead, CompletionView};
use axum::Json;
use axum::extract::{FromRequestParts, Request, State};
use axum::response::Response;
use bytes::Bytes;
use error::{AnyError, OpenAiError, OpenAiErrorBody};
use http::request::Parts;
use kit::error::ApiError;
use kit::request::{PathId, from_text, read_object};
use llm::EDGE_AI;
use names::NamedModel;
use request::{Completion, CompletionBody};
use serde::Serialize;
use utoipa::ToSchema;

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
    (status = 429, description = "`rate_limit_exceeded`: too many questions in this minute. `insufficient_quota`: what \
        the user may use of models today is used up.", body = OpenAiErrorBody),
    (status = 502, description = "`provider_failed`: the provider of the model failed.", body = OpenAiErrorBody),
    AnyError,
))]
pub async fn complete(
    State(app): State<App>,
    OpenAiCaller(caller): OpenAiCaller,
    request: Request,
) -> Result<Response, OpenAiError> {
    let (counted, body) = read_counted(&app, &caller, request).await?;
    let answered = match body {
        Ok(body) => respond(&app, &caller, &body).await,
        Err(error) => Err(error),
    };
    Ok(counted.mark(answered))
}

/// Reads the body and counts the request, whatever the body says, as for `/api/chat`. Returns the body's text unless the
/// request is one too many.
async fn read_counted(
    app: &App,
    caller: &User,
    request: Request,
) -> Result<(CountedQuestion, Result<Bytes, OpenAiError>), OpenAiError> {
    let body = read_object(request, MAX_BODY).await;
    let counted = CountedQuestion::count(app, &caller.id).await?;
    let body = match counted.excess(app) {
        Some(excess) => Err(too_many(excess)),
        None => body.map_err(OpenAiError::from),
    };
    Ok((counted, body))
}

fn too_many(Excess { message, wait }: Excess) -> OpenAiError {
    ApiError::too_many_requests(message, wait).into()
}

async fn respond(app: &App, caller: &User, body: &[u8]) -> Result<Response, OpenAiError> {
    let Completion { asked, streams, with_usage } = Completion::check(from_text::<CompletionBody>(body)?)?;
    let answer = asked.answer(app, caller).await?;
    let head = CompletionHead::new(&answer, &app.random, seconds(app));
    match streams {
        true => Ok(head.stream(answer, with_usage)),
        false => head.whole(answer).await,
    }
}

fn seconds(app: &App) -> i64 {
    app.clock.now_ms() / 1000
}
