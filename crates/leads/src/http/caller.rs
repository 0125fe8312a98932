//! Who manages leads: an administrator, by the gateway's signed identity or with a gateway token as bearer.

use super::App;
use axum::extract::FromRequestParts;
use http::request::Parts;
use kit::error::ApiError;
use kit::identity::{check_admin, find_caller};

pub struct Admin;

impl FromRequestParts<App> for Admin {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let verified = find_caller(&parts.headers, &app.tokens, &app.tokens, &app.admins).await?;
        let no_token = || ApiError::unauthorized("come with a gateway token of scope `admin` as bearer");
        check_admin(&verified.ok_or_else(no_token)?.claims)?;
        Ok(Self)
    }
}
