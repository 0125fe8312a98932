//! Gateway tokens and gateway identities: made and checked here, and nowhere else.
//!
//! Both are HS256 JWTs under one secret, and so is what the gateway says of the client whose request it forwards. They
//! differ in `typ`, so that an identity, which every worker sees, is never taken for a token, and a token never for an
//! identity.

use crate::Clock;
use crate::serve::Forwarded;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::time::Duration;

pub const MAX_TOKEN_BYTES: usize = 8 * 1024;
pub const IDENTITY_TTL: Duration = Duration::from_secs(60);
const IDENTITY_TYPE: &str = "gateway-identity+jwt";
const FORWARDED_TYPE: &str = "gateway-forwarded+jwt";
const LEEWAY_SECONDS: i64 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Route {
    Auth,
    Kv,
    Build,
    Core,
}

impl Route {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auth => "AUTH",
            Self::Kv => "KV",
            Self::Build => "BUILD",
            Self::Core => "CORE",
        }
    }
}

/// What a token says of its bearer.
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
}

impl Claims {
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes.iter().any(|own| own == scope)
    }
}

/// Claims that were checked, and the time for which that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified<C = Claims> {
    pub claims: C,
    not_before: Option<i64>,
    expires: i64,
}

impl<C> Verified<C> {
    pub fn holds_at(&self, now_ms: i64) -> bool {
        let now = now_ms.div_euclid(1000);
        self.expires.saturating_add(LEEWAY_SECONDS) > now
            && self.not_before.is_none_or(|from| from.saturating_sub(LEEWAY_SECONDS) <= now)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the token does not verify")]
pub struct InvalidToken;

#[derive(Serialize)]
struct Issued<'a, C> {
    #[serde(flatten)]
    claims: &'a C,
    iss: &'a str,
    aud: &'a str,
    iat: i64,
    exp: i64,
}

/// Only the claims whose times and types we check; issuer and audience are jsonwebtoken's to check.
#[derive(Deserialize)]
struct Received<C> {
    #[serde(flatten)]
    claims: C,
    exp: i64,
    nbf: Option<i64>,
    #[serde(rename = "iat")]
    _iat: Option<i64>,
}

pub struct Tokens {
    encoding: EncodingKey,
    decoding: DecodingKey,
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
        // The times are checked by `Verified`, against the clock that tests can move.
        validation.validate_exp = false;
        Self {
            encoding: EncodingKey::from_secret(secret),
            decoding: DecodingKey::from_secret(secret),
            validation,
            issuer: issuer.to_owned(),
            audience: audience.to_owned(),
            clock,
        }
    }

    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    pub fn issue(&self, claims: &Claims, ttl: Duration) -> Result<String, jsonwebtoken::errors::Error> {
        self.sign(&Header::new(Algorithm::HS256), claims, ttl)
    }

    /// Tells a worker who called. Short-lived, and refused as a bearer token.
    pub fn issue_identity(&self, claims: &Claims) -> Result<String, jsonwebtoken::errors::Error> {
        let header = Header { typ: Some(IDENTITY_TYPE.to_owned()), ..Header::new(Algorithm::HS256) };
        self.sign(&header, claims, IDENTITY_TTL)
    }

    pub fn verify(&self, token: &str) -> Result<Verified, InvalidToken> {
        self.check(token, |typ| typ.is_none_or(|typ| typ.eq_ignore_ascii_case("jwt")))
    }

    pub fn verify_identity(&self, token: &str) -> Result<Verified, InvalidToken> {
        self.check(token, |typ| typ == Some(IDENTITY_TYPE))
    }

    /// Tells a worker whose request is forwarded. Valid for as long as an identity.
    pub fn issue_forwarded(&self, forwarded: &Forwarded) -> Result<String, jsonwebtoken::errors::Error> {
        let header = Header { typ: Some(FORWARDED_TYPE.to_owned()), ..Header::new(Algorithm::HS256) };
        self.sign(&header, forwarded, IDENTITY_TTL)
    }

    pub fn verify_forwarded(&self, token: &str) -> Result<Forwarded, InvalidToken> {
        self.check(token, |typ| typ == Some(FORWARDED_TYPE)).map(|verified| verified.claims)
    }

    fn sign<C: Serialize>(
        &self,
        header: &Header,
        claims: &C,
        ttl: Duration,
    ) -> Result<String, jsonwebtoken::errors::Error> {
        let iat = self.clock.now_ms().div_euclid(1000);
        let exp = iat + ttl.as_secs() as i64;
        let issued = Issued { claims, iss: &self.issuer, aud: &self.audience, iat, exp };
        jsonwebtoken::encode(header, &issued, &self.encoding)
    }

    fn check<C: DeserializeOwned>(
        &self,
        token: &str,
        typ_fits: impl Fn(Option<&str>) -> bool,
    ) -> Result<Verified<C>, InvalidToken> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(InvalidToken);
        }
        let decoded = jsonwebtoken::decode::<Received<C>>(token, &self.decoding, &self.validation);
        let decoded = decoded.map_err(|_| InvalidToken)?;
        // `crit` names extensions that must be understood, and we understand none.
        if decoded.header.crit.is_some() || !typ_fits(decoded.header.typ.as_deref()) {
            return Err(InvalidToken);
        }
        let Received { claims, exp: expires, nbf: not_before, .. } = decoded.claims;
        let verified = Verified { claims, not_before, expires };
        if verified.holds_at(self.clock.now_ms()) { Ok(verified) } else { Err(InvalidToken) }
    }
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
