//! `GET /api/portal/me`: who calls, and whether single sign-on is to be had, for the page's sign-in.

use super::App;
use super::sso::SESSION;
use crate::sso::Session;
use axum::Json;
use axum::extract::State;
use base::token::{Claims, VERIFIED_EMAIL};
use http::HeaderMap;
use kit::error::ApiError;
use kit::headers::cookie;
use kit::identity::find_caller;
use serde::Serialize;
use utoipa::ToSchema;

/// The caller; all is null or empty for one who has not signed in.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Me {
    #[schema(example = "admin")]
    username: Option<String>,
    scopes: Vec<String>,
    /// `AUTH`, `KV`, `BUILD` or `CORE`: what the token opens.
    #[schema(example = "AUTH")]
    route: Option<&'static str>,
    /// When the token or the session expires, in milliseconds since 1970.
    #[schema(example = 1_794_712_661_000_i64)]
    expires_at: Option<i64>,
    sso: SsoState,
}

/// Single sign-on, and the session by it that the browser has.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SsoState {
    /// Whether there is a provider: sign in at `/api/portal/sso/login`.
    #[schema(example = true)]
    configured: bool,
    #[schema(example = true)]
    signed_in: bool,
    /// Under which name the user is known here.
    #[schema(example = "ada@example.org")]
    name: Option<String>,
    /// The email address that the provider has verified.
    #[schema(example = "ada@example.org")]
    email: Option<String>,
}

/// Returns who calls; needs no token.
#[utoipa::path(get, path = "/api/portal/me", security((), ("bearer" = []), ("cookie" = [])), responses(
    (status = 200, body = Me),
))]
pub async fn me(State(app): State<App>, headers: HeaderMap) -> Result<Json<Me>, ApiError> {
    let verified = find_caller(&headers, &app.tokens, &app.portal_tokens, &app.admins).await?;
    let session = match app.sso.as_ref().zip(cookie(&headers, SESSION)) {
        Some((sso, token)) => sso.session(token).await?,
        None => None,
    };
    let sso = SsoState::new(app.sso.is_some(), session.as_ref());
    let of_token = verified.map(|verified| (verified.token_expires_at_ms(), verified.claims));
    let of_session = || session.map(|session| (Some(session.expires_at), session.claims));
    let (expires_at, claims) = of_token.or_else(of_session).unzip();
    Ok(Json(Me {
        route: claims.as_ref().map(|claims: &Claims| claims.route.as_str()),
        username: claims.as_ref().map(|claims| claims.project_id.clone()),
        scopes: claims.map(|claims| claims.scopes).unwrap_or_default(),
        expires_at: expires_at.flatten(),
        sso,
    }))
}

impl SsoState {
    fn new(configured: bool, session: Option<&Session>) -> Self {
        let name = session.map(|session| session.claims.project_id.clone());
        let email = session.filter(|session| session.claims.has_scope(VERIFIED_EMAIL));
        let email = email.map(|session| session.claims.project_id.clone());
        Self { configured, signed_in: session.is_some(), name, email }
    }
}
