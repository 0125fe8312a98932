//! Users, for administrators.

use super::App;
use super::caller::Admin;
use crate::records::User;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use kit::error::ApiError;
use kit::fields::Whole;
use kit::page;
use kit::request::{PathId, Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

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
    users: Vec<UserView>,
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
    let users = users.into_iter().map(UserView::from).collect();
    Ok(page::link_next(Json(UserList { users }).into_response(), &[], limit, next.as_deref()))
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
