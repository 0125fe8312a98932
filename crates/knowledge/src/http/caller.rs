//! Who calls: a handler's signature says whom it lets in.

use super::App;
use super::error::Failure;
use crate::accounts::{AccountError, User};
use axum::extract::FromRequestParts;
use base::token::Verified;
use http::request::Parts;
use http::{HeaderMap, Method};
use kit::error::ApiError;
use kit::headers::{self, bearer, cookie};
use kit::identity::verify_identity;

pub const COOKIE: &str = "service_session";
pub const API_KEY: &str = "x-api-key";

/// Somebody with a session, or an administrator whom the gateway has identified.
pub struct Caller(pub User);

/// A [`Caller`] that says who it is by itself: no cookie, which a browser adds to whatever page asks.
pub struct Program(pub User);

/// An administrator.
pub struct Admin(pub User);

impl FromRequestParts<App> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Failure> {
        let token = cookie(&parts.headers, COOKIE);
        let (user, proof) = find(app, &parts.headers, token).await?.ok_or_else(no_session)?;
        if matches!(proof, Proof::Cookie(_)) {
            refuse_other_sites(&parts.method, &parts.headers)?;
        }
        Ok(Self(user))
    }
}

impl FromRequestParts<App> for Program {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Failure> {
        let found = find(app, &parts.headers, None).await?;
        found.map(|(user, _)| Self(user)).ok_or_else(no_session)
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

/// What a caller was let in with.
pub enum Proof {
    /// A session's token in a header of its own.
    Header(String),
    /// The same in a cookie, which a browser adds to whatever page asks.
    Cookie(String),
    /// What the gateway says of an administrator.
    Identity(Verified),
}

/// Who calls, and by what: the first that is good. `cookie` is a token too, where cookies count.
pub async fn find(
    app: &App,
    headers: &HeaderMap,
    cookie: Option<&str>,
) -> Result<Option<(User, Proof)>, Failure> {
    let identity = verify_identity(headers, &app.tokens)?;
    for token in [bearer(headers), headers::text(headers, API_KEY)].into_iter().flatten() {
        if let Some(user) = of_session(app, token).await? {
            return Ok(Some((user, Proof::Header(token.to_owned()))));
        }
    }
    if let Some(token) = cookie
        && let Some(user) = of_session(app, token).await?
    {
        return Ok(Some((user, Proof::Cookie(token.to_owned()))));
    }
    let Some(verified) = identity else { return Ok(None) };
    if !verified.claims.has_scope("admin") || !app.admins.admits(&verified).await.map_err(ApiError::from)? {
        return Ok(None);
    }
    match app.accounts.identified(&verified.claims.project_id).await {
        Ok(user) => Ok(Some((user, Proof::Identity(verified)))),
        // The name is an ordinary user's here, or that of a removed administrator.
        Err(AccountError::NoSuchUser(_)) => Ok(None),
        Err(error) => Err(Failure::of_account(error, app.clock.now_ms())),
    }
}

pub async fn of_session(app: &App, token: &str) -> Result<Option<User>, Failure> {
    let user = app.accounts.of_session(token).await;
    user.map_err(|error| Failure::of_account(error, app.clock.now_ms()))
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
