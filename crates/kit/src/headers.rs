//! What services read from a request's headers: credentials, and the page that sends it; and how a response names a file.

use http::header::{self, HeaderMap};
use http::{HeaderName, HeaderValue, Uri};

/// The caller's identity, signed by the gateway.
pub const IDENTITY: HeaderName = HeaderName::from_static("x-gateway-identity");

const LONGEST_PREFIX: usize = 200;

pub fn text(headers: &HeaderMap, name: impl header::AsHeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// Returns the text of a header; none if it occurs more than once.
pub fn only(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// Returns the token of `Authorization: Bearer`.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = text(headers, header::AUTHORIZATION)?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

pub fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lists = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = lists.flat_map(|list| list.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(own, _)| *own == name).map(|(_, value)| value)
}

/// Returns whether a page of another site sends the request. Such a page can make a browser send requests, but the browser
/// names it in `Origin`, `Sec-Fetch-Site` or both. The headers must have passed a [`crate::serve::Door`].
pub fn is_of_another_site(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site");
    // `none` if no page does, but the person.
    if site.is_some_and(|site| site != "same-origin" && site != "none") {
        return true;
    }
    let Some(origin) = text(headers, header::ORIGIN) else { return headers.contains_key(header::ORIGIN) };
    let origin: Option<Uri> = origin.parse().ok();
    let host = text(headers, "x-forwarded-host").or_else(|| text(headers, header::HOST));
    let authority = origin.as_ref().and_then(|origin| origin.authority());
    let is_our_host =
        authority.zip(host).is_some_and(|(origin, ours)| origin.as_str().eq_ignore_ascii_case(ours));
    let scheme = origin.as_ref().and_then(|origin| origin.scheme_str());
    let ours = if is_forwarded_https(headers) { "https" } else { "http" };
    if is_our_host && scheme != Some(ours) {
        tracing::warn!(
            scheme,
            ours,
            "a page of our host sends requests over another scheme: is its proxy in TRUSTED_PROXIES?"
        );
    }
    !is_our_host || scheme != Some(ours)
}

/// When a session cookie is marked `Secure`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CookieSecure {
    /// If the browser uses HTTPS.
    #[default]
    Auto,
    Always,
    Never,
}

impl CookieSecure {
    /// Returns the attribute to add to a cookie; `is_https` says whether the browser uses HTTPS.
    pub fn attribute(self, is_https: bool) -> &'static str {
        match self {
            Self::Always => "; Secure",
            Self::Auto if is_https => "; Secure",
            Self::Auto | Self::Never => "",
        }
    }
}

/// Returns the path under which the client sees this service, as the proxies in front say: it has no last `/`. None if they
/// say nothing, or something that is not a plain path.
pub fn forwarded_prefix(headers: &HeaderMap) -> Option<&str> {
    let prefix = only(headers, HeaderName::from_static("x-forwarded-prefix"))?.trim_end_matches('/');
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%".contains(&byte);
    let mut segments = prefix.strip_prefix('/')?.split('/');
    let is_path = segments.all(|segment| !["", ".", ".."].contains(&segment));
    (is_path && prefix.len() <= LONGEST_PREFIX && prefix.bytes().all(is_plain)).then_some(prefix)
}

/// Returns whether the browser uses HTTPS, as the proxies in front say.
pub fn is_forwarded_https(headers: &HeaderMap) -> bool {
    text(headers, "x-forwarded-proto") == Some("https")
}

/// Returns the `Content-Disposition` of a file that a browser saves under this name.
pub fn attachment(filename: &str) -> Option<HeaderValue> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let encode =
        |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    let encoded: String = filename.bytes().map(encode).collect();
    format!("attachment; filename*=UTF-8''{encoded}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), header::HeaderValue::from_static(value)));
        pairs.collect()
    }

    #[test]
    fn a_page_is_ours_when_its_origin_is_the_scheme_and_host_that_were_asked() {
        for (pairs, other) in [
            (vec![("host", "a:1")], false),
            (vec![("host", "a:1"), ("origin", "http://a:1")], false),
            (
                vec![
                    ("host", "10.0.0.7:8082"),
                    ("x-forwarded-host", "A.org"),
                    ("x-forwarded-proto", "https"),
                    ("origin", "https://a.org"),
                ],
                false,
            ),
            (vec![("host", "a:1"), ("origin", "https://a:1")], true),
            (vec![("host", "a"), ("x-forwarded-proto", "https"), ("origin", "http://a")], true),
            (vec![("host", "a:1"), ("origin", "http://a:2")], true),
            (vec![("host", "a:1"), ("origin", "http://b:1")], true),
            (vec![("host", "a:1"), ("origin", "null")], true),
            (vec![("origin", "http://a:1")], true),
            (vec![("host", "a:1"), ("sec-fetch-site", "same-origin")], false),
            (vec![("host", "a:1"), ("sec-fetch-site", "none")], false),
            (vec![("host", "a:1"), ("sec-fetch-site", "same-site")], true),
            (vec![("host", "a:1"), ("sec-fetch-site", "cross-site")], true),
            (vec![("host", "a:1"), ("origin", "http://a:1"), ("sec-fetch-site", "cross-site")], true),
        ] {
            assert_eq!(is_of_another_site(&headers(&pairs)), other, "{pairs:?}");
        }
    }

    #[test]
    fn a_prefix_is_a_plain_path() {
        for (given, prefix) in [
            ("/kv", Some("/kv")),
            ("/outer/kv/", Some("/outer/kv")),
            ("/a%20b/v1.2~x_y-z", Some("/a%20b/v1.2~x_y-z")),
            ("/", None),
            ("", None),
            ("kv", None),
            ("//evil.example", None),
            ("/a//b", None),
            ("/a/../b", None),
            ("/.", None),
            ("/a;Domain=b", None),
            ("/a, /b", None),
            ("/a?b", None),
            ("https://evil.example", None),
        ] {
            assert_eq!(forwarded_prefix(&headers(&[("x-forwarded-prefix", given)])), prefix, "{given}");
        }
        assert_eq!(forwarded_prefix(&headers(&[])), None);
        let mut twice = headers(&[("x-forwarded-prefix", "/a")]);
        twice.append("x-forwarded-prefix", header::HeaderValue::from_static("/b"));
        assert_eq!(forwarded_prefix(&twice), None);
    }

    #[test]
    fn tokens_and_cookies_are_found_where_they_belong() {
        let found = headers(&[("authorization", "bEARER  x "), ("cookie", "a=1; session=2=3")]);
        assert_eq!((bearer(&found), cookie(&found, "session")), (Some("x"), Some("2=3")));
        let none = headers(&[("authorization", "Basic x"), ("cookie", "sessions=2")]);
        assert_eq!((bearer(&none), cookie(&none, "session")), (None, None));
    }

    #[test]
    fn a_file_name_is_encoded() {
        assert_eq!(attachment("a b\"/ü.md").unwrap(), "attachment; filename*=UTF-8''a%20b%22%2F%C3%BC.md");
    }
}
