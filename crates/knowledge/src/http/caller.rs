//! Who calls: a handler's signature says whom it lets in.

use super::App;
use super::error::Failure;
use crate::accounts::{AccountError, User};
use axum::extract::FromRequestParts;
use http::request::Parts;
use http::{HeaderMap, Method};
use kit::error::ApiError;
use kit::headers::{self, IDENTITY, bearer, cookie};

pub const COOKIE: &str = "service_session";
const API_KEY: &str = "x-api-key";

/// Somebody with a session, or an administrator whom the gateway has identified.
pub struct Caller(pub User);

/// A [`Caller`] that says who it is by itself: no cookie, which a browser adds to whatever page asks.
pub struct Program(pub User);

/// An administrator.
pub struct Admin(pub User);

impl FromRequestParts<App> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Failure> {
        let headers = &parts.headers;
        if let Some(user) = of_header(app, headers).await? {
            return Ok(Self(user));
        }
        if let Some(token) = cookie(headers, COOKIE)
            && let Some(user) = app.accounts.of_session(token).await?
        {
            refuse_other_sites(&parts.method, headers)?;
            return Ok(Self(user));
        }
        identified(app, headers).await?.map(Self).ok_or_else(no_session)
    }
}

impl FromRequestParts<App> for Program {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Failure> {
        let found = match of_header(app, &parts.headers).await? {
            Some(user) => Some(user),
            None => identified(app, &parts.headers).await?,
        };
        found.map(Self).ok_or_else(no_session)
    }
}

impl FromRequestParts<App> for Admin {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Failure> {
        let Caller(user) = Caller::from_request_parts(parts, app).await?;
        match user.is_admin {
            true => Ok(Self(user)),
            false => {
                Err(ApiError::forbidden("only an administrator may do this: contact an administrator").into())
            }
        }
    }
}

impl Caller {
    /// Whose data a request is about: the caller's own, or for an administrator anybody's.
    pub async fn acting_for(self, app: &App, user_id: Option<&str>) -> Result<User, Failure> {
        match user_id {
            None | Some("") => Ok(self.0),
            Some(id) if id == self.0.id => Ok(self.0),
            Some(_) if !self.0.is_admin => Err(ApiError::forbidden(
                "`userId` is not yours: only an administrator may name somebody else",
            )
            .into()),
            Some(id) => {
                let user = app.accounts.get(id).await?;
                user.ok_or_else(|| ApiError::not_found(format!("no user `{id}`")).into())
            }
        }
    }
}

fn no_session() -> Failure {
    ApiError::unauthorized("this needs a session: sign in at POST /api/auth/login").into()
}

/// By a session's token in a header of its own.
async fn of_header(app: &App, headers: &HeaderMap) -> Result<Option<User>, Failure> {
    for token in [bearer(headers), headers::text(headers, API_KEY)].into_iter().flatten() {
        if let Some(user) = app.accounts.of_session(token).await? {
            return Ok(Some(user));
        }
    }
    Ok(None)
}

async fn identified(app: &App, headers: &HeaderMap) -> Result<Option<User>, Failure> {
    let Some(identity) = headers::text(headers, IDENTITY) else { return Ok(None) };
    let Ok(verified) = app.tokens.verify_identity(identity) else { return Ok(None) };
    if !verified.claims.has_scope("admin") {
        return Ok(None);
    }
    match app.accounts.identified(&verified.claims.project_id).await {
        Ok(user) => Ok(Some(user)),
        // The name is an ordinary user's here: being an administrator there does not make it theirs.
        Err(AccountError::NoSuchUser(_)) => Ok(None),
        Err(error) => Err(Failure::of_account(error, app.clock.now_ms())),
    }
}

/// The tokens that a request carries, wherever they stand.
pub fn session_tokens(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    [bearer(headers), headers::text(headers, API_KEY), cookie(headers, COOKIE)].into_iter().flatten()
}

/// Refuses what a page of another site asks with the browser's cookie.
pub fn refuse_other_sites(method: &Method, headers: &HeaderMap) -> Result<(), Failure> {
    if method.is_safe() || !headers::is_of_another_site(headers) {
        return Ok(());
    }
    Err(ApiError::forbidden("this request comes from a page of another site").into())
}
