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

/// Sends a request and returns the body of a successful answer. A body that breaks off is an error. If the request is
/// signed with a time, `signed_ms`, it may be refused because that time is wrong.
pub async fn exchange(
    request: RequestBuilder,
    signed_ms: Option<i64>,
    clock: &Clock,
) -> Result<Vec<u8>, SendError> {
    let response = request.send().await.map_err(|error| broken(&error))?;
    let status = response.status();
    let after = retry_after(response.headers(), clock);
    // The clock may have been set right since the request was signed.
    let clocks_differ =
        signed_ms.is_some_and(|signed| clock_difference(response.headers(), signed) > MOST_DIFFERENCE);
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

/// Returns how far the CRM's clock is from `ms`; zero if it does not say its time.
fn clock_difference(headers: &HeaderMap, ms: i64) -> Duration {
    let date = headers.get(DATE).and_then(|date| DateTime::parse_from_rfc2822(date.to_str().ok()?).ok());
    Duration::from_millis(date.map_or(0, |date| date.timestamp_millis().abs_diff(ms)))
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
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    const NOW: i64 = 784_111_777_000;

    /// Sends a request with a signature of this time, when the clock is right, to a CRM that answers 401.
    async fn refused(signed_ms: Option<i64>) -> SendError {
        let crm = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", crm.local_addr().unwrap());
        let answer = async {
            let (mut connection, _) = crm.accept().await.unwrap();
            let _ = connection.read(&mut [0; 4096]).await.unwrap();
            let answer =
                b"HTTP/1.1 401 No\r\ndate: Sun, 06 Nov 1994 08:49:37 GMT\r\ncontent-length: 0\r\n\r\n";
            connection.write_all(answer).await.unwrap();
        };
        let request = client(Duration::from_secs(5)).unwrap().post(url);
        let clock = Clock::fixed(NOW);
        let (sent, ()) = tokio::join!(exchange(request, signed_ms, &clock), answer);
        sent.unwrap_err()
    }

    #[tokio::test]
    async fn a_signature_of_another_time_is_not_refused_for_good() {
        let hour = 60 * 60 * 1000;
        for signed in [NOW - hour, NOW + hour] {
            let error = refused(Some(signed)).await;
            assert!(matches!(error, SendError::Later { cause: "clock", .. }), "{error:?}");
        }
        for signed in [Some(NOW - 1000), None] {
            assert!(matches!(refused(signed).await, SendError::Refused { .. }));
        }
    }

    #[test]
    fn a_pause_is_in_seconds_or_until_a_date() {
        let clock = Clock::fixed(NOW);
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
