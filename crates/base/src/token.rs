//! Gateway tokens and gateway identities: only this file issues and verifies them.
//!
//! Both are HS256 JWTs under one secret, and so is the description of the client whose request the gateway forwards. They
//! differ in `typ`, so that an identity, which every service sees, is not accepted as a token, nor a token as an identity.
//! Older secrets still verify, so that a secret can be replaced without ending all sessions.

use crate::Clock;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::net::IpAddr;
use std::time::Duration;
use strum::IntoStaticStr;

pub const MAX_TOKEN_BYTES: usize = 8 * 1024;
pub const IDENTITY_TTL: Duration = Duration::from_secs(60);
const IDENTITY_TYPE: &str = "gateway-identity+jwt";
const FORWARDED_TYPE: &str = "gateway-forwarded+jwt";
const LEEWAY_SECONDS: i64 = 5;

/// The scope of tokens whose `projectId` is an email address that the provider of single sign-on has verified.
pub const VERIFIED_EMAIL: &str = "email";

/// Where a token leads to, as the gateway's paths name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "UPPERCASE")]
#[strum(serialize_all = "UPPERCASE")]
pub enum Route {
    Auth,
    Kv,
    Build,
    Core,
}

impl Route {
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// What a token says about its bearer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Claims {
    pub project_id: String,
    pub route: Route,
    pub scopes: Vec<String>,
    #[serde(default)]
    pub environment: String,
    #[serde(default)]
    pub issued_by: String,
    /// What a user is called whose id `project_id` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// The generation of the administrator's record that the token was issued for. Absent in tokens of guests and of other
    /// tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<String>,
    /// The grant of the session that the token was issued for: without it, the token is refused. Absent in tokens that no
    /// session was needed for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
}

impl Claims {
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes.iter().any(|own| own == scope)
    }
}

/// Verified claims, and the time for which they are valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified<C = Claims> {
    pub claims: C,
    /// Seconds since 1970; 0 if the token does not say.
    pub issued_at: i64,
    not_before: Option<i64>,
    expires: i64,
    /// When the caller's token expires, which may be after the identity expires.
    token_expires: Option<i64>,
}

impl<C> Verified<C> {
    /// Returns whether the token or identity is valid at this time.
    pub fn holds_at(&self, now_ms: i64) -> bool {
        let now = now_ms.div_euclid(1000);
        self.expires.saturating_add(LEEWAY_SECONDS) > now
            && self.not_before.is_none_or(|from| from.saturating_sub(LEEWAY_SECONDS) <= now)
    }

    /// Returns when the caller's token expires, in milliseconds since 1970; none if that is not known.
    pub fn token_expires_at_ms(&self) -> Option<i64> {
        self.token_expires.map(|end| end.saturating_mul(1000))
    }

    /// Returns whether the caller's token has expired, for streams that go on after the request was accepted.
    pub fn token_has_expired(&self, now_ms: i64) -> bool {
        let now = now_ms.div_euclid(1000);
        self.token_expires.is_some_and(|end| end.saturating_add(LEEWAY_SECONDS) <= now)
    }
}

/// What a proxy says about the client's own request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forwarded {
    #[serde(rename = "for")]
    pub client: IpAddr,
    #[serde(rename = "https")]
    pub is_https: bool,
    /// The host that the client has requested; empty if it has named none.
    pub host: String,
    /// The path under which the client sees the service, such as `/kv`; empty if it is the root.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub prefix: Cow<'static, str>,
}

#[derive(Debug, thiserror::Error)]
#[error("the token does not verify")]
pub struct InvalidToken;

/// A token could not be made, which no input can cause.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct SigningFailed(#[from] jsonwebtoken::errors::Error);

#[derive(Serialize)]
struct Issued<'a, C> {
    #[serde(flatten)]
    claims: &'a C,
    iss: &'a str,
    aud: &'a str,
    iat: i64,
    exp: i64,
    #[serde(rename = "tokenExp", skip_serializing_if = "Option::is_none")]
    token_expires: Option<i64>,
}

/// The claims that are checked here; jsonwebtoken checks issuer and audience.
#[derive(Deserialize)]
struct Received<C> {
    #[serde(flatten)]
    claims: C,
    exp: i64,
    nbf: Option<i64>,
    iat: Option<i64>,
    #[serde(rename = "tokenExp")]
    token_expires: Option<i64>,
}

/// Issues and verifies tokens and identities.
pub struct Tokens {
    encoding: EncodingKey,
    /// The first belongs to `encoding`.
    decoding: Vec<DecodingKey>,
    validation: Validation,
    issuer: String,
    audience: String,
    clock: Clock,
}

