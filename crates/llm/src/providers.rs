//! Which providers there are, and which one answers.

use crate::{Edge, Model};
use std::sync::Arc;

/// The provider that needs no key, and answers where nobody else can.
pub const EDGE_AI: &str = "edge-ai";

#[derive(Debug, thiserror::Error)]
#[error("unknown provider `{0}`: one of edge-ai, vendor-a, vendor-b, vendor-c")]
pub struct UnknownProvider(String);

pub struct Providers {
    edge: Model,
}

impl Providers {
    pub fn new(edge: Edge) -> Self {
        Self { edge: Model::new(Arc::new(edge)) }
    }

    /// The embedded model.
    pub fn edge(&self) -> &Model {
        &self.edge
    }

    /// The model that answers where `provider` and `model` are asked for: without a vendor's secret, the embedded one.
    pub fn pick(&self, provider: &str, _model: Option<&str>) -> Result<Model, UnknownProvider> {
        match provider {
            EDGE_AI | "vendor-a" | "vendor-b" | "vendor-c" | "openai" | "anthropic" | "gemini" => {
                Ok(self.edge.clone())
            }
            other => Err(UnknownProvider(other.to_owned())),
        }
    }
}
