//! Readiness: the checks of a service's dependencies, all at the same time and for at most two seconds.

use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use futures_util::future::{BoxFuture, join_all};
use http::StatusCode;
use serde_json::{Value, json};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(2);

type Ask = Arc<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// Who reads the results of the checks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// An operator: the details of failing checks are shown.
    Operator,
    /// Any client: failing checks are listed, and details only of checks that are public.
    Public,
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
    /// Whether any client may see the details.
    is_public: bool,
}

impl Health {
    pub fn add<F>(&mut self, name: impl Into<String>, ask: impl Fn() -> F + Send + Sync + 'static)
    where
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        self.push(name.into(), ask, false);
    }

    /// As [`Health::add`], for a check whose details any client may see.
    pub fn add_open<F>(&mut self, name: impl Into<String>, ask: impl Fn() -> F + Send + Sync + 'static)
    where
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        self.push(name.into(), ask, true);
    }

    fn push<F>(&mut self, name: String, ask: impl Fn() -> F + Send + Sync + 'static, is_public: bool)
    where
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        self.checks.push(Check { name, ask: Arc::new(move || Box::pin(ask())), is_public });
    }

    /// Runs the checks. Returns each with its error, if it fails.
    pub async fn ask(&self, reader: Reader) -> Vec<(String, Result<(), String>)> {
        join_all(self.checks.iter().map(|Check { name, ask, is_public }| async move {
            let answer = tokio::time::timeout(TIMEOUT, ask()).await;
            let answer = answer.unwrap_or_else(|_| Err("did not answer within 2 s".into()));
            let has_details = *is_public || reader == Reader::Operator;
            (
                name.clone(),
                if has_details { answer } else { answer.map_err(|_| "does not answer".to_owned()) },
            )
        }))
        .await
    }

    /// `GET /livez` and `GET /readyz`.
    pub fn routes(self, reader: Reader) -> Router {
        let live = get(async || Json(json!({ "status": "ok" })));
        let ready = get(async move || readiness(self.ask(reader).await));
        Router::new().route("/livez", live).route("/readyz", ready)
    }
}

fn readiness(answers: Vec<(String, Result<(), String>)>) -> Response {
    let ready = answers.iter().all(|(_, answer)| answer.is_ok());
    let checks: Vec<Value> = answers
        .into_iter()
        .map(|(name, answer)| match answer {
            Ok(()) => json!({ "name": name, "status": "ok" }),
            Err(why) => json!({ "name": name, "status": "unavailable", "error": why }),
        })
        .collect();
    let (status, word) =
        if ready { (StatusCode::OK, "ready") } else { (StatusCode::SERVICE_UNAVAILABLE, "unavailable") };
    (status, Json(json!({ "status": word, "checks": checks }))).into_response()
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
        let errors = |answers: Vec<(String, Result<(), String>)>| -> Vec<String> {
            answers.into_iter().filter_map(|(_, answer)| answer.err()).collect()
        };
        assert_eq!(errors(health.ask(Reader::Public).await), ["does not answer", "run the pull"]);
        assert_eq!(errors(health.ask(Reader::Operator).await)[0], "host db7 refused user stoa");
    }
}
