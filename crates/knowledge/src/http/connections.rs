//! Connections: servers of models that administrators add, and which model answers for what.

use super::App;
use super::caller::Admin;
use super::fields::name;
use super::users::Success;
use crate::connections::{ConnectionChanges, Default, Record};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use futures_util::future::join_all;
use http::StatusCode;
use kit::error::ApiError;
use kit::fields::{AnyText, given};
use kit::request::{JsonBody, PathId};
use llm::{
    ApiKey, BaseUrl, Chat, Connection, EDGE_AI, Kind, Message, Model, Piece, Purpose, ServedModel, canonical,
};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};
use utoipa::ToSchema;

const MAX_KEY_BYTES: usize = 4096;
const MAX_MODELS: usize = 2000;
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

/// A model of a connection.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DefaultChoice {
    /// The id of a connection, or the name of a provider of the settings.
    #[schema(example = "0199a2f4-0b1c-7d3b-8a90-1f2e3d4c5b6a")]
    connection: String,
    /// The connection's first one if absent.
    #[schema(example = "qwen3:8b")]
    model: Option<String>,
}

/// Which model answers if a request names none; null: the one of the settings.
#[derive(Serialize, ToSchema)]
pub struct ModelDefaults {
    /// For chat.
    chat: Option<DefaultChoice>,
    /// For the agents of projects.
    agents: Option<DefaultChoice>,
    /// For naming how the things in documents are connected; none: nothing asks a model.
    graph: Option<DefaultChoice>,
}

/// What is to change. What is absent stays; null goes back to the settings.
#[derive(Deserialize, ToSchema)]
pub struct ModelDefaultsBody {
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<DefaultChoice>)]
    chat: Option<Option<DefaultChoice>>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<DefaultChoice>)]
    agents: Option<Option<DefaultChoice>>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<DefaultChoice>)]
    graph: Option<Option<DefaultChoice>>,
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

/// Returns which models answer if a request names none.
#[utoipa::path(get, path = "/api/models/defaults", responses((status = 200, body = ModelDefaults)))]
pub async fn defaults(State(app): State<App>, _: Admin) -> Result<Json<ModelDefaults>, ApiError> {
    let stored = app.connections.defaults().await?;
    let of = |purpose: &str| {
        let default = stored.iter().find(|default| default.purpose == purpose)?.clone();
        let model = Some(default.model).filter(|model| !model.is_empty());
        Some(DefaultChoice { connection: default.connection, model })
    };
    let [chat, agents, graph] = Purpose::ALL.map(|purpose| of(purpose.name()));
    Ok(Json(ModelDefaults { chat, agents, graph }))
}

/// Sets which models answer if a request names none.
#[utoipa::path(put, path = "/api/models/defaults", request_body = ModelDefaultsBody, responses(
    (status = 200, body = ModelDefaults),
    (status = 404, description = "`NOT_FOUND`: there is no such connection."),
))]
pub async fn set_defaults(
    state: State<App>,
    admin: Admin,
    JsonBody(body): JsonBody<ModelDefaultsBody>,
) -> Result<Json<ModelDefaults>, ApiError> {
    for (purpose, choice) in Purpose::ALL.into_iter().zip([body.chat, body.agents, body.graph]) {
        let (purpose, Some(choice)) = (purpose.name(), choice) else { continue };
        let default = choice.map(|choice| default_of(&state, purpose, choice)).transpose()?;
        state.connections.set_default(purpose, default).await?;
    }
    defaults(state, admin).await
}

fn default_of(app: &App, purpose: &str, choice: DefaultChoice) -> Result<Default, ApiError> {
    let model = choice.model.unwrap_or_default();
    if !llm::is_model_name(&model) {
        return Err(ApiError::invalid("`model` is not the name of a model"));
    }
    let connection = match canonical(&choice.connection) {
        None => choice.connection,
        Some(EDGE_AI) if !model.is_empty() => {
            return Err(ApiError::invalid(
                "`edge-ai` has only the model of EDGE_AI_MODEL: leave `model` out",
            ));
        }
        Some(provider) => match app.chats.providers().find(provider, None) {
            Ok(Some(_)) => provider.to_owned(),
            _ => return Err(ApiError::invalid(format!("`{provider}` has no key in the settings"))),
        },
    };
    Ok(Default { purpose: purpose.to_owned(), connection, model })
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
        user: user_id.to_owned(),
        tries: 1,
    });
    let (mut text, mut first) = (String::new(), None);
    let writing = async {
        while let Some(piece) = reply.next().await {
            match piece.map_err(|error| error.cause.to_string())? {
                Piece::Text(piece) => {
                    first.get_or_insert_with(Instant::now);
                    text.push_str(&piece);
                }
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
