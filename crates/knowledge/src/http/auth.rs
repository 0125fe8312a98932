//! Signing in and out, and changing one's password.

use super::App;
use super::caller::{COOKIE, Caller, Credential, Identified, find, refuse_other_sites, session_tokens};
use super::fields::filled;
use super::users::{Success, UserView};
use crate::accounts::{Device, SESSION_LASTS, SSO_SESSION_LASTS};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use base::token::VERIFIED_EMAIL;
use http::Method;
use http::header::{HeaderMap, SET_COOKIE, USER_AGENT};
use kit::error::ApiError;
use kit::fields::AnyText;
use kit::headers::{self, is_forwarded_https};
use kit::identity::verify_identity;
use kit::request::{JsonBody, Query};
use kit::serve::Arrival;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

#[derive(Deserialize, ToSchema)]
pub struct LoginBody {
    /// The username or the email address.
    #[schema(min_length = 1, example = "ada@example.org")]
    username: String,
    /// Hex SHA-256 of what was typed as username, followed by the password.
    #[schema(min_length = 1, example = "735c127d5cad45214508021a207835b061991c10e53bacd39225043fa0d7c9e6")]
    password: String,
}

/// The passwords, as they were typed.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PasswordBody {
    #[schema(min_length = 1, example = "correct horse")]
    current_password: String,
    #[schema(min_length = 8, max_length = 1024, example = "battery staple")]
    new_password: String,
}

#[derive(Serialize, ToSchema)]
pub struct SignedIn {
    success: bool,
    user: UserView,
    /// The session's token, also for `Authorization: Bearer` and `X-Api-Key`.
    #[schema(example = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    token: String,
}

#[derive(Serialize, ToSchema)]
pub struct Me {
    success: bool,
    user: UserView,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TokenQuery {
    /// For an administrator: whether the token is for a program, and goes on after the session. A new password ends it.
    #[serde(default)]
    program: bool,
}

/// What the caller changes of their own account; what is absent stays.
#[derive(Deserialize, ToSchema)]
pub struct MeBody {
    #[schema(value_type = Option<String>, min_length = 1, max_length = 254, example = "Ada Solberg")]
    name: Option<AnyText>,
}

#[derive(Serialize, ToSchema)]
pub struct Session {
    success: bool,
    user: Option<UserView>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = GatewayToken)]
pub struct TokenView {
    success: bool,
    /// For `Authorization: Bearer` at the gateway: an administrator's for every route, another user's with the rights of a
    /// guest for every route.
    #[schema(example = "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.eyJ…")]
    token: String,
    scopes: Vec<String>,
    /// In milliseconds since 1970.
    #[schema(example = 1794825000000i64)]
    expires_at: i64,
}

/// Signs a user in.
#[utoipa::path(post, path = "/api/auth/login", security(()), request_body = LoginBody, responses(
    (status = 200, description = "Also sets the cookie `service_session`, for 7 days.", body = SignedIn, headers(
        ("Set-Cookie" = String, description = "The session's token."),
    )),
    (status = 401, description = "`UNAUTHORIZED`: the user is unknown or the password is wrong."),
    (status = 403, description = "`FORBIDDEN`: the account is disabled, or the request comes from a page of another site."),
    (status = 429, description = "`TOO_MANY_REQUESTS`: too many failed sign-ins; `Retry-After` says how long to wait."),
))]
pub async fn login(
    State(app): State<App>,
    Extension(arrival): Extension<Arrival>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<LoginBody>,
) -> Result<Response, ApiError> {
    refuse_other_sites(&Method::POST, &headers)?;
    let (username, password) = (filled("username", &body.username)?, filled("password", &body.password)?);
    let (user, token) = app.accounts.sign_in(username, password, &device(&arrival, &headers)).await?;
    let cookie = cookie(&app, &headers, &token, SESSION_LASTS.as_secs());
    let signed_in = SignedIn { success: true, user: user.into(), token };
    Ok(([(SET_COOKIE, cookie)], Json(signed_in)).into_response())
}

/// Signs in the user whose email address the provider of single sign-on has verified: with the token of
/// `POST /api/portal/sso/token`, through the gateway.
#[utoipa::path(post, path = "/api/auth/sso", responses(
    (status = 200, description = "Also sets the cookie `service_session`, for 8 hours.", body = SignedIn, headers(
        ("Set-Cookie" = String, description = "The session's token."),
    )),
    (status = 401, description = "`UNAUTHORIZED`: the gateway names no caller."),
    (status = 403, description = "`FORBIDDEN`: the token is not of single sign-on, the provider has not verified the email \
        address, the account is disabled, or the request comes from a page of another site."),
    (status = 404, description = "`NOT_FOUND`: no user has this email address, and `SSO_CREATE_USERS` is off."),
))]
pub async fn sso(
    State(app): State<App>,
    Extension(arrival): Extension<Arrival>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    refuse_other_sites(&Method::POST, &headers)?;
    let verified = verify_identity(&headers, &app.tokens)?;
    let verified = verified.ok_or_else(|| {
        ApiError::unauthorized("send the token of POST /api/portal/sso/token through the gateway")
    })?;
    if !verified.claims.has_scope(VERIFIED_EMAIL) || !app.admins.admits(&verified).await? {
        return Err(ApiError::forbidden("the token is not of a user with a verified email address"));
    }
    let email = &verified.claims.project_id;
    let (creates, device) = (app.settings.sso_creates_users, device(&arrival, &headers));
    let (user, token) = app.accounts.sign_in_verified(email, creates, &device).await?;
    let cookie = cookie(&app, &headers, &token, SSO_SESSION_LASTS.as_secs());
    let signed_in = SignedIn { success: true, user: user.into(), token };
    Ok(([(SET_COOKIE, cookie)], Json(signed_in)).into_response())
}

