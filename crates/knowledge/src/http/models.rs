//! What the chat can choose from, and for administrators which models are there.

use super::App;
use super::caller::{Admin, Caller};
use crate::chat::Agent;
use crate::{ModelFile, ModelPurpose};
use axum::Json;
use axum::extract::State;
use llm::{EDGE_AI, VENDOR_A, VENDOR_B, VENDOR_C};
use serde::Serialize;
use utoipa::ToSchema;

/// The command that downloads the embedded models.
const PULL: &str = "stoa models pull";

#[derive(Serialize, ToSchema)]
pub struct ModelList {
    /// The files of the embedded models.
    models: Vec<ModelView>,
    providers: Vec<ProviderView>,
    /// The command that fetches the files that are missing.
    #[schema(example = "stoa models pull")]
    pull: &'static str,
}

/// A file of an embedded model.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelView {
    /// The model that it belongs to.
    #[schema(example = "all-minilm-l6-v2")]
    name: String,
    #[schema(inline)]
    purpose: ModelPurpose,
    /// Where it is, or belongs.
    #[schema(example = "/var/lib/stoa/models/all-minilm-l6-v2/model.safetensors")]
    file: String,
    /// Whether it is there in full.
    #[schema(example = true)]
    present: bool,
    /// Whether this process runs the model. One that was added meanwhile is loaded at the next start.
    #[schema(example = true)]
    loaded: bool,
    /// In bytes; null if it is not there.
    #[schema(example = 90868376)]
    size: Option<u64>,
    /// In bytes; null if the file may have any size.
    #[schema(example = 90868376)]
    expected_size: Option<u64>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderList {
    /// The provider that answers if a request names none.
    #[schema(example = "edge-ai")]
    default: String,
    providers: Vec<ProviderView>,
    agent_types: Vec<AgentType>,
}

/// A provider of chat models.
#[derive(Serialize, ToSchema)]
pub struct ProviderView {
    /// The value of `llmConfig.provider`.
    #[schema(example = "edge-ai")]
    name: String,
    #[schema(example = "Embedded model")]
    label: String,
    /// The model that answers if a request names none; null if the provider is not configured.
    #[schema(example = "SmolLM2-135M-Instruct.Q4_1")]
    model: Option<String>,
    /// Whether it can answer. If it cannot, the embedded model does.
    #[schema(example = true)]
    configured: bool,
}

/// A kind of answer.
#[derive(Serialize, ToSchema)]
pub struct AgentType {
    /// The value of `agentType`.
    #[schema(example = "rag-chat")]
    name: &'static str,
    #[schema(example = "Answer")]
    label: &'static str,
    #[schema(example = "Answers the question, as briefly as it can.")]
    description: &'static str,
}

/// Lists the embedded models, present and missing, and the providers; for administrators.
#[utoipa::path(get, path = "/api/models", responses((status = 200, body = ModelList)))]
pub async fn models(State(app): State<App>, _: Admin) -> Json<ModelList> {
    let models = app.settings.models.iter().map(|file| model_view(&app, file)).collect();
    Json(ModelList { models, providers: providers_of(&app), pull: PULL })
}

/// Lists the providers and the kinds of answers that a chat can choose from.
#[utoipa::path(get, path = "/api/providers", responses((status = 200, body = ProviderList)))]
pub async fn providers(State(app): State<App>, _: Caller) -> Json<ProviderList> {
    let agents = Agent::ALL.into_iter().map(|agent| AgentType {
        name: agent.name(),
        label: agent.label(),
        description: agent.description(),
    });
    Json(ProviderList {
        default: app.chats.default_model().provider().to_owned(),
        providers: providers_of(&app),
        agent_types: agents.collect(),
    })
}

fn model_view(app: &App, file: &ModelFile) -> ModelView {
    let engine = app.engine.as_ref();
    let loaded = match file.purpose {
        ModelPurpose::Search => engine.is_some_and(|engine| engine.encoder().is_some()),
        ModelPurpose::Chat => engine.is_some_and(|engine| engine.decoder().is_some()),
    };
    let size = file.path.metadata().ok().map(|found| found.len());
    ModelView {
        name: file.name.clone(),
        purpose: file.purpose,
        file: file.path.display().to_string(),
        present: size.is_some_and(|size| file.expected_size.is_none_or(|expected| size == expected)),
        loaded,
        size,
        expected_size: file.expected_size,
    }
}

fn providers_of(app: &App) -> Vec<ProviderView> {
    let has_decoder = app.engine.as_ref().is_some_and(|engine| engine.decoder().is_some());
    let known =
        [(EDGE_AI, "Embedded model"), (VENDOR_A, "OpenAI"), (VENDOR_B, "Anthropic"), (VENDOR_C, "Google")];
    let providers = known.into_iter().map(|(name, label)| {
        let model = app.chats.providers().find(name, None).ok().flatten();
        let configured = if name == EDGE_AI { has_decoder } else { model.is_some() };
        let model = model.map(|model| model.model().to_owned());
        ProviderView { name: name.to_owned(), label: label.to_owned(), model, configured }
    });
    let connected = app.chats.providers().connected().into_iter().map(|model| ProviderView {
        name: model.provider().to_owned(),
        label: model.provider().to_owned(),
        model: Some(model.model().to_owned()),
        configured: true,
    });
    providers.chain(connected).collect()
}
