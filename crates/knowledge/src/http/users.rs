//! Users, for administrators.

use super::App;
use super::caller::Admin;
use super::error::Failure;
use axum::Json;
use axum::extract::State;
use kit::error::ApiError;
use kit::request::PathId;
use serde_json::{Value, json};

pub async fn list(State(app): State<App>, _: Admin) -> Result<Json<Value>, Failure> {
    let users: Vec<Value> = app.accounts.list().await?.iter().map(|user| user.to_json()).collect();
    Ok(Json(json!({ "users": users })))
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
