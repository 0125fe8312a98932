//! Models of vendors, over HTTP. What the three protocols have in common is here and in `exchange`; each protocol has
//! a file.
//!
//! A `Vendor` is one model. Several may share an `Endpoint`, which holds the address, the key and the fields that its
//! models refuse.

mod anthropic;
mod exchange;
mod google;
mod openai;
mod question;
mod reach;
mod refusal;
mod settings;
mod sse;

pub use anthropic::Anthropic;
pub use google::Google;
pub use openai::OpenAi;
pub use settings::{ApiKey, BaseUrl, VendorSettings, Vendors};

use crate::{Cause, Chat, ChatError, ChatModel, Piece, Reply};
use base::Random;
use exchange::Exchange;
use futures_util::stream;
use question::Question;
use refusal::RefusedFields;
use reqwest::header::HeaderMap;
use reqwest::{Client, Url, redirect};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Of a vendor's message in an error, in characters.
const LONGEST_MESSAGE: usize = 300;

/// How requests to a vendor are written and its answers read.
pub trait Protocol: Send + Sync {
    fn url(&self, base: &BaseUrl, model: &str) -> Url;

    /// Returns the headers with the key, which is sent in no other way.
    fn headers(&self, key: &ApiKey) -> HeaderMap;

    /// Returns the fields that some models refuse and that a request can leave out.
    fn dispensable(&self) -> &'static [&'static str];

    fn body(&self, question: &Question, refused: &RefusedFields) -> serde_json::Result<Vec<u8>>;

    fn reader(&self) -> Box<dyn Reader>;
}

/// Reads one answer.
pub trait Reader: Send {
    /// Reads the data of one event.
    fn read(&mut self, data: &str) -> Result<Step, Cause>;

    /// Called at the end of a stream without a final event. Returns none if the answer is incomplete.
    fn close(&mut self) -> Option<Reported> {
        None
    }
}

#[derive(Debug)]
pub enum Step {
    Quiet,
    Text(String),
    End(Reported),
}

/// What a vendor reports at the end of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reported {
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cut_off: bool,
}

pub struct Endpoint {
    pub provider: &'static str,
    pub protocol: Box<dyn Protocol>,
    pub client: Client,
    pub settings: VendorSettings,
    pub timeout: Duration,
    pub random: Random,
    /// Refused fields by model.
    refused: Mutex<HashMap<String, RefusedFields>>,
}

impl Endpoint {
    pub fn new(
        provider: &'static str,
        protocol: Box<dyn Protocol>,
        client: Client,
        settings: VendorSettings,
        timeout: Duration,
    ) -> Self {
        let random = Random::system();
        Self { provider, protocol, client, settings, timeout, random, refused: Mutex::default() }
    }

    fn refused_by(&self, model: &str) -> RefusedFields {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).get(model).cloned().unwrap_or_default()
    }

    fn remember(&self, model: &str, refused: &RefusedFields) {
        if !refused.is_empty() {
            let mut known = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(model.to_owned(), refused.clone());
        }
    }

    /// Removes the key from the error. Every failure passes through here.
    fn error(&self, model: &str, cause: Cause) -> ChatError {
        let cause = cause.with_text(|text| shortened(&self.settings.api_key.removed_from(&text)));
        ChatError { provider: self.provider, model: model.to_owned(), cause }
    }
}

/// Creates the client for all vendors. It follows no redirect, which would send the key elsewhere, and uses the proxy
/// of `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`.
pub fn client() -> reqwest::Result<Client> {
    Client::builder()
        .redirect(redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .user_agent(concat!("stoa/", env!("CARGO_PKG_VERSION")))
        .build()
}

pub struct Vendor {
    endpoint: Arc<Endpoint>,
    model: String,
}

impl Vendor {
    /// Uses the vendor's default model if none is named.
    pub fn new(endpoint: Arc<Endpoint>, model: Option<&str>) -> Self {
        let model = model.unwrap_or(&endpoint.settings.model).to_owned();
        Self { endpoint, model }
    }
}

impl ChatModel for Vendor {
    fn provider(&self) -> &'static str {
        self.endpoint.provider
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn window(&self) -> usize {
        self.endpoint.settings.window
    }

    fn tokens(&self, text: &str) -> usize {
        estimate(text.len())
    }

    fn chat(&self, chat: Chat) -> Reply {
        let question = Question::new(self.model.clone(), chat);
        let exchange = Exchange::new(self.endpoint.clone(), question);
        Box::pin(stream::unfold(Some(exchange), |exchange| async {
            let mut exchange = exchange?;
            Some(match exchange.next().await {
                Ok(piece @ Piece::Text(_)) => (Ok(piece), Some(exchange)),
                Ok(end) => (Ok(end), None),
                Err(cause) => (Err(exchange.error(cause)), None),
            })
        }))
    }
}

/// Estimates the tokens of a text: at least four bytes each in English, three in other languages.
fn estimate(bytes: usize) -> usize {
    bytes.div_ceil(3)
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
