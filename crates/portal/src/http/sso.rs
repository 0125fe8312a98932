//! Signing in by a provider, and signing out: which cookies a browser gets, and where it is sent.

use super::App;
use crate::sso::{ATTEMPT_LASTS, Callback, SESSION_LASTS, Sso, SsoError};
use axum::extract::State;
use axum::response::{AppendHeaders, IntoResponse, Response};
use axum::{Extension, Json};
use http::header::{self, HeaderMap, LOCATION, SET_COOKIE};
use http::{StatusCode, Uri};
use kit::error::ApiError;
use kit::headers::{cookie, forwarded_prefix, is_forwarded_https, is_of_another_site, text};
use kit::request::Query;
use kit::serve::Arrival;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use utoipa::{IntoParams, ToSchema};

pub const SESSION: &str = "portal_session";
/// The cookie that shows that the browser which comes back is the one that was sent to the provider.
const BINDING: &str = "portal_sso";
const PATH: &str = "/api/portal/sso";
/// The prefix under which a gateway that does not name one has the portal.
const PREFIX: &str = "/kv";

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase")]
pub struct LoginQuery {
    /// The path of this installation that the browser goes to afterwards; that of the page if absent.
    #[param(example = "/kv/")]
    return_to: Option<String>,
}

/// What the provider sends the browser back with.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CallbackQuery {
    /// What the portal has sent to the provider.
    state: Option<String>,
    /// What the provider gives out tokens for.
    code: Option<String>,
    /// Why the provider does not sign the user in.
    error: Option<String>,
    /// The provider's issuer.
    iss: Option<String>,
}

/// Starts a sign-in by the OpenID Connect provider.
#[utoipa::path(get, path = "/api/portal/sso/login", security(()), params(LoginQuery), responses(
    (status = 303, description = "To the provider."),
    (status = 400, description = "`INVALID_REQUEST`: `returnTo` leads elsewhere."),
    (status = 404, description = "`SSO_NOT_CONFIGURED`: there is no provider."),
    (status = 429, description = "`TOO_MANY_REQUESTS`: too many sign-ins from this address."),
    (status = 502, description = "`SSO_PROVIDER_FAILED`: the provider cannot be used at the moment."),
))]
pub async fn login(
    State(app): State<App>,
    Extension(arrival): Extension<Arrival>,
    headers: HeaderMap,
    Query(query): Query<LoginQuery>,
) -> Result<Response, ApiError> {
    let sso = configured(&app)?;
    let base = base(sso, &headers)?;
    let path =
        base.parse::<Uri>().map(|base| base.path().trim_end_matches('/').to_owned()).unwrap_or_default();
    let page = format!("{path}/");
    let return_to = query.return_to.as_deref().unwrap_or(&page);
    let redirect_uri = format!("{base}{PATH}/callback");
    let begun = sso.begin(arrival.client, return_to, redirect_uri, cookie(&headers, BINDING)).await;
    let begun = begun.map_err(refused)?;
    let path = format!("{path}{PATH}");
    let binding = set_cookie(sso, &base, BINDING, &begun.binding, &path, ATTEMPT_LASTS);
    Ok((StatusCode::SEE_OTHER, [(LOCATION, begun.url), (SET_COOKIE, binding)]).into_response())
}

/// Ends a sign-in: the provider sends the browser back here.
#[utoipa::path(get, path = "/api/portal/sso/callback", security(()), params(CallbackQuery), responses(
    (status = 303, description = "To `returnTo`, with a session."),
    (status = 400, description = "`SSO_STATE_INVALID` or `SSO_CODE_INVALID`: the sign-in is not known here, or not to the provider."),
    (status = 403, description = "`SSO_DENIED`, `SSO_TOKEN_INVALID` or `SSO_NOT_ALLOWED`: the user was not signed in."),
    (status = 404, description = "`SSO_NOT_CONFIGURED`: there is no provider."),
    (status = 502, description = "`SSO_PROVIDER_FAILED`: the provider cannot be used at the moment."),
))]
pub async fn callback(
    State(app): State<App>,
    headers: HeaderMap,
    Query(query): Query<CallbackQuery>,
) -> Result<Response, ApiError> {
    let sso = configured(&app)?;
    let callback = Callback {
        state: query.state.as_deref(),
        code: query.code.as_deref(),
        error: query.error.as_deref(),
        issuer: query.iss.as_deref(),
    };
    let (binding, old) = (cookie(&headers, BINDING), cookie(&headers, SESSION));
    let signed_in = sso.finish(callback, binding, old).await.map_err(refused)?;
    metrics::counter!("portal_sign_ins_total", "outcome" => signed_in.scope).increment(1);
    tracing::info!(scope = signed_in.scope, "a user signed in by the provider");
    let session = set_cookie(sso, &base(sso, &headers)?, SESSION, &signed_in.token, "/", SESSION_LASTS);
    let location = ascii(&signed_in.return_to);
    Ok((StatusCode::SEE_OTHER, [(LOCATION, location), (SET_COOKIE, session)]).into_response())
}

