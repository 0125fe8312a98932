//! One request to a CRM, and what its answer means.

use super::crm::SendError;
use base::{Clock, innermost};
use chrono::DateTime;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use reqwest::{Client, RequestBuilder, Response, StatusCode, redirect};
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How much of the CRM's answer an error repeats.
const LONGEST_MESSAGE: usize = 500;
const LONGEST_ANSWER: usize = 256 * 1024;
/// Receivers of signed requests usually accept five minutes.
const MOST_DIFFERENCE: Duration = Duration::from_secs(4 * 60);
const LONGEST_PAUSE: Duration = Duration::from_secs(24 * 60 * 60);

pub fn client(timeout: Duration) -> reqwest::Result<Client> {
    // A lead is sent to the configured address only: redirects are not followed.
    let client = Client::builder().redirect(redirect::Policy::none()).timeout(timeout);
    let client = client.connect_timeout(CONNECT_TIMEOUT.min(timeout));
    client.user_agent(concat!("stoa/", env!("CARGO_PKG_VERSION"))).build()
}

/// Sends a request and returns the body of a successful answer. A body that breaks off is an error. If the request
/// `is_signed`, it may be refused because its time is wrong.
pub async fn exchange(request: RequestBuilder, is_signed: bool, clock: &Clock) -> Result<Vec<u8>, SendError> {
    let response = request.send().await.map_err(|error| broken(&error))?;
    let status = response.status();
    let after = retry_after(response.headers(), clock);
    let clocks_differ = is_signed && clock_difference(response.headers(), clock) > MOST_DIFFERENCE;
    let body = match read(response).await {
        Ok(body) => body,
        Err(error) if status.is_success() => return Err(broken(&error)),
        Err(_) => Vec::new(),
    };
    if status.is_success() {
        return Ok(body);
    }
    let said = excerpt(&String::from_utf8_lossy(&body));
    let message = format!("the CRM answered {}: {said}", status.as_u16());
    let message = message.trim_end_matches([':', ' ']).to_owned();
    match status {
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY => {
            Err(SendError::Later { cause: "busy", message, after })
        }
        // Signatures are good for some minutes: with the clock right again, it will be accepted.
        StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN if clocks_differ => {
            let message = format!("{message} (its clock and this one differ by minutes)");
            Err(SendError::Later { cause: "clock", message, after })
        }
        StatusCode::TOO_MANY_REQUESTS => Err(SendError::Later { cause: "rate_limit", message, after }),
        status if status.is_client_error() => Err(SendError::Refused { message }),
        status if status.is_server_error() => Err(SendError::Later { cause: "server_error", message, after }),
        _ => Err(SendError::Later { cause: "unexpected", message, after }),
    }
}

/// Shortens the CRM's words to one line, without control characters, which not every database can store.
pub fn excerpt(text: &str) -> String {
    text.chars().take(LONGEST_MESSAGE).map(|sign| if sign.is_control() { ' ' } else { sign }).collect()
}

async fn read(mut response: Response) -> reqwest::Result<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await? {
        body.extend_from_slice(&piece);
        if body.len() > LONGEST_ANSWER {
            break;
        }
    }
    Ok(body)
}

fn broken(error: &reqwest::Error) -> SendError {
    let cause = match error {
        error if error.is_timeout() => "timeout",
        error if error.is_connect() => "connect",
        _ => "broken",
    };
    SendError::Later { cause, message: format!("the CRM did not answer: {}", innermost(error)), after: None }
}

/// Returns how far the CRM's clock is from this one; zero if it does not say its time.
fn clock_difference(headers: &HeaderMap, clock: &Clock) -> Duration {
    let date = headers.get(DATE).and_then(|date| DateTime::parse_from_rfc2822(date.to_str().ok()?).ok());
    let ms = date.map_or(0, |date| date.timestamp_millis().abs_diff(clock.now_ms()));
    Duration::from_millis(ms)
}

/// Reads the header `Retry-After`: seconds, or a date.
fn retry_after(headers: &HeaderMap, clock: &Clock) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let pause = match text.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let until = DateTime::parse_from_rfc2822(text).ok()?.timestamp_millis();
            Duration::from_millis(until.saturating_sub(clock.now_ms()).max(0).unsigned_abs())
        }
    };
    Some(pause.min(LONGEST_PAUSE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_in_seconds_or_until_a_date() {
        let clock = Clock::fixed(784_111_777_000);
        let pause = |text: &str| {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, text.parse().unwrap())]);
            retry_after(&headers, &clock).map(|pause| pause.as_secs())
        };
        assert_eq!(pause("7"), Some(7));
        assert_eq!(pause("Sun, 06 Nov 1994 08:49:47 GMT"), Some(10));
        assert_eq!(pause("Sun, 06 Nov 1994 08:49:07 GMT"), Some(0));
        assert_eq!(pause("99999999999"), Some(24 * 60 * 60));
        assert_eq!((pause("soon"), pause("-1")), (None, None));
    }
}
