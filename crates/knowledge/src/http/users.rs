//! Users, for administrators.

use super::App;
use super::caller::Admin;
use super::storage::{Storage, storage_of};
use crate::accounts::{AccountError, Goals, UserChanges};
use crate::records::User;
use crate::summary::summarize;
use crate::tables;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use kit::error::ApiError;
use kit::fields::given;
use kit::fields::{AnyText, Whole};
use kit::page;
use kit::request::{JsonBody, PathId, Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// In bytes, as at signup.
const LONGEST_GOALS: usize = 256 << 10;
const LAST_ADMINISTRATOR: &str = "this is the last administrator who can sign in: make another one first";

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct UsersQuery {
    /// The most users that are listed; 1000 if absent.
    #[serde(default = "most_users")]
    #[param(inline)]
    limit: Whole<1, 1_000>,
    /// The id of the last user of the page before.
    after: Option<String>,
}

fn most_users() -> Whole<1, 1_000> {
    Whole(1_000)
}

/// A user, as answers show them. Times are in milliseconds since 1970.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = User)]
pub struct UserView {
    #[schema(example = "5f0c1d9e-8b1a-4c55-9d0e-0a1b2c3d4e5f")]
    id: String,
    #[schema(example = "ada")]
    username: String,
    #[schema(example = "ada@example.org")]
    email: String,
    #[schema(example = "Ada Solberg")]
    name: String,
    #[schema(example = false)]
    is_admin: bool,
    /// Whether the user cannot sign in.
    #[schema(example = false)]
    disabled: bool,
    /// As given at signup.
    #[schema(example = "Keep the pumps running.")]
    goals: String,
    #[schema(example = "Keep the pumps running.")]
    goals_summary: String,
    #[schema(example = 1794821400000i64)]
    created_at: i64,
    /// 0 before the first login.
    #[schema(example = 1794821400000i64)]
    last_login: i64,
}

impl From<User> for UserView {
    fn from(user: User) -> Self {
        Self {
            id: user.id,
            username: user.username,
            email: user.email,
            name: user.name,
            is_admin: user.is_admin,
            disabled: user.disabled,
            goals: user.goals,
            goals_summary: user.goals_summary,
            created_at: user.created_at,
            last_login: user.last_login,
        }
    }
}

/// The answer to a change that returns nothing else.
#[derive(Serialize, ToSchema)]
pub struct Success {
    pub success: bool,
}

#[derive(Serialize, ToSchema)]
pub struct UserList {
    users: Vec<ListedUser>,
}

/// A user in a list.
#[derive(Serialize, ToSchema)]
pub struct ListedUser {
    #[serde(flatten)]
    user: UserView,
    /// How many documents they have.
    #[schema(example = 12)]
    documents: i64,
    /// The size of their files, former versions included, in bytes.
    #[schema(example = 1048576)]
    bytes: i64,
    /// The most that they may have, in bytes; null if there is no limit.
    #[schema(example = 1073741824)]
    quota: Option<i64>,
}

/// What is changed of a user; what is absent stays.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserChangesBody {
    /// True ends all sessions of the user, who cannot sign in any more.
    #[schema(example = false)]
    disabled: Option<bool>,
    /// Whether the user is an administrator here. The gateway knows a new one after the next new password.
    #[schema(example = false)]
    is_admin: Option<bool>,
    #[schema(value_type = Option<String>, min_length = 1, max_length = 254, example = "Ada Solberg")]
    name: Option<AnyText>,
    /// The user can sign in with a new address after the next new password.
    #[schema(value_type = Option<String>, min_length = 3, max_length = 254, example = "ada@example.org")]
    email: Option<AnyText>,
    #[schema(value_type = Option<String>, max_length = 262144, example = "Keep the pumps running.")]
    goals: Option<AnyText>,
    /// The most bytes that the files of the user may have; null if the setting counts.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<i64>, minimum = 0, example = 1073741824)]
    quota: Option<Option<i64>>,
}

#[derive(Deserialize, ToSchema)]
pub struct NewPasswordBody {
    /// As it will be typed.
    #[schema(value_type = String, min_length = 8, max_length = 1024, example = "battery staple")]
    password: AnyText,
}

/// A user after a change.
#[derive(Serialize, ToSchema)]
pub struct ChangedUser {
    success: bool,
    user: UserView,
}

