//! Who calls: a handler's signature says whom it lets in.
//!
//! Through the gateway comes its signed identity. Without one, only this machine is let in, and no web page that its
//! browser shows, or whoever has the token.

use super::App;
use aws_lc_rs::constant_time::verify_slices_are_equal;
use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header;
use http::request::Parts;
use kit::error::ApiError;
use kit::headers::{self, IDENTITY, bearer};
use kit::serve::{RequestContext, hides_its_client};
use kit::sse;
use kit::token::Claims;

/// Somebody who may read, create and execute.
pub struct Caller {
    /// As the gateway has it; none for whoever came without it.
    pub claims: Option<Claims>,
}

/// Somebody who may also interrupt, resume, cancel and delete.
pub struct Admin(pub Caller);

impl Caller {
    fn is_admin(&self) -> bool {
        self.claims.as_ref().is_none_or(|claims| claims.has_scope("admin"))
    }

    /// By whom a decision was made.
    pub fn name(&self) -> &str {
        self.claims.as_ref().map_or("local", |claims| &claims.project_id)
    }
}

impl FromRequestParts<App> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        if parts.headers.contains_key(IDENTITY) {
            let identity = headers::text(&parts.headers, IDENTITY);
            let verified = app.tokens.verify_identity(identity.unwrap_or_default());
            let verified =
                verified.map_err(|_| ApiError::forbidden("the gateway's identity does not verify"))?;
            app.admins.check(&verified).await?;
            return Ok(Self { claims: Some(verified.claims) });
        }
        if let Some((token, given)) = app.token.as_deref().zip(bearer(&parts.headers)) {
            let equal = verify_slices_are_equal(token.as_bytes(), given.as_bytes()).is_ok();
            return if equal {
                Ok(Self { claims: None })
            } else {
                Err(ApiError::forbidden("the token is wrong"))
            };
        }
        let context = parts.extensions.get::<RequestContext>();
        let proxies = &app.trusted_proxies;
        let client = context.map(|context| proxies.client(&context.connection, &parts.headers));
        if hides_its_client(&parts.headers) || !client.is_some_and(|ip| ip.is_loopback()) {
            return Err(ApiError::unauthorized("come through the gateway, or with the token as bearer"));
        }
        refuse_pages(parts)?;
        Ok(Self { claims: None })
    }
}

/// A page of anywhere can make a browser of this machine ask: the browser then says so in `Origin` or `Sec-Fetch-Site`,
/// or the page has made a name of its own point here, which is in `Host`.
fn refuse_pages(parts: &Parts) -> Result<(), ApiError> {
    let host = headers::text(&parts.headers, header::HOST)
        .or_else(|| parts.uri.authority().map(|host| host.as_str()));
    if !host.is_some_and(is_loopback_name) {
        return Err(ApiError::forbidden("`Host` is not a name of this machine"));
    }
    let of_another_site = headers::text(&parts.headers, "sec-fetch-site")
        .is_some_and(|site| !["same-origin", "none"].contains(&site));
    if of_another_site || headers::is_of_another_host(&parts.headers, host) {
        return Err(ApiError::forbidden("this request comes from a page of another site"));
    }
    Ok(())
}

/// `localhost`, `127.0.0.1`, `[::1]`, each with or without a port.
fn is_loopback_name(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|ip| ip.to_canonical().is_loopback())
}

/// Ends an event stream soon after the token that opened it: when it expires, or its administrator goes.
pub async fn end_streams(State(app): State<App>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let identity = headers::text(headers, IDENTITY).map(|identity| app.tokens.verify_identity(identity));
    let verified = identity.or_else(|| bearer(headers).map(|token| app.tokens.verify(token)));
    let response = next.run(request).await;
    match verified {
        Some(Ok(verified)) => sse::end_when(response, app.admins.clone().until_refused(verified)),
        _ => response,
    }
}

impl FromRequestParts<App> for Admin {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, app).await?;
        if caller.is_admin() {
            Ok(Self(caller))
        } else {
            Err(ApiError::forbidden("this needs the scope `admin`"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_loopback_name;

    #[test]
    fn names_of_this_machine() {
        for name in ["localhost", "LOCALHOST:8082", "127.0.0.1:80", "127.9.9.9", "[::1]:8082", "[::1]"] {
            assert!(is_loopback_name(name), "{name}");
        }
        for name in
            ["", "example.org", "localhost.example.org", "127.0.0.1.example.org", "10.0.0.1:8082", "[::2]"]
        {
            assert!(!is_loopback_name(name), "{name}");
        }
    }
}
