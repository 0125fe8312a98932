//! Who calls: the signature of a handler says which callers it accepts.

use super::App;
use crate::accounts::AccountError;
use crate::records::{Scope, User};
use axum::extract::FromRequestParts;
use base::token::Verified;
use http::request::Parts;
use http::{HeaderMap, Method};
use kit::error::ApiError;
use kit::headers::{self, bearer, cookie};
use kit::identity::{Rank, verify_identity};
use kit::request::{from_query, values_of};
use serde::Deserialize;
use utoipa::IntoParams;

pub const COOKIE: &str = "service_session";
pub const API_KEY: &str = "x-api-key";

/// A user with a session, or whom the gateway has identified.
pub struct Caller(pub User);

/// A [`Caller`], and what identifies them.
pub struct Identified(pub User, pub Credential);

/// A [`Caller`] identified without a cookie, which a browser would add to the requests of any page.
pub struct Program(pub User);

/// An administrator.
pub struct Admin(pub User);

impl FromRequestParts<App> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let Identified(user, _) = Identified::from_request_parts(parts, app).await?;
        Ok(Self(user))
    }
}

impl FromRequestParts<App> for Identified {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let token = cookie(&parts.headers, COOKIE);
        let (user, credential) = find(app, &parts.headers, token).await?.ok_or_else(no_session)?;
        if matches!(credential, Credential::Cookie(_)) {
            refuse_other_sites(&parts.method, &parts.headers)?;
        }
        Ok(Self(user, credential))
    }
}

impl FromRequestParts<App> for Program {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let found = find(app, &parts.headers, None).await?;
        found.map(|(user, _)| Self(user)).ok_or_else(no_session)
    }
}

impl FromRequestParts<App> for Admin {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let Caller(user) = Caller::from_request_parts(parts, app).await?;
        match user.is_admin {
            true => Ok(Self(user)),
            false => Err(ApiError::forbidden("only an administrator may do this: contact an administrator")),
        }
    }
}

impl Caller {
    /// Returns the user whose data a request is about: the caller, or whom an administrator names.
    pub async fn acting_for(self, app: &App, user_id: Option<&str>) -> Result<User, ApiError> {
        match user_id {
            None | Some("") => Ok(self.0),
            Some(id) if id == self.0.id => Ok(self.0),
            Some(_) if !self.0.is_admin => {
                Err(ApiError::forbidden("`userId` is not yours: only an administrator may name another user"))
            }
            Some(id) => {
                let user = app.accounts.get(id).await?;
                user.ok_or_else(|| ApiError::not_found(format!("no user `{id}`")))
            }
        }
    }
}

/// What a request does with documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Change,
}

/// Whose documents are meant: one user's or one space's.
#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct OwnerQuery {
    /// The user's id; the caller if absent. Only an administrator may name another user.
    pub user_id: Option<String>,
    /// The space's id, if its documents are meant.
    pub space_id: Option<String>,
}

impl OwnerQuery {
    /// Returns the id of the user or space.
    pub async fn owner_id(&self, app: &App, caller: Caller, access: Access) -> Result<String, ApiError> {
        match self.space_id.as_deref().filter(|id| !id.is_empty()) {
            Some(_) if self.user_id.as_ref().is_some_and(|id| !id.is_empty()) => {
                Err(ApiError::invalid("`userId` and `spaceId` exclude each other: documents have one owner"))
            }
            Some(id) if access == Access::Change => Ok(app.spaces.get_to_edit(&caller.0, id).await?.space.id),
            Some(id) => Ok(app.spaces.get(&caller.0, id).await?.space.id),
            None => Ok(caller.acting_for(app, self.user_id.as_deref()).await?.id),
        }
    }
}

/// Whose documents are searched.
#[derive(IntoParams)]
#[into_params(parameter_in = Query, rename_all = "camelCase")]
pub struct ScopeQuery {
    /// The user's id; the caller if absent. Only an administrator may name another user.
    user_id: Option<String>,
    /// Only in these spaces, each in a parameter of its own; the user's own id stands for their own documents. If absent,
    /// the user's own documents and those of all their spaces.
    #[param(value_type = Option<Vec<String>>)]
    space_id: Vec<String>,
}

/// The one parameter of [`ScopeQuery`] that is given once.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UserQuery {
    user_id: Option<String>,
}

impl FromRequestParts<App> for ScopeQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        let query = parts.uri.query().unwrap_or_default();
        let UserQuery { user_id } = from_query(query)?;
        let mut space_id = values_of(query, "spaceId");
        space_id.retain(|id| !id.is_empty());
        Ok(Self { user_id, space_id })
    }
}

impl ScopeQuery {
    pub async fn scope(&self, app: &App, caller: Caller) -> Result<Scope, ApiError> {
        let user = caller.acting_for(app, self.user_id.as_deref()).await?;
        Ok(app.search.scope(&user.id, &self.space_id).await?)
    }
}

fn no_session() -> ApiError {
    ApiError::unauthorized("this needs a session: sign in at POST /api/auth/login")
}

/// What identifies a caller.
pub enum Credential {
    /// A session's token in a header.
    Header(String),
    /// A session's token in a cookie.
    Cookie(String),
    /// The gateway's signed word.
    Identity(Verified),
}

/// Finds the caller by the first credential that is valid. `cookie` is the token in the cookie, if cookies are accepted.
pub async fn find(
    app: &App,
    headers: &HeaderMap,
    cookie: Option<&str>,
) -> Result<Option<(User, Credential)>, ApiError> {
    let identity = verify_identity(headers, &app.tokens)?;
    for token in [bearer(headers), headers::text(headers, API_KEY)].into_iter().flatten() {
        if let Some(user) = of_session(app, token).await? {
            return Ok(Some((user, Credential::Header(token.to_owned()))));
        }
    }
    if let Some(token) = cookie
        && let Some(user) = of_session(app, token).await?
    {
        return Ok(Some((user, Credential::Cookie(token.to_owned()))));
    }
    let Some(verified) = identity else { return Ok(None) };
    if !app.admins.admits(&verified).await? {
        return Ok(None);
    }
    let name = &verified.claims.project_id;
    let identified = match Rank::of(&verified.claims) {
        Rank::Administrator => app.accounts.identified(name).await,
        Rank::User => app.accounts.identified_user(name).await,
        Rank::Guest => return Ok(None),
    };
    match identified {
        Ok(user) => Ok(Some((user, Credential::Identity(verified)))),
        // The name is that of an ordinary user here, or of a removed or disabled one.
        Err(AccountError::NoSuchUser(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

pub async fn of_session(app: &App, token: &str) -> Result<Option<User>, ApiError> {
    Ok(app.accounts.of_session(token).await?)
}

/// Returns the session tokens of a request, in all the places where it may have one.
pub fn session_tokens(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    [bearer(headers), headers::text(headers, API_KEY), cookie(headers, COOKIE)].into_iter().flatten()
}

/// Refuses a request that changes something and comes from a page of another site, with the browser's cookie.
pub fn refuse_other_sites(method: &Method, headers: &HeaderMap) -> Result<(), ApiError> {
    if method.is_safe() || !headers::is_of_another_site(headers) {
        return Ok(());
    }
    Err(ApiError::forbidden("this request comes from a page of another site"))
}
