//! Single sign-on: a user whom an OpenID Connect provider knows gets a session of the portal.
//!
//! `provider` speaks with the provider, `rules` say which users may come in, `records` stores sign-ins under way and sessions.
//! The cookies, and where a browser is sent, are left to `http`.

mod provider;
mod records;
mod rules;

pub use records::{ATTEMPT_LASTS, SESSION_LASTS, Session};

use base::Clock;
use base::token::{Claims, Route, VERIFIED_EMAIL};
use base::web::is_local_path;
use kit::headers::CookieSecure;
use provider::Provider;
use records::{Attempt, Records};
use rules::Rules;
use std::net::IpAddr;
use std::time::Duration;
use store::{Db, StoreError, rate};

/// Some proxies refuse longer headers.
const LONGEST_RETURN: usize = 2_000;
/// From one address: each sign-in leaves a record for some minutes, and needs no token.
const SIGN_INS_PER_MINUTE: i64 = 60;
const MINUTE: Duration = Duration::from_secs(60);

#[derive(Clone)]
pub struct SsoSettings {
    /// Exactly as the provider writes it.
    pub issuer: String,
    pub client_id: String,
    /// None for a public client, which uses PKCE alone.
    pub client_secret: Option<String>,
    /// The address of the portal for browsers, without a last `/`. If absent, it is the one that a browser asked for.
    pub public_url: Option<String>,
    pub admin_groups: Vec<String>,
    pub admin_domains: Vec<String>,
    /// If empty, every user of the provider may come in as a guest.
    pub guest_domains: Vec<String>,
    pub cookie_secure: CookieSecure,
    /// Goes into the claims of each session.
    pub environment: &'static str,
}

#[derive(Debug, thiserror::Error)]
pub enum SsoError {
    #[error("`returnTo` is not a path of this installation: expected one that starts with a single `/`")]
    ReturnTo,
    #[error("too many sign-ins from this address: wait a moment")]
    TooMany(Duration),
    #[error(
        "this sign-in is not known here: it has ended, took more than 10 minutes, or began in another browser; start again"
    )]
    Attempt(&'static str),
    #[error("the provider did not sign you in: start again, or ask an administrator")]
    Denied(String),
    #[error("the provider does not know this sign-in: start again")]
    Code(String),
    #[error("what the provider says of you cannot be trusted: start again, or ask an administrator")]
    Token(String),
    #[error("the provider of the sign-in cannot be used at the moment")]
    Provider(String),
    #[error(
        "you are signed in at the provider, but your account may not use this portal: ask an administrator"
    )]
    NotAllowed,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl SsoError {
    /// Returns what the log says besides. It is not for the user who signs in.
    pub fn detail(&self) -> &str {
        match self {
            Self::Attempt(detail) => detail,
            Self::Denied(detail) | Self::Code(detail) | Self::Token(detail) | Self::Provider(detail) => {
                detail
            }
            Self::ReturnTo | Self::TooMany(_) | Self::NotAllowed | Self::Store(_) => "",
        }
    }
}

/// Checks that the provider can be reached and has the issuer that is set. Returns the issuer, or what is wrong.
pub async fn check_provider(settings: &SsoSettings) -> Result<String, String> {
    let provider = Provider::new(settings, Clock::system()).map_err(|error| error.to_string())?;
    match provider.reach().await {
        Ok(()) => Ok(settings.issuer.clone()),
        Err(error) => Err(format!("{}: {}", settings.issuer, error.detail())),
    }
}

/// A user, as the provider describes them.
#[derive(Debug, PartialEq, Eq)]
pub struct ProviderUser {
    pub subject: String,
    /// Only an address that the provider has verified.
    pub email: Option<String>,
    pub groups: Vec<String>,
}

/// A sign-in that has begun.
pub struct Begun {
    /// Where the provider asks the user.
    pub url: String,
    /// What the browser must bring back.
    pub binding: String,
}

/// What the provider sends the browser back with.
pub struct Callback<'a> {
    pub state: Option<&'a str>,
    pub code: Option<&'a str>,
    pub error: Option<&'a str>,
    pub issuer: Option<&'a str>,
}

pub struct SignedIn {
    pub return_to: String,
    pub token: String,
    pub scope: &'static str,
}

