//! The rate limit of the chat: so many questions of a user in a minute, over all interfaces.

use super::App;
use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue};
use kit::error::ApiError;
use serde::Serialize;
use std::time::Duration;
use store::StoreError;
use store::rate::{self, Decision};
use utoipa::ToSchema;

const WINDOW: Duration = Duration::from_secs(60);
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// A question that was counted.
pub struct CountedQuestion(Decision);

/// What the caller is told about a question too many.
pub struct Excess {
    pub message: String,
    pub wait: Duration,
}

/// What an error about a question too many, or a budget that is used up, says besides.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LimitDetails {
    /// When to try again, for people.
    #[schema(example = "at most 10 questions a minute: try again in 42 s")]
    pub message: String,
    /// When the window or the day ends, in milliseconds since 1970.
    #[schema(example = 1794821400000i64)]
    pub reset_at: i64,
}

impl CountedQuestion {
    pub async fn count(app: &App, user_id: &str) -> Result<Self, StoreError> {
        let most = i64::from(app.settings.chat_requests_per_minute);
        Ok(Self(rate::hit(&app.db, &format!("chat:{user_id}"), most, WINDOW).await?))
    }

    /// Fails if it was one too many.
    pub fn check(&self, app: &App) -> Result<(), ApiError> {
        let Some(Excess { message, wait }) = self.excess(app) else { return Ok(()) };
        let error = ApiError::too_many_requests("rate limit exceeded", wait);
        Err(error.with(LimitDetails { message, reset_at: self.0.reset_at_ms }))
    }

    /// Returns what the caller is told if it was one too many.
    pub fn excess(&self, app: &App) -> Option<Excess> {
        if self.0.allowed {
            return None;
        }
        let wait = Duration::from_millis(
            self.0.reset_at_ms.saturating_sub(app.clock.now_ms()).max(0).unsigned_abs(),
        );
        let most = app.settings.chat_requests_per_minute;
        let seconds = wait.as_millis().div_ceil(1000).max(1);
        Some(Excess { message: format!("at most {most} questions a minute: try again in {seconds} s"), wait })
    }

    /// Adds the headers that say how many questions are left.
    pub fn mark(&self, answer: impl IntoResponse) -> Response {
        let mut response = answer.into_response();
        response.headers_mut().insert(REMAINING, HeaderValue::from(self.0.remaining));
        response.headers_mut().insert(RESET, HeaderValue::from(self.0.reset_at_ms));
        response
    }
}
