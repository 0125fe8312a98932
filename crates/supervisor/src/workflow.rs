//! The workflow: its phases, the agents of each phase, and what each agent reads and writes.
//!
//! `parse` reads a workflow from its file and finds its faults.

mod parse;

pub use parse::Faults;

use llm::{DefaultModel, Model, Providers};
use serde::Serialize;
use std::path::Path;
use std::time::Duration;
use strum::{EnumString, IntoStaticStr, VariantNames};
use utoipa::ToSchema;

const FILE: &str = include_str!("../workflow/workflow.toml");

/// The prompts of the built-in workflow, by their names in its file.
const PROMPTS: [(&str, &str); 13] = [
    ("prompts/analyst.md", include_str!("../workflow/prompts/analyst.md")),
    ("prompts/product-manager.md", include_str!("../workflow/prompts/product-manager.md")),
    ("prompts/prd-critic.md", include_str!("../workflow/prompts/prd-critic.md")),
    ("prompts/architect.md", include_str!("../workflow/prompts/architect.md")),
    ("prompts/data-modeller.md", include_str!("../workflow/prompts/data-modeller.md")),
    ("prompts/security-engineer.md", include_str!("../workflow/prompts/security-engineer.md")),
    ("prompts/planner.md", include_str!("../workflow/prompts/planner.md")),
    ("prompts/risk-analyst.md", include_str!("../workflow/prompts/risk-analyst.md")),
    ("prompts/developer.md", include_str!("../workflow/prompts/developer.md")),
    ("prompts/test-engineer.md", include_str!("../workflow/prompts/test-engineer.md")),
    ("prompts/technical-writer.md", include_str!("../workflow/prompts/technical-writer.md")),
    ("prompts/reviewer.md", include_str!("../workflow/prompts/reviewer.md")),
    ("prompts/release-manager.md", include_str!("../workflow/prompts/release-manager.md")),
];

#[derive(Clone, Debug, PartialEq)]
pub struct Workflow {
    /// In the order in which they are executed; never empty.
    pub phases: Vec<Phase>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    pub name: String,
    /// Never empty, and without a cycle among their inputs.
    pub agents: Vec<Agent>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    /// Unique in the workflow.
    pub name: String,
    /// The text of its prompt file.
    pub prompt: String,
    /// The agents whose artifacts it reads, of this phase or of earlier ones.
    pub inputs: Vec<String>,
    pub output: Output,
    /// The provider of its model; the default provider if absent.
    pub provider: Option<&'static str>,
    pub model: Option<String>,
    pub temperature: f32,
    pub max_tokens: usize,
    /// Whether its artifact needs approval.
    pub approval: bool,
    /// Attempts after the first one.
    pub retries: u32,
    /// For one attempt.
    pub time_limit: Duration,
    /// Whether it is given passages from the knowledge service.
    pub search: bool,
}

impl Agent {
    /// Returns the provider and the model of the agent in a run for which these were asked. A model is used only with the
    /// provider that it was given for.
    pub fn answered_by<'a>(
        &'a self,
        (provider, model): (Option<&'a str>, Option<&'a str>),
        default: &'a DefaultModel,
    ) -> (&'a str, Option<&'a str>) {
        let own_provider = self.provider.unwrap_or(&default.provider);
        let provider = provider.unwrap_or(own_provider);
        let own = self.model.as_deref().filter(|_| provider == own_provider);
        let default = default.model.as_deref().filter(|_| provider == default.provider);
        (provider, model.or(own).or(default))
    }

    /// Returns the model itself. A vendor without a key is replaced by the embedded model.
    pub fn model(
        &self,
        asked: (Option<&str>, Option<&str>),
        default: &DefaultModel,
        providers: &Providers,
    ) -> Model {
        let (provider, model) = self.answered_by(asked, default);
        // A connection may be gone since it was named: the step says so before it asks.
        providers.pick(provider, model).unwrap_or_else(|_| providers.edge().clone())
    }
}

/// The type of an artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema, IntoStaticStr, EnumString, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Output {
    Markdown,
    Json,
    Code,
}

impl Workflow {
    /// Loads the workflow of a file, with the prompts beside it; without a file, the built-in workflow.
    pub fn load(file: Option<&Path>) -> Result<Self, Faults> {
        let Some(file) = file else {
            let built_in = |name: &str| PROMPTS.iter().find(|(own, _)| *own == name);
            let prompt =
                |name: &str| built_in(name).map(|(_, text)| (*text).to_owned()).ok_or_else(String::new);
            return parse::parse(FILE, prompt);
        };
        let text =
            std::fs::read_to_string(file).map_err(|error| Faults::of_file(file, &error.to_string()))?;
        let folder = file.parent().unwrap_or(Path::new("."));
        let prompt =
            |name: &str| std::fs::read_to_string(folder.join(name)).map_err(|error| error.to_string());
        parse::parse(&text, prompt).map_err(|faults| faults.in_file(file))
    }

    /// Returns the names and texts of the built-in workflow's files, for users to change.
    pub fn built_in_files() -> impl Iterator<Item = (&'static str, &'static str)> {
        std::iter::once(("workflow.toml", FILE)).chain(PROMPTS)
    }

    pub fn phase(&self, name: &str) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.name == name)
    }

    /// Returns the index of a phase.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.phases.iter().position(|phase| phase.name == name)
    }

    pub fn first(&self) -> &str {
        self.phases.first().map_or("", |phase| &phase.name)
    }

    pub fn last(&self) -> &str {
        self.phases.last().map_or("", |phase| &phase.name)
    }

    /// Returns the names of all phases, such as `prd, architecture, plan`.
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.phases.iter().map(|phase| phase.name.as_str()).collect();
        names.join(", ")
    }

    /// Counts the agents of all phases.
    pub fn agents(&self) -> usize {
        self.phases.iter().map(|phase| phase.agents.len()).sum()
    }
}

impl Phase {
    /// Returns the index of an agent.
    pub fn position(&self, agent: &str) -> Option<usize> {
        self.agents.iter().position(|own| own.name == agent)
    }
}
