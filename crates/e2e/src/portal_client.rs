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
    /// Past the gateway, as `admin` or `guest`.
    pub fn direct(stoa: &Stoa, scope: &str) -> Self {
        let base = format!("http://{}", stoa.portal.expect("the portal runs"));
        Self(Api::new(base, Some(tokens::token("KV", scope))))
    }

    pub fn through_gateway(stoa: &Stoa, scope: &str) -> Self {
        Self(Api::new(stoa.url("/kv"), Some(tokens::token("KV", scope))))
    }

    /// Through the gateway, without a token.
    pub fn stranger(stoa: &Stoa) -> Self {
        Self(Api::new(stoa.url("/kv"), None))
    }

    /// Makes an entry that must be made: what it is.
    pub async fn make(&self, path: &str, body: &Value) -> Value {
        let answer = self.post(path, body).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()
    }
}
