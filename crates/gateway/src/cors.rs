//! CORS: pages of the origins in `CORS_ORIGINS` may call; by default there are none.
//!
//! They call with tokens. Cookies stay with our own origin, so credentials are never allowed.

use crate::body::GatewayBody;
use base::web::is_origin;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use kit::serve::vary_by_origin;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cors {
    origins: Vec<String>,
}

impl std::str::FromStr for Cors {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let origins: Vec<String> = text
            .split(',')
            .map(|origin| origin.trim().to_ascii_lowercase())
            .filter(|o| !o.is_empty())
            .collect();
        match origins.iter().find(|origin| *origin != "*" && !is_origin(origin)) {
            Some(bad) => {
                Err(format!("`{bad}` is not an origin: expected `https://host[:port]`, or `*` for every one"))
            }
            None => Ok(Self { origins }),
        }
    }
}

impl Cors {
    /// Returns the caller's origin, if it is one of the allowed.
    pub fn allowed(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        if self.origins.is_empty() {
            return None;
        }
        let origin = headers.get(header::ORIGIN)?;
        let text = origin.to_str().ok()?.to_ascii_lowercase();
        let listed = self.origins.iter().any(|own| own == "*" || *own == text);
        listed.then(|| origin.clone())
    }

    pub fn is_preflight<B>(request: &Request<B>) -> bool {
        request.method() == Method::OPTIONS
            && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
    }

    pub fn preflight<B>(request: &Request<B>) -> Response<GatewayBody> {
        let mut response = Response::new(GatewayBody::own(""));
        *response.status_mut() = StatusCode::NO_CONTENT;
        let asked = |name| request.headers().get(name).cloned();
        let headers = response.headers_mut();
        if let Some(method) = asked(header::ACCESS_CONTROL_REQUEST_METHOD) {
            headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, method);
        }
        if let Some(names) = asked(header::ACCESS_CONTROL_REQUEST_HEADERS) {
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, names);
        }
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        response
    }

    /// Lets a page of `origin` read the answer. `Vary` tells caches that other origins get other headers.
    pub fn open(&self, response: &mut Response<GatewayBody>, origin: Option<HeaderValue>) {
        let headers = response.headers_mut();
        if !self.origins.is_empty() {
            vary_by_origin(headers);
        }
        let Some(origin) = origin else { return };
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(
            header::ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static(
                "x-request-id, x-ratelimit-remaining, x-ratelimit-reset, x-unknown-fields, link, etag",
            ),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_origins_are_allowed() {
        let cors: Cors = "https://app.example, http://localhost:5173".parse().unwrap();
        let asks = |origin: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ORIGIN, origin.parse().unwrap());
            cors.allowed(&headers).is_some()
        };
        assert!(asks("https://app.example") && asks("HTTP://LOCALHOST:5173"));
        assert!(!asks("https://app.example.evil") && !asks("null") && !asks("https://app.example:8443"));
        assert!("app.example".parse::<Cors>().is_err());
        assert!("https://app.example/path".parse::<Cors>().is_err());
    }
}
