//! Links that administrators hand out: invitations, and links to set a new password. What the person with a link asks needs
//! no session; the link's token is in the body, so that it is in no log.

use super::App;
use super::caller::Admin;
use super::users::Success;
use crate::accounts::{Chosen, LinkFor};
use crate::records::AccountLink;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http::StatusCode;
use kit::error::ApiError;
use kit::fields::{AnyText, Whole};
use kit::request::{JsonBody, PathId};
use kit::serve::Arrival;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use utoipa::ToSchema;

const INVITATION_HOURS: u64 = 7 * 24;
const PASSWORD_HOURS: u64 = 24;

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewLinkBody {
    /// The user who gets a new password; absent for an invitation.
    #[schema(value_type = Option<String>, example = "5f0c1d9e-8b1a-4c55-9d0e-0a1b2c3d4e5f")]
    user_id: Option<AnyText>,
    /// Of the invited person, who can change it.
    #[schema(value_type = Option<String>, max_length = 254, example = "Ada Solberg")]
    name: Option<AnyText>,
    /// The email address of the new account; the invited person chooses one if it is absent.
    #[schema(value_type = Option<String>, max_length = 254, example = "ada@example.org")]
    email: Option<AnyText>,
    /// How long the link is valid; 168 for an invitation and 24 for a new password if absent.
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 720, example = 168)]
    hours: Option<Whole<1, 720>>,
}

#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum LinkKind {
    /// Makes an account.
    Invitation,
    /// Sets a new password.
    Password,
}

/// A link that was not used yet. Times are in milliseconds since 1970.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AccountLink)]
pub struct LinkView {
    #[schema(example = "60303ae22b998861bce3b28f33eec1be")]
    id: String,
    kind: LinkKind,
    /// Whose password it sets; null for an invitation.
    user_id: Option<String>,
    /// Empty if the administrator has named none.
    #[schema(example = "Ada Solberg")]
    name: String,
    #[schema(example = "ada@example.org")]
    email: String,
    /// The id of the administrator who has made it.
    created_by: String,
    #[schema(example = 1794821400000i64)]
    created_at: i64,
    #[schema(example = 1795426200000i64)]
    expires_at: i64,
}

impl From<AccountLink> for LinkView {
    fn from(link: AccountLink) -> Self {
        Self {
            id: link.id().to_owned(),
            kind: kind(&link),
            user_id: link.user_id,
            name: link.name,
            email: link.email,
            created_by: link.created_by,
            created_at: link.created_at,
            expires_at: link.expires_at,
        }
    }
}

#[derive(Serialize, ToSchema)]
pub struct LinkList {
    /// The newest first.
    links: Vec<LinkView>,
}

#[derive(Serialize, ToSchema)]
pub struct NewLink {
    success: bool,
    link: LinkView,
    /// Opens the link; it is told only now. On the page: `/kv/#/link/` followed by it.
    #[schema(example = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    token: String,
}

#[derive(Deserialize, ToSchema)]
pub struct LinkToken {
    #[schema(value_type = String, example = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    token: AnyText,
}

/// What a link is for, as its bearer sees it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenedLink {
    kind: LinkKind,
    /// Of the user who gets a new password; empty for an invitation.
    #[schema(example = "ada")]
    username: String,
    #[schema(example = "Ada Solberg")]
    name: String,
    /// The email address of the account; empty if the invited person chooses it.
    #[schema(example = "ada@example.org")]
    email: String,
    #[schema(example = 1795426200000i64)]
    expires_at: i64,
}

/// What the person with a link has chosen; to set a password, only that.
#[derive(Deserialize, ToSchema)]
pub struct AcceptBody {
    #[schema(value_type = String, example = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    token: AnyText,
    /// As it will be typed.
    #[schema(value_type = String, min_length = 8, max_length = 1024, example = "battery staple")]
    password: AnyText,
    #[schema(value_type = Option<String>, min_length = 1, max_length = 254, example = "Ada Solberg")]
    name: Option<AnyText>,
    /// Only if the invitation names none.
    #[schema(value_type = Option<String>, min_length = 3, max_length = 254, example = "ada@example.org")]
    email: Option<AnyText>,
    /// The email address if absent.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 254, example = "ada")]
    username: Option<AnyText>,
}

#[derive(Serialize, ToSchema)]
pub struct AcceptedLink {
    success: bool,
    /// To sign in with.
    #[schema(example = "ada")]
    username: String,
}

