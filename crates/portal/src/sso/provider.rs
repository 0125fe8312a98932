//! The OpenID Connect provider: where it asks users to sign in, and what it says of a user who comes back with a code.
//!
//! Its metadata is read at the first sign-in, again after an hour, and if a token is signed with a key that is not in it.
//! The crate `openidconnect` checks signatures and claims; what is accepted is set here.

mod transport;

use super::records::Attempt;
use super::{ProviderUser, SsoError, SsoSettings};
use base::Clock;
use chrono::{DateTime, Utc};
use openidconnect::core::{
    CoreAuthDisplay, CoreAuthPrompt, CoreAuthenticationFlow, CoreClientAuthMethod, CoreErrorResponseType,
    CoreGenderClaim, CoreJsonWebKey, CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm as Algorithm,
    CoreProviderMetadata, CoreRevocableToken, CoreRevocationErrorResponse, CoreTokenIntrospectionResponse,
    CoreTokenType,
};
use openidconnect::{
    AccessTokenHash, AdditionalClaims, AuthType, AuthorizationCode, ClaimsVerificationError, ClientId,
    ClientSecret, CsrfToken, DiscoveryError, EmptyExtraTokenFields, EndpointMaybeSet, EndpointNotSet,
    EndpointSet, IdTokenFields, IssuerUrl, Nonce, OAuth2TokenResponse, PkceCodeChallenge, PkceCodeVerifier,
    RedirectUrl, RequestTokenError, Scope, SignatureVerificationError, StandardErrorResponse,
    StandardTokenResponse, SubjectIdentifier, TokenResponse, UserInfoClaims, UserInfoError,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use transport::{Transport, TransportError};

const KNOWN_FOR: Duration = Duration::from_secs(60 * 60);
/// The algorithms of signatures that are accepted: those with a key that only the provider has.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RsaSsaPkcs1V15Sha256,
    Algorithm::RsaSsaPkcs1V15Sha384,
    Algorithm::RsaSsaPkcs1V15Sha512,
    Algorithm::RsaSsaPssSha256,
    Algorithm::RsaSsaPssSha384,
    Algorithm::RsaSsaPssSha512,
    Algorithm::EcdsaP256Sha256,
    Algorithm::EcdsaP384Sha384,
    Algorithm::EdDsa,
];

/// A claim that is not in the standard, but common: a list of names, or one name.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Groups {
    groups: Option<Value>,
}

impl AdditionalClaims for Groups {}

type Tokens = StandardTokenResponse<
    IdTokenFields<
        Groups,
        EmptyExtraTokenFields,
        CoreGenderClaim,
        CoreJweContentEncryptionAlgorithm,
        Algorithm,
    >,
    CoreTokenType,
>;

type Client = openidconnect::Client<
    Groups,
    CoreAuthDisplay,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJsonWebKey,
    CoreAuthPrompt,
    StandardErrorResponse<CoreErrorResponseType>,
    Tokens,
    CoreTokenIntrospectionResponse,
    CoreRevocableToken,
    CoreRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

pub struct Provider {
    issuer: String,
    client_id: ClientId,
    client_secret: Option<ClientSecret>,
    transport: Transport,
    clock: Clock,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    metadata: Option<Arc<CoreProviderMetadata>>,
    read_at: i64,
    /// The last failure and its time: requests that waited for it do not try again.
    failed: Option<(i64, String)>,
}

/// What is needed of an ID token and of the user info.
struct UserClaims {
    subject: SubjectIdentifier,
    email: Option<String>,
    email_verified: bool,
    groups: Option<Vec<String>>,
}

impl Provider {
    pub fn new(settings: &SsoSettings, clock: Clock) -> Result<Self, reqwest::Error> {
        Ok(Self {
            issuer: settings.issuer.clone(),
            client_id: ClientId::new(settings.client_id.clone()),
            client_secret: settings.client_secret.clone().map(ClientSecret::new),
            transport: Transport::new()?,
            clock,
            known: Mutex::default(),
        })
    }

    pub async fn reach(&self) -> Result<(), SsoError> {
        self.metadata(KNOWN_FOR).await.map(drop)
    }

