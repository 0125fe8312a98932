//! The providers that are configured, and which of them answers.

use crate::provider_name::{EDGE_AI, UnknownProvider, VENDOR_A, VENDOR_B, VENDOR_C, canonical};
use crate::vendor::{self, Anthropic, Endpoint, Google, OpenAi, Protocol, Vendor, VendorSettings, Vendors};
use crate::{DefaultModel, Edge, Model};
use std::sync::Arc;

#[derive(Debug, thiserror::Error)]
#[error("vendors cannot be asked: {0}")]
pub struct NoClient(#[from] reqwest::Error);

pub struct Providers {
    edge: Model,
    /// Those with a key, sorted by name.
    vendors: Vec<Arc<Endpoint>>,
}

impl Providers {
    /// Fails only if the system has no root certificates.
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

    /// Returns the embedded model.
    pub fn edge(&self) -> &Model {
        &self.edge
    }

    /// Returns every provider that can answer now, with its default model.
    pub fn all(&self) -> Vec<Model> {
        let vendors = self.vendors.iter().map(|endpoint| vendor_model(endpoint, None));
        std::iter::once(self.edge.clone()).chain(vendors).collect()
    }

    /// Returns the model for a provider and a model name. If the vendor has no key, that is the embedded model.
    pub fn pick(&self, provider: &str, model: Option<&str>) -> Result<Model, UnknownProvider> {
        Ok(self.find(provider, model)?.unwrap_or_else(|| self.edge.clone()))
    }

    /// Like [`Providers::pick`], but returns none if the vendor has no key.
    pub fn find(&self, provider: &str, model: Option<&str>) -> Result<Option<Model>, UnknownProvider> {
        let provider = canonical(provider).ok_or_else(|| UnknownProvider(provider.to_owned()))?;
        if provider == EDGE_AI {
            return Ok(Some(self.edge.clone()));
        }
        let endpoint = self.vendors.iter().find(|endpoint| endpoint.provider == provider);
        let model = model.filter(|model| !model.is_empty());
        Ok(endpoint.map(|endpoint| vendor_model(endpoint, model)))
    }

    /// Returns the model that a setting names.
    pub fn default_model(&self, default: &DefaultModel) -> Model {
        let found = self.find(default.provider, default.model.as_deref()).ok().flatten();
        found.unwrap_or_else(|| self.edge.clone())
    }
}

fn vendor_model(endpoint: &Arc<Endpoint>, model: Option<&str>) -> Model {
    Model::new(Arc::new(Vendor::new(endpoint.clone(), model)))
}
