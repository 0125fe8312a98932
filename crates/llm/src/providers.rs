//! The providers that can answer, and which of them does.

use crate::provider_name::{EDGE_AI, UnknownProvider, VENDOR_A, VENDOR_B, VENDOR_C, canonical};
use crate::vendor::{self, Connection, Kind, Server, VendorSettings, Vendors};
use crate::{DefaultModel, Edge, Ledger, Model};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
#[error("vendors cannot be asked: {0}")]
pub struct NoClient(#[from] reqwest::Error);

/// What a model is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    Chat,
    Agents,
    /// Names how the things in a document are connected.
    Graph,
    /// Summarises what a user wants to achieve.
    Goals,
    /// Tries out a connection.
    Test,
    /// Whatever a program asks that speaks OpenAI's protocol or MCP.
    Api,
}

impl Purpose {
    /// Those for which an administrator chooses a model.
    pub const WITH_DEFAULT: [Self; 3] = [Self::Chat, Self::Agents, Self::Graph];

    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Agents => "agents",
            Self::Graph => "graph",
            Self::Goals => "goals",
            Self::Test => "test",
            Self::Api => "api",
        }
    }
}

pub struct Providers {
    edge: Model,
    client: reqwest::Client,
    timeout: Duration,
    /// Those whose keys are in the settings, sorted by name.
    vendors: Vec<Arc<Server>>,
    ledger: Option<Arc<dyn Ledger>>,
    connected: RwLock<Connected>,
}

/// What was added while the program runs.
#[derive(Default)]
struct Connected {
    servers: Vec<Arc<Server>>,
    defaults: HashMap<Purpose, DefaultModel>,
}

impl Providers {
    /// Without a `ledger`, nothing is kept of calls. Fails only if the system has no root certificates.
    pub fn new(edge: Edge, vendors: Vendors, ledger: Option<Arc<dyn Ledger>>) -> Result<Self, NoClient> {
        let (client, timeout) = (vendor::client()?, vendors.timeout);
        let server = |name, kind, settings: Option<VendorSettings>| {
            let connection = Connection::of_settings(name, kind, settings?);
            Some(Server::new(connection, client.clone(), timeout, ledger.clone()))
        };
        let vendors = [
            server(VENDOR_A, Kind::OpenAi, vendors.a),
            server(VENDOR_B, Kind::Anthropic, vendors.b),
            server(VENDOR_C, Kind::Google, vendors.c),
        ];
        let vendors = vendors.into_iter().flatten().collect();
        let edge = Model::new(Arc::new(edge)).with_ledger(ledger.clone());
        Ok(Self { edge, client, timeout, vendors, ledger, connected: RwLock::default() })
    }

    /// Replaces the connections that were added, and the models that answer if a request names none.
    pub fn connect(&self, connections: Vec<Connection>, defaults: HashMap<Purpose, DefaultModel>) {
        let mut connected = self.connected.write().unwrap_or_else(PoisonError::into_inner);
        // A server that stays remembers what its models refuse.
        let servers = connections.into_iter().map(|connection| {
            let same = connected.servers.iter().find(|server| *server.connection() == connection);
            same.cloned().unwrap_or_else(|| self.server(connection))
        });
        let servers = servers.collect();
        *connected = Connected { servers, defaults };
    }

    /// Returns a server to try out, which is not one of the providers.
    pub fn server(&self, connection: Connection) -> Arc<Server> {
        Server::new(connection, self.client.clone(), self.timeout, self.ledger.clone())
    }

    /// Returns the vendors whose keys are in the settings.
    pub fn of_settings(&self) -> impl Iterator<Item = &Connection> {
        self.vendors.iter().map(|server| server.connection())
    }

    /// Returns the embedded model.
    pub fn edge(&self) -> &Model {
        &self.edge
    }

    /// Returns every provider that can answer now, with its default model.
    pub fn all(&self) -> Vec<Model> {
        let vendors = self.vendors.iter().map(|server| server.model(None));
        std::iter::once(self.edge.clone()).chain(vendors).chain(self.connected()).collect()
    }

    /// Returns the first model of each connection that was added and has one.
    pub fn connected(&self) -> Vec<Model> {
        let connected = self.connected.read().unwrap_or_else(PoisonError::into_inner);
        let servers = connected.servers.iter().filter(|server| !server.connection().models.is_empty());
        servers.map(|server| server.model(None)).collect()
    }

    /// Returns the model for a provider and a model name. If the vendor has no key, that is the embedded model.
    pub fn pick(&self, provider: &str, model: Option<&str>) -> Result<Model, UnknownProvider> {
        Ok(self.find(provider, model)?.unwrap_or_else(|| self.edge.clone()))
    }

    /// Like [`Providers::pick`], but returns none if the vendor has no key.
    pub fn find(&self, provider: &str, model: Option<&str>) -> Result<Option<Model>, UnknownProvider> {
        let model = model.filter(|model| !model.is_empty());
        let named = |servers: &[Arc<Server>], name: &str| {
            servers.iter().find(|server| server.name() == name).map(|server| server.model(model))
        };
        match canonical(provider) {
            Some(EDGE_AI) => Ok(Some(self.edge.clone())),
            Some(vendor) => Ok(named(&self.vendors, vendor)),
            None => {
                let connected = self.connected.read().unwrap_or_else(PoisonError::into_inner);
                let found = named(&connected.servers, provider);
                found.map(Some).ok_or_else(|| UnknownProvider(provider.to_owned()))
            }
        }
    }

    /// Returns the name by which a provider is kept: requests may also name a vendor by its protocol.
    pub fn name<'a>(&self, provider: &'a str) -> Result<&'a str, UnknownProvider> {
        self.find(provider, None).map(|_| canonical(provider).unwrap_or(provider))
    }

    /// Returns which model answers for a purpose: the one that an administrator has chosen, or that of the settings.
    pub fn chosen(&self, purpose: Purpose, setting: &DefaultModel) -> DefaultModel {
        let connected = self.connected.read().unwrap_or_else(PoisonError::into_inner);
        connected.defaults.get(&purpose).unwrap_or(setting).clone()
    }

    /// Returns the model that an administrator has chosen for a purpose, if it can be asked.
    pub fn chosen_model(&self, purpose: Purpose) -> Option<Model> {
        let default = {
            let connected = self.connected.read().unwrap_or_else(PoisonError::into_inner);
            connected.defaults.get(&purpose)?.clone()
        };
        self.find(&default.provider, default.model.as_deref()).ok().flatten()
    }

    /// Returns the model that a setting names.
    pub fn default_model(&self, default: &DefaultModel) -> Model {
        let found = self.find(&default.provider, default.model.as_deref()).ok().flatten();
        found.unwrap_or_else(|| self.edge.clone())
    }
}