    pub async fn authorize_url(&self, state: &str, attempt: &Attempt) -> Result<String, SsoError> {
        let metadata = self.metadata(KNOWN_FOR).await?;
        let client = self.client(&metadata, attempt)?;
        let verifier = PkceCodeVerifier::new(attempt.verifier.clone());
        let (state, nonce) = (CsrfToken::new(state.to_owned()), Nonce::new(attempt.nonce.clone()));
        let flow = CoreAuthenticationFlow::AuthorizationCode;
        let mut request = client
            .authorize_url(flow, || state, || nonce)
            .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier))
            .add_scope(Scope::new("email".to_owned()));
        // Some providers tell groups only if asked for them, and others refuse scopes that they do not know.
        let groups = Scope::new("groups".to_owned());
        if metadata.scopes_supported().is_some_and(|scopes| scopes.contains(&groups)) {
            request = request.add_scope(groups);
        }
        let (url, ..) = request.url();
        Ok(url.into())
    }

    /// Returns the user that a code stands for.
    pub async fn user(&self, code: &str, attempt: &Attempt) -> Result<ProviderUser, SsoError> {
        let mut metadata = self.metadata(KNOWN_FOR).await?;
        let mut client = self.client(&metadata, attempt)?;
        let exchange = client.exchange_code(AuthorizationCode::new(code.to_owned()));
        let exchange = exchange.map_err(|error| SsoError::Provider(error.to_string()))?;
        let exchange = exchange.set_pkce_verifier(PkceCodeVerifier::new(attempt.verifier.clone()));
        let tokens = exchange.request_async(&self.transport).await.map_err(of_exchange)?;
        let said = match self.verify(&client, &tokens, attempt) {
            Err(ClaimsVerificationError::SignatureVerification(
                SignatureVerificationError::NoMatchingKey,
            )) => {
                metadata = self.metadata(Duration::ZERO).await?;
                client = self.client(&metadata, attempt)?;
                self.verify(&client, &tokens, attempt)
            }
            verified => verified,
        };
        let mut said = said.map_err(|error| SsoError::Token(described(&error)))?;
        if said.email.is_none() || said.groups.is_none() {
            self.add_user_info(&client, &tokens, &mut said).await?;
        }
        Ok(ProviderUser {
            subject: said.subject.to_string(),
            email: said.email.filter(|_| said.email_verified),
            groups: said.groups.unwrap_or_default(),
        })
    }

    fn verify(
        &self,
        client: &Client,
        tokens: &Tokens,
        attempt: &Attempt,
    ) -> Result<UserClaims, ClaimsVerificationError> {
        let other = |text: &str| ClaimsVerificationError::Other(text.to_owned());
        let now = DateTime::<Utc>::from_timestamp_millis(self.clock.now_ms()).unwrap_or_default();
        let verifier = client.id_token_verifier().set_allowed_algs(ALGORITHMS).set_time_fn(move || now);
        let token = tokens.id_token().ok_or_else(|| other("there is no ID token"))?;
        let claims = token.claims(&verifier, &Nonce::new(attempt.nonce.clone()))?;
        if claims.authorized_party().is_some_and(|party| *party != self.client_id) {
            return Err(other("the ID token was issued to another client"));
        }
        if let Some(expected) = claims.access_token_hash() {
            let signature = ClaimsVerificationError::SignatureVerification;
            let algorithm = token.signing_alg().map_err(signature)?;
            let key = token.signing_key(&verifier).map_err(signature)?;
            let actual = AccessTokenHash::from_token(tokens.access_token(), algorithm, key);
            if actual.ok().as_ref() != Some(expected) {
                return Err(other("the access token is not the one that the ID token names"));
            }
        }
        Ok(UserClaims {
            subject: claims.subject().clone(),
            email: claims.email().map(|email| email.to_string()),
            email_verified: claims.email_verified() == Some(true),
            groups: names(&claims.additional_claims().groups),
        })
    }

    /// Adds what the ID token does not say from the user info.
    async fn add_user_info(
        &self,
        client: &Client,
        tokens: &Tokens,
        said: &mut UserClaims,
    ) -> Result<(), SsoError> {
        let request = client.user_info(tokens.access_token().clone(), Some(said.subject.clone()));
        // A provider need not have user info.
        let Ok(request) = request else { return Ok(()) };
        let more: UserInfoClaims<Groups, CoreGenderClaim> =
            request.request_async(&self.transport).await.map_err(of_user_info)?;
        if said.email.is_none() {
            said.email = more.email().map(|email| email.to_string());
            said.email_verified = more.email_verified() == Some(true);
        }
        let groups = said.groups.take();
        said.groups = groups.or_else(|| names(&more.additional_claims().groups));
        Ok(())
    }

    fn client(&self, metadata: &CoreProviderMetadata, attempt: &Attempt) -> Result<Client, SsoError> {
        let redirect = RedirectUrl::new(attempt.redirect_uri.clone());
        let redirect =
            redirect.map_err(|error| SsoError::Provider(format!("the way back is no address: {error}")))?;
        let (id, secret) = (self.client_id.clone(), self.client_secret.clone());
        let client = Client::from_provider_metadata(metadata.clone(), id, secret).set_redirect_uri(redirect);
        let basic = CoreClientAuthMethod::ClientSecretBasic;
        // By the standard, a provider without a list takes this one.
        let takes_basic =
            metadata.token_endpoint_auth_methods_supported().is_none_or(|methods| methods.contains(&basic));
        Ok(client.set_auth_type(if takes_basic { AuthType::BasicAuth } else { AuthType::RequestBody }))
    }

    async fn metadata(&self, not_older: Duration) -> Result<Arc<CoreProviderMetadata>, SsoError> {
        let asked_at = self.clock.now_ms();
        let mut known = self.known.lock().await;
        let is_new = asked_at.saturating_sub(known.read_at) < not_older.as_millis() as i64;
        if let Some(metadata) = known.metadata.as_ref().filter(|_| is_new) {
            return Ok(metadata.clone());
        }
        if let Some((_, failure)) = known.failed.as_ref().filter(|(at, _)| *at > asked_at) {
            return Err(SsoError::Provider(failure.clone()));
        }
        let issuer = IssuerUrl::new(self.issuer.clone());
        let issuer =
            issuer.map_err(|error| SsoError::Provider(format!("the issuer is no address: {error}")))?;
        match CoreProviderMetadata::discover_async(issuer, &self.transport).await {
            Ok(metadata) => {
                let metadata = Arc::new(metadata);
                *known =
                    Known { metadata: Some(metadata.clone()), read_at: self.clock.now_ms(), failed: None };
                Ok(metadata)
            }
            Err(error) => {
                let failure = of_discovery(&error);
                known.failed = Some((self.clock.now_ms(), failure.clone()));
                Err(SsoError::Provider(failure))
            }
        }
    }
}

