//! Two settings that name the model for requests that name none.

use super::layers::Layers;
use llm::{DefaultModel, DefaultModelFault, Vendors};

/// Reads the two settings. `whose` is their prefix: `chat` for `chat_provider` and `chat_model`.
pub fn default_model(layers: &mut Layers, whose: &str, vendors: &Vendors) -> DefaultModel {
    let (provider, model) = (format!("{whose}_provider"), format!("{whose}_model"));
    let read = DefaultModel::of_settings(layers.text(&provider), layers.text(&model), vendors);
    read.unwrap_or_else(|fault| {
        let name = match fault {
            DefaultModelFault::Provider(_) => provider,
            DefaultModelFault::Model(_) => model,
        };
        layers.fault(&name, &fault.to_string());
        DefaultModel::default()
    })
}
