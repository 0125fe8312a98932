//! Connections: servers of models that administrators add. `trial` tries them out and finds those on this machine, `defaults`
//! says which model answers for what.

pub mod defaults;
pub mod trial;

use super::App;
use super::caller::Admin;
use super::fields::name;
use super::users::Success;
use crate::connections::{ConnectionChanges, Record};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use kit::error::ApiError;
use kit::fields::{AnyText, given};
use kit::request::{JsonBody, PathId};
use llm::{ApiKey, BaseUrl, Connection, Kind, ServedModel, canonical};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

const MAX_KEY_BYTES: usize = 4096;
const MAX_MODELS: usize = 2000;

/// The protocol of a server.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ConnectionKind {
    /// OpenAI's chat completions, which most servers have.
    OpenAi,
    Anthropic,
    Google,
    Ollama,
}

/// A model that a server has.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ConnectionModel {
    #[schema(example = "qwen3:8b")]
    name: String,
    /// Most tokens of the question and the answer together; null if the server does not say.
    #[serde(default)]
    #[schema(example = 32768)]
    window: Option<u32>,
    /// How large it is; null if the server does not say. Facts are found by the reader for models below 3 billion.
    #[serde(default)]
    #[schema(example = 8200000000_u64)]
    parameters: Option<u64>,
    /// Whether it takes pictures; null if the server does not say.
    #[serde(default)]
    #[schema(example = false)]
    pictures: Option<bool>,
}

/// A server of models.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionView {
    /// Of one from the settings, the name of its provider.
    #[schema(example = "0199a2f4-0b1c-7d3b-8a90-1f2e3d4c5b6a")]
    id: String,
    /// What `llmConfig.provider` and the names of models call it by.
    #[schema(example = "Ollama")]
    name: String,
    #[schema(inline)]
    kind: ConnectionKind,
    #[schema(example = "http://127.0.0.1:11434/")]
    base_url: String,
    /// Whether it has a key, which is never shown.
    has_key: bool,
    /// The first answers if a request names none.
    models: Vec<ConnectionModel>,
    /// Whether it is from the settings, and cannot be changed here.
    from_settings: bool,
}

#[derive(Serialize, ToSchema)]
pub struct ConnectionList {
    /// Those of the settings first, then the oldest first.
    connections: Vec<ConnectionView>,
}

/// A new connection. Null counts as absent.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewConnectionBody {
    #[schema(value_type = String, min_length = 1, max_length = 100, example = "Ollama")]
    name: AnyText,
    #[schema(inline)]
    kind: ConnectionKind,
    #[schema(value_type = String, example = "http://127.0.0.1:11434")]
    base_url: AnyText,
    /// It is stored encrypted, never shown, and sent nowhere but to this address.
    #[schema(value_type = Option<String>, max_length = 4096)]
    api_key: Option<AnyText>,
    /// If absent, the server is asked for its list.
    models: Option<Vec<ConnectionModel>>,
}

/// What is to change of a connection. What is absent stays.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionChangesBody {
    #[schema(value_type = Option<String>, min_length = 1, max_length = 100, example = "Ollama")]
    name: Option<AnyText>,
    /// On another server, the key is to be given again.
    #[schema(value_type = Option<String>, example = "http://127.0.0.1:11434")]
    base_url: Option<AnyText>,
    /// Null drops it.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, max_length = 4096)]
    api_key: Option<Option<AnyText>>,
    models: Option<Vec<ConnectionModel>>,
}

/// A connection after a change.
#[derive(Serialize, ToSchema)]
pub struct ChangedConnection {
    success: bool,
    connection: ConnectionView,
    /// Why the server did not list its models, if it was asked and did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error: Option<String>,
}

/// Lists the connections; for administrators, as all that follows.
#[utoipa::path(get, path = "/api/connections", responses((status = 200, body = ConnectionList)))]
pub async fn list(State(app): State<App>, _: Admin) -> Result<Json<ConnectionList>, ApiError> {
    let mut connections: Vec<ConnectionView> =
        app.chats.providers().of_settings().map(view_of_settings).collect();
    connections.extend(app.connections.list().await?.into_iter().map(view));
    Ok(Json(ConnectionList { connections }))
}

/// Adds a connection. It can be used at once.
#[utoipa::path(post, path = "/api/connections", request_body = NewConnectionBody, responses(
    (status = 201, body = ChangedConnection),
    (status = 409, description = "`CONFLICT`: another connection has this name, or there are 100 already."),
))]
pub async fn create(
    State(app): State<App>,
    _: Admin,
    JsonBody(body): JsonBody<NewConnectionBody>,
) -> Result<Response, ApiError> {
    let mut connection = Connection {
        name: own_name(&body.name)?,
        kind: body.kind.into(),
        base_url: base_url(&body.base_url)?,
        api_key: body.api_key.map(api_key).transpose()?.flatten(),
        models: body.models.clone().map(models).transpose()?.unwrap_or_default(),
    };
    let mut error = None;
    if body.models.is_none() {
        match app.chats.providers().server(connection.clone()).models().await {
            Ok(listed) => connection.models = listed,
            Err(why) => error = Some(why.cause.to_string()),
        }
    }
    let connection = view(app.connections.create(connection).await?);
    Ok((StatusCode::CREATED, Json(ChangedConnection { success: true, connection, error })).into_response())
}

