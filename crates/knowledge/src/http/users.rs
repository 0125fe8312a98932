//! Users, for administrators.

use super::App;
use super::caller::Admin;
use super::error::Failure;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use kit::error::ApiError;
use kit::page;
use kit::request::{Params, PathId};
use serde_json::{Value, json};

const MOST_USERS: usize = 1_000;

pub async fn list(State(app): State<App>, _: Admin, params: Params) -> Result<Response, Failure> {
    let limit = params.number("limit", MOST_USERS, (1, MOST_USERS))?;
    let (users, has_more) = app.accounts.page(params.get("after"), limit).await?;
    let next = users.last().filter(|_| has_more).map(|last| last.id.as_str());
    let shown: Vec<Value> = users.iter().map(|user| user.to_json()).collect();
    Ok(page::link_next(Json(json!({ "users": shown })).into_response(), &[], limit, next))
}

/// With all that the user has.
pub async fn remove(
    State(app): State<App>,
    Admin(admin): Admin,
    PathId(id): PathId,
) -> Result<Json<Value>, Failure> {
    if id == admin.id {
        return Err(ApiError::invalid("you cannot remove yourself: ask another administrator").into());
    }
    let removed = app.accounts.remove(&id).await;
    removed.map_err(|error| Failure::of_account(error, app.clock.now_ms()))?;
    Ok(Json(json!({ "success": true })))
}