impl Tokens {
    pub fn new(secret: &[u8], issuer: &str, audience: &str, clock: Clock) -> Self {
        let mut validation = Validation::new(Algorithm::HS256);
        validation.set_issuer(&[issuer]);
        validation.set_audience(&[audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        // `Verified` checks the times, with a clock that tests can move.
        validation.validate_exp = false;
        Self {
            encoding: EncodingKey::from_secret(secret),
            decoding: vec![DecodingKey::from_secret(secret)],
            validation,
            issuer: issuer.to_owned(),
            audience: audience.to_owned(),
            clock,
        }
    }

    /// Also verifies what was signed with these secrets; does not sign with them.
    pub fn accepting<T: AsRef<[u8]>>(mut self, older: &[T]) -> Self {
        self.decoding.extend(older.iter().map(|secret| DecodingKey::from_secret(secret.as_ref())));
        self
    }

    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    pub fn issue(&self, claims: &Claims, ttl: Duration) -> Result<String, SigningFailed> {
        self.sign(&Header::new(Algorithm::HS256), claims, ttl, None)
    }

    /// Issues an identity, which tells a service who the caller is. It is short-lived, and not accepted as a token.
    pub fn issue_identity(&self, claims: &Claims) -> Result<String, SigningFailed> {
        self.sign(&identity_header(), claims, IDENTITY_TTL, None)
    }

    /// Issues an identity for a caller with a token. It also says when the token expires.
    pub fn introduce(&self, caller: &Verified) -> Result<String, SigningFailed> {
        self.sign(&identity_header(), &caller.claims, IDENTITY_TTL, caller.token_expires)
    }

    pub fn verify(&self, token: &str) -> Result<Verified, InvalidToken> {
        let verified = self.check(token, |typ| typ.is_none_or(|typ| typ.eq_ignore_ascii_case("jwt")))?;
        Ok(Verified { token_expires: Some(verified.expires), ..verified })
    }

    pub fn verify_identity(&self, token: &str) -> Result<Verified, InvalidToken> {
        self.check(token, |typ| typ == Some(IDENTITY_TYPE))
    }

    /// Signs what a service is told about the client of a forwarded request. Valid for as long as an identity.
    pub fn issue_forwarded(&self, forwarded: &Forwarded) -> Result<String, SigningFailed> {
        let header = Header { typ: Some(FORWARDED_TYPE.to_owned()), ..Header::new(Algorithm::HS256) };
        self.sign(&header, forwarded, IDENTITY_TTL, None)
    }

    pub fn verify_forwarded(&self, token: &str) -> Result<Forwarded, InvalidToken> {
        self.check(token, |typ| typ == Some(FORWARDED_TYPE)).map(|verified| verified.claims)
    }

    fn sign<C: Serialize>(
        &self,
        header: &Header,
        claims: &C,
        ttl: Duration,
        token_expires: Option<i64>,
    ) -> Result<String, SigningFailed> {
        let iat = self.clock.now_ms().div_euclid(1000);
        let exp = iat + ttl.as_secs() as i64;
        let issued = Issued { claims, iss: &self.issuer, aud: &self.audience, iat, exp, token_expires };
        Ok(jsonwebtoken::encode(header, &issued, &self.encoding)?)
    }

    fn check<C: DeserializeOwned>(
        &self,
        token: &str,
        typ_fits: impl Fn(Option<&str>) -> bool,
    ) -> Result<Verified<C>, InvalidToken> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(InvalidToken);
        }
        let mut keys = self.decoding.iter();
        let decoded =
            keys.find_map(|key| jsonwebtoken::decode::<Received<C>>(token, key, &self.validation).ok());
        let decoded = decoded.ok_or(InvalidToken)?;
        // `crit` names extensions that a verifier must understand, and this one understands none.
        if decoded.header.crit.is_some() || !typ_fits(decoded.header.typ.as_deref()) {
            return Err(InvalidToken);
        }
        let Received { claims, exp: expires, nbf: not_before, iat, token_expires } = decoded.claims;
        let issued_at = iat.unwrap_or(0);
        let verified = Verified { claims, issued_at, not_before, expires, token_expires };
        if verified.holds_at(self.clock.now_ms()) { Ok(verified) } else { Err(InvalidToken) }
    }
}