/// Changes a connection.
#[utoipa::path(patch, path = "/api/connections/{id}", params(("id" = String, Path)),
    request_body = ConnectionChangesBody, responses(
        (status = 200, body = ChangedConnection),
        (status = 404, description = "`NOT_FOUND`: there is no connection with this id."),
        (status = 409, description = "`CONFLICT`: another connection has this name."),
    ))]
pub async fn update(
    State(app): State<App>,
    _: Admin,
    PathId(id): PathId,
    JsonBody(body): JsonBody<ConnectionChangesBody>,
) -> Result<Json<ChangedConnection>, ApiError> {
    let changes = ConnectionChanges {
        name: body.name.as_ref().map(own_name).transpose()?,
        base_url: body.base_url.as_ref().map(base_url).transpose()?,
        api_key: body.api_key.map(|key| key.map_or(Ok(None), api_key)).transpose()?,
        models: body.models.map(models).transpose()?,
    };
    let connection = view(app.connections.update(&id, changes).await?);
    Ok(Json(ChangedConnection { success: true, connection, error: None }))
}

/// Removes a connection. What it was the default for goes back to the settings.
#[utoipa::path(delete, path = "/api/connections/{id}", params(("id" = String, Path)), responses(
    (status = 200, body = Success),
    (status = 404, description = "`NOT_FOUND`: there is no connection with this id."),
))]
pub async fn remove(State(app): State<App>, _: Admin, PathId(id): PathId) -> Result<Json<Success>, ApiError> {
    app.connections.remove(&id).await?;
    Ok(Json(Success { success: true }))
}

fn view(record: Record) -> ConnectionView {
    ConnectionView {
        id: record.id,
        name: record.name,
        kind: Kind::find(&record.kind).unwrap_or(Kind::OpenAi).into(),
        base_url: record.base_url,
        has_key: !record.api_key.is_empty(),
        models: record.models.into_iter().map(ConnectionModel::from).collect(),
        from_settings: false,
    }
}

fn view_of_settings(connection: &Connection) -> ConnectionView {
    ConnectionView {
        id: connection.name.clone(),
        name: connection.name.clone(),
        kind: connection.kind.into(),
        base_url: connection.base_url.as_str().to_owned(),
        has_key: connection.api_key.is_some(),
        models: connection.models.iter().cloned().map(ConnectionModel::from).collect(),
        from_settings: true,
    }
}

/// The name is a part of models' names, before a slash.
fn own_name(text: &AnyText) -> Result<String, ApiError> {
    let name = name(text)?;
    let is_taken = canonical(&name.to_lowercase()).is_some() || name.eq_ignore_ascii_case("stoa");
    match () {
        () if is_taken => {
            Err(ApiError::invalid(format!("`name` is `{name}`, which means something else here")))
        }
        () if name.contains('/') => Err(ApiError::invalid("`name` has a slash")),
        () => Ok(name),
    }
}

fn base_url(text: &AnyText) -> Result<BaseUrl, ApiError> {
    text.0.trim().parse().map_err(|fault| ApiError::invalid(format!("`baseUrl` {fault}")))
}

/// Returns none for an empty key.
fn api_key(text: AnyText) -> Result<Option<ApiKey>, ApiError> {
    match text.0.trim() {
        "" => Ok(None),
        key if key.len() > MAX_KEY_BYTES => {
            Err(ApiError::invalid(format!("`apiKey` is longer than {MAX_KEY_BYTES} bytes")))
        }
        key => key.parse().map(Some).map_err(|fault| ApiError::invalid(format!("`apiKey` {fault}"))),
    }
}

fn models(given: Vec<ConnectionModel>) -> Result<Vec<ServedModel>, ApiError> {
    if given.len() > MAX_MODELS {
        return Err(ApiError::invalid(format!("`models` has more than {MAX_MODELS} entries")));
    }
    let is_sound = |model: &ConnectionModel| {
        !model.name.is_empty() && llm::is_model_name(&model.name) && model.window != Some(0)
    };
    match given.iter().all(is_sound) {
        true => Ok(given.into_iter().map(ServedModel::from).collect()),
        false => Err(ApiError::invalid("`models` has an entry without a name, or with a window of 0")),
    }
}

impl From<ServedModel> for ConnectionModel {
    fn from(model: ServedModel) -> Self {
        let window = model.window.and_then(|window| u32::try_from(window).ok());
        Self { name: model.name, window, parameters: model.parameters, pictures: model.pictures }
    }
}

impl From<ConnectionModel> for ServedModel {
    fn from(model: ConnectionModel) -> Self {
        let window = model.window.map(|window| window as usize);
        Self { name: model.name, window, parameters: model.parameters, pictures: model.pictures }
    }
}

impl From<ConnectionKind> for Kind {
    fn from(kind: ConnectionKind) -> Self {
        match kind {
            ConnectionKind::OpenAi => Self::OpenAi,
            ConnectionKind::Anthropic => Self::Anthropic,
            ConnectionKind::Google => Self::Google,
            ConnectionKind::Ollama => Self::Ollama,
        }
    }
}

impl From<Kind> for ConnectionKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::OpenAi => Self::OpenAi,
            Kind::Anthropic => Self::Anthropic,
            Kind::Google => Self::Google,
            Kind::Ollama => Self::Ollama,
        }
    }
}
