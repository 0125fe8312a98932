//! The predefined prompts: what each kind of agent is told about its task. The texts are files under `prompts`.

/// The values of `agentType`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
        let found = Self::ALL.into_iter().find(|agent| agent.name() == name);
        found.ok_or_else(|| UnknownAgent(name.to_owned()))
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::RagChat => "rag-chat",
            Self::GraphAnalyst => "graph-analyst",
            Self::ExecutiveSummary => "executive-summary",
            Self::TechnicalAuditor => "technical-auditor",
            Self::FuturePlanner => "future-planner",
            Self::Coordinator => "coordinator",
            Self::Critic => "critic",
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
