//! Somebody at the portal: directly with a token, or through the gateway.

use crate::{Reply, Stoa, reply, tokens};
use reqwest::{Method, RequestBuilder};
use serde_json::Value;

#[derive(Clone)]
pub struct Desk {
    client: reqwest::Client,
    base: String,
    token: Option<String>,
}

impl Desk {
    /// Past the gateway, as `admin` or `guest`.
    pub fn direct(stoa: &Stoa, scope: &str) -> Self {
        Self::with(
            format!("http://{}", stoa.portal.expect("the portal runs")),
            Some(tokens::token("KV", scope)),
        )
    }

    pub fn through_gateway(stoa: &Stoa, scope: &str) -> Self {
        Self::with(stoa.url("/kv"), Some(tokens::token("KV", scope)))
    }

    /// Without a token.
    pub fn stranger(stoa: &Stoa) -> Self {
        Self::with(stoa.url("/kv"), None)
    }

    fn with(base: String, token: Option<String>) -> Self {
        Self { client: reqwest::Client::new(), base, token }
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.base));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    pub async fn get(&self, path: &str) -> Reply {
        reply(self.request(Method::GET, path)).await
    }

    pub async fn delete(&self, path: &str) -> Reply {
        reply(self.request(Method::DELETE, path)).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Reply {
        reply(self.request(Method::POST, path).json(body)).await
    }

    pub async fn patch(&self, path: &str, body: &Value) -> Reply {
        reply(self.request(Method::PATCH, path).json(body)).await
    }

    /// Makes an entry that must be made: what it is.
    pub async fn make(&self, path: &str, body: &Value) -> Value {
        let answer = self.post(path, body).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()
    }

    pub async fn list(&self, path: &str) -> Vec<Value> {
        let answer = self.get(path).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json().as_array().expect("a list").clone()
    }
}
