//! Versions in HTTP: the `ETag` of an answer, and the conditions `If-Match` and `If-None-Match` of a request.

use axum::extract::FromRequestParts;
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use std::convert::Infallible;
use std::fmt::Display;
use utoipa::IntoParams;

/// The version of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ETag(String);

impl ETag {
    /// Makes the tag of a version. The version's text has no quotes.
    pub fn new(version: impl Display) -> Self {
        Self(format!("\"{version}\""))
    }

    /// Adds the version to an answer. A browser may keep such an answer, and asks before it shows it again.
    pub fn mark(&self, mut response: Response) -> Response {
        if let Ok(tag) = HeaderValue::from_str(&self.0) {
            response.headers_mut().insert(header::ETAG, tag);
        }
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
        response
    }

    /// Returns the answer to a client that has this version already.
    pub fn not_modified(&self) -> Response {
        self.mark(StatusCode::NOT_MODIFIED.into_response())
    }

    /// Tells whether a list of tags, as headers have it, names this version.
    fn is_in(&self, tags: &str) -> bool {
        tags.split(',').map(str::trim).any(|tag| tag == "*" || tag.trim_start_matches("W/") == self.0)
    }
}

/// The versions that a change is meant for.
#[derive(Debug, Default, IntoParams)]
#[into_params(parameter_in = Header)]
pub struct IfMatch {
    /// The `ETag` of the version that is to be changed. If there is another one by now, nothing is changed.
    #[param(rename = "If-Match", example = "\"17\"")]
    tags: Option<String>,
}

impl IfMatch {
    /// Tells whether this version may be changed. Any may if the request has no such header.
    pub fn allows(&self, tag: &ETag) -> bool {
        self.tags.as_deref().is_none_or(|tags| tag.is_in(tags))
    }
}

/// The versions that the client has.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Header)]
pub struct IfNoneMatch {
    /// The `ETag` of the version that the client has. It is not sent again.
    #[param(rename = "If-None-Match", example = "\"17\"")]
    tags: Option<String>,
}

impl IfNoneMatch {
    /// Tells whether the client has this version.
    pub fn has(&self, tag: &ETag) -> bool {
        self.tags.as_deref().is_some_and(|tags| tag.is_in(tags))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self { tags: tags(&parts.headers, header::IF_MATCH) })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for IfNoneMatch {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self { tags: tags(&parts.headers, header::IF_NONE_MATCH) })
    }
}

/// Returns all tags of a header as one list; none if there is no such header. Bytes that are no text match no tag.
fn tags(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    let values = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
    let values: Vec<_> = values.collect();
    (!values.is_empty()).then(|| values.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_every_form_of_the_list() {
        let mut headers = HeaderMap::new();
        assert_eq!(tags(&headers, header::IF_MATCH), None);
        assert!(IfMatch { tags: None }.allows(&ETag::new(7)));
        assert!(!IfNoneMatch { tags: None }.has(&ETag::new(7)));
        headers.append(header::IF_MATCH, HeaderValue::from_static("\"6\", W/\"7\""));
        headers.append(header::IF_MATCH, HeaderValue::from_static("\"8\""));
        for (version, allowed) in [(5, false), (6, true), (7, true), (8, true), (9, false)] {
            let condition = IfMatch { tags: tags(&headers, header::IF_MATCH) };
            assert_eq!(condition.allows(&ETag::new(version)), allowed, "{version}");
        }
        headers.insert(header::IF_MATCH, HeaderValue::from_static("*"));
        assert!(IfMatch { tags: tags(&headers, header::IF_MATCH) }.allows(&ETag::new(5)));
        headers.insert(header::IF_MATCH, HeaderValue::from_bytes(b"\xff").unwrap());
        assert!(!IfMatch { tags: tags(&headers, header::IF_MATCH) }.allows(&ETag::new(5)));
    }
}
