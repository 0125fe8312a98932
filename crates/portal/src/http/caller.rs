//! Who calls: extractors by which a handler says which callers it admits.

use super::App;
use super::sso::SESSION;
use axum::extract::FromRequestParts;
use base::token::{Claims, Route};
use http::request::Parts;
use kit::error::ApiError;
use kit::headers::{cookie, is_of_another_site};
use kit::identity::{check_admin, check_claims, find_caller};

/// A caller whom the gateway has identified, with a token of their own, or with a session.
pub struct Caller(pub Claims);

/// An administrator, who may change things.
pub struct Admin;

impl FromRequestParts<App> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let headers = &parts.headers;
        let Some(verified) = find_caller(headers, &app.tokens, &app.portal_tokens, &app.admins).await? else {
            return of_session(parts, app).await.map(Self);
        };
        // Guests of the provider have signed in by name: the setting for guests is not for them.
        check_claims(&verified.claims, Route::Build, app.guests)?;
        Ok(Self(verified.claims))
    }
}

/// Returns who has signed in by the provider. A browser sends its cookie also if a page of another site makes the request.
async fn of_session(parts: &Parts, app: &App) -> Result<Claims, ApiError> {
    let token = cookie(&parts.headers, SESSION);
    let Some((sso, token)) = app.sso.as_ref().zip(token) else {
        return Err(ApiError::unauthorized("this needs a token: send `Authorization: Bearer …`"));
    };
    if !parts.method.is_safe() && is_of_another_site(&parts.headers) {
        return Err(ApiError::forbidden("a page of another site may not change anything here"));
    }
    let session = sso.session(token).await?;
    session
        .map(|session| session.claims)
        .ok_or_else(|| ApiError::forbidden("the session has ended: sign in again"))
}

impl FromRequestParts<App> for Admin {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let Caller(claims) = Caller::from_request_parts(parts, app).await?;
        check_admin(&claims)?;
        Ok(Self)
    }
}
