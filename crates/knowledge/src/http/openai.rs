//! OpenAI's chat completions over the same chat: `POST /v1/chat/completions`, `GET /v1/models`.
//!
//! `names` says what a model's name means, `request` reads the body, `answer` writes what comes back, `fault` the errors.
//! Models below `stoa/` answer from the caller's documents, all others from what they know themselves.

mod answer;
mod fault;
mod names;
mod request;

pub use fault::{unknown_path, wrong_method};

use super::App;
use super::caller::Caller;
use super::chat::MAX_BODY;
use super::error::Failure;
use super::limit::{Counted, Excess};
use super::scope::require_owned;
use crate::accounts::User;
use crate::chat::{Answer, Ask, Choice};
use answer::Completion;
use axum::Json;
use axum::extract::{FromRequestParts, Request, State};
use axum::response::Response;
use fault::Fault;
use http::request::Parts;
use kit::error::ApiError;
use kit::request::{PathId, read_json};
use names::Named;
use request::Asked;
use serde_json::{Map, Value, json};

/// Tokens of an answer without retrieval, where the request sets none.
const DEFAULT_ANSWER: usize = 1024;

/// A [`Caller`] who reads errors in OpenAI's shape.
pub struct Key(User);

impl FromRequestParts<App> for Key {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Fault> {
        let Caller(user) = Caller::from_request_parts(parts, app).await?;
        Ok(Self(user))
    }
}

pub async fn list_models(State(app): State<App>, _: Key) -> Json<Value> {
    let created = seconds(&app);
    let models = names::all(app.chats.providers());
    let models: Vec<Value> = models.iter().map(|(id, owner)| model(id, owner, created)).collect();
    Json(json!({ "object": "list", "data": models }))
}

pub async fn get_model(State(app): State<App>, _: Key, id: PathId) -> Result<Json<Value>, Fault> {
    let PathId(id) = id;
    let named = Named::parse(&id, &app.chats).ok_or_else(|| Fault::unknown_model(&id))?;
    // Without its key a vendor has no models, although others answer in its place.
    let owner = named.owner().ok_or_else(|| Fault::unknown_model(&id))?;
    Ok(Json(model(&id, owner, seconds(&app))))
}

fn model(id: &str, owner: &str, created: i64) -> Value {
    json!({ "id": id, "object": "model", "created": created, "owned_by": owner })
}

pub async fn complete(State(app): State<App>, Key(caller): Key, request: Request) -> Result<Response, Fault> {
    let body = read_json::<Map<String, Value>>(request, MAX_BODY).await;
    // Counted whatever the body says, as for `/api/chat`.
    let counted = Counted::question(&app, &caller.id).await?;
    let answered = match (counted.excess(&app), body) {
        (Some(excess), _) => Err(too_many(excess)),
        (None, Err(error)) => Err(error.into()),
        (None, Ok(fields)) => respond(&app, &caller, &fields).await,
    };
    Ok(counted.mark(answered))
}

fn too_many(Excess { message, wait }: Excess) -> Fault {
    ApiError::too_many_requests(message, wait).into()
}

async fn respond(app: &App, caller: &User, fields: &Map<String, Value>) -> Result<Response, Fault> {
    let asked = Asked::read(fields)?;
    let named = Named::parse(&asked.model, &app.chats);
    let named = named.ok_or_else(|| Fault::unknown_model(&asked.model))?;
    let (streams, with_usage, retrieves) = (asked.streams, asked.with_usage, named.agent.is_some());
    let answer = match named.agent {
        Some(agent) => {
            let mut ask = grounded(asked, &named)?;
            ask.agent = agent;
            require_owned(app, &caller.id, &ask.document_ids).await?;
            app.chats.answer(&caller.id, ask).await.map_err(Failure::from)?
        }
        None if !asked.document_ids.is_empty() => return Err(reads_no_documents(&asked.model)),
        None => converse(app, asked, named),
    };
    let completion = Completion::new(&answer, retrieves, &app.random, seconds(app));
    match streams {
        true => Ok(completion.stream(answer, with_usage)),
        false => Ok(completion.whole(answer).await?),
    }
}

fn reads_no_documents(model: &str) -> Fault {
    let message = format!("`documentIds` needs a model that reads documents: `stoa/{model}`");
    Fault::of_field("documentIds", message)
}

/// The last question is searched for, with all that was said before it as its history.
fn grounded(asked: Asked, named: &Named) -> Result<Ask, Fault> {
    let conversation = asked.conversation()?;
    let mut ask = Ask::new(conversation.question);
    // Clients send instructions as a matter of course; a model that cannot follow them stays with the documents.
    ask.system_prompt = conversation.instructions.filter(|_| named.model.can_write());
    ask.history = conversation.history;
    ask.document_ids = asked.document_ids;
    ask.choice = Some(Choice {
        provider: named.model.provider().to_owned(),
        model: Some(named.model.model().to_owned()),
        max_tokens: asked.max_tokens,
    });
    ask.temperature = asked.temperature.unwrap_or(ask.temperature);
    ask.stop = asked.stop;
    ask.seed = asked.seed;
    Ok(ask)
}

/// The messages as they are, to the model alone.
fn converse(app: &App, asked: Asked, named: Named) -> Answer {
    let model = named.model;
    let chat = llm::Chat {
        messages: asked.messages,
        max_tokens: asked.max_tokens.unwrap_or(DEFAULT_ANSWER).min(model.window() / 2),
        temperature: asked.temperature.unwrap_or(crate::chat::DEFAULT_TEMPERATURE),
        stop: asked.stop,
        seed: asked.seed.unwrap_or_else(|| u64::from_le_bytes(app.random.bytes())),
        urgent: true,
        tries: llm::USUAL_TRIES,
    };
    Answer {
        sources: Vec::new(),
        provider: model.provider(),
        model: model.model().to_owned(),
        spoken: app.chats.converse(&model, chat),
    }
}

fn seconds(app: &App) -> i64 {
    app.clock.now_ms() / 1000
}
