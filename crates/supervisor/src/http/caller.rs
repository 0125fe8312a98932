//! Who may call: the signature of a handler names the callers that it accepts.
//!
//! A request through the gateway has an identity signed by it. Without one, a bearer token is verified. Without both, only
//! callers on this machine are accepted, but no web page in a browser on this machine.

use super::App;
use crate::access::{Access, SpaceRoles, Visible, Who};
use crate::guests::Guest;
use crate::records::{Owner, Project};
use aws_lc_rs::constant_time::verify_slices_are_equal;
use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use base::token::{Claims, Route, Verified};
use http::request::Parts;
use http::{HeaderMap, header};
use kit::error::ApiError;
use kit::guests::Guests;
use kit::headers::{self, IDENTITY, bearer, cookie};
use kit::identity::{Rank, check_claims, find_caller, verify_bearer, verify_identity};
use kit::serve::Arrival;
use kit::sse;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// The session cookies of the knowledge service and of the portal. A browser sends them to every port of a host.
const SESSION_COOKIES: [&str; 2] = ["service_session", "portal_session"];
const API_KEY: &str = "x-api-key";

/// A caller who may read. What it may do with a project is asked for each project: [`super::projects::find`].
pub struct Caller {
    /// From the gateway's identity or a token; none for a caller with neither.
    pub claims: Option<Claims>,
    pub who: Who,
}

/// A caller who may also create and execute.
pub struct Contributor(pub Caller);

impl Caller {
    /// A caller on this machine, or with `SUPERVISOR_TOKEN`.
    const LOCAL: Self = Self { claims: None, who: Who::Administrator };

    /// The name under which a decision is stored.
    pub fn name(&self) -> &str {
        let named = self.claims.as_ref().map(|claims| claims.username.as_ref().unwrap_or(&claims.project_id));
        named.map_or("local", |name| name)
    }

    /// Returns the caller as a guest, if it is one.
    pub fn guest(&self) -> Option<&Guest> {
        match &self.who {
            Who::Guest(guest) => Some(guest),
            Who::Administrator | Who::User(_) => None,
        }
    }

    /// Returns whose the projects are that the caller creates.
    pub fn as_owner(&self) -> Owner {
        match &self.who {
            Who::Administrator => Owner::Administrators,
            Who::User(id) => Owner::User { id: id.clone(), name: self.name().to_owned() },
            Who::Guest(_) => Owner::Guests,
        }
    }

    /// Returns which projects the caller sees.
    pub async fn visible(&self, app: &App) -> Result<(Visible, Arc<SpaceRoles>), ApiError> {
        let roles = match self.who {
            Who::User(_) => self.recent_space_roles(app).await?,
            Who::Administrator | Who::Guest(_) => Arc::default(),
        };
        Ok((self.who.visible(&roles), roles))
    }

    /// Returns what the caller may do with a project; none if it may not see it.
    pub async fn access(&self, app: &App, project: &Project) -> Result<Option<Access>, ApiError> {
        let without_roles = self.who.access(project, &SpaceRoles::new());
        match self.who {
            Who::User(_) if without_roles.is_none() && project.space_id.is_some() => {
                Ok(self.who.access(project, &*self.recent_space_roles(app).await?))
            }
            _ => Ok(without_roles),
        }
    }

    /// Returns the caller's roles in spaces. There are none without a knowledge service, nor for a caller without a name.
    pub async fn space_roles(&self, app: &App) -> Result<Arc<SpaceRoles>, ApiError> {
        match (&app.knowledge, &self.claims) {
            (Some(knowledge), Some(claims)) => {
                knowledge.space_roles(claims).await.map_err(ApiError::unavailable)
            }
            _ => Ok(Arc::default()),
        }
    }

    /// As [`Self::space_roles`], as they were within the last seconds.
    async fn recent_space_roles(&self, app: &App) -> Result<Arc<SpaceRoles>, ApiError> {
        match (&app.knowledge, &self.claims) {
            (Some(knowledge), Some(claims)) => {
                knowledge.recent_space_roles(claims).await.map_err(ApiError::unavailable)
            }
            _ => Ok(Arc::default()),
        }
    }

    /// Refuses a guest if guests may only read.
    pub fn check_may_write(&self, app: &App) -> Result<(), ApiError> {
        match self.who {
            Who::Guest(_) if app.settings.guests != Guests::Full => {
                Err(ApiError::forbidden("guests may only read here: sign in"))
            }
            _ => Ok(()),
        }
    }
}

