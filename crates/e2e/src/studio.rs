//! Somebody at the supervisor: directly from this machine, or through the gateway.

use crate::{Reply, Stoa, Told, Watch, reply, tokens};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

#[derive(Clone)]
pub struct Studio {
    client: reqwest::Client,
    base: String,
    token: Option<String>,
}

impl Studio {
    /// From this machine, past the gateway.
    pub fn local(stoa: &Stoa) -> Self {
        let base = format!("http://{}", stoa.supervisor.expect("the supervisor runs"));
        Self { client: reqwest::Client::new(), base, token: None }
    }

    /// Through the gateway, as `admin` or `guest`.
    pub fn through_gateway(stoa: &Stoa, scope: &str) -> Self {
        Self::with_token(stoa, tokens::token("BUILD", scope))
    }

    /// Through the gateway, with a token that it gave.
    pub fn with_token(stoa: &Stoa, token: String) -> Self {
        Self { client: reqwest::Client::new(), base: stoa.url("/build"), token: Some(token) }
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

    /// A new project: its id.
    pub async fn project(&self) -> String {
        let body =
            json!({ "name": "Bees", "product_seed": "A diary of each hive that works without a network." });
        let answer = self.post("/api/projects", &body).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["id"].as_str().expect("an id").to_owned()
    }

    pub fn execution(&self, project: &str, phase: &str) -> RequestBuilder {
        let request = self.request(Method::POST, "/api/execute").header("accept", "text/event-stream");
        request.header("x-project-id", project).json(&json!({ "projectId": project, "phase": phase }))
    }

    pub async fn execute(&self, project: &str, phase: &str) -> Watch {
        Watch::open(self.execution(project, phase)).await
    }

    /// Executes a phase to its end: all events.
    pub async fn run(&self, project: &str, phase: &str) -> Vec<Told> {
        self.execute(project, phase).await.rest().await
    }

    pub async fn state(&self, project: &str) -> Value {
        let answer = self.get(&format!("/api/state/{project}")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    pub async fn list(&self, path: &str) -> Vec<Value> {
        let answer = self.get(path).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json().as_array().expect("a list").clone()
    }

    pub async fn history(&self, project: &str) -> Value {
        let answer = self.get(&format!("/api/hydrate/{project}")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["history"].clone()
    }
}

/// A workflow of these phases: their names, and the lines of `[[phase.agent]]` for each agent, whose prompt and provider
/// are there already.
pub fn workflow(phases: &[(&str, &[&str])]) -> String {
    let mut text = String::new();
    for (name, agents) in phases {
        text.push_str(&format!("[[phase]]\nname = \"{name}\"\n"));
        for agent in *agents {
            text.push_str(&format!(
                "[[phase.agent]]\nprompt = \"role.md\"\nprovider = \"vendor-a\"\n{agent}\n"
            ));
        }
    }
    text
}

/// The names of events, in their order.
pub fn names(events: &[Told]) -> Vec<&str> {
    events.iter().map(|told| told.name.as_str()).collect()
}

/// Fails unless the ids rise by one.
pub fn check_ids(events: &[Told]) {
    let ids: Vec<i64> = events.iter().map(|told| told.id).collect();
    assert!(ids.windows(2).all(|pair| pair[1] == pair[0] + 1), "{ids:?}");
}
