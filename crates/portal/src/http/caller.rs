//! Who calls: a handler's signature says whom it lets in.

use super::App;
use super::sso::SESSION;
use axum::extract::FromRequestParts;
use http::request::Parts;
use kit::error::ApiError;
use kit::headers::{self, IDENTITY, bearer, cookie, is_of_another_site};
use kit::token::{Claims, Route};

/// Somebody whom the gateway has identified, with a token of their own, or with a session.
pub struct Caller(pub Claims);

/// Somebody who may change things.
pub struct Admin;

impl FromRequestParts<App> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let headers = &parts.headers;
        let verified = if let Some(identity) = headers::text(headers, IDENTITY) {
            app.tokens.verify_identity(identity)
        } else if headers.contains_key(http::header::AUTHORIZATION) {
            app.portal_tokens.verify(bearer(headers).unwrap_or_default())
        } else {
            return of_session(parts, app).await.map(Self);
        };
        let verified =
            verified.map_err(|_| ApiError::forbidden("the token does not verify, or has expired"))?;
        app.admins.check(&verified).await?;
        let claims = verified.claims;
        if !claims.has_scope("admin") && !claims.has_scope("guest") {
            return Err(ApiError::forbidden("the token has neither of the scopes admin and guest"));
        }
        if claims.route == Route::Build {
            return Err(ApiError::forbidden(
                "the token is for another route: KV, CORE or AUTH open this one",
            ));
        }
        // Those whom the provider has let in as guests are known by name, and not meant.
        app.guests.check_entry(&claims)?;
        Ok(Self(claims))
    }
}

/// Somebody who has signed in by the provider. A browser sends the cookie whichever page asks it to.
async fn of_session(parts: &Parts, app: &App) -> Result<Claims, ApiError> {
    let token = cookie(&parts.headers, SESSION);
    let Some((sso, token)) = app.sso.as_ref().zip(token) else {
        return Err(ApiError::unauthorized("this needs a token: send `Authorization: Bearer …`"));
    };
    if !parts.method.is_safe() && is_of_another_site(&parts.headers) {
        return Err(ApiError::forbidden("a page of another site may not change anything here"));
    }
    let claims = sso.session(token).await?;
    claims.ok_or_else(|| ApiError::forbidden("the session has ended: sign in again"))
}

impl FromRequestParts<App> for Admin {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let Caller(claims) = Caller::from_request_parts(parts, app).await?;
        if claims.has_scope("admin") {
            Ok(Self)
        } else {
            Err(ApiError::forbidden("this needs the scope `admin`"))
        }
    }
}
