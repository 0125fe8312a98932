//! Models of vendors, over HTTP. What the three protocols have in common is here and in `exchange`; each protocol has
//! a file.
//!
//! A `Vendor` is one model. Several may share a `Server`, which holds the address, the key and the fields that its models
//! refuse.

mod anthropic;
mod connection;
mod exchange;
mod google;
mod listing;
mod ollama;
mod openai;
mod question;
mod reach;
mod refusal;
mod settings;
mod sse;

use anthropic::Anthropic;
pub use connection::{Connection, Kind, ServedModel};
use google::Google;
use ollama::Ollama;
use openai::OpenAi;
pub use settings::{ApiKey, BaseUrl, VendorSettings, Vendors};

use crate::{CallPiece, Cause, Chat, ChatError, ChatModel, Ledger, Model, Piece, Reply, Skill};
use base::Random;
use exchange::Exchange;
use futures_util::stream;
use question::Question;
use refusal::RefusedFields;
use reqwest::header::HeaderMap;
use reqwest::{Client, Url, redirect};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Of a vendor's message in an error, in characters.
const LONGEST_MESSAGE: usize = 300;

/// How requests to a vendor are written and its answers read.
pub trait Protocol: Send + Sync {
    fn url(&self, base: &BaseUrl, model: &str) -> Url;

    /// Returns the headers with the key, if there is one, which is sent in no other way.
    fn headers(&self, key: Option<&ApiKey>) -> HeaderMap;

    /// Returns the fields that some models refuse and that a request can leave out.
    fn dispensable(&self) -> &'static [&'static str];

    /// Returns what the protocol has no place for in a chat, as the rest of a sentence.
    fn lacks(&self, _: &Chat) -> Option<String> {
        None
    }

    fn body(&self, question: &Question, refused: &RefusedFields) -> serde_json::Result<Vec<u8>>;

    fn reader(&self) -> Box<dyn Reader>;

    /// Returns where the server lists its models.
    fn models_url(&self, base: &BaseUrl) -> Url;

    /// Returns the models of such a list; none if it is no such list.
    fn models(&self, list: &Value) -> Option<Vec<ServedModel>>;
}

/// Reads one answer.
pub trait Reader: Send {
    /// Reads the data of one event, which may be several steps or none.
    fn read(&mut self, data: &str) -> Result<Vec<Step>, Cause>;

    /// Called at the end of a stream without a final event. Returns none if the answer is incomplete.
    fn close(&mut self) -> Option<Reported> {
        None
    }
}

#[derive(Debug)]
pub enum Step {
    Text(String),
    /// A call that begins has no name of its own in its id if the vendor gives none.
    Call(CallPiece),
    End(Reported),
}

/// What a vendor reports at the end of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reported {
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cut_off: bool,
}

/// A server that answers.
pub struct Server {
    connection: Connection,
    protocol: Box<dyn Protocol>,
    client: Client,
    timeout: Duration,
    random: Random,
    ledger: Option<Arc<dyn Ledger>>,
    /// Refused fields by model.
    refused: Mutex<HashMap<String, RefusedFields>>,
}

impl Server {
    pub(crate) fn new(
        connection: Connection,
        client: Client,
        timeout: Duration,
        ledger: Option<Arc<dyn Ledger>>,
    ) -> Arc<Self> {
        let (protocol, random) = (connection.kind.protocol(), Random::system());
        Arc::new(Self { connection, protocol, client, timeout, random, ledger, refused: Mutex::default() })
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// What requests call it by.
    pub fn name(&self) -> &str {
        &self.connection.name
    }

    /// Returns the model of a name, or the one that answers if a request names none.
    pub fn model(self: &Arc<Self>, name: Option<&str>) -> Model {
        let model = name.unwrap_or_else(|| self.connection.first_model()).to_owned();
        Model::new(Arc::new(Vendor { server: self.clone(), model })).with_ledger(self.ledger.clone())
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
        let cause = cause.with_text(|text| self.shown(&text));
        ChatError { provider: self.connection.name.clone(), model: model.to_owned(), cause }
    }

    /// Returns what may be shown of a text from the server: not its key, and not a whole page.
    fn shown(&self, text: &str) -> String {
        let key = self.connection.api_key.as_ref();
        shortened(&key.map_or_else(|| text.to_owned(), |key| key.removed_from(text)))
    }

    fn headers(&self) -> HeaderMap {
        self.protocol.headers(self.connection.api_key.as_ref())
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

struct Vendor {
    server: Arc<Server>,
    model: String,
}

impl ChatModel for Vendor {
    fn provider(&self) -> &str {
        self.server.name()
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn window(&self) -> usize {
        self.server.connection.window_of(&self.model)
    }

    fn skill(&self) -> Skill {
        self.server.connection.skill_of(&self.model)
    }

    fn is_blind(&self) -> bool {
        self.server.connection.is_blind(&self.model)
    }

    fn tokens(&self, text: &str) -> usize {
        estimate(text.len())
    }

    fn accepts(&self, chat: &Chat) -> Result<(), ChatError> {
        let lack = match chat.has_pictures() && self.is_blind() {
            true => Some("it takes no pictures".to_owned()),
            false => self.server.protocol.lacks(chat),
        };
        lack.map_or(Ok(()), |lack| Err(self.server.error(&self.model, Cause::Lacks(lack))))
    }

    fn chat(&self, chat: Chat) -> Reply {
        if let Err(error) = self.accepts(&chat) {
            return Box::pin(stream::once(std::future::ready(Err(error))));
        }
        let question = Question::new(self.model.clone(), chat);
        let exchange = Exchange::new(self.server.clone(), question);
        Box::pin(stream::unfold(Some(exchange), |exchange| async {
            let mut exchange = exchange?;
            Some(match exchange.next().await {
                Ok(end @ Piece::End(_)) => (Ok(end), None),
                Ok(piece) => (Ok(piece), Some(exchange)),
                Err(cause) => (Err(exchange.error(cause)), None),
            })
        }))
    }
}

/// Estimates the tokens of a text: at least four bytes each in English, three in other languages.
pub(crate) fn estimate(bytes: usize) -> usize {
    bytes.div_ceil(3)
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
