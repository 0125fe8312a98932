//! A CRM: a server that accepts leads as a webhook and as HubSpot does, checks and stores the requests, and fails as the
//! test wants.

use crate::stoa::{Start, Stoa};
use bytes::Bytes;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::HeaderMap;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::{Value, json};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::UnboundedReceiverStream;

const KEY: &[u8] = b"0123456789abcdef0123456789abcdef";
pub const SIGNING_SECRET: &str = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
pub const TOKEN: &str = "pat-na1-0123456789";
const UPSERT: &str = "/crm/v3/objects/contacts/batch/upsert";

const OTHER_TIME: &str = "signed";

/// How the CRM answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    Well,
    /// Closes the connection without an answer.
    Refuses,
    /// Reads the request and never answers.
    Hangs,
    /// Begins a successful answer and breaks off.
    BreaksOff,
    Says(u16),
    /// Answers 429 with `Retry-After` in seconds.
    Busy(u64),
    /// Answers as HubSpot does for a contact that is refused in a batch that succeeds.
    Faults,
}

/// A request that the CRM has read.
#[derive(Clone, Debug)]
pub struct Sent {
    pub path: String,
    pub headers: HeaderMap,
    pub body: Value,
    pub mood: Mood,
    pub when: Instant,
}

impl Sent {
    /// The lead's id, by which the CRM recognises it.
    pub fn id(&self) -> String {
        self.header("idempotency-key")
    }

    pub fn header(&self, name: &str) -> String {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
    }

    /// Whether the lead was accepted.
    pub fn is_taken(&self) -> bool {
        matches!(self.mood, Mood::Well | Mood::BreaksOff)
    }
}

pub struct Crm {
    pub address: SocketAddr,
    state: Arc<Mutex<State>>,
    accepting: JoinHandle<()>,
}

struct State {
    mood: Mood,
    /// Whether it answers 400 to a request that was signed at another time, which otherwise is a fault.
    refuses_other_times: bool,
    sent: Vec<Sent>,
    faults: Vec<String>,
}

type Body = StreamBody<UnboundedReceiverStream<Result<Frame<Bytes>, io::Error>>>;

