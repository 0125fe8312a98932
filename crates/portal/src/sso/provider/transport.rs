//! Requests to the provider: redirects are not followed, and time and length of an answer are limited.

use openidconnect::{AsyncHttpClient, HttpRequest, HttpResponse};
use std::pin::Pin;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(10);
const MOST_BYTES: usize = 1 << 20;

pub struct Transport(reqwest::Client);

#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    #[error("it took more than 10 s")]
    TooSlow,
    #[error("it does not answer: {}", cause(.0))]
    Request(reqwest::Error),
    #[error("its answer is longer than 1 MiB")]
    TooLong,
    #[error(transparent)]
    Http(#[from] http::Error),
}

impl Transport {
    pub fn new() -> Result<Self, reqwest::Error> {
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        Ok(Self(client.timeout(TIMEOUT).build()?))
    }

    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, TransportError> {
        let mut answer = self.0.execute(request.try_into()?).await?;
        let mut response = http::Response::builder().status(answer.status());
        for (name, value) in answer.headers() {
            response = response.header(name, value);
        }
        let mut body = Vec::new();
        while let Some(piece) = answer.chunk().await? {
            if body.len() + piece.len() > MOST_BYTES {
                return Err(TransportError::TooLong);
            }
            body.extend_from_slice(&piece);
        }
        Ok(response.body(body)?)
    }
}

impl<'c> AsyncHttpClient<'c> for Transport {
    type Error = TransportError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, TransportError>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.send(request))
    }
}

impl From<reqwest::Error> for TransportError {
    fn from(error: reqwest::Error) -> Self {
        if error.is_timeout() { Self::TooSlow } else { Self::Request(error.without_url()) }
    }
}

/// Returns the innermost cause: `connection refused` rather than `error sending request`.
fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
