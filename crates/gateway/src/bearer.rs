//! Who calls: bearer tokens are verified, and verified ones are cached. `store::admins` knows whether an administrator still
//! is one.

use crate::error::GatewayError;
use base::Clock;
use base::token::{IDENTITY_TTL, InvalidToken, Route, Tokens, Verified};
use http::{HeaderMap, HeaderValue, header};
use kit::guests::{Guests, is_guest};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A verified token and the identity that tells the target of it.
#[derive(Clone)]
pub struct Caller {
    token: Arc<str>,
    pub verified: Arc<Verified>,
    pub identity: HeaderValue,
    identity_made_ms: i64,
}

pub struct Bearers {
    tokens: Arc<Tokens>,
    guests: Guests,
    clock: Clock,
    shards: [Mutex<HashMap<Signature, Caller>>; SHARDS],
}

/// The end of a token's signature, the key of the cache: it is as random as a hash, and costs nothing. The whole token is
/// compared after.
type Signature = [u8; 16];

const SHARDS: usize = 16;
const CALLERS_PER_SHARD: usize = 256;
/// Longer tokens are not cached, so that the cache is bounded in bytes as well.
const MAX_CACHED_TOKEN: usize = 1024;
/// An identity is used for half its life, so that a target has the other half to read it.
const IDENTITY_USE_MS: i64 = IDENTITY_TTL.as_millis() as i64 / 2;

impl Bearers {
    pub fn new(tokens: Arc<Tokens>, guests: Guests, clock: Clock) -> Self {
        Self { tokens, guests, clock, shards: std::array::from_fn(|_| Mutex::default()) }
    }

    /// Checks a caller for one route, in this order: token, route, scope, guests. None is a caller without a token, if
    /// none is needed.
    pub fn authorize(&self, headers: &HeaderMap, route: Route) -> Result<Option<Caller>, GatewayError> {
        let mut sent = headers.get_all(header::AUTHORIZATION).iter();
        let caller = match (sent.next(), sent.next()) {
            (None, _) if route == Route::Build => return Err(GatewayError::missing_token(route)),
            (None, _) => return Ok(None),
            (Some(value), None) if is_session_token(value) => return Err(GatewayError::session_token(route)),
            (Some(value), None) => self.caller(value),
            (Some(_), Some(_)) => Err(InvalidToken),
        };
        let caller = caller.map_err(|InvalidToken| GatewayError::invalid_token(route))?;
        let claims = &caller.verified.claims;
        if claims.route != route && !matches!(claims.route, Route::Core | Route::Auth) {
            return Err(GatewayError::route_mismatch(route, claims.route));
        }
        if !claims.has_scope("admin") && !claims.has_scope("guest") {
            return Err(GatewayError::invalid_token(route));
        }
        if self.guests == Guests::Off && is_guest(claims) {
            return Err(GatewayError::guests_off(route));
        }
        Ok(Some(caller))
    }

    fn caller(&self, authorization: &HeaderValue) -> Result<Caller, InvalidToken> {
        let token = bearer_token(authorization.as_bytes()).ok_or(InvalidToken)?;
        let signature: Signature = *token.last_chunk().ok_or(InvalidToken)?;
        let now = self.clock.now_ms();
        let shard = &self.shards[usize::from(signature[0]) % SHARDS];
        let mut known = shard.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(caller) = known.get_mut(&signature).filter(|caller| caller.token.as_bytes() == token) {
            if !caller.verified.holds_at(now) {
                known.remove(&signature);
                return Err(InvalidToken);
            }
            if !(0..=IDENTITY_USE_MS).contains(&(now - caller.identity_made_ms)) {
                *caller = self.introduce(&caller.token, caller.verified.clone(), now)?;
            }
            return Ok(caller.clone());
        }
        drop(known);
        let token = std::str::from_utf8(token).map_err(|_| InvalidToken)?;
        let caller = self.introduce(&token.into(), Arc::new(self.tokens.verify(token)?), now)?;
        if token.len() <= MAX_CACHED_TOKEN {
            let mut known = shard.lock().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= CALLERS_PER_SHARD {
                known.clear();
            }
            known.insert(signature, caller.clone());
        }
        Ok(caller)
    }

