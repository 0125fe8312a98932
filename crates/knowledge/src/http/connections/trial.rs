//! Trying a connection out, and finding servers on this machine.

use super::{ConnectionKind, ConnectionModel};
use crate::connections::Record;
use crate::http::App;
use crate::http::caller::Admin;
use axum::Json;
use axum::extract::State;
use futures_util::StreamExt;
use futures_util::future::join_all;
use kit::error::ApiError;
use kit::fields::AnyText;
use kit::request::{JsonBody, PathId};
use llm::{BaseUrl, Caller, Chat, Connection, Kind, Message, Model, Piece, Purpose, Who};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};
use utoipa::ToSchema;

const SENTENCE: &str = "Write one short sentence about bees.";
const MAX_SENTENCE_TOKENS: usize = 60;
/// How long a server may take for its sentence: it may have to load the model first.
const SENTENCE_WAIT: Duration = Duration::from_secs(60);
/// Servers that people run on their own machine, with the addresses that they take if nobody sets others.
const USUAL: [(&str, Kind, &str); 4] = [
    ("Ollama", Kind::Ollama, "http://127.0.0.1:11434"),
    ("LM Studio", Kind::OpenAi, "http://127.0.0.1:1234/v1"),
    ("llama.cpp", Kind::OpenAi, "http://127.0.0.1:8080/v1"),
    ("vLLM", Kind::OpenAi, "http://127.0.0.1:8000/v1"),
];
/// A server on this machine answers at once, or is not there.
const SEARCH_WAIT: Duration = Duration::from_secs(1);

/// How a connection is tried.
#[derive(Deserialize, ToSchema)]
pub struct TestBody {
    /// The model that writes; the first one if absent.
    #[schema(value_type = Option<String>, example = "qwen3:8b")]
    model: Option<AnyText>,
}

/// What a server has done when it was tried.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionTest {
    /// Whether it has written.
    success: bool,
    /// The models that it lists.
    models: Vec<ConnectionModel>,
    /// The model that was asked to write; null if there is none.
    model: Option<String>,
    /// What it has written.
    answer: Option<String>,
    /// After its first token.
    tokens_per_second: Option<f64>,
    /// What went wrong; null if nothing did.
    error: Option<String>,
}

/// A server that answers on this machine.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FoundServer {
    #[schema(example = "Ollama")]
    name: String,
    #[schema(inline)]
    kind: ConnectionKind,
    #[schema(example = "http://127.0.0.1:11434")]
    base_url: String,
    models: Vec<ConnectionModel>,
}

#[derive(Serialize, ToSchema)]
pub struct FoundServers {
    servers: Vec<FoundServer>,
}

/// Tries a connection: asks the server for its models, and lets one of them write a sentence.
#[utoipa::path(post, path = "/api/connections/{id}/test", params(("id" = String, Path)),
    request_body = Option<TestBody>, responses(
        (status = 200, body = ConnectionTest),
        (status = 404, description = "`NOT_FOUND`: there is no connection with this id."),
    ))]
pub async fn test(
    State(app): State<App>,
    Admin(user): Admin,
    PathId(id): PathId,
    body: Option<JsonBody<TestBody>>,
) -> Result<Json<ConnectionTest>, ApiError> {
    let record = app.connections.get(&id).await?;
    let server = app.connections.server(&record)?;
    let (models, mut error) = match server.models().await {
        Ok(models) => (models, None),
        Err(why) => (Vec::new(), Some(why.cause.to_string())),
    };
    let named =
        body.and_then(|JsonBody(body)| body.model).map(|model| model.0).filter(|model| !model.is_empty());
    if named.as_deref().is_some_and(|model| !llm::is_model_name(model)) {
        return Err(ApiError::invalid("`model` is not the name of a model"));
    }
    let first = record.models.first().or(models.first()).map(|model| model.name.clone());
    let model = named.or(first);
    let (mut answer, mut tokens_per_second) = (None, None);
    if let Some(model) = model.as_deref().filter(|_| error.is_none()) {
        match written(&server.model(Some(model)), &user.id).await {
            Ok((text, speed)) => (answer, tokens_per_second) = (Some(text), speed),
            Err(why) => error = Some(why),
        }
    } else if error.is_none() {
        error = Some("the server has no model".to_owned());
    }
    let models = models.into_iter().map(ConnectionModel::from).collect();
    Ok(Json(ConnectionTest { success: error.is_none(), models, model, answer, tokens_per_second, error }))
}

/// Lists the servers that answer on this machine at their usual addresses and are not connected.
#[utoipa::path(get, path = "/api/connections/found", responses((status = 200, body = FoundServers)))]
pub async fn find(State(app): State<App>, _: Admin) -> Result<Json<FoundServers>, ApiError> {
    let connected = app.connections.list().await?;
    let looking = USUAL.into_iter().map(|(name, kind, address)| {
        let base_url = address.parse::<BaseUrl>().ok();
        let base_url = base_url.filter(|url| !connected.iter().any(|record| is_at(record, url)));
        let app = app.clone();
        async move {
            let connection = Connection {
                name: name.to_owned(),
                kind,
                base_url: base_url?,
                api_key: None,
                models: Vec::new(),
            };
            let server = app.chats.providers().server(connection);
            let models = tokio::time::timeout(SEARCH_WAIT, server.models()).await.ok()?.ok()?;
            let models = models.into_iter().map(ConnectionModel::from).collect();
            let (name, base_url) = (name.to_owned(), address.to_owned());
            Some(FoundServer { name, kind: kind.into(), base_url, models })
        }
    });
    Ok(Json(FoundServers { servers: join_all(looking).await.into_iter().flatten().collect() }))
}

/// Lets a model write a sentence. Returns it with the tokens per second after the first, if there were others.
async fn written(model: &Model, user_id: &str) -> Result<(String, Option<f64>), String> {
    let mut reply = model.chat(Chat {
        messages: vec![Message::user(SENTENCE)],
        max_tokens: MAX_SENTENCE_TOKENS,
        temperature: 0.0,
        stop: Vec::new(),
        seed: 0,
        urgent: true,
        caller: Caller::new(Who::User(user_id.to_owned()), Purpose::Test),
        tries: 1,
        tools: None,
        format: llm::Format::Text,
    });
    let (mut text, mut first) = (String::new(), None);
    let writing = async {
        while let Some(piece) = reply.next().await {
            match piece.map_err(|error| error.cause.to_string())? {
                Piece::Text(piece) => {
                    first.get_or_insert_with(Instant::now);
                    text.push_str(&piece);
                }
                Piece::Call(_) => {}
                Piece::End(usage) => {
                    let seconds = first.map_or(0.0, |first| first.elapsed().as_secs_f64());
                    let others = usage.output_tokens.saturating_sub(1) as f64;
                    let speed = (seconds > 0.0 && others > 0.0).then(|| others / seconds);
                    return Ok((text.trim().to_owned(), speed.map(|speed| (10.0 * speed).round() / 10.0)));
                }
            }
        }
        Err("its answer has no end".to_owned())
    };
    let silent = || format!("it wrote no sentence within {} s", SENTENCE_WAIT.as_secs());
    tokio::time::timeout(SENTENCE_WAIT, writing).await.unwrap_or_else(|_| Err(silent()))
}

fn is_at(record: &Record, url: &BaseUrl) -> bool {
    record.base_url.parse::<BaseUrl>().is_ok_and(|own| own.is_same_server(url))
}
