//! Who calls: a handler's signature says whom it lets in.

use super::App;
use axum::extract::FromRequestParts;
use http::request::Parts;
use kit::error::ApiError;
use kit::headers::{self, IDENTITY, bearer};
use kit::token::{Claims, Route};

/// Somebody whom the gateway has identified, or with a token of their own.
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
            return Err(ApiError::unauthorized("this needs a token: send `Authorization: Bearer …`"));
        };
        let claims =
            verified.map_err(|_| ApiError::forbidden("the token does not verify, or has expired"))?.claims;
        if !claims.has_scope("admin") && !claims.has_scope("guest") {
            return Err(ApiError::forbidden("the token has neither of the scopes admin and guest"));
        }
        if claims.route == Route::Build {
            return Err(ApiError::forbidden(
                "the token is for another route: KV, CORE or AUTH open this one",
            ));
        }
        Ok(Self(claims))
    }
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