pub struct Sso {
    pub settings: SsoSettings,
    db: Db,
    provider: Provider,
    rules: Rules,
    records: Records,
}

impl Sso {
    pub fn new(settings: SsoSettings, db: Db) -> Result<Self, reqwest::Error> {
        let provider = Provider::new(&settings, db.clock().clone())?;
        let rules = Rules::new(&settings);
        Ok(Self { provider, rules, records: Records::new(db.clone()), db, settings })
    }

    /// Begins a sign-in. `binding` is what the browser has of an earlier one: two tabs of one browser may sign in at the
    /// same time.
    pub async fn begin(
        &self,
        client: IpAddr,
        return_to: &str,
        redirect_uri: String,
        binding: Option<&str>,
    ) -> Result<Begun, SsoError> {
        if return_to.len() > LONGEST_RETURN || !is_local_path(return_to) {
            return Err(SsoError::ReturnTo);
        }
        let hit = rate::hit(&self.db, &format!("sso:{client}"), SIGN_INS_PER_MINUTE, MINUTE).await?;
        if !hit.allowed {
            let wait = hit.reset_at_ms.saturating_sub(self.db.clock().now_ms());
            return Err(SsoError::TooMany(Duration::from_millis(wait.max(0).unsigned_abs())));
        }
        let random = self.db.random();
        let binding = binding.filter(|binding| records::is_secret(binding)).map(str::to_owned);
        let binding = binding.unwrap_or_else(|| random.hex::<32>());
        let state = random.hex::<32>();
        let attempt = Attempt {
            binding: records::hashed(&binding),
            nonce: random.hex::<32>(),
            verifier: random.hex::<32>(),
            redirect_uri,
            return_to: return_to.to_owned(),
        };
        let url = self.provider.authorize_url(&state, &attempt).await?;
        self.records.keep_attempt(&state, &attempt).await?;
        Ok(Begun { url, binding })
    }

    /// Ends a sign-in. The state is checked first: a browser that did not begin this sign-in learns nothing and changes
    /// nothing.
    pub async fn finish(
        &self,
        callback: Callback<'_>,
        binding: Option<&str>,
        old_session: Option<&str>,
    ) -> Result<SignedIn, SsoError> {
        let attempt = self.records.take_attempt(callback.state, binding).await?;
        if callback.issuer.is_some_and(|issuer| issuer != self.settings.issuer) {
            return Err(SsoError::Token("the answer is of another issuer".to_owned()));
        }
        if let Some(error) = callback.error {
            return Err(provider::refusal(error));
        }
        let code = callback.code.ok_or_else(|| SsoError::Code("there is no `code`".to_owned()))?;
        let user = self.provider.user(code, &attempt).await?;
        let scope = self.rules.scope(&user).ok_or(SsoError::NotAllowed)?;
        let email_scope = user.email.is_some().then_some(VERIFIED_EMAIL);
        let claims = Claims {
            project_id: user.email.unwrap_or(user.subject),
            route: Route::Kv,
            scopes: std::iter::once(scope).chain(email_scope).map(str::to_owned).collect(),
            environment: self.settings.environment.to_owned(),
            issued_by: self.settings.issuer.clone(),
            username: None,
            generation: None,
            grant: None,
        };
        let token = self.db.random().hex::<32>();
        self.records.keep_session(&token, &claims, old_session).await?;
        Ok(SignedIn { return_to: attempt.return_to, token, scope })
    }

    /// Returns a session that has not expired.
    pub async fn session(&self, token: &str) -> Result<Option<Session>, StoreError> {
        self.records.session(token).await
    }

    /// Returns the claims of a gateway token for the user of a session. It opens every route, as a sign-in at the gateway
    /// does.
    pub fn gateway_claims(session: &Session) -> Claims {
        let claims = session.claims.clone();
        // A subject could be the name of an administrator here.
        let project_id = match claims.has_scope(VERIFIED_EMAIL) {
            true => claims.project_id,
            false => format!("sso:{}", claims.project_id),
        };
        Claims { project_id, route: Route::Core, ..claims }
    }

    pub async fn end(&self, token: &str) -> Result<(), StoreError> {
        self.records.end_session(token).await
    }
}
