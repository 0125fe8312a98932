//! The OpenID Connect provider: where it asks users to sign in, and what it says of a user who comes back with a code.
//!
//! Its metadata is read at the first sign-in, again after an hour, and if a token is signed with a key that is not in it.
//! `id_token` checks what it signs; `transport` reaches it.

mod id_token;
mod transport;

use super::records::Attempt;
use super::{ProviderUser, SsoError, SsoSettings};
use aws_lc_rs::digest::{SHA256, digest};
use base::Clock;
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use form_urlencoded::{Serializer, byte_serialize};
use http::StatusCode;
use id_token::{Claims, Keys, TokenError, Verifier};
use reqwest::Url;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use transport::{Answer, Transport, TransportError};

const KNOWN_FOR: Duration = Duration::from_secs(60 * 60);
const WELL_KNOWN: &str = "/.well-known/openid-configuration";
const BASIC: &str = "client_secret_basic";

pub struct Provider {
    issuer: String,
    client_id: String,
    client_secret: Option<String>,
    transport: Transport,
    clock: Clock,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    metadata: Option<Arc<Metadata>>,
    read_at: i64,
    /// The last failure and its time: requests that waited for it do not try again.
    failed: Option<(i64, String)>,
}

/// What a provider publishes of itself, with its keys.
struct Metadata {
    published: Published,
    keys: Keys,
}

#[derive(Deserialize)]
struct Published {
    issuer: String,
    authorization_endpoint: Url,
    token_endpoint: Url,
    userinfo_endpoint: Option<Url>,
    jwks_uri: Url,
    #[serde(default)]
    scopes_supported: Vec<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

/// The answer to a code.
#[derive(Deserialize)]
struct Tokens {
    access_token: String,
    id_token: Option<String>,
}

/// The answer to a code that is not taken.
#[derive(Deserialize)]
struct Refused {
    error: String,
}

impl Provider {
    pub fn new(settings: &SsoSettings, clock: Clock) -> Result<Self, reqwest::Error> {
        Ok(Self {
            issuer: settings.issuer.clone(),
            client_id: settings.client_id.clone(),
            client_secret: settings.client_secret.clone(),
            transport: Transport::new()?,
            clock,
            known: Mutex::default(),
        })
    }

    pub async fn reach(&self) -> Result<(), SsoError> {
        self.metadata(KNOWN_FOR).await.map(drop)
    }

