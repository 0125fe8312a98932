//! Which client a request comes from if a proxy forwards it: what a service trusts.
//!
//! The gateway signs what it says about the client in a header, wherever it runs. Other proxies are trusted only if
//! `TRUSTED_PROXIES` names them, also on this machine. Headers from others are removed, so that the `X-Forwarded-*` headers
//! that a service sees are true or absent.

use super::TrustedProxies;
use crate::headers::{self, is_forwarded_https};
use base::token::{Forwarded, IDENTITY_TTL, Tokens};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// The client whose request the gateway forwards, signed by the gateway.
pub const VOUCHED: HeaderName = HeaderName::from_static("x-gateway-forwarded");
pub const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
pub const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
pub const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
pub const X_FORWARDED_PREFIX: HeaderName = HeaderName::from_static("x-forwarded-prefix");

/// A signed header is sent during the first half of its validity, so that a service has the other half to read it.
const USE_MS: i64 = IDENTITY_TTL.as_millis() as i64 / 2;

/// Returns the client's own request as the headers describe it. They must have passed a [`Door`] or come from a trusted
/// proxy.
pub fn forwarded(client: IpAddr, headers: &HeaderMap) -> Forwarded {
    let host = headers::text(headers, X_FORWARDED_HOST).or_else(|| headers::text(headers, header::HOST));
    let host = host.unwrap_or_default().to_owned();
    let prefix = headers::forwarded_prefix(headers).unwrap_or_default().to_owned().into();
    Forwarded { client, is_https: is_forwarded_https(headers), host, prefix }
}

pub fn sign_forwarded(forwarded: &Forwarded, tokens: &Tokens) -> Option<HeaderValue> {
    HeaderValue::try_from(tokens.issue_forwarded(forwarded).ok()?).ok()
}

/// A cache of the last signed header of a connection: most connections carry the requests of one client.
#[derive(Default)]
pub struct SignedForwarded(Mutex<Option<(Forwarded, HeaderValue, i64)>>);

impl SignedForwarded {
    /// Returns `forwarded`, signed for a service.
    pub fn get(&self, forwarded: Forwarded, tokens: &Tokens, now: i64) -> Option<HeaderValue> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((signed, header, made)) = &*last
            && *signed == forwarded
            && (0..USE_MS).contains(&(now - made))
        {
            return Some(header.clone());
        }
        let header = sign_forwarded(&forwarded, tokens)?;
        *last = Some((forwarded, header.clone(), now));
        Some(header)
    }
}

/// The check of forwarding headers at a service: which proxies it trusts. None by default.
#[derive(Clone, Default)]
pub struct Door {
    proxies: TrustedProxies,
    tokens: Option<Arc<Tokens>>,
}

/// How a request has arrived. It is an extension of every request that a service handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The nearest address that is not a trusted proxy.
    pub client: IpAddr,
    /// Whether the request says that it was forwarded, trusted or not.
    pub is_forwarded: bool,
}

impl Door {
    pub fn new(proxies: TrustedProxies, tokens: Arc<Tokens>) -> Self {
        Self { proxies, tokens: Some(tokens) }
    }

    pub(super) fn admit(&self, peer: IpAddr, headers: &mut HeaderMap) -> Arrival {
        let peer = peer.to_canonical();
        let is_forwarded = headers.keys().any(|name| name == VOUCHED || names_client(name));
        if let Some(vouched) = self.vouched(headers) {
            remove_forwarding(headers);
            write(&vouched, headers);
            return Arrival { client: vouched.client, is_forwarded };
        }
        if self.proxies.contains(peer) {
            return Arrival { client: self.proxies.client(peer, headers), is_forwarded };
        }
        remove_forwarding(headers);
        Arrival { client: peer, is_forwarded }
    }

    fn vouched(&self, headers: &mut HeaderMap) -> Option<Forwarded> {
        let signed = headers.remove(VOUCHED)?;
        self.tokens.as_ref()?.verify_forwarded(signed.to_str().ok()?).ok()
    }
}

