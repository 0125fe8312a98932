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

    /// Returns its name for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::RagChat => "Answer",
            Self::GraphAnalyst => "Connections",
            Self::ExecutiveSummary => "Summary",
            Self::TechnicalAuditor => "Audit",
            Self::FuturePlanner => "Next steps",
            Self::Coordinator => "Checklist",
            Self::Critic => "Critique",
        }
    }

    /// Returns what it does, for people.
    pub fn description(self) -> &'static str {
        match self {
            Self::RagChat => "Answers the question, as briefly as it can.",
            Self::GraphAnalyst => {
                "Shows how the names in the question are connected, and where that is said."
            }
            Self::ExecutiveSummary => "Gives the points, facts and figures that matter most.",
            Self::TechnicalAuditor => "Lists what can fail, and what is limited, required or forbidden.",
            Self::FuturePlanner => "Lists what comes next, and by when if the documents say so.",
            Self::Coordinator => "Lists what is to be done, and what it depends on.",
            Self::Critic => "Says what the documents support, contradict or leave open.",
        }
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
