//! Gateway tokens as other programs would make them: valid ones, and every kind of forgery.

use crate::stoa::JWT_SECRET;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Validation};
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970.
#[expect(clippy::disallowed_methods, reason = "real time: the program under test has no other")]
pub fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970").as_secs() as i64
}

/// Returns the claims of a valid token for a route.
pub fn claims(route: &str, scope: &str) -> Value {
    json!({
        "projectId": "ada", "route": route, "scopes": [scope], "environment": "staging", "issuedBy": "stoa",
        "iss": "stoa", "aud": "stoa", "iat": now(), "exp": now() + 3600,
    })
}

/// Returns a valid token.
pub fn token(route: &str, scope: &str) -> String {
    sign(&claims(route, scope))
}

/// Returns a token that is valid at any time of these days, for a program whose clock differs.
pub fn token_for_days(route: &str, scope: &str) -> String {
    const DAYS: i64 = 3 * 24 * 3600;
    let mut claims = claims(route, scope);
    claims["iat"] = (now() - DAYS).into();
    claims["exp"] = (now() + DAYS).into();
    sign(&claims)
}

/// Signs claims with the right key.
pub fn sign(claims: &Value) -> String {
    sign_as(&json!({ "typ": "JWT", "alg": "HS256" }), claims, JWT_SECRET, Algorithm::HS256)
}

/// Signs any header and claims with any key and algorithm.
pub fn sign_as(header: &Value, claims: &Value, secret: &str, algorithm: Algorithm) -> String {
    let message = unsigned(header, claims);
    let key = EncodingKey::from_secret(secret.as_bytes());
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &key, algorithm).expect("a signature");
    format!("{message}.{signature}")
}

/// Encodes header and claims without a signature.
pub fn unsigned(header: &Value, claims: &Value) -> String {
    format!("{}.{}", base64url(header.to_string().as_bytes()), base64url(claims.to_string().as_bytes()))
}

/// Returns header and claims of a token after checking signature, issuer and audience.
pub fn verified(token: &str) -> (Value, Value) {
    let mut validation = Validation::new(Algorithm::HS256);
    validation.set_issuer(&["stoa"]);
    validation.set_audience(&["stoa"]);
    let key = DecodingKey::from_secret(JWT_SECRET.as_bytes());
    let decoded = jsonwebtoken::decode::<Value>(token, &key, &validation).expect("a token that verifies");
    (serde_json::to_value(decoded.header).expect("a header"), decoded.claims)
}

pub fn base64url(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for place in 0..=group.len() {
            text.push(char::from(ALPHABET[(bits >> (18 - 6 * place)) as usize & 63]));
        }
    }
    text
}
