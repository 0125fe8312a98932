//! Spaces: making, listing, changing and removing them. `members` has the users who share one.

pub mod members;

use super::App;
use super::caller::Caller;
use super::fields::name;
use super::storage::{Storage, storage_of};
use super::users::{Success, check_quota, set_quota};
use crate::records::Role;
use crate::spaces::{LONGEST_DESCRIPTION, SpaceChanges, VisibleSpace};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use kit::error::ApiError;
use kit::fields::AnyText;
use kit::fields::given;
use kit::request::{JsonBody, PathId, Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SpacesQuery {
    /// For an administrator: whether spaces are listed, too, in which they have no role.
    #[serde(default)]
    all: bool,
}

/// A space, as the caller sees it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Space)]
pub struct SpaceView {
    #[schema(example = "0199a2f4-0b1c-7d3b-8a90-1f2e3d4c5b6a")]
    id: String,
    #[schema(example = "Maintenance")]
    name: String,
    #[schema(example = "Manuals and reports of the pump house.")]
    description: String,
    /// What the caller may do there; null for an administrator who has no role in it.
    #[schema(inline)]
    role: Option<Role>,
    /// Whether the caller may change it and its members.
    #[schema(example = true)]
    manages: bool,
    /// The role of all users; null if only members have one.
    #[schema(inline)]
    everyone: Option<Role>,
    /// The user who made it.
    #[schema(example = "5f0c1d9e-8b1a-4c55-9d0e-0a1b2c3d4e5f")]
    created_by: String,
    /// In milliseconds since 1970.
    #[schema(example = 1794821400000i64)]
    created_at: i64,
    /// How many documents it has.
    #[schema(example = 12)]
    documents: i64,
    /// The size of their files, former versions included, in bytes.
    #[schema(example = 1048576)]
    bytes: i64,
    /// The most that they may have, in bytes; null if there is no limit.
    #[schema(example = 1073741824)]
    quota: Option<i64>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpaceList {
    /// By name.
    spaces: Vec<SpaceView>,
    /// Whether the caller may make spaces.
    #[schema(example = true)]
    may_create: bool,
}

/// A new space. Null counts as absent.
#[derive(Deserialize, ToSchema)]
pub struct NewSpaceBody {
    #[schema(value_type = String, min_length = 1, max_length = 100, example = "Maintenance")]
    name: AnyText,
    #[schema(value_type = Option<String>, max_length = 1000, example = "Manuals and reports of the pump house.")]
    description: Option<AnyText>,
    /// The role of all users; only members have one if absent.
    #[schema(inline)]
    everyone: Option<Everyone>,
}

/// What is to change of a space. What is absent stays.
#[derive(Deserialize, ToSchema)]
pub struct SpaceChangesBody {
    #[schema(value_type = Option<String>, min_length = 1, max_length = 100, example = "Maintenance")]
    name: Option<AnyText>,
    #[schema(value_type = Option<String>, max_length = 1000, example = "Manuals and reports of the pump house.")]
    description: Option<AnyText>,
    /// The role of all users.
    #[schema(inline)]
    everyone: Option<Everyone>,
    /// The most bytes that its files may have; null if the setting counts. Only for administrators.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<i64>, minimum = 0, example = 1073741824)]
    quota: Option<Option<i64>>,
}

/// The role of all users.
#[derive(Clone, Copy, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Everyone {
    None,
    Reader,
    Editor,
}

impl From<Everyone> for Option<Role> {
    fn from(everyone: Everyone) -> Self {
        match everyone {
            Everyone::None => None,
            Everyone::Reader => Some(Role::Reader),
            Everyone::Editor => Some(Role::Editor),
        }
    }
}

/// A space after a change.
#[derive(Serialize, ToSchema)]
pub struct ChangedSpace {
    success: bool,
    space: SpaceView,
}

/// Lists the spaces that the caller has a role in.
#[utoipa::path(get, path = "/api/spaces", params(SpacesQuery), responses((status = 200, body = SpaceList)))]
pub async fn list(
    State(app): State<App>,
    Caller(user): Caller,
    Query(query): Query<SpacesQuery>,
) -> Result<Json<SpaceList>, ApiError> {
    let spaces = app.spaces.list(&user, query.all).await?;
    let spaces = views(&app, spaces).await?;
    Ok(Json(SpaceList { spaces, may_create: app.spaces.may_create(&user) }))
}

/// Makes a space, with the caller as its first editor.
#[utoipa::path(post, path = "/api/spaces", request_body = NewSpaceBody, responses(
    (status = 201, body = ChangedSpace),
    (status = 403, description = "`FORBIDDEN`: only administrators may make spaces, unless `USERS_CREATE_SPACES` is set."),
    (status = 409, description = "`CONFLICT`: there are 1,000 spaces already."),
))]
pub async fn create(
    State(app): State<App>,
    Caller(user): Caller,
    JsonBody(body): JsonBody<NewSpaceBody>,
) -> Result<Response, ApiError> {
    let name = name(&body.name)?;
    let changes = SpaceChanges {
        name: None,
        description: body.description.map(description).transpose()?,
        everyone: body.everyone.map(Into::into),
    };
    let made = app.spaces.create(&user, name, changes).await?;
    let space = one_view(&app, made).await?;
    Ok((StatusCode::CREATED, Json(ChangedSpace { success: true, space })).into_response())
}