/// Returns what the `error` of a callback means. Any client may have written it: it goes to the log only, and only if it is
/// a plain word.
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

fn names(groups: &Option<Value>) -> Option<Vec<String>> {
    match groups.as_ref()? {
        Value::String(name) => Some(vec![name.clone()]),
        Value::Array(names) => Some(names.iter().filter_map(Value::as_str).map(str::to_owned).collect()),
        _ => None,
    }
}

type ExchangeError = RequestTokenError<TransportError, StandardErrorResponse<CoreErrorResponseType>>;

/// Turns an error of the exchange into ours. Bodies may hold tokens, so they are not repeated.
fn of_exchange(error: ExchangeError) -> SsoError {
    match error {
        RequestTokenError::ServerResponse(answer) => match answer.error() {
            CoreErrorResponseType::InvalidGrant => SsoError::Code("the provider refuses the code".to_owned()),
            _ => refusal(answer.error().as_ref()),
        },
        RequestTokenError::Request(error) => SsoError::Provider(error.to_string()),
        RequestTokenError::Parse(..) | RequestTokenError::Other(_) => {
            SsoError::Provider("the answer with the tokens cannot be read".to_owned())
        }
    }
}

fn of_user_info(error: UserInfoError<TransportError>) -> SsoError {
    match error {
        UserInfoError::ClaimsVerification(error) => SsoError::Token(described(&error)),
        UserInfoError::Request(error) => SsoError::Provider(error.to_string()),
        UserInfoError::Response(status, ..) => SsoError::Provider(format!("user info: status {status}")),
        _ => SsoError::Provider("user info cannot be read".to_owned()),
    }
}

fn of_discovery(error: &DiscoveryError<TransportError>) -> String {
    match error {
        DiscoveryError::Request(error) => error.to_string(),
        DiscoveryError::Response(status, ..) => format!("what it says of itself: status {status}"),
        error => format!("what it says of itself: {error}"),
    }
}

fn described(error: &ClaimsVerificationError) -> String {
    match error {
        ClaimsVerificationError::SignatureVerification(error) => format!("signature: {error}"),
        ClaimsVerificationError::InvalidNonce(_) => "the nonce is of another sign-in".to_owned(),
        error => error.to_string(),
    }
}
