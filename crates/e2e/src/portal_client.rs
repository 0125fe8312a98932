//! A client of the portal: directly with a token, or through the gateway.

use crate::api::Api;
use crate::{Stoa, tokens};
use serde_json::Value;
use std::ops::Deref;

#[derive(Clone)]
pub struct PortalClient(Api);

impl Deref for PortalClient {
    type Target = Api;

    fn deref(&self) -> &Api {
        &self.0
    }
}

impl PortalClient {
    /// Calls the portal directly, as `admin` or `guest`.
    pub fn direct(stoa: &Stoa, scope: &str) -> Self {
        Self::with_token(stoa, tokens::token("KV", scope))
    }

    /// Calls the portal directly, with any token.
    pub fn with_token(stoa: &Stoa, token: String) -> Self {
        Self(Api::new(format!("http://{}", stoa.portal.expect("the portal runs")), Some(token)))
    }

    pub fn through_gateway(stoa: &Stoa, scope: &str) -> Self {
        Self(Api::new(stoa.url("/kv"), Some(tokens::token("KV", scope))))
    }

    /// Calls it through the gateway, without a token.
    pub fn anonymous(stoa: &Stoa) -> Self {
        Self(Api::new(stoa.url("/kv"), None))
    }

    /// Creates an entry, which must succeed, and returns it.
    pub async fn make(&self, path: &str, body: &Value) -> Value {
        let answer = self.post(path, body).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()
    }
}
