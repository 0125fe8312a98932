//! `GET /api/workflow`: the phases and their agents, for a page to draw them.

use super::App;
use super::caller::Caller;
use crate::workflow::{Agent, Output};
use axum::Json;
use axum::extract::State;
use llm::{DefaultModel, Providers, Purpose};
use serde::Serialize;
use utoipa::ToSchema;

/// The phases, in the order in which they are executed.
#[derive(Serialize, ToSchema)]
#[schema(as = Workflow)]
pub struct WorkflowView {
    phases: Vec<PhaseView>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Phase)]
struct PhaseView {
    #[schema(example = "prd")]
    name: String,
    agents: Vec<AgentView>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Agent)]
struct AgentView {
    #[schema(example = "product-manager")]
    name: String,
    /// The agents whose artifacts it reads.
    inputs: Vec<String>,
    output: Output,
    /// `edge-ai`, `vendor-a`, `vendor-b` or `vendor-c`.
    #[schema(example = "edge-ai")]
    provider: String,
    /// Null if it is the provider's default model.
    #[schema(example = "a-large-model")]
    model: Option<String>,
    /// Whether its model is large enough to write a document. One that is not lays out a worksheet.
    #[schema(example = true)]
    writes: bool,
    /// Whether its artifact needs approval.
    #[schema(example = false)]
    approval: bool,
    /// Whether it is given passages from documents.
    #[schema(example = false)]
    search: bool,
}

impl AgentView {
    fn new(agent: &Agent, default: &DefaultModel, providers: &Providers) -> Self {
        let (provider, model) = agent.answered_by((None, None), default);
        Self {
            name: agent.name.clone(),
            inputs: agent.inputs.clone(),
            output: agent.output,
            provider: provider.to_owned(),
            model: model.map(str::to_owned),
            writes: agent.model((None, None), default, providers).skill() > llm::Skill::Nothing,
            approval: agent.approval,
            search: agent.search,
        }
    }
}

/// Returns the phases and their agents.
#[utoipa::path(get, path = "/api/workflow", responses((status = 200, body = WorkflowView)))]
pub async fn workflow(State(app): State<App>, _: Caller) -> Json<WorkflowView> {
    let default = app.providers.chosen(Purpose::Agents, &app.settings.default_model);
    let agent = |agent: &Agent| AgentView::new(agent, &default, &app.providers);
    let phases = app.settings.workflow.phases.iter().map(|phase| PhaseView {
        name: phase.name.clone(),
        agents: phase.agents.iter().map(agent).collect(),
    });
    Json(WorkflowView { phases: phases.collect() })
}