impl Crm {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let state =
            State { mood: Mood::Well, refuses_other_times: false, sent: Vec::new(), faults: Vec::new() };
        let state = Arc::new(Mutex::new(state));
        let shared = state.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let shared = shared.clone();
                let service = service_fn(move |request| respond(request, shared.clone()));
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), service));
            }
        });
        Self { address, state, accepting }
    }

    pub fn webhook_url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    pub fn set(&self, mood: Mood) {
        self.state.lock().expect("no test panicked with it").mood = mood;
    }

    /// Refuses what is signed at another time, as CRMs do, since the program's clock is wrong in this test.
    pub fn refuse_other_times(&self) {
        self.state.lock().expect("no test panicked with it").refuses_other_times = true;
    }

    /// Returns all requests so far, in their order. Fails if one of them was wrong.
    pub fn sent(&self) -> Vec<Sent> {
        let state = self.state.lock().expect("no test panicked with it");
        assert!(state.faults.is_empty(), "{:?}", state.faults);
        state.sent.clone()
    }

    /// Waits for `count` accepted requests and returns them.
    pub async fn taken(&self, count: usize) -> Vec<Sent> {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let taken: Vec<Sent> = self.sent().into_iter().filter(Sent::is_taken).collect();
            if taken.len() >= count {
                return taken;
            }
            assert!(Instant::now() < deadline, "{} of {count} came: {:?}", taken.len(), self.sent());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits for `count` requests, accepted or not.
    pub async fn asked(&self, count: usize) -> Vec<Sent> {
        let deadline = Instant::now() + Duration::from_secs(20);
        while self.sent().len() < count {
            assert!(Instant::now() < deadline, "{} of {count} came", self.sent().len());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.sent()
    }
}

impl Drop for Crm {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Stoa {
    /// The lead ingest with a gateway, no CRM and these forms; the built-in form if the text is empty.
    pub fn start_leads(forms: &str) -> Start {
        let start = Self::start().only("gateway,leads");
        if !forms.is_empty() {
            std::fs::write(start.path().join("stoa.toml"), forms).expect("a file of settings");
        }
        // Short times, so that tests of killed processes and of a CRM that comes back are quick.
        let start = start.set("JOB_LEASE", "600ms").set("CRM_TIMEOUT", "1s").set("CRM_RETRY_FIRST", "100ms");
        start.set("CRM_RETRY_LONGEST", "1s").set("LEADS_PER_MINUTE", "1000000")
    }
}

impl Start {
    pub fn with_webhook(self, crm: &Crm) -> Self {
        self.set("CRM_URL", crm.webhook_url()).set("CRM_SIGNING_SECRET", SIGNING_SECRET)
    }

    pub fn with_hubspot(self, crm: &Crm) -> Self {
        let start = self.set("CRM_KIND", "hubspot").set("CRM_TOKEN", TOKEN);
        start.set("CRM_URL", format!("http://{}", crm.address))
    }
}

async fn respond(request: Request<Incoming>, state: Arc<Mutex<State>>) -> io::Result<Response<Body>> {
    let (parts, body) = request.into_parts();
    let bytes = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let mood = {
        let mut state = state.lock().expect("no test panicked with it");
        let mut mood = state.mood;
        if parts.method == "POST" {
            let checked = match parts.uri.path() {
                UPSERT => check_upsert(&parts.headers, &bytes),
                "/hook" => check_signature(&parts.headers, &bytes),
                other => Err(format!("nothing is at {other}")),
            };
            match checked {
                Err(fault) if state.refuses_other_times && fault.starts_with(OTHER_TIME) => {
                    mood = Mood::Says(400)
                }
                checked => state.faults.extend(checked.err()),
            }
            let body = serde_json::from_slice(&bytes).unwrap_or_default();
            let path = parts.uri.path().to_owned();
            state.sent.push(Sent { path, headers: parts.headers, body, mood, when: Instant::now() });
        }
        mood
    };
    let (pieces, stream) = mpsc::unbounded_channel();
    let mut response = Response::new(StreamBody::new(UnboundedReceiverStream::new(stream)));
    let first = pieces.clone();
    let send = |text: &str| drop(first.send(Ok(Frame::data(Bytes::from(text.to_owned())))));
    match mood {
        Mood::Well => send(r#"{"status":"COMPLETE","results":[{"id":"512"}]}"#),
        Mood::Refuses => return Err(io::Error::other("refused")),
        Mood::Hangs => std::future::pending::<()>().await,
        Mood::BreaksOff => {
            response.headers_mut().insert("content-length", 1000.into());
            send(r#"{"status":"#);
            // Wait, so that the beginning is sent.
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(20)).await;
                let _ = pieces.send(Err(io::Error::other("broken off")));
            });
        }
        Mood::Says(status) => {
            *response.status_mut() = StatusCode::from_u16(status).expect("a status");
            send(r#"{"message":"said the CRM"}"#);
        }
        Mood::Busy(seconds) => {
            *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
            response.headers_mut().insert("retry-after", seconds.into());
        }
        Mood::Faults => {
            *response.status_mut() = StatusCode::MULTI_STATUS;
            let faults =
                json!([{ "status": "error", "category": "VALIDATION_ERROR", "message": "no such property" }]);
            send(
                &json!({ "status": "COMPLETE", "results": [], "numErrors": 1, "errors": faults }).to_string(),
            );
        }
    }
    Ok(response)
}

/// Computes the signature of Standard Webhooks without the library.
fn check_signature(headers: &HeaderMap, body: &[u8]) -> Result<(), String> {
    let text = |name: &str| {
        let value = headers.get(name).and_then(|value| value.to_str().ok());
        value.ok_or(format!("`{name}` is missing"))
    };
    let (id, seconds) = (text("webhook-id")?, text("webhook-timestamp")?);
    if id != text("idempotency-key")? {
        return Err("two ids for one lead".to_owned());
    }
    let age = crate::tokens::now() - seconds.parse::<i64>().map_err(|error| error.to_string())?;
    if !(-5..=60).contains(&age) {
        return Err(format!("{OTHER_TIME} {age} s ago"));
    }
    let message = [id.as_bytes(), b".", seconds.as_bytes(), b".", body].concat();
    let signed = jsonwebtoken::crypto::sign(&message, &EncodingKey::from_secret(KEY), Algorithm::HS256);
    // The same bytes in two encodings.
    let signed = signed.expect("a signature").replace('-', "+").replace('_', "/");
    match text("webhook-signature")? == format!("v1,{signed}=") {
        true => Ok(()),
        false => Err("the signature is wrong".to_owned()),
    }
}

/// Answers as HubSpot documents it.
fn check_upsert(headers: &HeaderMap, body: &[u8]) -> Result<(), String> {
    if headers.get("authorization").is_none_or(|value| value != &format!("Bearer {TOKEN}")) {
        return Err("without its token".to_owned());
    }
    let body: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let inputs = body["inputs"].as_array().filter(|inputs| !inputs.is_empty()).ok_or("no inputs")?;
    for input in inputs {
        let properties = input["properties"].as_object().ok_or("no properties")?;
        let sound = input["idProperty"] == "email"
            && input["id"].as_str().is_some_and(|id| id.contains('@'))
            && properties.values().all(Value::is_string);
        if !sound {
            return Err(format!("not an input of an upsert: {input}"));
        }
    }
    Ok(())
}
