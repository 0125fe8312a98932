//! Requests to the provider: redirects are not followed, and time and length of an answer are limited.

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use reqwest::{RequestBuilder, StatusCode, Url};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(10);
const MOST_BYTES: usize = 1 << 20;

pub struct Transport(reqwest::Client);

pub struct Answer {
    pub status: StatusCode,
    pub body: Vec<u8>,
    content_type: String,
}

impl Answer {
    pub fn is(&self, content_type: &str) -> bool {
        let essence = self.content_type.split(';').next().unwrap_or_default();
        essence.trim().eq_ignore_ascii_case(content_type)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    #[error("it took more than 10 s")]
    TooSlow,
    #[error("it does not answer: {}", base::innermost(.0))]
    Request(reqwest::Error),
    #[error("its answer is longer than 1 MiB")]
    TooLong,
}

impl Transport {
    pub fn new() -> Result<Self, reqwest::Error> {
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        Ok(Self(client.timeout(TIMEOUT).build()?))
    }

    pub async fn get(&self, url: &Url, authorization: Option<String>) -> Result<Answer, TransportError> {
        send(self.0.get(url.clone()), authorization).await
    }

    /// Posts a form.
    pub async fn post(
        &self,
        url: &Url,
        form: String,
        authorization: Option<String>,
    ) -> Result<Answer, TransportError> {
        let request = self.0.post(url.clone()).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        send(request.body(form), authorization).await
    }
}

async fn send(request: RequestBuilder, authorization: Option<String>) -> Result<Answer, TransportError> {
    let mut request = request.header(ACCEPT, "application/json");
    if let Some(authorization) = authorization {
        request = request.header(AUTHORIZATION, authorization);
    }
    let mut answer = request.send().await?;
    let content_type = answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default().to_owned();
    let mut body = Vec::new();
    while let Some(piece) = answer.chunk().await? {
        if body.len() + piece.len() > MOST_BYTES {
            return Err(TransportError::TooLong);
        }
        body.extend_from_slice(&piece);
    }
    Ok(Answer { status: answer.status(), body, content_type })
}

impl From<reqwest::Error> for TransportError {
    fn from(error: reqwest::Error) -> Self {
        if error.is_timeout() { Self::TooSlow } else { Self::Request(error.without_url()) }
    }
}
