//! What a request and its answer look like on the other side: which headers stay, go and are added. Pure.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Request, Version};
use kit::serve::{Connection, RequestId, X_REQUEST_ID};
use kit::token::Route;
use std::net::IpAddr;

pub static X_GATEWAY_ROUTE: HeaderName = HeaderName::from_static("x-gateway-route");
pub static X_GATEWAY_IDENTITY: HeaderName = HeaderName::from_static("x-gateway-identity");
pub static X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
pub static X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
pub static X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
static X_REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");

/// The six above that are set, and `Host`.
const ADDED_HEADERS: usize = 7;

/// The proxies in front of us whose word on the client we take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies(pub Vec<(IpAddr, u8)>);

impl TrustedProxies {
    fn contains(&self, ip: IpAddr) -> bool {
        let ip = ip.to_canonical();
        self.0.iter().any(|(network, bits)| match (network, ip) {
            (IpAddr::V4(network), IpAddr::V4(ip)) => same_prefix(&network.octets(), &ip.octets(), *bits),
            (IpAddr::V6(network), IpAddr::V6(ip)) => same_prefix(&network.octets(), &ip.octets(), *bits),
            _ => false,
        })
    }

    /// The nearest address that is not one of our own proxies.
    pub fn client(&self, connection: &Connection, headers: &HeaderMap) -> IpAddr {
        let peer = connection.peer.ip().to_canonical();
        if !self.contains(peer) {
            return peer;
        }
        let listed = headers.get_all(&X_FORWARDED_FOR).iter().filter_map(|value| value.to_str().ok());
        let addresses: Vec<IpAddr> =
            listed.flat_map(|list| list.split(',')).filter_map(|text| text.trim().parse().ok()).collect();
        addresses.into_iter().rev().find(|ip| !self.contains(*ip)).unwrap_or(peer)
    }
}

fn same_prefix(network: &[u8], address: &[u8], bits: u8) -> bool {
    let (whole, rest) = (usize::from(bits / 8), bits % 8);
    let mask = !(0xffu8.checked_shr(u32::from(rest)).unwrap_or(0));
    network[..whole] == address[..whole] && (rest == 0 || network[whole] & mask == address[whole] & mask)
}

impl std::str::FromStr for TrustedProxies {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        let networks = entries.map(|entry| {
            let (address, bits) = entry.split_once('/').unwrap_or((entry, ""));
            let address: Option<IpAddr> = address.parse().ok();
            let longest = if address.is_some_and(|ip| ip.is_ipv4()) { 32 } else { 128 };
            let bits = if bits.is_empty() { Some(longest) } else { bits.parse().ok() };
            address
                .zip(bits.filter(|bits| *bits <= longest))
                .ok_or(format!("`{entry}` is not an address or network: expected `10.0.0.1` or `10.0.0.0/8`"))
        });
        networks.collect::<Result<_, _>>().map(Self)
    }
}

/// What the target is told beside what the client sent.
pub struct Introduction<'a> {
    pub route: Route,
    pub identity: Option<&'a HeaderValue>,
    pub request_id: &'a RequestId,
    pub connection: &'a Connection,
    pub trusted: &'a TrustedProxies,
}

/// Turns the client's headers into those for the target; `Host` is the target's own and set with it.
pub fn prepare<B>(request: &mut Request<B>, introduction: &Introduction<'_>) {
    let sent_host = request.headers_mut().remove(header::HOST);
    let host = match request.uri().authority() {
        Some(authority) => HeaderValue::from_str(authority.as_str()).ok(),
        None => sent_host,
    };
    let is_http2 = request.version() == Version::HTTP_2;
    let headers = request.headers_mut();
    if is_http2 {
        join_cookies(headers);
    }
    let trusted = introduction.trusted.contains(introduction.connection.peer.ip());
    strip(headers, |name| {
        is_hop_by_hop(name)
            || name == header::AUTHORIZATION
            || is_gateway_header(name)
            || (!trusted && is_forwarding_header(name))
    });
    headers.reserve(ADDED_HEADERS);
    headers.insert(&X_GATEWAY_ROUTE, HeaderValue::from_static(introduction.route.as_str()));
    if let Some(identity) = introduction.identity {
        headers.insert(&X_GATEWAY_IDENTITY, identity.clone());
    }
    headers.insert(&X_REQUEST_ID, introduction.request_id.clone().into_header());
    let peer = &introduction.connection.peer_ip;
    if trusted {
        headers.append(&X_FORWARDED_FOR, peer.clone());
        headers.entry(&X_FORWARDED_PROTO).or_insert(HeaderValue::from_static("http"));
    } else {
        headers.insert(&X_FORWARDED_FOR, peer.clone());
        headers.insert(&X_FORWARDED_PROTO, HeaderValue::from_static("http"));
    }
    if let Some(host) = host {
        headers.entry(&X_FORWARDED_HOST).or_insert(host);
    }
}