/// Makes a link that can be used once: an invitation, or with `userId` a link to set a new password, which takes the place
/// of an older one; for administrators.
#[utoipa::path(post, path = "/api/links", request_body = NewLinkBody, responses(
    (status = 201, body = NewLink),
    (status = 404, description = "`NOT_FOUND`: no user has this id."),
))]
pub async fn create(
    State(app): State<App>,
    Admin(admin): Admin,
    JsonBody(body): JsonBody<NewLinkBody>,
) -> Result<Response, ApiError> {
    let (link_for, usual_hours) = match body.user_id {
        Some(user) => (LinkFor::User(user.0), PASSWORD_HOURS),
        None => {
            let [name, email] = [body.name, body.email].map(|text| text.map_or(String::new(), |text| text.0));
            (LinkFor::Invited { name, email }, INVITATION_HOURS)
        }
    };
    let hours = body.hours.map_or(usual_hours, |hours| hours.0);
    let (link, token) = app.accounts.create_link(&admin, link_for, Duration::from_secs(hours * 3600)).await?;
    Ok((StatusCode::CREATED, Json(NewLink { success: true, link: link.into(), token })).into_response())
}

/// Lists the links that can still be used; for administrators.
#[utoipa::path(get, path = "/api/links", responses((status = 200, body = LinkList)))]
pub async fn list(State(app): State<App>, _: Admin) -> Result<Json<LinkList>, ApiError> {
    let links = app.accounts.links().await?.into_iter().map(LinkView::from).collect();
    Ok(Json(LinkList { links }))
}

/// Withdraws a link; for administrators.
#[utoipa::path(delete, path = "/api/links/{id}", params(("id" = String, Path)), responses(
    (status = 200, body = Success),
    (status = 404, description = "`NOT_FOUND`: there is no such link."),
))]
pub async fn remove(State(app): State<App>, _: Admin, PathId(id): PathId) -> Result<Json<Success>, ApiError> {
    app.accounts.remove_link(&id).await?;
    Ok(Json(Success { success: true }))
}

/// Returns what a link is for.
#[utoipa::path(post, path = "/api/auth/link", security(()), request_body = LinkToken, responses(
    (status = 200, body = OpenedLink),
    (status = 404, description = "`NOT_FOUND`: the link was used or withdrawn, has expired, or never was."),
    (status = 429, description = "`TOO_MANY_REQUESTS`: too many wrong links; `Retry-After` says how long to wait."),
))]
pub async fn open(
    State(app): State<App>,
    Extension(arrival): Extension<Arrival>,
    JsonBody(body): JsonBody<LinkToken>,
) -> Result<Json<OpenedLink>, ApiError> {
    let (link, user) = app.accounts.open_link(&body.token, arrival.client).await?;
    let (kind, expires_at) = (kind(&link), link.expires_at);
    let (username, name, email) = match user {
        Some(user) => (user.username, user.name, user.email),
        None => (String::new(), link.name, link.email),
    };
    Ok(Json(OpenedLink { kind, username, name, email, expires_at }))
}

/// Uses a link: makes the account of an invited person, or sets a new password and ends all sessions of the user. Signing
/// in is next.
#[utoipa::path(post, path = "/api/auth/link/accept", security(()), request_body = AcceptBody, responses(
    (status = 200, body = AcceptedLink),
    (status = 404, description = "`NOT_FOUND`: the link was used or withdrawn, has expired, or never was."),
    (status = 409, description = "`CONFLICT`: an administrator has changed the account at the same time."),
    (status = 429, description = "`TOO_MANY_REQUESTS`: too many wrong links; `Retry-After` says how long to wait."),
))]
pub async fn accept(
    State(app): State<App>,
    Extension(arrival): Extension<Arrival>,
    JsonBody(body): JsonBody<AcceptBody>,
) -> Result<Json<AcceptedLink>, ApiError> {
    let text = |text: Option<AnyText>| text.map(|text| text.0).filter(|text| !text.is_empty());
    let chosen = Chosen {
        username: text(body.username),
        email: text(body.email),
        name: text(body.name).unwrap_or_default(),
        password: body.password.0,
    };
    let user = app.accounts.accept_link(&body.token, chosen, arrival.client).await?;
    Ok(Json(AcceptedLink { success: true, username: user.username }))
}

fn kind(link: &AccountLink) -> LinkKind {
    if link.user_id.is_some() { LinkKind::Password } else { LinkKind::Invitation }
}
