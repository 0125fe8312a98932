//! Who manages leads: an administrator, by the gateway's signed identity or with a gateway token as bearer.

use super::App;
use axum::extract::FromRequestParts;
use http::header::AUTHORIZATION;
use http::request::Parts;
use kit::error::ApiError;
use kit::headers::{self, IDENTITY, bearer};

pub struct Admin;

impl FromRequestParts<App> for Admin {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let headers = &parts.headers;
        let verified = if headers.contains_key(IDENTITY) {
            let identity = headers::text(headers, IDENTITY).unwrap_or_default();
            let verified = app.tokens.verify_identity(identity);
            verified.map_err(|_| ApiError::forbidden("the gateway's identity does not verify"))?
        } else if headers.contains_key(AUTHORIZATION) {
            let token = bearer(headers).unwrap_or_default();
            app.tokens.verify(token).map_err(|_| ApiError::forbidden("the token does not verify"))?
        } else {
            return Err(ApiError::unauthorized("come with a gateway token of scope `admin` as bearer"));
        };
        app.admins.check(&verified).await?;
        match verified.claims.has_scope("admin") {
            true => Ok(Self),
            false => Err(ApiError::forbidden("this needs the scope `admin`")),
        }
    }
}
