//! An OpenID Connect provider with faults that the test chooses: signs any claims with its own key.

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use reqwest::Url;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::tokens::now;

pub struct Issuer {
    pub url: String,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

struct Shared {
    url: String,
    state: Mutex<State>,
}

struct State {
    key: EncodingKey,
    key_id: String,
    /// The claims of the next ID token.
    claims: Value,
    /// What the token endpoint answers instead of tokens.
    refusal: Option<(u16, Value)>,
    /// The forms that the token endpoint has received.
    exchanges: Vec<String>,
}

impl Issuer {
    pub async fn start() -> Self {
        Self::start_at("127.0.0.1:0").await
    }

    pub async fn start_at(address: &str) -> Self {
        let listener = TcpListener::bind(address).await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("a bound address"));
        let (key, key_id) = (new_key(), "1".to_owned());
        let state = State { key, key_id, claims: Value::Null, refusal: None, exchanges: Vec::new() };
        let shared = Arc::new(Shared { url: url.clone(), state: Mutex::new(state) });
        let answering = shared.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let shared = answering.clone();
                let service = service_fn(move |request| respond(request, shared.clone()));
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), service));
            }
        });
        Self { url, shared, accepting }
    }

    /// Returns the claims of a valid ID token for this sign-in, for the test to change.
    pub fn good_claims(&self, authorize_url: &str) -> Value {
        json!({
            "iss": self.url, "aud": "stoa", "sub": "1", "iat": now(), "exp": now() + 300,
            "nonce": parameter(authorize_url, "nonce"), "email": "ada@example.org", "email_verified": true,
            "groups": [],
        })
    }

    pub fn say(&self, claims: Value) {
        let mut state = self.shared.state.lock().unwrap();
        state.claims = claims;
        state.refusal = None;
    }

    pub fn refuse(&self, status: u16, answer: Value) {
        self.shared.state.lock().unwrap().refusal = Some((status, answer));
    }

    /// Signs with another key from now on, and publishes it under this name.
    pub fn change_key(&self, key_id: &str) {
        let mut state = self.shared.state.lock().unwrap();
        (state.key, state.key_id) = (new_key(), key_id.to_owned());
    }

    pub fn exchanges(&self) -> Vec<String> {
        self.shared.state.lock().unwrap().exchanges.clone()
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Returns a parameter of an address, which must have it.
pub fn parameter(url: &str, name: &str) -> String {
    let url: Url = url.parse().expect("an address");
    let found = url.query_pairs().find(|(own, _)| own == name);
    found.unwrap_or_else(|| panic!("no {name} in {url}")).1.into_owned()
}

async fn respond(
    request: Request<Incoming>,
    shared: Arc<Shared>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await.expect("a whole body").to_bytes();
    let (status, answer) = match path.as_str() {
        "/.well-known/openid-configuration" => (200, metadata(&shared.url)),
        "/jwks" => (200, json!({ "keys": [public_key(&shared.state.lock().unwrap())] })),
        "/token" => exchange(&mut shared.state.lock().unwrap(), &body),
        _ => (404, Value::Null),
    };
    let response = Response::builder().status(status).header("content-type", "application/json");
    Ok(response.body(Full::from(answer.to_string())).expect("a response"))
}

fn metadata(url: &str) -> Value {
    json!({
        "issuer": url,
        "authorization_endpoint": format!("{url}/authorize"),
        "token_endpoint": format!("{url}/token"),
        "jwks_uri": format!("{url}/jwks"),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256", "none"],
    })
}

fn exchange(state: &mut State, body: &[u8]) -> (u16, Value) {
    state.exchanges.push(String::from_utf8_lossy(body).into_owned());
    if let Some(refusal) = &state.refusal {
        return refusal.clone();
    }
    let header = Header { kid: Some(state.key_id.clone()), ..Header::new(Algorithm::ES256) };
    let token = jsonwebtoken::encode(&header, &state.claims, &state.key).expect("a token");
    (200, json!({ "access_token": "a", "token_type": "Bearer", "expires_in": 60, "id_token": token }))
}

fn public_key(state: &State) -> Value {
    let mut key = Jwk::from_encoding_key(&state.key, Algorithm::ES256).expect("a public key");
    key.common.key_id = Some(state.key_id.clone());
    serde_json::to_value(key).expect("JSON")
}

fn new_key() -> EncodingKey {
    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key");
    EncodingKey::from_ec_der(pair.to_pkcs8v1().expect("a key as DER").as_ref())
}