/// Ends the session of the request.
#[utoipa::path(post, path = "/api/auth/logout", responses(
    (status = 200, description = "Also deletes the cookie.", body = Success, headers(
        ("Set-Cookie" = String, description = "An empty cookie that has expired."),
    )),
))]
pub async fn logout(State(app): State<App>, _: Caller, headers: HeaderMap) -> Result<Response, ApiError> {
    for token in session_tokens(&headers) {
        app.accounts.sign_out(token).await?;
    }
    let cookie = cookie(&app, &headers, "", 0);
    Ok(([(SET_COOKIE, cookie)], Json(Success { success: true })).into_response())
}

/// Returns the user who is signed in.
#[utoipa::path(get, path = "/api/auth/me", responses((status = 200, body = Me)))]
pub async fn me(Caller(user): Caller) -> Json<Me> {
    Json(Me { success: true, user: user.into() })
}

/// Changes the caller's name.
#[utoipa::path(patch, path = "/api/auth/me", request_body = MeBody, responses(
    (status = 200, body = Me),
    (status = 404, description = "`NOT_FOUND`: the user was removed meanwhile."),
))]
pub async fn update_me(
    State(app): State<App>,
    Caller(user): Caller,
    JsonBody(body): JsonBody<MeBody>,
) -> Result<Json<Me>, ApiError> {
    let user = match body.name {
        Some(name) => app.accounts.rename(&user.id, &name).await?,
        None => user,
    };
    Ok(Json(Me { success: true, user: user.into() }))
}

/// Returns the user who is signed in, and null instead of an error if no user is: for pages, which ask before a sign-in.
#[utoipa::path(get, path = "/api/auth/session", security(()), responses((status = 200, body = Session)))]
pub async fn session(State(app): State<App>, headers: HeaderMap) -> Result<Json<Session>, ApiError> {
    let found = find(&app, &headers, headers::cookie(&headers, COOKIE)).await?;
    Ok(Json(Session { success: true, user: found.map(|(user, _)| user.into()) }))
}

/// Gives out a gateway token for the user who is signed in, so that the session opens the other services too. It is refused
/// within seconds after the session has ended or the user's rights have changed.
#[utoipa::path(post, path = "/api/auth/token", params(TokenQuery), responses(
    (status = 200, body = TokenView),
    (status = 403, description = "`FORBIDDEN`: only administrators have tokens for programs."),
))]
pub async fn gateway_token(
    State(app): State<App>,
    Identified(user, credential): Identified,
    Query(query): Query<TokenQuery>,
) -> Result<Json<TokenView>, ApiError> {
    if query.program && !user.is_admin {
        return Err(ApiError::forbidden("only administrators have tokens for programs"));
    }
    let (user, grant) = match credential {
        Credential::Header(token) | Credential::Cookie(token) => {
            let (user, grant) = app.accounts.grant(&token).await?;
            (user, Some(grant))
        }
        // The new token ends with the session of the one that it was asked with.
        Credential::Identity(verified) => (user, verified.claims.grant),
    };
    let (tokens, settings) = (&app.tokens, &app.settings.gateway_tokens);
    let issued = app.accounts.gateway_token(&user, grant, query.program, tokens, settings).await?;
    let expires_at = app.clock.now_ms() + issued.lasts.as_millis() as i64;
    Ok(Json(TokenView { success: true, token: issued.token, scopes: issued.scopes, expires_at }))
}

/// Changes the caller's password, and ends all of their sessions.
#[utoipa::path(post, path = "/api/auth/password", request_body = PasswordBody, responses(
    (status = 200, body = Success),
    (status = 401, description = "`UNAUTHORIZED`: there is no session, or the current password is wrong."),
    (status = 404, description = "`NOT_FOUND`: the user was removed meanwhile."),
    (status = 409, description = "`CONFLICT`: an administrator has changed the account at the same time."),
    (status = 429, description = "`TOO_MANY_REQUESTS`: too many wrong passwords; `Retry-After` says how long to wait."),
))]
pub async fn change_password(
    State(app): State<App>,
    Caller(user): Caller,
    Extension(arrival): Extension<Arrival>,
    JsonBody(body): JsonBody<PasswordBody>,
) -> Result<Json<Success>, ApiError> {
    let current = filled("currentPassword", &body.current_password)?;
    let new = filled("newPassword", &body.new_password)?;
    app.accounts.change_password(&user, current, new, arrival.client).await?;
    Ok(Json(Success { success: true }))
}

fn cookie(app: &App, headers: &HeaderMap, token: &str, seconds: u64) -> String {
    let secure = app.settings.cookie_secure.attribute(is_forwarded_https(headers));
    format!("{COOKIE}={token}; HttpOnly; SameSite=Lax; Path=/; Max-Age={seconds}{secure}")
}

fn device(arrival: &Arrival, headers: &HeaderMap) -> Device {
    let browser = headers::text(headers, USER_AGENT).unwrap_or_default().to_owned();
    Device { address: arrival.client, browser }
}
