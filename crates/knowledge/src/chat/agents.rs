//! The predefined prompts: what each kind of agent is told about its task. The texts are files under `prompts`.

use strum::{EnumString, IntoStaticStr};

/// The values of `agentType`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, IntoStaticStr, EnumString)]
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

#[derive(Debug, thiserror::Error)]
#[error("unknown `agentType` `{0}`: one of {names}", names = Agent::ALL.map(Agent::name).join(", "))]
pub struct UnknownAgent(String);

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

    pub fn named(name: &str) -> Result<Self, UnknownAgent> {
        name.parse().map_err(|_| UnknownAgent(name.to_owned()))
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