/// Lists users, the oldest first; for administrators.
#[utoipa::path(get, path = "/api/users", params(UsersQuery), responses(
    (status = 200, description = "A page of at most 1 MiB.", body = UserList, headers(
        ("Link" = String, description = "The next page, `rel=\"next\"`; absent at the end."),
    )),
))]
pub async fn list(
    State(app): State<App>,
    _: Admin,
    Query(query): Query<UsersQuery>,
) -> Result<Response, ApiError> {
    let limit = query.limit.size();
    let (users, has_more) = app.accounts.page(query.after.as_deref(), limit).await?;
    let next = users.last().filter(|_| has_more).map(|last| last.id.clone());
    let ids: Vec<&str> = users.iter().map(|user| user.id.as_str()).collect();
    let storage = storage_of(&app, &ids).await?;
    let listed = users.into_iter().map(|user| {
        let Storage { documents, bytes, quota } = storage.get(&user.id).copied().unwrap_or_default();
        ListedUser { user: user.into(), documents, bytes, quota }
    });
    let users = listed.collect();
    Ok(page::link_next(Json(UserList { users }).into_response(), &[], limit, next.as_deref()))
}

/// Changes a user; for administrators.
#[utoipa::path(patch, path = "/api/users/{id}", params(("id" = String, Path)), request_body = UserChangesBody,
    responses(
        (status = 200, body = ChangedUser),
        (status = 404, description = "`NOT_FOUND`: no user has this id."),
        (status = 409, description = "`CONFLICT`: this would disable or demote the caller, or the last administrator."),
    ))]
pub async fn update(
    State(app): State<App>,
    Admin(admin): Admin,
    PathId(id): PathId,
    JsonBody(body): JsonBody<UserChangesBody>,
) -> Result<Json<ChangedUser>, ApiError> {
    let mut changes = UserChanges {
        disabled: body.disabled,
        is_admin: body.is_admin,
        name: body.name.map(|name| name.0),
        email: body.email.map(|email| email.0),
        goals: None,
    };
    changes.check()?;
    if id == admin.id && changes.takes_rights() {
        return Err(ApiError::conflict("you cannot do this to yourself: ask another administrator"));
    }
    if let Some(text) = body.goals.map(|goals| goals.0) {
        if text.len() > LONGEST_GOALS {
            return Err(ApiError::too_large("`goals` is longer than 256 KiB"));
        }
        let summary = summarize(&app.chats.default_model(), app.engine.as_deref(), &admin.id, &text).await;
        changes.goals = Some(Goals { text, summary });
    }
    let quota = body.quota;
    check_quota(quota)?;
    let user = app.accounts.update(&id, changes).await.map_err(|error| match error {
        AccountError::LastAdministrator => ApiError::conflict(LAST_ADMINISTRATOR),
        error => error.into(),
    })?;
    if let Some(quota) = quota {
        set_quota(&app, &id, quota).await?;
    }
    Ok(Json(ChangedUser { success: true, user: user.into() }))
}

/// Checks a quota before anything is changed.
pub fn check_quota(quota: Option<Option<i64>>) -> Result<(), ApiError> {
    match quota.flatten().is_some_and(|bytes| bytes < 0) {
        true => Err(ApiError::invalid("`quota` is negative: a number of bytes")),
        false => Ok(()),
    }
}

/// Sets the quota of a user or a space.
pub async fn set_quota(app: &App, id: &str, quota: Option<i64>) -> Result<(), ApiError> {
    let mut tx = app.db.begin().await?;
    tables::users::set_quota(&mut tx, id, quota).await?;
    Ok(tx.commit().await?)
}

/// Sets a new password for a user, and ends all of their sessions; for administrators.
#[utoipa::path(post, path = "/api/users/{id}/password", params(("id" = String, Path)), request_body = NewPasswordBody,
    responses(
        (status = 200, body = Success),
        (status = 404, description = "`NOT_FOUND`: no user has this id."),
        (status = 409, description = "`CONFLICT`: the account was changed at the same time."),
    ))]
pub async fn set_password(
    State(app): State<App>,
    _: Admin,
    PathId(id): PathId,
    JsonBody(body): JsonBody<NewPasswordBody>,
) -> Result<Json<Success>, ApiError> {
    app.accounts.reset_password(&id, &body.password).await?;
    Ok(Json(Success { success: true }))
}

/// Removes a user with everything that they have; for administrators.
#[utoipa::path(delete, path = "/api/users/{id}", params(("id" = String, Path)), responses(
    (status = 200, body = Success),
    (status = 404, description = "`NOT_FOUND`: no user has this id."),
))]
pub async fn remove(
    State(app): State<App>,
    Admin(admin): Admin,
    PathId(id): PathId,
) -> Result<Json<Success>, ApiError> {
    if id == admin.id {
        return Err(ApiError::invalid("you cannot remove yourself: ask another administrator"));
    }
    app.accounts.remove(&id).await?;
    Ok(Json(Success { success: true }))
}
