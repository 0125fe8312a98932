//! The model that answers if a request names none, as the settings define it.

use crate::vendor::Vendors;
use crate::{EDGE_AI, VENDOR_A, VENDOR_B, VENDOR_C, canonical};

/// In bytes. The name is sent, logged and kept in memory.
const LONGEST_NAME: usize = 200;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultModel {
    pub provider: String,
    /// None for the provider's own default.
    pub model: Option<String>,
}

impl Default for DefaultModel {
    fn default() -> Self {
        Self { provider: EDGE_AI.to_owned(), model: None }
    }
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum DefaultModelFault {
    #[error("{0}")]
    Provider(String),
    #[error("{0}")]
    Model(String),
}

impl DefaultModel {
    /// Reads the values of two settings; an empty one counts as not set. A vendor must have its key in `vendors`.
    pub fn of_settings(provider: &str, model: &str, vendors: &Vendors) -> Result<Self, DefaultModelFault> {
        let provider = if provider.is_empty() { EDGE_AI } else { provider };
        let unknown = || {
            let known = "one of edge-ai, vendor-a, vendor-b, vendor-c";
            DefaultModelFault::Provider(format!("unknown provider `{provider}`: {known}"))
        };
        let provider = canonical(provider).ok_or_else(unknown)?;
        let secret = match provider {
            VENDOR_A if vendors.a.is_none() => Some("VENDOR_A_API_KEY"),
            VENDOR_B if vendors.b.is_none() => Some("VENDOR_B_API_KEY"),
            VENDOR_C if vendors.c.is_none() => Some("VENDOR_C_API_KEY"),
            _ => None,
        };
        if let Some(secret) = secret {
            return Err(DefaultModelFault::Provider(format!("`{provider}` needs its secret: set {secret}")));
        }
        if !is_model_name(model) {
            return Err(DefaultModelFault::Model("is not the name of a model".to_owned()));
        }
        if provider == EDGE_AI && !model.is_empty() {
            let only = "is for a vendor's model: `edge-ai` has the one of EDGE_AI_MODEL";
            return Err(DefaultModelFault::Model(only.to_owned()));
        }
        Ok(Self {
            provider: provider.to_owned(),
            model: Some(model.to_owned()).filter(|model| !model.is_empty()),
        })
    }
}

/// Returns whether a vendor could have a model of this name.
pub fn is_model_name(name: &str) -> bool {
    name.len() <= LONGEST_NAME && !name.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VendorSettings;

    #[test]
    fn a_default_is_a_known_provider_that_can_answer() {
        let base_url = "https://host".parse().unwrap();
        let settings =
            VendorSettings { api_key: "key".parse().unwrap(), base_url, model: "m".to_owned(), window: 1 };
        let vendors = Vendors { b: Some(settings), ..Vendors::none() };
        let read = |provider: &str, model: &str| DefaultModel::of_settings(provider, model, &vendors);
        assert_eq!(read("", ""), Ok(DefaultModel::default()));
        assert_eq!(read("edge-ai", ""), Ok(DefaultModel::default()));
        let named = DefaultModel { provider: VENDOR_B.to_owned(), model: Some("large".to_owned()) };
        assert_eq!(read("anthropic", "large"), Ok(named));
        assert_eq!(read("vendor-b", ""), Ok(DefaultModel { provider: VENDOR_B.to_owned(), model: None }));
        for (provider, model, fault) in [
            ("vendor-z", "", "unknown provider `vendor-z`: one of edge-ai, vendor-a, vendor-b, vendor-c"),
            ("vendor-a", "", "`vendor-a` needs its secret: set VENDOR_A_API_KEY"),
            ("gemini", "x", "`vendor-c` needs its secret: set VENDOR_C_API_KEY"),
            ("edge-ai", "x", "is for a vendor's model: `edge-ai` has the one of EDGE_AI_MODEL"),
            ("", "x", "is for a vendor's model: `edge-ai` has the one of EDGE_AI_MODEL"),
            ("vendor-b", "a\nb", "is not the name of a model"),
        ] {
            assert_eq!(read(provider, model).unwrap_err().to_string(), fault);
        }
    }
}