fn write(forwarded: &Forwarded, headers: &mut HeaderMap) {
    let proto = if forwarded.is_https { "https" } else { "http" };
    let prefix = Some(&*forwarded.prefix).filter(|prefix| !prefix.is_empty());
    let values = [
        (X_FORWARDED_FOR, Some(&*forwarded.client.to_string())),
        (X_FORWARDED_PROTO, Some(proto)),
        (X_FORWARDED_HOST, Some(&*forwarded.host)),
        (X_FORWARDED_PREFIX, prefix),
    ];
    for (name, value) in values.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    }
}

fn remove_forwarding(headers: &mut HeaderMap) {
    let names: Vec<HeaderName> = headers.keys().filter(|name| is_forwarding(name)).cloned().collect();
    for name in names {
        headers.remove(name);
    }
}

/// Returns whether a header describes a client behind a proxy.
pub fn is_forwarding(name: &HeaderName) -> bool {
    names_client(name) || hyphenated(name).starts_with("x-forwarded-")
}

fn names_client(name: &HeaderName) -> bool {
    matches!(&*hyphenated(name), "forwarded" | "x-real-ip" | "x-forwarded-for")
}

/// Replaces underscores by hyphens, as some servers do.
pub fn hyphenated(name: &HeaderName) -> Cow<'_, str> {
    let name = name.as_str();
    if name.contains('_') { Cow::Owned(name.replace('_', "-")) } else { Cow::Borrowed(name) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Clock;
    use std::time::Duration;

    const CLIENT: &str = "203.0.113.7";

    fn door(clock: &Clock) -> (Door, Arc<Tokens>) {
        let tokens = Arc::new(Tokens::new(&[7; 32], "stoa", "stoa", clock.clone()));
        (Door::new("10.0.0.1".parse().unwrap(), tokens.clone()), tokens)
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
        pairs.collect()
    }

    /// Returns the client's address and the names of the remaining headers.
    fn admitted(door: &Door, peer: &str, mut headers: HeaderMap) -> (String, Vec<String>) {
        let arrival = door.admit(peer.parse().unwrap(), &mut headers);
        let mut left: Vec<String> = headers.keys().map(|name| name.as_str().to_owned()).collect();
        left.sort();
        (arrival.client.to_string(), left)
    }

    #[test]
    fn only_trusted_proxies_are_believed_and_this_machine_is_none() {
        let (door, _) = door(&Clock::fixed(0));
        let said = || {
            headers(&[
                ("x-forwarded-for", CLIENT),
                ("x-forwarded-proto", "https"),
                ("x-real-ip", "1.1.1.1"),
                ("x_forwarded_host", "evil.example"),
                ("accept", "*/*"),
            ])
        };
        for peer in ["127.0.0.1", "::1", "192.0.2.1"] {
            assert_eq!(admitted(&door, peer, said()), (peer.to_owned(), vec!["accept".to_owned()]));
            assert!(door.admit(peer.parse().unwrap(), &mut said()).is_forwarded);
            assert!(!door.admit(peer.parse().unwrap(), &mut headers(&[])).is_forwarded);
        }
        let (client, left) = admitted(&door, "::ffff:10.0.0.1", said());
        assert_eq!((client.as_str(), left.len()), (CLIENT, 5));
    }

    #[test]
    fn what_the_gateway_signed_is_believed_from_anywhere_for_a_minute() {
        let clock = Clock::fixed(1_794_709_061_000);
        let (door, tokens) = door(&clock);
        let sent = Forwarded {
            client: CLIENT.parse().unwrap(),
            is_https: true,
            host: "shop.example".to_owned(),
            prefix: "/outer/kv".into(),
        };
        let signed = sign_forwarded(&sent, &tokens).unwrap();
        let said =
            || headers(&[("x-gateway-forwarded", signed.to_str().unwrap()), ("x-forwarded-for", "1.1.1.1")]);
        let mut believed = said();
        assert_eq!(door.admit("127.0.0.1".parse().unwrap(), &mut believed).client, sent.client);
        assert_eq!(forwarded(sent.client, &believed), sent);
        assert!(!believed.contains_key(VOUCHED));
        clock.advance(Duration::from_secs(66));
        assert_eq!(admitted(&door, "127.0.0.1", said()), ("127.0.0.1".to_owned(), vec![]));
        let identity = headers(&[("x-gateway-forwarded", "no token")]);
        assert_eq!(admitted(&door, "127.0.0.1", identity), ("127.0.0.1".to_owned(), vec![]));
    }
}
