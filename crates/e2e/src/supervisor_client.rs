//! A client of the supervisor: directly from this machine, or through the gateway.

use crate::api::Api;
use crate::{SseEvent, Stoa, Watch, tokens};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use std::ops::Deref;

#[derive(Clone)]
pub struct SupervisorClient(Api);

impl Deref for SupervisorClient {
    type Target = Api;

    fn deref(&self) -> &Api {
        &self.0
    }
}

impl SupervisorClient {
    /// From this machine, past the gateway.
    pub fn local(stoa: &Stoa) -> Self {
        Self(Api::new(format!("http://{}", stoa.supervisor.expect("the supervisor runs")), None))
    }

    /// Through the gateway, as `admin` or `guest`.
    pub fn through_gateway(stoa: &Stoa, scope: &str) -> Self {
        Self::with_token(stoa, tokens::token("BUILD", scope))
    }

    /// Through the gateway, with a token that it gave.
    pub fn with_token(stoa: &Stoa, token: String) -> Self {
        Self(Api::new(stoa.url("/build"), Some(token)))
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
    pub async fn run(&self, project: &str, phase: &str) -> Vec<SseEvent> {
        self.execute(project, phase).await.rest().await
    }

    pub async fn state(&self, project: &str) -> Value {
        let answer = self.get(&format!("/api/state/{project}")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
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
pub fn names(events: &[SseEvent]) -> Vec<&str> {
    events.iter().map(|event| event.name.as_str()).collect()
}

/// Fails unless the ids rise by one.
pub fn check_ids(events: &[SseEvent]) {
    let ids: Vec<i64> = events.iter().map(|event| event.id).collect();
    assert!(ids.windows(2).all(|pair| pair[1] == pair[0] + 1), "{ids:?}");
}
