//! How often a user may ask: so many questions in a minute, over all ways of asking.

use super::App;
use super::error::Failure;
use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue};
use kit::error::ApiError;
use std::time::Duration;
use store::rate::{self, Decision};

const WINDOW: Duration = Duration::from_secs(60);
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// A question that was counted.
pub struct Counted(Decision);

pub struct Excess {
    pub message: String,
    pub wait: Duration,
}

impl Counted {
    pub async fn question(app: &App, user_id: &str) -> Result<Self, Failure> {
        let most = i64::from(app.settings.chat_requests_per_minute);
        Ok(Self(rate::hit(&app.db, &format!("chat:{user_id}"), most, WINDOW).await?))
    }

    /// Fails where it was one too many.
    pub fn allowed(&self, app: &App) -> Result<(), ApiError> {
        let Some(Excess { message, wait }) = self.excess(app) else { return Ok(()) };
        let error = ApiError::too_many_requests("rate limit exceeded", wait);
        Err(error.with_field("message", message).with_field("resetAt", self.0.reset_at_ms))
    }

    /// What there is to say where it was one too many.
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

    /// The answer with what is left of the minute.
    pub fn mark(&self, answer: impl IntoResponse) -> Response {
        let mut response = answer.into_response();
        response.headers_mut().insert(REMAINING, HeaderValue::from(self.0.remaining));
        response.headers_mut().insert(RESET, HeaderValue::from(self.0.reset_at_ms));
        response
    }
}
