//! Who calls, by what the gateway says or by a gateway token. Sessions and scopes are left to each service.

use crate::error::ApiError;
use crate::guests::Guests;
use crate::headers::{self, IDENTITY, bearer};
use base::token::{Claims, Route, Tokens, Verified};
use http::{HeaderMap, header};
use store::admins::Admins;

/// What a caller is, by the scopes of a verified token. Rights are given by what a caller is, never by what it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    Administrator,
    /// A user who has signed in: `projectId` is the user's id.
    User,
    /// Any client can get a guest's token.
    Guest,
}

impl Rank {
    pub fn of(claims: &Claims) -> Self {
        match claims {
            _ if claims.has_scope("admin") => Self::Administrator,
            _ if claims.has_scope("user") => Self::User,
            _ => Self::Guest,
        }
    }
}

/// Returns whom the gateway has identified, or whose token the request carries; none if it has neither.
pub async fn find_caller(
    headers: &HeaderMap,
    identities: &Tokens,
    tokens: &Tokens,
    admins: &Admins,
) -> Result<Option<Verified>, ApiError> {
    let verified = match verify_identity(headers, identities)? {
        Some(verified) => Some(verified),
        None => verify_bearer(headers, tokens)?,
    };
    if let Some(verified) = &verified
        && !admins.admits(verified).await?
    {
        let message = "the session has ended, or the account was changed: sign in again";
        return Err(ApiError::forbidden(message));
    }
    Ok(verified)
}

/// Returns what the gateway says of the caller; none if it says nothing. Only the gateway sends this header, so one that
/// does not verify is refused, whatever else the request carries.
pub fn verify_identity(headers: &HeaderMap, tokens: &Tokens) -> Result<Option<Verified>, ApiError> {
    if !headers.contains_key(IDENTITY) {
        return Ok(None);
    }
    let identity = headers::only(headers, IDENTITY).unwrap_or_default();
    let verified = tokens.verify_identity(identity);
    verified.map(Some).map_err(|_| ApiError::forbidden("the gateway's identity does not verify"))
}

/// Returns the gateway token in `Authorization`; none if there is no such header.
pub fn verify_bearer(headers: &HeaderMap, tokens: &Tokens) -> Result<Option<Verified>, ApiError> {
    if !headers.contains_key(header::AUTHORIZATION) {
        return Ok(None);
    }
    let token = headers::only(headers, header::AUTHORIZATION).and(bearer(headers)).unwrap_or_default();
    let verified = tokens.verify(token);
    verified.map(Some).map_err(|_| ApiError::forbidden("the token does not verify, or has expired"))
}

/// Checks that a caller may use a service at all: as an administrator or as a guest, with a token that is not for
/// `other_route` alone.
pub fn check_claims(claims: &Claims, other_route: Route, guests: Guests) -> Result<(), ApiError> {
    if !claims.has_scope("admin") && !claims.has_scope("guest") {
        return Err(ApiError::forbidden("the token has neither of the scopes admin and guest"));
    }
    if claims.route == other_route {
        let other = other_route.as_str();
        return Err(ApiError::forbidden(format!(
            "the token is for another route: {other} does not open this one"
        )));
    }
    guests.check_entry(claims)
}

pub fn check_admin(claims: &Claims) -> Result<(), ApiError> {
    match Rank::of(claims) {
        Rank::Administrator => Ok(()),
        Rank::User | Rank::Guest => Err(ApiError::forbidden("this needs the scope `admin`")),
    }
}