/// Returns a space.
#[utoipa::path(get, path = "/api/spaces/{id}", params(("id" = String, Path)), responses(
    (status = 200, body = SpaceView),
    (status = 404, description = "`NOT_FOUND`: the caller has no space with this id."),
))]
pub async fn get(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
) -> Result<Json<SpaceView>, ApiError> {
    let found = app.spaces.get(&user, &id).await?;
    Ok(Json(one_view(&app, found).await?))
}

/// Changes a space; for administrators and the user who made it.
#[utoipa::path(patch, path = "/api/spaces/{id}", params(("id" = String, Path)), request_body = SpaceChangesBody,
    responses(
        (status = 200, body = ChangedSpace),
        (status = 403, description = "`FORBIDDEN`: the caller does not manage the space."),
        (status = 404, description = "`NOT_FOUND`: the caller has no space with this id."),
    ))]
pub async fn update(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
    JsonBody(body): JsonBody<SpaceChangesBody>,
) -> Result<Json<ChangedSpace>, ApiError> {
    let changes = SpaceChanges {
        name: body.name.as_ref().map(name).transpose()?,
        description: body.description.map(description).transpose()?,
        everyone: body.everyone.map(Into::into),
    };
    if body.quota.is_some() && !user.is_admin {
        return Err(ApiError::forbidden("only an administrator may change the `quota`"));
    }
    check_quota(body.quota)?;
    let found = app.spaces.update(&user, &id, changes).await?;
    if let Some(quota) = body.quota {
        set_quota(&app, &id, quota).await?;
    }
    Ok(Json(ChangedSpace { success: true, space: one_view(&app, found).await? }))
}

/// Removes a space with all of its documents; for administrators and the user who made it.
#[utoipa::path(delete, path = "/api/spaces/{id}", params(("id" = String, Path)), responses(
    (status = 200, body = Success),
    (status = 403, description = "`FORBIDDEN`: the caller does not manage the space."),
    (status = 404, description = "`NOT_FOUND`: the caller has no space with this id."),
))]
pub async fn remove(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
) -> Result<Json<Success>, ApiError> {
    app.spaces.remove(&user, &id).await?;
    Ok(Json(Success { success: true }))
}

async fn one_view(app: &App, found: VisibleSpace) -> Result<SpaceView, ApiError> {
    let view = views(app, vec![found]).await?.pop();
    view.ok_or_else(|| ApiError::internal("a space without a view"))
}

/// Adds how much the spaces have, and may have.
async fn views(app: &App, spaces: Vec<VisibleSpace>) -> Result<Vec<SpaceView>, ApiError> {
    let ids: Vec<&str> = spaces.iter().map(|found| found.space.id.as_str()).collect();
    let storage = storage_of(app, &ids).await?;
    let views = spaces.into_iter().map(|found| {
        let storage = storage.get(&found.space.id).copied().unwrap_or_default();
        view(found, storage)
    });
    Ok(views.collect())
}

fn view(VisibleSpace { space, role, manages }: VisibleSpace, storage: Storage) -> SpaceView {
    SpaceView {
        id: space.id,
        name: space.name,
        description: space.description,
        role,
        manages,
        everyone: space.everyone,
        created_by: space.created_by,
        created_at: space.created_at,
        documents: storage.documents,
        bytes: storage.bytes,
        quota: storage.quota,
    }
}

fn description(text: AnyText) -> Result<String, ApiError> {
    let description = text.0.trim();
    if description.contains('\0') {
        return Err(ApiError::invalid("`description` has a NUL character"));
    }
    match description.chars().count() {
        0..=LONGEST_DESCRIPTION => Ok(description.to_owned()),
        _ => {
            let message = format!("`description` is longer than {LONGEST_DESCRIPTION} characters");
            Err(ApiError::invalid(message))
        }
    }
}
