//! Checks what the provider has signed: the ID token, as OpenID Connect Core 3.1.3.7 says, and signed user info.
//!
//! Only algorithms count whose key the provider alone has: never a shared secret, never none.

use super::super::SsoError;
use aws_lc_rs::digest;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::{Jwk, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Header, Validation};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::str::FromStr;

const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

/// The provider's keys. One that is not understood leaves the others.
#[derive(Deserialize)]
pub struct Keys {
    keys: Vec<Value>,
}

impl Keys {
    /// Returns the keys that may have signed a token with this header.
    fn for_header(&self, header: &Header) -> Vec<DecodingKey> {
        let keys = self.keys.iter().filter_map(|key| Jwk::deserialize(key).ok());
        let fits = |key: &Jwk| {
            let is_named = header.kid.is_none() || key.common.key_id == header.kid;
            let is_for_signatures = matches!(key.common.public_key_use, None | Some(PublicKeyUse::Signature));
            let algorithm = key.common.key_algorithm.as_ref().map(KeyAlgorithm::to_string);
            let is_for_algorithm = algorithm
                .is_none_or(|name| Algorithm::from_str(&name).is_ok_and(|algorithm| algorithm == header.alg));
            is_named && is_for_signatures && is_for_algorithm
        };
        let keys = keys.filter(fits).filter_map(|key| DecodingKey::from_jwk(&key).ok());
        keys.filter(|key| key.family() == header.alg.family()).collect()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("the token cannot be read")]
    Unreadable,
    #[error("signature: none of the provider's keys is meant")]
    NoKey,
    #[error("signature: {0}")]
    Signature(#[from] jsonwebtoken::errors::Error),
    #[error("{0}")]
    Claim(&'static str),
}

impl From<TokenError> for SsoError {
    fn from(error: TokenError) -> Self {
        match error {
            TokenError::Unreadable => Self::Provider(error.to_string()),
            _ => Self::Token(error.to_string()),
        }
    }
}

/// The claims that count here. `groups` is no standard, but common: a list, or one name.
#[derive(Deserialize)]
pub struct Claims {
    pub sub: String,
    pub email: Option<String>,
    pub email_verified: Option<bool>,
    pub groups: Option<Value>,
}

impl Claims {
    pub fn groups(&self) -> Option<Vec<String>> {
        match self.groups.as_ref()? {
            Value::String(name) => Some(vec![name.clone()]),
            Value::Array(names) => Some(names.iter().filter_map(Value::as_str).map(str::to_owned).collect()),
            _ => None,
        }
    }
}

#[derive(Deserialize)]
struct IdClaims {
    iss: String,
    aud: Audience,
    exp: i64,
    #[expect(dead_code, reason = "must be there")]
    iat: i64,
    nbf: Option<i64>,
    nonce: Option<String>,
    azp: Option<String>,
    at_hash: Option<String>,
    #[serde(flatten)]
    claims: Claims,
}

#[derive(Deserialize)]
struct InfoClaims {
    iss: String,
    aud: Audience,
    #[serde(flatten)]
    claims: Claims,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

impl Audience {
    /// Whether a token is for this client and no other: we trust no other.
    fn is_only(&self, client_id: &str) -> bool {
        match self {
            Self::One(audience) => audience == client_id,
            Self::Several(audiences) => {
                !audiences.is_empty() && audiences.iter().all(|audience| audience == client_id)
            }
        }
    }
}

/// What tokens are compared with.
pub struct Verifier<'a> {
    pub issuer: &'a str,
    pub client_id: &'a str,
    /// Seconds since 1970.
    pub now: i64,
}

impl Verifier<'_> {
    pub fn id_token(
        &self,
        token: &str,
        keys: &Keys,
        nonce: &str,
        access_token: &str,
    ) -> Result<Claims, TokenError> {
        let (header, said): (Header, IdClaims) = verify_signature(token, keys)?;
        self.check_origin(&said.iss, &said.aud)?;
        let faults = [
            (said.exp <= self.now, "the ID token has expired"),
            (said.nbf.is_some_and(|from| from > self.now), "the ID token is not valid yet"),
            (said.nonce.as_deref() != Some(nonce), "the nonce is of another sign-in"),
            (
                said.azp.is_some_and(|party| party != self.client_id),
                "the ID token was issued to another client",
            ),
            (
                said.at_hash.is_some_and(|hash| hash != token_hash(header.alg, access_token)),
                "the access token is not the one that the ID token names",
            ),
        ];
        match faults.into_iter().find(|(is_fault, _)| *is_fault) {
            Some((_, fault)) => Err(TokenError::Claim(fault)),
            None => Ok(said.claims),
        }
    }

    pub fn user_info(&self, token: &str, keys: &Keys) -> Result<Claims, TokenError> {
        let (_, said): (_, InfoClaims) = verify_signature(token, keys)?;
        self.check_origin(&said.iss, &said.aud)?;
        Ok(said.claims)
    }

    fn check_origin(&self, issuer: &str, audience: &Audience) -> Result<(), TokenError> {
        if issuer != self.issuer {
            return Err(TokenError::Claim("the token is of another issuer"));
        }
        match audience.is_only(self.client_id) {
            true => Ok(()),
            false => Err(TokenError::Claim("the token is for another client")),
        }
    }
}

fn verify_signature<C: DeserializeOwned>(token: &str, keys: &Keys) -> Result<(Header, C), TokenError> {
    let header = jsonwebtoken::decode_header(token).map_err(|_| TokenError::Unreadable)?;
    if !ALGORITHMS.contains(&header.alg) {
        return Err(TokenError::Claim("the algorithm of the signature is not accepted"));
    }
    // `crit` names extensions that must be understood, and we understand none.
    let is_jwt = header.typ.as_deref().is_none_or(|typ| typ.eq_ignore_ascii_case("jwt"));
    if header.crit.is_some() || !is_jwt {
        return Err(TokenError::Claim("the token is of another type"));
    }
    // The claims are checked above, against the clock that tests can move.
    let mut validation = Validation::new(header.alg);
    validation.validate_exp = false;
    validation.validate_aud = false;
    validation.required_spec_claims.clear();
    let mut last = TokenError::NoKey;
    for key in keys.for_header(&header) {
        match jsonwebtoken::decode::<C>(token, &key, &validation) {
            Ok(decoded) => return Ok((header, decoded.claims)),
            Err(error) => last = error.into(),
        }
    }
    Err(last)
}

/// The left half of the access token's hash, by the algorithm of the signature.
fn token_hash(algorithm: Algorithm, access_token: &str) -> String {
    let hash = match algorithm {
        Algorithm::RS256 | Algorithm::PS256 | Algorithm::ES256 => &digest::SHA256,
        Algorithm::RS384 | Algorithm::PS384 | Algorithm::ES384 => &digest::SHA384,
        _ => &digest::SHA512,
    };
    let hash = digest::digest(hash, access_token.as_bytes());
    let hash = hash.as_ref();
    BASE64_URL_SAFE_NO_PAD.encode(&hash[..hash.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_lc_rs::rand::SystemRandom;
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
    use jsonwebtoken::EncodingKey;
    use serde_json::json;

    const NOW: i64 = 1_794_709_061;
    const VERIFIER: Verifier = Verifier { issuer: "https://id.example", client_id: "stoa", now: NOW };

    fn new_key() -> EncodingKey {
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        EncodingKey::from_ec_der(pkcs8.unwrap().as_ref())
    }

    /// The published key, with this in its fields.
    fn keys(key: &EncodingKey, fields: Value) -> Keys {
        let mut published =
            serde_json::to_value(Jwk::from_encoding_key(key, Algorithm::ES256).unwrap()).unwrap();
        published["kid"] = "1".into();
        published.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        Keys { keys: vec![json!({ "kty": "unheard of" }), published] }
    }

    fn claims() -> Value {
        json!({ "iss": "https://id.example", "aud": "stoa", "sub": "7", "nonce": "n", "iat": NOW, "exp": NOW + 60 })
    }

    fn header(kid: &str) -> Header {
        Header { kid: Some(kid.to_owned()), ..Header::new(Algorithm::ES256) }
    }

    fn check(token: &str, keys: &Keys) -> Result<String, String> {
        let claims = VERIFIER.id_token(token, keys, "n", "access");
        claims.map(|claims| claims.sub).map_err(|error| error.to_string())
    }

    #[test]
    fn only_the_key_that_is_meant_verifies() {
        let (key, other) = (new_key(), new_key());
        let sign = |header: &Header, key: &EncodingKey| jsonwebtoken::encode(header, &claims(), key).unwrap();
        let good = sign(&header("1"), &key);
        let without_id = sign(&Header::new(Algorithm::ES256), &key);
        let published = keys(&key, json!({}));
        assert_eq!(check(&good, &published), Ok("7".to_owned()));
        assert_eq!(check(&without_id, &published), Ok("7".to_owned()));
        assert!(check(&sign(&header("1"), &other), &published).unwrap_err().starts_with("signature: "));
        let no_key = Err(TokenError::NoKey.to_string());
        assert_eq!(check(&sign(&header("2"), &key), &published), no_key);
        assert_eq!(check(&good, &keys(&key, json!({ "use": "enc" }))), no_key);
        assert_eq!(check(&good, &keys(&key, json!({ "alg": "ES384" }))), no_key);
        assert_eq!(check(&good, &Keys { keys: Vec::new() }), no_key);
    }

    #[test]
    fn no_shared_secret_no_missing_signature_no_other_type() {
        let key = new_key();
        let published = keys(&key, json!({}));
        let not_accepted = Err("the algorithm of the signature is not accepted".to_owned());
        let secret = EncodingKey::from_secret(published.keys[1]["x"].as_str().unwrap().as_bytes());
        let by_secret = Header { kid: Some("1".to_owned()), ..Header::new(Algorithm::HS256) };
        let token = jsonwebtoken::encode(&by_secret, &claims(), &secret).unwrap();
        assert_eq!(check(&token, &published), not_accepted);
        let encode = |value: Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let unsigned = format!("{}.{}.", encode(json!({ "alg": "none", "kid": "1" })), encode(claims()));
        assert_eq!(check(&unsigned, &published), Err(TokenError::Unreadable.to_string()));
        for wrong in [
            Header { typ: Some("logout+jwt".to_owned()), ..header("1") },
            Header { crit: Some(vec!["x".to_owned()]), ..header("1") },
        ] {
            let token = jsonwebtoken::encode(&wrong, &claims(), &key).unwrap();
            assert_eq!(check(&token, &published), Err("the token is of another type".to_owned()));
        }
    }

    #[test]
    fn the_access_token_is_the_one_that_is_named() {
        // From OpenID Connect Core, appendix A.3.
        let token = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y";
        assert_eq!(token_hash(Algorithm::RS256, token), "77QmUPtjPfzWtF2AnpK9RQ");
    }
}
