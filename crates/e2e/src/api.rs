//! An HTTP client of one service: its address, and the token of every request.

use crate::{Reply, reply};
use reqwest::{Method, RequestBuilder};
use serde_json::Value;

#[derive(Clone)]
pub struct Api {
    client: reqwest::Client,
    base: String,
    token: Option<String>,
}

impl Api {
    pub fn new(base: String, token: Option<String>) -> Self {
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

    /// Gets a list, which must succeed.
    pub async fn list(&self, path: &str) -> Vec<Value> {
        let answer = self.get(path).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json().as_array().expect("a list").clone()
    }
}
