//! The head of a request as its target gets it: which headers stay, go and are added. Pure.

use base::token::Forwarded;
use base::token::Route;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Request, Uri};
use kit::headers::{forwarded_prefix, is_forwarded_https, text};
use kit::serve::{
    Connection, RequestId, TrustedProxies, VOUCHED, X_FORWARDED_FOR, X_FORWARDED_HOST, X_FORWARDED_PREFIX,
    X_FORWARDED_PROTO, X_REQUEST_ID, hyphenated, is_forwarding,
};
use std::borrow::Cow;

const X_GATEWAY_ROUTE: &str = "x-gateway-route";
const X_GATEWAY_IDENTITY: &str = "x-gateway-identity";

/// What the gateway adds to a request for its target.
pub struct Introduction<'a> {
    pub route: Route,
    pub identity: Option<&'a HeaderValue>,
    /// The path under which the client sees the target.
    pub prefix: &'a str,
    /// Whose request it is, signed.
    pub vouched: Option<&'a HeaderValue>,
    pub request_id: &'a RequestId,
    pub connection: &'a Connection,
    pub trusted: &'a TrustedProxies,
    /// The protocol that both sides are to change to.
    pub upgrade: Option<&'a HeaderValue>,
}

/// How the target finds the end of the request's body.
#[derive(Clone, Copy, PartialEq)]
pub enum BodyFraming {
    /// By `Content-Length` in the head.
    Plain,
    Chunked,
    /// There is no body, or all of it has been read.
    Ended,
}

/// The target's own path, then what followed the prefix, byte for byte.
pub struct TargetPath<'a> {
    pub host: &'a str,
    pub base: &'a str,
    pub path: &'a str,
    pub query: Option<&'a str>,
}

/// Writes the head of the client's request as the target is to see it.
pub fn write_head(
    out: &mut Vec<u8>,
    request: &Parts,
    target: &TargetPath<'_>,
    introduction: &Introduction<'_>,
    body: BodyFraming,
) {
    out.clear();
    for part in [request.method.as_str(), " ", target.base, target.path] {
        out.extend_from_slice(part.as_bytes());
    }
    if let Some(query) = target.query {
        out.push(b'?');
        out.extend_from_slice(query.as_bytes());
    }
    out.extend_from_slice(b" HTTP/1.1\r\n");
    write(out, "host", target.host.as_bytes());
    let trusted = introduction.trusted.contains(introduction.connection.peer.ip());
    write_headers_of_client(out, &request.headers, trusted);
    if body == BodyFraming::Chunked {
        write(out, "transfer-encoding", b"chunked");
    }
    write(out, X_GATEWAY_ROUTE, introduction.route.as_str().as_bytes());
    if let Some(identity) = introduction.identity {
        write(out, X_GATEWAY_IDENTITY, identity.as_bytes());
    }
    if let Some(vouched) = introduction.vouched {
        write(out, VOUCHED.as_str(), vouched.as_bytes());
    }
    write(out, X_REQUEST_ID.as_str(), introduction.request_id.as_str().as_bytes());
    write(out, X_FORWARDED_FOR.as_str(), introduction.connection.peer_ip.as_bytes());
    if !trusted || !request.headers.contains_key(X_FORWARDED_PROTO) {
        write(out, X_FORWARDED_PROTO.as_str(), b"http");
    }
    if !trusted || !request.headers.contains_key(X_FORWARDED_HOST) {
        write(out, X_FORWARDED_HOST.as_str(), host_of(&request.uri, &request.headers).as_bytes());
    }
    write(out, X_FORWARDED_PREFIX.as_str(), introduction.prefix.as_bytes());
    if let Some(protocol) = introduction.upgrade {
        write(out, "connection", b"upgrade");
        write(out, "upgrade", protocol.as_bytes());
    }
    out.extend_from_slice(b"\r\n");
}

fn write(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

fn write_headers_of_client(out: &mut Vec<u8>, headers: &HeaderMap, trusted: bool) {
    let named = named_by_connection(headers);
    let mut cookies = headers.get_all(header::COOKIE).iter();
    if let Some(first) = cookies.next() {
        // HTTP/2 sends cookies one by one; HTTP/1.1 knows only one list.
        out.extend_from_slice(b"cookie: ");
        out.extend_from_slice(first.as_bytes());
        for cookie in cookies {
            out.extend_from_slice(b"; ");
            out.extend_from_slice(cookie.as_bytes());
        }
        out.extend_from_slice(b"\r\n");
    }
    for (name, value) in headers {
        let goes = is_hop_by_hop(name)
            || matches!(name.as_str(), "host" | "authorization" | "cookie" | "expect" | "x-request-id")
            || *name == X_FORWARDED_PREFIX
            || is_gateway_header(name)
            || (!trusted && is_forwarding(name))
            || named.contains(name);
        if !goes {
            write(out, name.as_str(), value.as_bytes());
        }
    }
}

/// Returns the headers that `Connection` names, which are for this connection only. The length is never one of them: without
/// it, the target would take the body for another request.
fn named_by_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    let options = headers.get_all(header::CONNECTION).iter();
    let options = options.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    let names = options.map(<[u8]>::trim_ascii).filter(|option| !option.eq_ignore_ascii_case(b"keep-alive"));
    let names = names.filter_map(|name| HeaderName::from_bytes(name).ok());
    names.filter(|name| *name != header::CONTENT_LENGTH).collect()
}

fn host_of<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> &'a str {
    let authority = uri.authority().map(|authority| authority.as_str());
    authority.or_else(|| text(headers, header::HOST)).unwrap_or_default()
}

/// Returns whose request it is, as the trusted proxies say. `prefix` is that of the route; a proxy in front may have added
/// one of its own.
pub fn forwarded<B>(
    request: &Request<B>,
    prefix: &'static str,
    connection: &Connection,
    trusted: &TrustedProxies,
) -> Forwarded {
    let (peer, headers) = (connection.peer.ip(), request.headers());
    let client = trusted.client(peer, headers);
    let host = host_of(request.uri(), headers);
    if !trusted.contains(peer) {
        return Forwarded { client, is_https: false, host: host.to_owned(), prefix: prefix.into() };
    }
    let prefix = match forwarded_prefix(headers) {
        Some(outer) => Cow::Owned(format!("{outer}{prefix}")),
        None => Cow::Borrowed(prefix),
    };
    let host = text(headers, X_FORWARDED_HOST).unwrap_or(host).to_owned();
    Forwarded { client, is_https: is_forwarded_https(headers), host, prefix }
}

/// Tells whether a header concerns one connection only and is never passed on.
pub fn is_hop_by_hop(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "connection"
            | "keep-alive"
            | "proxy-authenticate"
            | "proxy-authorization"
            | "proxy-connection"
            | "te"
            | "transfer-encoding"
            | "upgrade"
            | "http2-settings"
    )
}

fn is_gateway_header(name: &HeaderName) -> bool {
    hyphenated(name).starts_with("x-gateway-")
}
