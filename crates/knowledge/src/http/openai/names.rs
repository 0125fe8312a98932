//! What the name of a model means: `stoa/…` answers from documents, `{provider}/{model}` does not.

use crate::chat::{Agent, Chats};
use crate::{ModelFile, ModelPurpose};
use llm::{EDGE_AI, Model, Providers};

const GROUNDED: &str = "stoa";

pub struct NamedModel {
    /// The agent that answers from the documents; none if nothing is retrieved.
    pub agent: Option<Agent>,
    pub model: Model,
    /// The provider that the name asks for.
    provider: String,
}

impl NamedModel {
    /// Returns none if there is no such model. A vendor's own names may have slashes and colons.
    pub fn parse(name: &str, chats: &Chats) -> Option<Self> {
        let (agent, rest) = match name.split_once('/') {
            Some((GROUNDED, rest)) => (Some(Agent::default()), rest),
            None if name == GROUNDED => return Some(Self::by_default(Agent::default(), chats)),
            _ => (None, name),
        };
        if agent.is_some()
            && let Some(agent) = Agent::find(rest)
        {
            return Some(Self::by_default(agent, chats));
        }
        let (provider, model) = match rest.split_once('/') {
            Some((_, "")) => return None,
            Some((provider, model)) => (provider, Some(model)),
            None => (rest, None),
        };
        let picked = chats.providers().find(provider, model).ok()?;
        let provider = chats.providers().name(provider).ok()?.to_owned();
        let picked = picked.unwrap_or_else(|| chats.default_model());
        // The embedded model is the only one of its provider.
        let is_another = provider == EDGE_AI && model.is_some_and(|model| model != picked.model());
        (!is_another).then_some(Self { agent, model: picked, provider })
    }

    fn by_default(agent: Agent, chats: &Chats) -> Self {
        let model = chats.default_model();
        Self { agent: Some(agent), provider: model.provider().to_owned(), model }
    }

    /// Returns the provider that the name asks for, if it is the one that answers.
    pub fn owner(&self) -> Option<&str> {
        (self.model.provider() == self.provider).then_some(&self.provider)
    }
}

/// Returns all names with their owners: each provider's models, with and without documents, and the agents.
pub fn all(providers: &Providers) -> Vec<(String, String)> {
    let models = providers.all();
    let of_model = |model: &Model| {
        let (provider, id) = (model.provider().to_owned(), of(model.provider(), model.model()));
        [(format!("{GROUNDED}/{id}"), provider.clone()), (id, provider)]
    };
    let agents = Agent::ALL.map(|agent| (format!("{GROUNDED}/{}", agent.name()), EDGE_AI.to_owned()));
    models.iter().flat_map(of_model).chain(agents).collect()
}

/// Returns the name of the embedded encoder, with its owner.
pub fn encoder(files: &[ModelFile]) -> Option<(String, String)> {
    let file = files.iter().find(|file| file.purpose == ModelPurpose::Search)?;
    Some((of(EDGE_AI, &file.name), EDGE_AI.to_owned()))
}

/// Returns the whole name of the encoder, if that is what a name means: it may leave out the provider.
pub fn find_encoder(name: &str, files: &[ModelFile]) -> Option<String> {
    let (own, _) = encoder(files)?;
    (name == own || of(EDGE_AI, name) == own).then_some(own)
}

fn of(provider: &str, model: &str) -> String {
    format!("{provider}/{model}")
}

/// Returns the name of what answered.
pub fn answered(retrieves: bool, provider: &str, model: &str) -> String {
    let id = of(provider, model);
    if retrieves { format!("{GROUNDED}/{id}") } else { id }
}
