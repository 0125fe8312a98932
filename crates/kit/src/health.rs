//! Readiness: what a service needs, asked at once and never for longer than two seconds.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use futures_util::future::{BoxFuture, join_all};
use http::StatusCode;
use serde::Serialize;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

const PATIENCE: Duration = Duration::from_secs(2);

type Ask = Arc<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// Who reads the answers. Details are shown on the operations listener only.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// Sees why a dependency does not answer.
    Operator,
    /// Sees which does not answer, and why only if the check is open.
    Anybody,
}

/// The dependencies of a service or of the whole process, by name.
#[derive(Clone, Default)]
pub struct Health {
    checks: Vec<Check>,
}

#[derive(Clone)]
struct Check {
    name: String,
    ask: Ask,
    /// What is wrong is shown to every reader.
    open: bool,
}

impl Health {
    pub fn add<F>(&mut self, name: impl Into<String>, ask: impl Fn() -> F + Send + Sync + 'static)
    where
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        self.push(name.into(), ask, false);
    }

    /// As [`Health::add`]; what is wrong is shown to every reader.
    pub fn add_open<F>(&mut self, name: impl Into<String>, ask: impl Fn() -> F + Send + Sync + 'static)
    where
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        self.push(name.into(), ask, true);
    }

    fn push<F>(&mut self, name: String, ask: impl Fn() -> F + Send + Sync + 'static, open: bool)
    where
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        self.checks.push(Check { name, ask: Arc::new(move || Box::pin(ask())), open });
    }

    /// Each dependency with what is wrong with it, if anything.
    pub async fn ask(&self, reader: Reader) -> Vec<(String, Result<(), String>)> {
        join_all(self.checks.iter().map(|Check { name, ask, open }| async move {
            let answer = tokio::time::timeout(PATIENCE, ask()).await;
            let answer = answer.unwrap_or_else(|_| Err("did not answer within 2 s".into()));
            let told = *open || reader == Reader::Operator;
            (name.clone(), if told { answer } else { answer.map_err(|_| "does not answer".to_owned()) })
        }))
        .await
    }

    /// `GET /livez` and `GET /readyz`.
    pub fn routes(self, reader: Reader) -> OpenApiRouter {
        OpenApiRouter::new().routes(routes!(live)).routes(routes!(ready)).with_state((self, reader))
    }
}

type Shared = (Health, Reader);

#[derive(Serialize, ToSchema)]
struct Live {
    #[schema(example = "ok")]
    status: &'static str,
}

#[derive(Serialize, ToSchema)]
struct Readiness {
    /// `ready` or `unavailable`.
    #[schema(example = "ready")]
    status: &'static str,
    checks: Vec<Dependency>,
}

/// Something that the service needs.
#[derive(Serialize, ToSchema)]
struct Dependency {
    #[schema(example = "database")]
    name: String,
    /// `ok` or `unavailable`.
    #[schema(example = "ok")]
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Tells that the process runs.
#[utoipa::path(get, path = "/livez", security(()), responses((status = 200, body = Live)))]
async fn live() -> Json<Live> {
    Json(Live { status: "ok" })
}

/// Tells whether the service has what it needs.
#[utoipa::path(get, path = "/readyz", security(()), responses(
    (status = 200, description = "All that it needs answers.", body = Readiness),
    (status = 503, description = "Something does not answer.", body = Readiness),
))]
async fn ready(State((health, reader)): State<Shared>) -> Response {
    readiness(health.ask(reader).await)
}

fn readiness(answers: Vec<(String, Result<(), String>)>) -> Response {
    let is_ready = answers.iter().all(|(_, answer)| answer.is_ok());
    let checks = answers.into_iter().map(|(name, answer)| Dependency {
        name,
        status: if answer.is_ok() { "ok" } else { "unavailable" },
        error: answer.err(),
    });
    let checks = checks.collect();
    match is_ready {
        true => Json(Readiness { status: "ready", checks }).into_response(),
        false => (StatusCode::SERVICE_UNAVAILABLE, Json(Readiness { status: "unavailable", checks }))
            .into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_dependency_that_hangs_is_named_and_delays_no_request() {
        let mut health = Health::default();
        health.add("database", async || Ok(()));
        health.add("objects", async || std::future::pending().await);
        let answers = health.ask(Reader::Operator).await;
        assert_eq!(answers[0], ("database".into(), Ok(())));
        assert_eq!(answers[1], ("objects".into(), Err("did not answer within 2 s".into())));
        assert_eq!(readiness(answers).status(), StatusCode::SERVICE_UNAVAILABLE);
    }

    #[tokio::test]
    async fn only_operators_see_why_a_check_fails() {
        let mut health = Health::default();
        health.add("database", async || Err("host db7 refused user stoa".to_owned()));
        health.add_open("models", async || Err("run the pull".to_owned()));
        let told = |answers: Vec<(String, Result<(), String>)>| -> Vec<String> {
            answers.into_iter().filter_map(|(_, answer)| answer.err()).collect()
        };
        assert_eq!(told(health.ask(Reader::Anybody).await), ["does not answer", "run the pull"]);
        assert_eq!(told(health.ask(Reader::Operator).await)[0], "host db7 refused user stoa");
    }
}