    /// Returns where the browser is sent to sign in.
    pub async fn authorize_url(&self, state: &str, attempt: &Attempt) -> Result<String, SsoError> {
        let Published { authorization_endpoint, scopes_supported, .. } =
            &self.metadata(KNOWN_FOR).await?.published;
        // Some providers tell groups only if asked for them, and others refuse scopes that they do not know.
        let asks_groups = scopes_supported.iter().any(|scope| scope == "groups");
        let scope = if asks_groups { "openid email groups" } else { "openid email" };
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, attempt.verifier.as_bytes()));
        let mut url = authorization_endpoint.clone();
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.client_id)
            .append_pair("redirect_uri", &attempt.redirect_uri)
            .append_pair("scope", scope)
            .append_pair("state", state)
            .append_pair("nonce", &attempt.nonce)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        Ok(url.into())
    }

    /// Returns the user that a code stands for.
    pub async fn user(&self, code: &str, attempt: &Attempt) -> Result<ProviderUser, SsoError> {
        let mut metadata = self.metadata(KNOWN_FOR).await?;
        let tokens = self.exchange(&metadata, code, attempt).await?;
        let id_token = tokens.id_token.as_deref();
        let id_token = id_token.ok_or_else(|| SsoError::Token("there is no ID token".to_owned()))?;
        let verifier = Verifier {
            issuer: &self.issuer,
            client_id: &self.client_id,
            now: self.clock.now_ms().div_euclid(1000),
        };
        let mut claims = verifier.id_token(id_token, &metadata.keys, &attempt.nonce, &tokens.access_token);
        if matches!(claims, Err(TokenError::NoKey)) {
            metadata = self.metadata(Duration::ZERO).await?;
            claims = verifier.id_token(id_token, &metadata.keys, &attempt.nonce, &tokens.access_token);
        }
        let mut claims = claims.map_err(SsoError::from)?;
        if claims.email.is_none() || claims.groups().is_none() {
            self.add_user_info(&verifier, &metadata, &tokens, &mut claims).await?;
        }
        Ok(ProviderUser {
            groups: claims.groups().unwrap_or_default(),
            email: claims.email.filter(|_| claims.email_verified == Some(true)),
            subject: claims.sub,
        })
    }

    async fn exchange(&self, metadata: &Metadata, code: &str, attempt: &Attempt) -> Result<Tokens, SsoError> {
        let (form, authorization) = self.exchange_form(&metadata.published, code, attempt);
        let endpoint = &metadata.published.token_endpoint;
        let answer = self.transport.post(endpoint, form, authorization).await.map_err(failed)?;
        if answer.status != StatusCode::OK {
            let refused = serde_json::from_slice::<Refused>(&answer.body);
            let refused = refused.map_err(|_| failed(format!("the code: status {}", answer.status)))?;
            return Err(match refused.error.as_str() {
                "invalid_grant" => SsoError::Code("the provider refuses the code".to_owned()),
                error => refusal(error),
            });
        }
        // The body may hold tokens, and is not repeated.
        let tokens = serde_json::from_slice(&answer.body);
        tokens.map_err(|_| failed("the answer with the tokens cannot be read"))
    }

    /// The form that exchanges a code, and the `Authorization` that goes with it.
    fn exchange_form(
        &self,
        published: &Published,
        code: &str,
        attempt: &Attempt,
    ) -> (String, Option<String>) {
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", &attempt.redirect_uri)
            .append_pair("code_verifier", &attempt.verifier);
        // By the standard, a provider without a list takes this one.
        let methods = published.token_endpoint_auth_methods_supported.as_ref();
        let takes_basic = methods.is_none_or(|methods| methods.iter().any(|method| method == BASIC));
        match &self.client_secret {
            Some(secret) if takes_basic => (form.finish(), Some(basic(&self.client_id, secret))),
            secret => {
                form.append_pair("client_id", &self.client_id);
                form.extend_pairs(secret.iter().map(|secret| ("client_secret", secret)));
                (form.finish(), None)
            }
        }
    }

    /// Asks for what the ID token does not say: many providers say little there.
    async fn add_user_info(
        &self,
        verifier: &Verifier<'_>,
        metadata: &Metadata,
        tokens: &Tokens,
        claims: &mut Claims,
    ) -> Result<(), SsoError> {
        // A provider need not have such an endpoint.
        let Some(endpoint) = &metadata.published.userinfo_endpoint else { return Ok(()) };
        let bearer = format!("Bearer {}", tokens.access_token);
        let answer = self.transport.get(endpoint, Some(bearer)).await.map_err(failed)?;
        if answer.status != StatusCode::OK {
            return Err(failed(format!("user info: status {}", answer.status)));
        }
        let more: Claims = match std::str::from_utf8(&answer.body) {
            Ok(signed) if answer.is("application/jwt") => {
                verifier.user_info(signed.trim(), &metadata.keys)?
            }
            _ => read(&answer, "user info")?,
        };
        if more.sub != claims.sub {
            return Err(SsoError::Token("user info is of another person".to_owned()));
        }
        if claims.email.is_none() {
            (claims.email, claims.email_verified) = (more.email, more.email_verified);
        }
        if claims.groups().is_none() {
            claims.groups = more.groups;
        }
        Ok(())
    }

    async fn metadata(&self, not_older: Duration) -> Result<Arc<Metadata>, SsoError> {
        let asked_at = self.clock.now_ms();
        let mut known = self.known.lock().await;
        // A time that is to come was noted before the clock was set back.
        let is_new = (0..not_older.as_millis() as i64).contains(&asked_at.saturating_sub(known.read_at));
        if let Some(metadata) = known.metadata.as_ref().filter(|_| is_new) {
            return Ok(metadata.clone());
        }
        if let Some((_, failure)) =
            known.failed.as_ref().filter(|(at, _)| *at > asked_at && *at <= self.clock.now_ms())
        {
            return Err(failed(failure));
        }
        match self.discover().await {
            Ok(metadata) => {
                let metadata = Arc::new(metadata);
                *known =
                    Known { metadata: Some(metadata.clone()), read_at: self.clock.now_ms(), failed: None };
                Ok(metadata)
            }
            Err(error) => {
                let failure = error.to_string();
                known.failed = Some((self.clock.now_ms(), failure.clone()));
                Err(failed(failure))
            }
        }
    }

    async fn discover(&self) -> Result<Metadata, DiscoveryError> {
        let url = Url::parse(&format!("{}{WELL_KNOWN}", self.issuer.trim_end_matches('/')))?;
        let published: Published = self.published(&url).await?;
        // Otherwise one provider could speak for another.
        if published.issuer != self.issuer {
            return Err(DiscoveryError::OtherIssuer(published.issuer));
        }
        let keys = self.published(&published.jwks_uri).await?;
        Ok(Metadata { published, keys })
    }

    async fn published<T: DeserializeOwned>(&self, url: &Url) -> Result<T, DiscoveryError> {
        let answer = self.transport.get(url, None).await?;
        match answer.status {
            StatusCode::OK => Ok(serde_json::from_slice(&answer.body)?),
            status => Err(DiscoveryError::Status(status)),
        }
    }
}

/// Why it is not known what the provider publishes of itself.
#[derive(Debug, thiserror::Error)]
enum DiscoveryError {
    #[error("the issuer is no address: {0}")]
    Issuer(#[from] url::ParseError),
    #[error(transparent)]
    Transport(#[from] TransportError),
    #[error("what it says of itself: status {0}")]
    Status(StatusCode),
    #[error("what it says of itself: {0}")]
    Unreadable(#[from] serde_json::Error),
    #[error("what it says of itself is of the issuer `{0}`")]
    OtherIssuer(String),
}

fn failed(what: impl ToString) -> SsoError {
    SsoError::Provider(what.to_string())
}

fn read<T: DeserializeOwned>(answer: &Answer, what: &str) -> Result<T, SsoError> {
    serde_json::from_slice(&answer.body).map_err(|_| failed(format!("{what} cannot be read")))
}

/// `Authorization` of a client with a secret; RFC 6749 has both encoded as in a form.
fn basic(client_id: &str, secret: &str) -> String {
    let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    format!("Basic {}", BASE64_STANDARD.encode(format!("{}:{}", encoded(client_id), encoded(secret))))
}

/// Returns what the `error` of a callback means. Any page may have written it: it goes no further than the log, and as a
/// word.
pub fn refusal(error: &str) -> SsoError {
    let is_word = error.len() <= 64 && error.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let word = if is_word { error } else { "an unknown error" };
    let detail = format!("the provider says: {word}");
    match word {
        "access_denied"
        | "login_required"
        | "consent_required"
        | "interaction_required"
        | "account_selection_required" => SsoError::Denied(detail),
        _ => SsoError::Provider(detail),
    }
}
