//! What a request looks like on the other side: which headers stay, go and are added. Pure.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use kit::serve::{Connection, RequestId, TrustedProxies, X_REQUEST_ID};
use kit::token::Route;
use std::borrow::Cow;

const X_GATEWAY_ROUTE: &str = "x-gateway-route";
const X_GATEWAY_IDENTITY: &str = "x-gateway-identity";
const X_FORWARDED_FOR: &str = "x-forwarded-for";
const X_FORWARDED_PROTO: &str = "x-forwarded-proto";
const X_FORWARDED_HOST: &str = "x-forwarded-host";
const X_REAL_IP: &str = "x-real-ip";

/// What the target is told beside what the client sent.
pub struct Introduction<'a> {
    pub route: Route,
    pub identity: Option<&'a HeaderValue>,
    pub request_id: &'a RequestId,
    pub connection: &'a Connection,
    pub trusted: &'a TrustedProxies,
    /// The protocol that both sides are to change to.
    pub upgrade: Option<&'a HeaderValue>,
}

/// How the request's body is told apart from what follows it.
#[derive(Clone, Copy, PartialEq)]
pub enum BodyFraming {
    /// `Content-Length` stands in the head.
    Plain,
    Chunked,
    /// All of it has been taken from the client.
    Ended,
}

/// The target's own path, then what followed the prefix, byte for byte.
pub struct Place<'a> {
    pub host: &'a str,
    pub base: &'a str,
    pub path: &'a str,
    pub query: Option<&'a str>,
}

/// Writes the head of the client's request as the target is to see it.
pub fn write_head(
    out: &mut Vec<u8>,
    request: &Parts,
    place: &Place<'_>,
    introduction: &Introduction<'_>,
    body: BodyFraming,
) {
    out.clear();
    for part in [request.method.as_str(), " ", place.base, place.path] {
        out.extend_from_slice(part.as_bytes());
    }
    if let Some(query) = place.query {
        out.push(b'?');
        out.extend_from_slice(query.as_bytes());
    }
    out.extend_from_slice(b" HTTP/1.1\r\n");
    write(out, "host", place.host.as_bytes());
    let trusted = introduction.trusted.contains(introduction.connection.peer.ip());
    write_headers_of_client(out, &request.headers, trusted);
    if body == BodyFraming::Chunked {
        write(out, "transfer-encoding", b"chunked");
    }
    write(out, X_GATEWAY_ROUTE, introduction.route.as_str().as_bytes());
    if let Some(identity) = introduction.identity {
        write(out, X_GATEWAY_IDENTITY, identity.as_bytes());
    }
    write(out, X_REQUEST_ID.as_str(), introduction.request_id.as_str().as_bytes());
    write(out, X_FORWARDED_FOR, introduction.connection.peer_ip.as_bytes());
    if !trusted || !request.headers.contains_key(X_FORWARDED_PROTO) {
        write(out, X_FORWARDED_PROTO, b"http");
    }
    if !trusted || !request.headers.contains_key(X_FORWARDED_HOST) {
        write(out, X_FORWARDED_HOST, host_of(request));
    }
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
            || is_gateway_header(name)
            || (!trusted && is_forwarding_header(name))
            || named.contains(name);
        if !goes {
            write(out, name.as_str(), value.as_bytes());
        }
    }
}

/// `Connection` names headers that are for this connection only. Never the length: the target would take the body
/// for a request of its own.
fn named_by_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    let options = headers.get_all(header::CONNECTION).iter();
    let options = options.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    let names = options.map(<[u8]>::trim_ascii).filter(|option| !option.eq_ignore_ascii_case(b"keep-alive"));
    let names = names.filter_map(|name| HeaderName::from_bytes(name).ok());
    names.filter(|name| *name != header::CONTENT_LENGTH).collect()
}

fn host_of(request: &Parts) -> &[u8] {
    let sent = request.headers.get(header::HOST).map(HeaderValue::as_bytes);
    request.uri.authority().map(|authority| authority.as_str().as_bytes()).or(sent).unwrap_or_default()
}

/// What concerns only one connection and is never passed on.
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
    folded(name).starts_with("x-gateway-")
}

fn is_forwarding_header(name: &HeaderName) -> bool {
    let name = folded(name);
    name == "forwarded" || name == X_REAL_IP || name.starts_with("x-forwarded-")
}

/// Some servers take an underscore for a hyphen.
fn folded(name: &HeaderName) -> Cow<'_, str> {
    let name = name.as_str();
    if name.contains('_') { Cow::Owned(name.replace('_', "-")) } else { Cow::Borrowed(name) }
}
