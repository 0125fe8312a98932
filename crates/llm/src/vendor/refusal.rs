//! An error response: the vendor's message, when to retry, and which fields it refused.

use crate::Cause;
use reqwest::Response;
use reqwest::header::RETRY_AFTER;
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::time::timeout;

const MOST_READ: usize = 64 << 10;

/// Fields of a request that a model refuses. Newer models accept no temperature, or know a field under another name
/// only. Vendors say which only by refusing a request, so the fields are left out from then on.
#[derive(Clone, Default)]
pub struct RefusedFields(BTreeSet<&'static str>);

impl RefusedFields {
    pub fn unless<T>(&self, name: &'static str, value: T) -> Option<T> {
        (!self.0.contains(name)).then_some(value)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the fields that the refusal names. Returns whether one of them is new.
    pub fn learn(&mut self, refusal: &Refusal, dispensable: &[&'static str]) -> bool {
        if !matches!(refusal.status, 400 | 422) {
            return false;
        }
        let words: BTreeSet<&str> =
            refusal.body.split(|letter: char| !letter.is_alphanumeric() && letter != '_').collect();
        let before = self.0.len();
        self.0.extend(dispensable.iter().filter(|name| words.contains(**name)));
        self.0.len() > before
    }
}

pub struct Refusal {
    pub status: u16,
    body: String,
    retry_after: Option<Duration>,
}

impl Refusal {
    pub async fn read(mut response: Response, patience: Duration) -> Self {
        // A date instead of seconds is ignored: no vendor sends one.
        let seconds =
            response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
        let mut body = Vec::new();
        let reading = async {
            while body.len() < MOST_READ
                && let Ok(Some(bytes)) = response.chunk().await
            {
                body.extend_from_slice(&bytes);
            }
        };
        // If the time is up, the part that has arrived is enough.
        let _ = timeout(patience, reading).await;
        let body = String::from_utf8_lossy(&body).into_owned();
        let retry_after = seconds.map(Duration::from_secs);
        Self { status: response.status().as_u16(), body, retry_after }
    }

    pub fn cause(self) -> Cause {
        let Self { status, body, retry_after } = self;
        let said = serde_json::from_str::<Value>(&body).ok();
        let retry_after = retry_after.or_else(|| said.as_ref().and_then(retry_delay));
        let message = match said.as_ref().and_then(message) {
            Some(message) => message,
            None if (300..400).contains(&status) => "a redirect, and the key must not travel".to_owned(),
            None if body.trim().is_empty() => "nothing else".to_owned(),
            None => body,
        };
        Cause::Refused { status, message, retry_after }
    }
}

/// Returns the message from the fields where vendors and compatible servers put it.
fn message(said: &Value) -> Option<String> {
    let places = ["/error/message", "/0/error/message", "/error", "/message", "/detail"];
    let found = places.iter().find_map(|place| said.pointer(place))?;
    Some(found.as_str().map_or_else(|| found.to_string(), str::to_owned))
}

/// Returns Google's delay, which is in the body: `"retryDelay": "37s"`.
fn retry_delay(said: &Value) -> Option<Duration> {
    let details = said.pointer("/error/details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str()?.strip_suffix('s'))?;
    Duration::try_from_secs_f64(delay.parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(status: u16, body: &str) -> Refusal {
        Refusal { status, body: body.to_owned(), retry_after: None }
    }

    #[test]
    fn the_vendors_own_words_are_found() {
        for (body, expected) in [
            (r#"{"error":{"message":"no","type":"x"}}"#, "no"),
            (r#"[{"error":{"code":400,"message":"no"}}]"#, "no"),
            (r#"{"error":"no"}"#, "no"),
            (r#"{"message":"no"}"#, "no"),
            (r#"{"detail":[{"msg":"no"}]}"#, r#"[{"msg":"no"}]"#),
            ("Bad Gateway", "Bad Gateway"),
            ("", "nothing else"),
        ] {
            let Cause::Refused { message, .. } = refusal(502, body).cause() else { panic!("{body}") };
            assert_eq!(message, expected);
        }
    }

    #[test]
    fn googles_delay_is_read_from_the_body() {
        let body = r#"{"error":{"message":"m","details":[{"@type":"a"},{"@type":"b","retryDelay":"2.5s"}]}}"#;
        let Cause::Refused { retry_after, .. } = refusal(429, body).cause() else { panic!() };
        assert_eq!(retry_after, Some(Duration::from_millis(2500)));
    }

    #[test]
    fn only_a_refusal_of_the_request_teaches() {
        let said =
            "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.";
        let dispensable = ["max_tokens", "temperature", "stop"];
        let mut refused = RefusedFields::default();
        assert!(!refused.learn(&refusal(429, said), &dispensable));
        assert!(refused.learn(&refusal(400, said), &dispensable));
        assert!(!refused.learn(&refusal(400, said), &dispensable), "the same once more is no news");
        assert_eq!(refused.unless("max_tokens", 1), None);
        assert_eq!(refused.unless("temperature", 1), Some(1));
        assert!(!refused.learn(&refusal(400, "temperatures, non_stop"), &dispensable), "whole words only");
    }
}
