//! The users who share a space.

use crate::http::App;
use crate::http::caller::Caller;
use crate::http::users::Success;
use crate::records::{Member, Role};
use axum::Json;
use axum::extract::{Path, State};
use kit::error::ApiError;
use kit::fields::AnyText;
use kit::request::{JsonBody, PathId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A user of a space.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Member)]
pub struct MemberView {
    #[schema(example = "5f0c1d9e-8b1a-4c55-9d0e-0a1b2c3d4e5f")]
    user_id: String,
    #[schema(example = "ada")]
    username: String,
    #[schema(example = "Ada Solberg")]
    name: String,
    #[schema(inline)]
    role: Role,
    /// In milliseconds since 1970.
    #[schema(example = 1794821400000i64)]
    added_at: i64,
}

#[derive(Serialize, ToSchema)]
pub struct MemberList {
    /// The first added first.
    members: Vec<MemberView>,
}

#[derive(Deserialize, ToSchema)]
pub struct MemberBody {
    /// The id, the username or the email address of a user.
    #[schema(value_type = String, min_length = 1, max_length = 254, example = "ada")]
    user: AnyText,
    #[schema(inline)]
    role: Role,
}

/// A member after a change.
#[derive(Serialize, ToSchema)]
pub struct ChangedMember {
    success: bool,
    member: MemberView,
}

impl From<Member> for MemberView {
    fn from(member: Member) -> Self {
        let Member { user_id, username, name, role, added_at } = member;
        Self { user_id, username, name, role, added_at }
    }
}

/// Lists the members of a space. Users who have a role only because everyone has one are not listed.
#[utoipa::path(get, path = "/api/spaces/{id}/members", params(("id" = String, Path)), responses(
    (status = 200, body = MemberList),
    (status = 404, description = "`NOT_FOUND`: the caller has no space with this id."),
))]
pub async fn list(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
) -> Result<Json<MemberList>, ApiError> {
    let members = app.spaces.members(&user, &id).await?.into_iter().map(MemberView::from).collect();
    Ok(Json(MemberList { members }))
}

/// Adds a member, or changes the role of one; for administrators and the user who made the space.
#[utoipa::path(post, path = "/api/spaces/{id}/members", params(("id" = String, Path)), request_body = MemberBody,
    responses(
        (status = 200, body = ChangedMember),
        (status = 403, description = "`FORBIDDEN`: the caller does not manage the space."),
        (status = 404, description = "`NOT_FOUND`: the caller has no space with this id, or there is no such user."),
    ))]
pub async fn put(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
    JsonBody(body): JsonBody<MemberBody>,
) -> Result<Json<ChangedMember>, ApiError> {
    let name = body.user.0.trim();
    if name.is_empty() || name.contains('\0') {
        return Err(ApiError::invalid(
            "`user` is missing: the id, the username or the email address of a user",
        ));
    }
    let member = app.spaces.put_member(&user, &id, name, body.role).await?;
    Ok(Json(ChangedMember { success: true, member: member.into() }))
}

/// Takes a member out of a space: oneself, or any member for administrators and the user who made it.
#[utoipa::path(delete, path = "/api/spaces/{id}/members/{user}",
    params(("id" = String, Path), ("user" = String, Path, description = "The user's id.")), responses(
        (status = 200, body = Success),
        (status = 403, description = "`FORBIDDEN`: the caller does not manage the space."),
        (status = 404, description = "`NOT_FOUND`: the caller has no space with this id, or the user is not a member."),
    ))]
pub async fn remove(
    State(app): State<App>,
    Caller(user): Caller,
    Path((id, member)): Path<(String, String)>,
) -> Result<Json<Success>, ApiError> {
    if member.contains('\0') {
        return Err(crate::spaces::SpaceError::NotAMember.into());
    }
    app.spaces.remove_member(&user, &id, &member).await?;
    Ok(Json(Success { success: true }))
}
