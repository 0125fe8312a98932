//! Who is signed in, and from where: one's own sessions, and those of a user for administrators.

use super::App;
use super::caller::{Admin, Caller, Credential, Identified};
use super::users::Success;
use crate::records::Session;
use axum::Json;
use axum::extract::{Path, State};
use kit::error::ApiError;
use kit::request::PathId;
use serde::Serialize;
use utoipa::ToSchema;

/// A session. Times are in milliseconds since 1970.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SignedInSession)]
pub struct SessionView {
    #[schema(example = "9f86d081884c7d659a2feaa0c55ad015")]
    id: String,
    /// 0 if an earlier version has made it.
    #[schema(example = 1794821400000i64)]
    created_at: i64,
    /// To within five minutes.
    #[schema(example = 1794821400000i64)]
    last_used_at: i64,
    #[schema(example = 1795426200000i64)]
    expires_at: i64,
    /// From where the user has signed in.
    #[schema(example = "192.0.2.7")]
    address: String,
    /// As the browser or program has named itself at the sign-in.
    #[schema(example = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0")]
    browser: String,
    /// Whether this is the session of the request.
    #[schema(example = true)]
    current: bool,
}

#[derive(Serialize, ToSchema)]
pub struct SessionList {
    /// The newest first.
    sessions: Vec<SessionView>,
}

#[derive(Serialize, ToSchema)]
pub struct EndedSessions {
    success: bool,
    /// How many sessions have ended.
    #[schema(example = 2)]
    ended: usize,
}

/// Lists the caller's sessions.
#[utoipa::path(get, path = "/api/auth/sessions", responses((status = 200, body = SessionList)))]
pub async fn list(
    State(app): State<App>,
    Identified(user, credential): Identified,
) -> Result<Json<SessionList>, ApiError> {
    let sessions = app.accounts.sessions(&user.id).await?;
    let sessions = sessions.into_iter().map(|session| view(session, Some(&credential))).collect();
    Ok(Json(SessionList { sessions }))
}

/// Ends one of the caller's sessions, and its gateway tokens.
#[utoipa::path(delete, path = "/api/auth/sessions/{id}", params(("id" = String, Path)), responses(
    (status = 200, body = Success),
    (status = 404, description = "`NOT_FOUND`: the caller has no session with this id."),
))]
pub async fn end(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
) -> Result<Json<Success>, ApiError> {
    app.accounts.end_session(&user.id, &id).await?;
    Ok(Json(Success { success: true }))
}

/// Ends all of the caller's sessions but that of the request.
#[utoipa::path(delete, path = "/api/auth/sessions", responses((status = 200, body = EndedSessions)))]
pub async fn end_others(
    State(app): State<App>,
    Identified(user, credential): Identified,
) -> Result<Json<EndedSessions>, ApiError> {
    let sessions = app.accounts.sessions(&user.id).await?;
    let current = sessions.iter().find(|session| is_current(session, &credential));
    let ended = app.accounts.end_sessions(&user.id, current).await?;
    Ok(Json(EndedSessions { success: true, ended }))
}

/// Lists the sessions of a user; for administrators.
#[utoipa::path(get, path = "/api/users/{id}/sessions", params(("id" = String, Path)), responses(
    (status = 200, body = SessionList),
    (status = 404, description = "`NOT_FOUND`: no user has this id."),
))]
pub async fn list_of_user(
    State(app): State<App>,
    _: Admin,
    PathId(id): PathId,
) -> Result<Json<SessionList>, ApiError> {
    check_user(&app, &id).await?;
    let sessions = app.accounts.sessions(&id).await?.into_iter().map(|session| view(session, None)).collect();
    Ok(Json(SessionList { sessions }))
}

/// Ends a session of a user, and its gateway tokens; for administrators.
#[utoipa::path(delete, path = "/api/users/{id}/sessions/{session}",
    params(("id" = String, Path), ("session" = String, Path, description = "The session's id.")), responses(
        (status = 200, body = Success),
        (status = 404, description = "`NOT_FOUND`: there is no such user or session."),
    ))]
pub async fn end_of_user(
    State(app): State<App>,
    _: Admin,
    Path((id, session)): Path<(String, String)>,
) -> Result<Json<Success>, ApiError> {
    if id.contains('\0') || session.contains('\0') {
        return Err(ApiError::not_found("no such path"));
    }
    app.accounts.end_session(&id, &session).await?;
    Ok(Json(Success { success: true }))
}

/// Ends all sessions of a user; for administrators.
#[utoipa::path(delete, path = "/api/users/{id}/sessions", params(("id" = String, Path)), responses(
    (status = 200, body = EndedSessions),
    (status = 404, description = "`NOT_FOUND`: no user has this id."),
))]
pub async fn end_all_of_user(
    State(app): State<App>,
    _: Admin,
    PathId(id): PathId,
) -> Result<Json<EndedSessions>, ApiError> {
    check_user(&app, &id).await?;
    let ended = app.accounts.end_sessions(&id, None).await?;
    Ok(Json(EndedSessions { success: true, ended }))
}

async fn check_user(app: &App, id: &str) -> Result<(), ApiError> {
    let found = app.accounts.get(id).await?;
    found.map(drop).ok_or_else(|| ApiError::not_found(format!("no user `{id}`")))
}

fn view(session: Session, credential: Option<&Credential>) -> SessionView {
    SessionView {
        id: session.id().to_owned(),
        created_at: session.created_at,
        last_used_at: session.last_used_at,
        expires_at: session.expires_at,
        current: credential.is_some_and(|credential| is_current(&session, credential)),
        address: session.address,
        browser: session.browser,
    }
}

/// Returns whether this is the caller's session, or the one that their gateway token is from.
fn is_current(session: &Session, credential: &Credential) -> bool {
    match credential {
        Credential::Header(token) | Credential::Cookie(token) => session.has_token(token),
        Credential::Identity(verified) => verified.claims.grant.as_ref() == Some(&session.grant),
    }
}