/// What concerns only the connection to the target stays there.
pub fn prepare_response(headers: &mut HeaderMap) {
    strip(headers, is_hop_by_hop);
}

/// Removes what `goes`, and whatever `Connection` names as its own.
fn strip(headers: &mut HeaderMap, goes: impl Fn(&HeaderName) -> bool) {
    if headers.contains_key(header::CONNECTION) {
        strip_named_by_connection(headers);
    }
    // Few go, so looking again after each costs less than a list of them.
    while let Some(name) = headers.keys().find(|name| goes(name)).cloned() {
        headers.remove(name);
    }
}

fn strip_named_by_connection(headers: &mut HeaderMap) {
    let values: Vec<HeaderValue> = headers.get_all(header::CONNECTION).iter().cloned().collect();
    for name in values.iter().flat_map(|value| value.as_bytes().split(|byte| *byte == b',')) {
        if let Ok(name) = HeaderName::from_bytes(name.trim_ascii()) {
            headers.remove(name);
        }
    }
}

fn is_hop_by_hop(name: &HeaderName) -> bool {
    [header::CONNECTION, header::TE, header::TRANSFER_ENCODING, header::UPGRADE, header::PROXY_AUTHENTICATE]
        .contains(name)
        || matches!(
            name.as_str(),
            "keep-alive" | "proxy-connection" | "proxy-authorization" | "http2-settings"
        )
}

/// Also in the spelling that some servers fold into the same name.
fn is_gateway_header(name: &HeaderName) -> bool {
    let name = name.as_str().as_bytes();
    name.starts_with(b"x-gateway-") || name.starts_with(b"x_gateway") || name.starts_with(b"x-gateway_")
}

fn is_forwarding_header(name: &HeaderName) -> bool {
    name == header::FORWARDED || *name == X_REAL_IP || name.as_str().starts_with("x-forwarded-")
}

/// HTTP/2 sends cookies one by one; HTTP/1.1 knows only one list.
fn join_cookies(headers: &mut HeaderMap) {
    let cookies: Vec<&[u8]> = headers.get_all(header::COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if cookies.len() > 1
        && let Ok(joined) = HeaderValue::from_bytes(&cookies.join(&b"; "[..]))
    {
        headers.insert(header::COOKIE, joined);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_contain_what_they_say() {
        let trusted: TrustedProxies = "10.0.0.0/9, 192.168.1.7, fd00::/8".parse().unwrap();
        for inside in ["10.127.255.255", "192.168.1.7", "fdab::1", "::ffff:10.1.2.3"] {
            assert!(trusted.contains(inside.parse().unwrap()), "{inside}");
        }
        for outside in ["10.128.0.0", "192.168.1.8", "fe80::1", "127.0.0.1"] {
            assert!(!trusted.contains(outside.parse().unwrap()), "{outside}");
        }
        assert!("0.0.0.0/0".parse::<TrustedProxies>().unwrap().contains("8.8.8.8".parse().unwrap()));
        for bad in ["10.0.0.0/33", "x", "10.0.0.0/-1", "10.0.0"] {
            assert!(bad.parse::<TrustedProxies>().is_err(), "{bad}");
        }
    }

    #[test]
    fn what_connection_names_goes_with_it() {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONNECTION, HeaderValue::from_static("close, X-Hop"));
        headers.insert("x-hop", HeaderValue::from_static("1"));
        headers.insert("x-stays", HeaderValue::from_static("1"));
        prepare_response(&mut headers);
        assert_eq!(headers.keys().collect::<Vec<_>>(), ["x-stays"]);
    }
}
