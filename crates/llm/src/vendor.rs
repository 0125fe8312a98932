//! Models of vendors, over HTTP. What the three protocols have in common is here and in `exchange`; each has a file.
//!
//! `Vendor` is a model by name; many may share an `Endpoint`, which holds the address, the key, and what has been
//! learned of the models there.

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
use refusal::Refused;
use reqwest::header::HeaderMap;
use reqwest::{Client, Url, redirect};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Of what somebody else said, in an error.
const LONGEST_MESSAGE: usize = 300;

/// How a vendor is spoken to.
pub trait Protocol: Send + Sync {
    fn url(&self, base: &BaseUrl, model: &str) -> Url;

    /// With the key, which goes nowhere else.
    fn headers(&self, key: &ApiKey) -> HeaderMap;

    /// Fields that some of its models refuse, and that an answer can do without.
    fn dispensable(&self) -> &'static [&'static str];

    fn body(&self, question: &Question, refused: &Refused) -> serde_json::Result<Vec<u8>>;

    fn reader(&self) -> Box<dyn Reader>;
}

/// Reads one answer.
pub trait Reader: Send {
    /// Takes the data of one event.
    fn read(&mut self, data: &str) -> Result<Step, Cause>;

    /// At the end of a stream that has no event for that: nothing where the answer was not at its end.
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

/// What a vendor says of an answer at its end.
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
    /// By model.
    refused: Mutex<HashMap<String, Refused>>,
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

    fn refused_by(&self, model: &str) -> Refused {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).get(model).cloned().unwrap_or_default()
    }

    fn remember(&self, model: &str, refused: &Refused) {
        if !refused.is_empty() {
            let mut known = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(model.to_owned(), refused.clone());
        }
    }

    /// Everything that is told of a failure passes here, so that no key is in it.
    fn error(&self, model: &str, cause: Cause) -> ChatError {
        let cause = cause.with_text(|text| shortened(&self.settings.api_key.removed_from(&text)));
        ChatError { provider: self.provider, model: model.to_owned(), cause }
    }
}

/// One for all vendors. It follows no redirect, since a key must not travel; it takes the proxy that `HTTPS_PROXY`,
/// `HTTP_PROXY` and `NO_PROXY` name, as every other program does.
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
    /// The vendor's default model where none is named.
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

/// Tokens of a text: English has four bytes a token and more, other languages three.
fn estimate(bytes: usize) -> usize {
    bytes.div_ceil(3)
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