/// Ends the session of the cookie, if there is one.
#[utoipa::path(post, path = "/api/portal/sso/logout", security(()), responses(
    (status = 204, description = "The browser has no session."),
    (status = 403, description = "`FORBIDDEN`: a page of another site asks."),
    (status = 404, description = "`SSO_NOT_CONFIGURED`: there is no provider."),
))]
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

/// A gateway token of a user who has signed in by the provider.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct IssuedToken {
    success: bool,
    #[schema(example = "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.eyJ…")]
    token: String,
    /// Milliseconds since 1970. It is renewed by the same request, until the session expires.
    #[schema(example = 1_794_712_661_000_i64)]
    expires_at: i64,
}

/// Gives out a gateway token for the user of the cookie's session, with their scope, for every route.
#[utoipa::path(post, path = "/api/portal/sso/token", security(("cookie" = [])), responses(
    (status = 200, body = IssuedToken),
    (status = 401, description = "`UNAUTHORIZED`: there is no session, or it has expired."),
    (status = 403, description = "`FORBIDDEN`: a page of another site asks."),
    (status = 404, description = "`SSO_NOT_CONFIGURED`: there is no provider."),
))]
pub async fn token(State(app): State<App>, headers: HeaderMap) -> Result<Json<IssuedToken>, ApiError> {
    let sso = configured(&app)?;
    if is_of_another_site(&headers) {
        return Err(ApiError::forbidden("a page of another site may not get a token"));
    }
    let session = match cookie(&headers, SESSION) {
        Some(token) => sso.session(token).await?,
        None => None,
    };
    let session = session.ok_or_else(|| ApiError::unauthorized("sign in at /api/portal/sso/login"))?;
    let now = app.db.clock().now_ms().div_euclid(1000);
    let left = session.expires_at.div_euclid(1000).saturating_sub(now).max(0).unsigned_abs();
    let lasts = app.token_ttl.min(Duration::from_secs(left));
    let token = app.tokens.issue(&Sso::gateway_claims(&session), lasts).map_err(ApiError::internal)?;
    let expires_at = (now + lasts.as_secs() as i64) * 1000;
    Ok(Json(IssuedToken { success: true, token, expires_at }))
}

fn configured(app: &App) -> Result<&Sso, ApiError> {
    app.sso.as_ref().ok_or_else(|| {
        let message = "no single sign-on here: set OIDC_ISSUER_URL and OIDC_CLIENT_ID";
        ApiError::new(StatusCode::NOT_FOUND, "SSO_NOT_CONFIGURED", message)
    })
}

/// Returns the address of the portal for the browser, without a last `/`: as set, or as the browser asked for it.
fn base(sso: &Sso, headers: &HeaderMap) -> Result<String, ApiError> {
    if let Some(base) = &sso.settings.public_url {
        return Ok(base.clone());
    }
    let scheme = if is_forwarded_https(headers) { "https" } else { "http" };
    let (host, prefix) = match headers.contains_key("x-gateway-route") {
        true => (text(headers, "x-forwarded-host"), forwarded_prefix(headers).unwrap_or(PREFIX)),
        false => (text(headers, header::HOST), forwarded_prefix(headers).unwrap_or_default()),
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

/// Percent-encodes what is not ASCII, which a header cannot have.
fn ascii(path: &str) -> String {
    let mut location = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte.is_ascii_graphic() {
            true => location.push(char::from(byte)),
            false => location.push_str(&format!("%{byte:02X}")),
        }
    }
    location
}

/// Logs why a sign-in was refused. The answer says what the user can do, and no more.
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
    use super::ascii;

    #[test]
    fn a_location_is_ascii_and_keeps_what_was_encoded() {
        assert_eq!(ascii("/kv/?q=a%20b#c"), "/kv/?q=a%20b#c");
        assert_eq!(ascii("/ü b"), "/%C3%BC%20b");
    }
}
