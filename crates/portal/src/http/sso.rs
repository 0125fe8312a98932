//! Signing in by a provider, and out: which cookies a browser gets, and where it is sent.

use super::App;
use crate::sso::{ATTEMPT_LASTS, Callback, SESSION_LASTS, Sso, SsoError};
use axum::Extension;
use axum::extract::State;
use axum::response::{AppendHeaders, IntoResponse, Response};
use http::header::{self, HeaderMap, LOCATION, SET_COOKIE};
use http::{StatusCode, Uri};
use kit::error::ApiError;
use kit::headers::{cookie, is_forwarded_https, is_of_another_site, text};
use kit::request::Params;
use kit::serve::RequestContext;
use std::time::Duration;

pub const SESSION: &str = "portal_session";
/// Shows that the browser which comes back is the one that was sent away.
const BINDING: &str = "portal_sso";
const USUAL_RETURN: &str = "/kv/";
const PLACE: &str = "/api/portal/sso";
/// Where the gateway shows the portal.
const PREFIX: &str = "/kv";

pub async fn login(
    State(app): State<App>,
    Extension(context): Extension<RequestContext>,
    headers: HeaderMap,
    params: Params,
) -> Result<Response, ApiError> {
    let sso = configured(&app)?;
    let base = base(sso, &headers)?;
    let client = sso.settings.trusted_proxies.client(&context.connection, &headers);
    let return_to = params.get("returnTo").unwrap_or(USUAL_RETURN);
    let redirect_uri = format!("{base}{PLACE}/callback");
    let begun = sso.begin(client, return_to, redirect_uri, cookie(&headers, BINDING)).await;
    let begun = begun.map_err(refused)?;
    let path = base.parse::<Uri>().map(|base| base.path().trim_end_matches('/').to_owned());
    let path = format!("{}{PLACE}", path.unwrap_or_default());
    let binding = set_cookie(sso, &base, BINDING, &begun.binding, &path, ATTEMPT_LASTS);
    Ok((StatusCode::SEE_OTHER, [(LOCATION, begun.url), (SET_COOKIE, binding)]).into_response())
}

pub async fn callback(
    State(app): State<App>,
    headers: HeaderMap,
    params: Params,
) -> Result<Response, ApiError> {
    let sso = configured(&app)?;
    let callback = Callback {
        state: params.get("state"),
        code: params.get("code"),
        error: params.get("error"),
        issuer: params.get("iss"),
    };
    let (binding, old) = (cookie(&headers, BINDING), cookie(&headers, SESSION));
    let signed_in = sso.finish(callback, binding, old).await.map_err(refused)?;
    metrics::counter!("portal_sign_ins_total", "outcome" => signed_in.scope).increment(1);
    tracing::info!(scope = signed_in.scope, "somebody signed in by the provider");
    let session = set_cookie(sso, &base(sso, &headers)?, SESSION, &signed_in.token, "/", SESSION_LASTS);
    let place = location(&signed_in.return_to);
    Ok((StatusCode::SEE_OTHER, [(LOCATION, place), (SET_COOKIE, session)]).into_response())
}

/// Also without a session: whoever asks for it has none afterwards.
pub async fn logout(State(app): State<App>, headers: HeaderMap) -> Result<Response, ApiError> {
    let sso = configured(&app)?;
    if is_of_another_site(&headers) {
        return Err(ApiError::forbidden("a page of another site may not sign you out"));
    }
    if let Some(token) = cookie(&headers, SESSION) {
        sso.end(token).await?;
    }
    let session = set_cookie(sso, &base(sso, &headers)?, SESSION, "", "/", Duration::ZERO);
    Ok((StatusCode::NO_CONTENT, AppendHeaders([(SET_COOKIE, session)])).into_response())
}

fn configured(app: &App) -> Result<&Sso, ApiError> {
    app.sso.as_ref().ok_or_else(|| {
        let message = "no single sign-on here: set OIDC_ISSUER_URL and OIDC_CLIENT_ID";
        ApiError::new(StatusCode::NOT_FOUND, "SSO_NOT_CONFIGURED", message)
    })
}

/// Where the browser sees the portal, without a last `/`: as set, or as it asked for it.
fn base(sso: &Sso, headers: &HeaderMap) -> Result<String, ApiError> {
    if let Some(base) = &sso.settings.public_url {
        return Ok(base.clone());
    }
    let scheme = if is_forwarded_https(headers) { "https" } else { "http" };
    let (host, prefix) = match headers.contains_key("x-gateway-route") {
        true => (text(headers, "x-forwarded-host"), PREFIX),
        false => (text(headers, header::HOST), ""),
    };
    let is_host = |host: &&str| {
        let uri = format!("{scheme}://{host}/").parse::<Uri>();
        uri.is_ok_and(|uri| uri.path() == "/" && uri.query().is_none()) && !host.contains('@')
    };
    let host = host.filter(is_host);
    let host = host.ok_or_else(|| ApiError::invalid("the request does not say for which host it is"))?;
    Ok(format!("{scheme}://{host}{prefix}"))
}

fn set_cookie(sso: &Sso, base: &str, name: &str, value: &str, path: &str, lasts: Duration) -> String {
    let secure = sso.settings.cookie_secure.attribute(base.starts_with("https:"));
    format!("{name}={value}; HttpOnly; SameSite=Lax; Path={path}; Max-Age={}{secure}", lasts.as_secs())
}

/// A header has letters of ASCII only.
fn location(path: &str) -> String {
    let mut location = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte.is_ascii_graphic() {
            true => location.push(char::from(byte)),
            false => location.push_str(&format!("%{byte:02X}")),
        }
    }
    location
}

/// Logged here, once; whoever tries to sign in learns what to do, and no more.
fn refused(error: SsoError) -> ApiError {
    let (status, code) = match &error {
        SsoError::ReturnTo => (StatusCode::BAD_REQUEST, "INVALID_REQUEST"),
        SsoError::Attempt(_) => (StatusCode::BAD_REQUEST, "SSO_STATE_INVALID"),
        SsoError::Code(_) => (StatusCode::BAD_REQUEST, "SSO_CODE_INVALID"),
        SsoError::Denied(_) => (StatusCode::FORBIDDEN, "SSO_DENIED"),
        SsoError::Token(_) => (StatusCode::FORBIDDEN, "SSO_TOKEN_INVALID"),
        SsoError::NotAllowed => (StatusCode::FORBIDDEN, "SSO_NOT_ALLOWED"),
        SsoError::Provider(_) => (StatusCode::BAD_GATEWAY, "SSO_PROVIDER_FAILED"),
        SsoError::TooMany(_) => (StatusCode::TOO_MANY_REQUESTS, "TOO_MANY_REQUESTS"),
        SsoError::Store(error) => return error.into(),
    };
    metrics::counter!("portal_sign_ins_total", "outcome" => "refused").increment(1);
    tracing::warn!(code, detail = error.detail(), "a sign-in was refused");
    match error {
        SsoError::TooMany(wait) => ApiError::too_many_requests(error.to_string(), wait),
        error => ApiError::new(status, code, error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::location;

    #[test]
    fn a_location_is_ascii_and_keeps_what_was_encoded() {
        assert_eq!(location("/kv/?q=a%20b#c"), "/kv/?q=a%20b#c");
        assert_eq!(location("/ü b"), "/%C3%BC%20b");
    }
}
