//! The kinds of agents, each with its predefined prompt. The prompts are files under `prompts`.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};
use utoipa::ToSchema;

/// The values of `agentType`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoStaticStr, EnumString,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Agent {
    #[default]
    RagChat,
    GraphAnalyst,
    ExecutiveSummary,
    TechnicalAuditor,
    FuturePlanner,
    Coordinator,
    Critic,
}

impl Agent {
    pub const ALL: [Self; 7] = [
        Self::RagChat,
        Self::GraphAnalyst,
        Self::ExecutiveSummary,
        Self::TechnicalAuditor,
        Self::FuturePlanner,
        Self::Coordinator,
        Self::Critic,
    ];

    pub fn find(name: &str) -> Option<Self> {
        name.parse().ok()
    }

    pub fn name(self) -> &'static str {
        self.into()
    }

    pub fn prompt(self) -> &'static str {
        match self {
            Self::RagChat => include_str!("../../prompts/rag-chat.md"),
            Self::GraphAnalyst => include_str!("../../prompts/graph-analyst.md"),
            Self::ExecutiveSummary => include_str!("../../prompts/executive-summary.md"),
            Self::TechnicalAuditor => include_str!("../../prompts/technical-auditor.md"),
            Self::FuturePlanner => include_str!("../../prompts/future-planner.md"),
            Self::Coordinator => include_str!("../../prompts/coordinator.md"),
            Self::Critic => include_str!("../../prompts/critic.md"),
        }
    }
}