fn identity_header() -> Header {
    Header { typ: Some(IDENTITY_TYPE.to_owned()), ..Header::new(Algorithm::HS256) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";
    const NOW: i64 = 1_794_709_061_000;

    fn tokens() -> (Tokens, Clock) {
        let clock = Clock::fixed(NOW);
        (Tokens::new(SECRET, "stoa", "stoa", clock.clone()), clock)
    }

    fn claims() -> Claims {
        Claims {
            project_id: "guest".into(),
            route: Route::Build,
            scopes: vec!["guest".into()],
            environment: "staging".into(),
            issued_by: "stoa".into(),
            username: None,
            generation: None,
            grant: None,
        }
    }

    #[test]
    fn a_token_brings_its_claims_back_until_it_expires() {
        let (tokens, clock) = tokens();
        let token = tokens.issue(&claims(), Duration::from_secs(3600)).unwrap();
        assert_eq!(tokens.verify(&token).unwrap().claims, claims());
        clock.advance(Duration::from_secs(3604));
        assert!(tokens.verify(&token).is_ok(), "within the leeway");
        clock.advance(Duration::from_secs(1));
        assert!(tokens.verify(&token).is_err());
    }

    #[test]
    fn tokens_and_identities_are_not_interchangeable() {
        let (tokens, _) = tokens();
        let token = tokens.issue(&claims(), Duration::from_secs(60)).unwrap();
        let identity = tokens.issue_identity(&claims()).unwrap();
        assert!(tokens.verify_identity(&identity).is_ok());
        assert!(tokens.verify(&identity).is_err());
        assert!(tokens.verify_identity(&token).is_err());
    }

    #[test]
    fn an_older_secret_verifies_and_signs_nothing() {
        let (old, clock) = tokens();
        let rotated = Tokens::new(&[9; 32], "stoa", "stoa", clock.clone())
            .accepting(&[[8; 32], *b"0123456789abcdef0123456789abcdef"]);
        let hour = Duration::from_secs(3600);
        assert!(rotated.verify(&old.issue(&claims(), hour).unwrap()).is_ok());
        assert!(rotated.verify_identity(&old.issue_identity(&claims()).unwrap()).is_ok());
        let new = rotated.issue(&claims(), hour).unwrap();
        assert!(old.verify(&new).is_err(), "the first secret signs");
        assert!(Tokens::new(&[9; 32], "stoa", "stoa", clock).verify(&new).is_ok());
        assert!(
            rotated
                .verify(
                    &Tokens::new(&[7; 32], "stoa", "stoa", Clock::fixed(NOW)).issue(&claims(), hour).unwrap()
                )
                .is_err()
        );
    }

    #[test]
    fn an_identity_says_when_the_callers_token_expires() {
        let (tokens, clock) = tokens();
        let token = tokens.issue(&claims(), Duration::from_secs(3600)).unwrap();
        clock.advance(Duration::from_secs(3580));
        let identity = tokens.introduce(&tokens.verify(&token).unwrap()).unwrap();
        let caller = tokens.verify_identity(&identity).unwrap();
        assert!(!caller.token_has_expired(clock.now_ms()));
        clock.advance(Duration::from_secs(25));
        assert!(caller.holds_at(clock.now_ms()), "the identity itself is still valid");
        assert!(caller.token_has_expired(clock.now_ms()));
        let unknown = tokens.verify_identity(&tokens.issue_identity(&claims()).unwrap()).unwrap();
        assert!(!unknown.token_has_expired(i64::MAX));
    }

    #[test]
    fn each_claim_must_have_its_type() {
        let (tokens, _) = tokens();
        let exp = NOW / 1000 + 60;
        let good = json!({ "projectId": "a", "route": "KV", "scopes": ["admin"], "iss": "stoa", "aud": "stoa",
                           "environment": "staging", "issuedBy": "stoa", "iat": NOW / 1000, "exp": exp });
        let sign = |claims: &serde_json::Value| {
            let key = EncodingKey::from_secret(SECRET);
            jsonwebtoken::encode(&Header::new(Algorithm::HS256), claims, &key).unwrap()
        };
        assert!(tokens.verify(&sign(&good)).is_ok());
        for (claim, wrong) in [
            ("projectId", json!(7)),
            ("route", json!("build")),
            ("route", json!(["BUILD"])),
            ("scopes", json!("admin")),
            ("scopes", json!([1])),
            ("environment", json!(1)),
            ("issuedBy", json!(null)),
            ("exp", json!("9999999999")),
            ("exp", json!(9999999999.5)),
            ("exp", json!(null)),
            ("iat", json!("now")),
            ("nbf", json!("now")),
            ("nbf", json!(exp)),
            ("iss", json!("other")),
            ("iss", json!(null)),
            ("aud", json!("other")),
            ("aud", json!([])),
        ] {
            let mut bad = good.clone();
            bad[claim] = wrong.clone();
            assert!(tokens.verify(&sign(&bad)).is_err(), "{claim} = {wrong}");
        }
        for claim in ["projectId", "route", "scopes", "iss", "aud", "exp"] {
            let mut bad = good.clone();
            bad.as_object_mut().unwrap().remove(claim);
            assert!(tokens.verify(&sign(&bad)).is_err(), "without {claim}");
        }
    }
}