impl FromRequestParts<App> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let headers = &parts.headers;
        if has_settings_token(headers, app) {
            return Ok(Self::LOCAL);
        }
        if let Some(Verified { claims, .. }) =
            find_caller(headers, &app.tokens, &app.tokens, &app.admins).await?
        {
            check_claims(&claims, Route::Kv, app.settings.guests)?;
            let who = match Rank::of(&claims) {
                Rank::Administrator => Who::Administrator,
                Rank::User => Who::User(claims.project_id.clone()),
                Rank::Guest => Who::Guest(Guest::at(client(parts))),
            };
            return Ok(Self { claims: Some(claims), who });
        }
        // A proxy on this machine sends the requests of others, whether or not it is trusted to say whose.
        let arrival = parts.extensions.get::<Arrival>();
        if !arrival.is_some_and(|arrival| arrival.client.is_loopback() && !arrival.is_forwarded) {
            return Err(ApiError::unauthorized(
                "send the request through the gateway, or with a bearer token",
            ));
        }
        refuse_sessions(headers)?;
        refuse_pages(parts)?;
        Ok(Self::LOCAL)
    }
}

/// Returns whether a request that did not come through the gateway has `SUPERVISOR_TOKEN`.
fn has_settings_token(headers: &HeaderMap, app: &App) -> bool {
    let Some(token) = app.settings.token.as_ref().filter(|_| !headers.contains_key(IDENTITY)) else {
        return false;
    };
    let given = headers::only(headers, header::AUTHORIZATION).and(bearer(headers)).unwrap_or_default();
    verify_slices_are_equal(token.as_bytes(), given.as_bytes()).is_ok()
}

/// Refuses sessions of the other services. A caller with such a session is a user of them, not a program on this machine.
fn refuse_sessions(headers: &HeaderMap) -> Result<(), ApiError> {
    let has_session = SESSION_COOKIES.iter().any(|name| cookie(headers, name).is_some());
    if has_session || headers.contains_key(API_KEY) {
        return Err(ApiError::forbidden(
            "sessions are not accepted here: send the request through the gateway with a token",
        ));
    }
    Ok(())
}

/// Returns the caller's address, as trusted proxies report it.
fn client(parts: &Parts) -> IpAddr {
    parts.extensions.get::<Arrival>().map_or(Ipv4Addr::UNSPECIFIED.into(), |arrival| arrival.client)
}

/// Refuses requests of web pages. Any page can make a browser on this machine send a request. The browser then names the
/// page in `Origin` or `Sec-Fetch-Site`; if the page's own host name resolves to this machine, that name is in `Host`.
fn refuse_pages(parts: &Parts) -> Result<(), ApiError> {
    let host = headers::text(&parts.headers, header::HOST)
        .or_else(|| parts.uri.authority().map(|host| host.as_str()));
    if !host.is_some_and(is_loopback_name) {
        return Err(ApiError::forbidden("`Host` is not a name of this machine"));
    }
    if headers::is_of_another_site(&parts.headers) {
        return Err(ApiError::forbidden("this request comes from a page of another site"));
    }
    Ok(())
}

/// Returns whether a host is `localhost`, `127.0.0.1` or `[::1]`, with or without a port.
fn is_loopback_name(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|ip| ip.to_canonical().is_loopback())
}

/// Ends an event stream soon after its token has expired or its administrator was removed.
pub async fn end_streams(State(app): State<App>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let identity = verify_identity(headers, &app.tokens).ok().flatten();
    let verified = identity.or_else(|| verify_bearer(headers, &app.tokens).ok().flatten());
    let response = next.run(request).await;
    match verified {
        Some(verified) => sse::end_when(response, app.admins.clone().until_refused(verified)),
        None => response,
    }
}

impl FromRequestParts<App> for Contributor {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, app).await?;
        caller.check_may_write(app)?;
        Ok(Self(caller))
    }
}

#[cfg(test)]
mod tests {
    use super::is_loopback_name;

    #[test]
    fn loopback_names_are_recognised() {
        for name in ["localhost", "LOCALHOST:8082", "127.0.0.1:80", "127.9.9.9", "[::1]:8082", "[::1]"] {
            assert!(is_loopback_name(name), "{name}");
        }
        for name in
            ["", "example.org", "localhost.example.org", "127.0.0.1.example.org", "10.0.0.1:8082", "[::2]"]
        {
            assert!(!is_loopback_name(name), "{name}");
        }
    }
}
