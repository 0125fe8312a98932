//! Which providers there are, and which one answers.

use crate::vendor::{self, Anthropic, Endpoint, Google, OpenAi, Protocol, Vendor, VendorSettings, Vendors};
use crate::{DefaultModel, Edge, Model};
use std::sync::Arc;

/// The provider that needs no key, and answers where nobody else can.
pub const EDGE_AI: &str = "edge-ai";
pub const VENDOR_A: &str = "vendor-a";
pub const VENDOR_B: &str = "vendor-b";
pub const VENDOR_C: &str = "vendor-c";

#[derive(Debug, thiserror::Error)]
#[error("unknown provider `{0}`: one of edge-ai, vendor-a, vendor-b, vendor-c")]
pub struct UnknownProvider(pub(crate) String);

#[derive(Debug, thiserror::Error)]
#[error("vendors cannot be asked: {0}")]
pub struct NoClient(#[from] reqwest::Error);

pub struct Providers {
    edge: Model,
    /// Those with a key, in the order of their names.
    vendors: Vec<Arc<Endpoint>>,
}

impl Providers {
    /// Fails only where the system has no certificates to know a vendor by.
    pub fn new(edge: Edge, vendors: Vendors) -> Result<Self, NoClient> {
        let mut providers = Self { edge: Model::new(Arc::new(edge)), vendors: Vec::new() };
        if vendors.a.is_none() && vendors.b.is_none() && vendors.c.is_none() {
            return Ok(providers);
        }
        let client = vendor::client()?;
        let endpoint = |name, protocol: Box<dyn Protocol>, settings: Option<VendorSettings>| {
            settings.map(|settings| {
                Arc::new(Endpoint::new(name, protocol, client.clone(), settings, vendors.timeout))
            })
        };
        providers.vendors.extend(endpoint(VENDOR_A, Box::new(OpenAi), vendors.a));
        providers.vendors.extend(endpoint(VENDOR_B, Box::new(Anthropic), vendors.b));
        providers.vendors.extend(endpoint(VENDOR_C, Box::new(Google), vendors.c));
        Ok(providers)
    }

    /// The embedded model.
    pub fn edge(&self) -> &Model {
        &self.edge
    }

    /// Every provider that can answer now, with its default model.
    pub fn all(&self) -> Vec<Model> {
        let vendors = self.vendors.iter().map(|endpoint| vendor_model(endpoint, None));
        std::iter::once(self.edge.clone()).chain(vendors).collect()
    }

    /// The model that answers where `provider` and `model` are asked for: without a vendor's secret, the embedded one.
    pub fn pick(&self, provider: &str, model: Option<&str>) -> Result<Model, UnknownProvider> {
        Ok(self.find(provider, model)?.unwrap_or_else(|| self.edge.clone()))
    }

    /// As [`Providers::pick`]; none where the vendor has no secret.
    pub fn find(&self, provider: &str, model: Option<&str>) -> Result<Option<Model>, UnknownProvider> {
        let provider = canonical(provider).ok_or_else(|| UnknownProvider(provider.to_owned()))?;
        if provider == EDGE_AI {
            return Ok(Some(self.edge.clone()));
        }
        let endpoint = self.vendors.iter().find(|endpoint| endpoint.provider == provider);
        let model = model.filter(|model| !model.is_empty());
        Ok(endpoint.map(|endpoint| vendor_model(endpoint, model)))
    }

    /// The model that a setting names.
    pub fn default_model(&self, default: &DefaultModel) -> Model {
        let found = self.find(default.provider, default.model.as_deref()).ok().flatten();
        found.unwrap_or_else(|| self.edge.clone())
    }
}

/// A provider's name in our own words: requests may name a vendor by its protocol.
pub fn canonical(provider: &str) -> Option<&'static str> {
    match provider {
        EDGE_AI => Some(EDGE_AI),
        VENDOR_A | "openai" => Some(VENDOR_A),
        VENDOR_B | "anthropic" => Some(VENDOR_B),
        VENDOR_C | "gemini" => Some(VENDOR_C),
        _ => None,
    }
}

fn vendor_model(endpoint: &Arc<Endpoint>, model: Option<&str>) -> Model {
    Model::new(Arc::new(Vendor::new(endpoint.clone(), model)))
}
