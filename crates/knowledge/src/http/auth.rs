//! Signing in and out, and changing one's password.

use super::App;
use super::caller::{COOKIE, Caller, refuse_other_sites, session_tokens};
use super::error::Failure;
use crate::accounts::SESSION_LASTS;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http::Method;
use http::header::{HeaderMap, SET_COOKIE};
use kit::headers::is_forwarded_https;
use kit::request::JsonObject;
use kit::serve::Arrival;
use serde_json::json;

pub async fn login(
    State(app): State<App>,
    Extension(arrival): Extension<Arrival>,
    headers: HeaderMap,
    body: JsonObject,
) -> Result<Response, Failure> {
    refuse_other_sites(&Method::POST, &headers)?;
    let (username, password) = (body.required("username")?, body.required("password")?);
    let signed_in = app.accounts.sign_in(username, password, arrival.client).await;
    let (user, token) = signed_in.map_err(|error| Failure::of_account(error, app.clock.now_ms()))?;
    let cookie = cookie(&app, &headers, &token, SESSION_LASTS.as_secs());
    let body = Json(json!({ "success": true, "user": user.to_json(), "token": token }));
    Ok(([(SET_COOKIE, cookie)], body).into_response())
}

pub async fn logout(State(app): State<App>, _: Caller, headers: HeaderMap) -> Result<Response, Failure> {
    for token in session_tokens(&headers) {
        app.accounts.sign_out(token).await?;
    }
    let cookie = cookie(&app, &headers, "", 0);
    Ok(([(SET_COOKIE, cookie)], Json(json!({ "success": true }))).into_response())
}

pub async fn me(Caller(user): Caller) -> Response {
    Json(json!({ "success": true, "user": user.to_json() })).into_response()
}

/// `{currentPassword, newPassword}`, as they were typed. Every session of the user ends.
pub async fn change_password(
    State(app): State<App>,
    Caller(user): Caller,
    Extension(arrival): Extension<Arrival>,
    body: JsonObject,
) -> Result<Response, Failure> {
    let (current, new) = (body.required("currentPassword")?, body.required("newPassword")?);
    let changed = app.accounts.change_password(&user, current, new, arrival.client).await;
    changed.map_err(|error| Failure::of_account(error, app.clock.now_ms()))?;
    Ok(Json(json!({ "success": true })).into_response())
}

fn cookie(app: &App, headers: &HeaderMap, token: &str, seconds: u64) -> String {
    let secure = app.settings.cookie_secure.attribute(is_forwarded_https(headers));
    format!("{COOKIE}={token}; HttpOnly; SameSite=Lax; Path=/; Max-Age={seconds}{secure}")
}