    fn introduce(&self, token: &Arc<str>, verified: Arc<Verified>, now: i64) -> Result<Caller, InvalidToken> {
        let identity = self.tokens.introduce(&verified).map_err(|_| InvalidToken)?;
        let identity = HeaderValue::try_from(identity).map_err(|_| InvalidToken)?;
        Ok(Caller { token: token.clone(), verified, identity, identity_made_ms: now })
    }
}

/// Returns what follows `Bearer `. The signature shows later whether it is a token.
fn bearer_token(authorization: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = authorization.split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then_some(token)
}

/// Tells whether this is a token of the knowledge service: those are 64 hexadecimal digits, and a gateway token never is.
fn is_session_token(authorization: &HeaderValue) -> bool {
    let token = bearer_token(authorization.as_bytes());
    token.is_some_and(|token| token.len() == 64 && token.iter().all(u8::is_ascii_hexdigit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::token::Claims;
    use std::time::Duration;

    fn bearers() -> (Bearers, Clock, HeaderMap) {
        let clock = Clock::fixed(1_794_709_061_000);
        let tokens = Arc::new(Tokens::new(&[7; 32], "stoa", "stoa", clock.clone()));
        let claims = Claims {
            project_id: "guest".into(),
            route: Route::Build,
            scopes: vec!["guest".into()],
            environment: "staging".into(),
            issued_by: "stoa".into(),
            username: None,
            generation: None,
            grant: None,
        };
        let token = tokens.issue(&claims, Duration::from_secs(3600)).unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, format!("Bearer {token}").parse().unwrap());
        (Bearers::new(tokens, Guests::Full, clock.clone()), clock, headers)
    }

    #[test]
    fn a_cached_token_still_expires() {
        let (bearers, clock, headers) = bearers();
        for _ in 0..2 {
            assert!(bearers.authorize(&headers, Route::Build).unwrap().is_some());
        }
        clock.advance(Duration::from_secs(3606));
        assert_eq!(bearers.authorize(&headers, Route::Build).map(drop).unwrap_err().code, "INVALID_TOKEN");
    }

    #[test]
    fn an_identity_is_renewed_before_it_expires() {
        let (bearers, clock, headers) = bearers();
        let first = bearers.authorize(&headers, Route::Build).unwrap().unwrap().identity;
        clock.advance(Duration::from_secs(30));
        assert_eq!(bearers.authorize(&headers, Route::Build).unwrap().unwrap().identity, first);
        clock.advance(Duration::from_secs(1));
        let second = bearers.authorize(&headers, Route::Build).unwrap().unwrap().identity;
        assert_ne!(second, first);
        clock.advance(Duration::from_secs(30));
        assert!(bearers.tokens.verify_identity(second.to_str().unwrap()).is_ok());
    }

    #[test]
    fn a_session_token_is_told_from_a_broken_gateway_token() {
        let (bearers, _, _) = bearers();
        let message = |token: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, format!("Bearer {token}").parse().unwrap());
            let error = bearers.authorize(&headers, Route::Core).map(drop).unwrap_err();
            assert_eq!(error.code, "INVALID_TOKEN");
            error.message.into_owned()
        };
        assert!(message(&"0aF9".repeat(16)).contains("X-Api-Key"));
        for token in ["", "x", &"0aF9".repeat(15), &"0aG9".repeat(16), "a.b.c"] {
            assert!(!message(token).contains("X-Api-Key"), "{token}");
        }
    }

    #[test]
    fn the_cache_is_bounded() {
        let (bearers, clock, _) = bearers();
        let tokens = Tokens::new(&[7; 32], "stoa", "stoa", clock);
        for number in 0..2 * SHARDS * CALLERS_PER_SHARD {
            let claims = Claims {
                project_id: number.to_string(),
                route: Route::Kv,
                scopes: vec!["admin".into()],
                environment: String::new(),
                issued_by: String::new(),
                username: None,
                generation: None,
                grant: None,
            };
            let token = tokens.issue(&claims, Duration::from_secs(60)).unwrap();
            bearers.caller(&format!("Bearer {token}").parse().unwrap()).map(drop).unwrap();
        }
        let kept: usize = bearers.shards.iter().map(|shard| shard.lock().unwrap().len()).sum();
        assert!(kept <= SHARDS * CALLERS_PER_SHARD, "{kept}");
    }
}
