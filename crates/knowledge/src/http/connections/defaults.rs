//! Which models answer if a request names none.

use crate::connections::Default;
use crate::http::App;
use crate::http::caller::Admin;
use axum::Json;
use axum::extract::State;
use kit::error::ApiError;
use kit::fields::given;
use kit::request::JsonBody;
use llm::{EDGE_AI, Purpose, canonical};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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

/// Returns which models answer if a request names none.
#[utoipa::path(get, path = "/api/models/defaults", responses((status = 200, body = ModelDefaults)))]
pub async fn get(State(app): State<App>, _: Admin) -> Result<Json<ModelDefaults>, ApiError> {
    let stored = app.connections.defaults().await?;
    let of = |purpose: &str| {
        let default = stored.iter().find(|default| default.purpose == purpose)?.clone();
        let model = Some(default.model).filter(|model| !model.is_empty());
        Some(DefaultChoice { connection: default.connection, model })
    };
    let [chat, agents, graph] = Purpose::WITH_DEFAULT.map(|purpose| of(purpose.name()));
    Ok(Json(ModelDefaults { chat, agents, graph }))
}

/// Sets which models answer if a request names none.
#[utoipa::path(put, path = "/api/models/defaults", request_body = ModelDefaultsBody, responses(
    (status = 200, body = ModelDefaults),
    (status = 404, description = "`NOT_FOUND`: there is no such connection."),
))]
pub async fn set(
    state: State<App>,
    admin: Admin,
    JsonBody(body): JsonBody<ModelDefaultsBody>,
) -> Result<Json<ModelDefaults>, ApiError> {
    let mut defaults = Vec::new();
    for (purpose, choice) in Purpose::WITH_DEFAULT.into_iter().zip([body.chat, body.agents, body.graph]) {
        let (purpose, Some(choice)) = (purpose.name(), choice) else { continue };
        defaults.push((purpose, choice.map(|choice| default_of(&state, purpose, choice)).transpose()?));
    }
    state.connections.set_defaults(defaults).await?;
    get(state, admin).await
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
