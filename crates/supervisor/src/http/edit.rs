//! `POST /api/artifacts/{id}`: a new version of an artifact, written by a person.

use super::App;
use super::caller::Caller;
use super::projects::find;
use crate::access::Access;
use crate::records::Artifact;
use axum::Json;
use axum::extract::State;
use http::StatusCode;
use kit::error::ApiError;
use kit::fields::Text;
use kit::request::{JsonBody, PathId};
use serde::Deserialize;
use utoipa::ToSchema;

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactEdit {
    /// The version that was edited, which must be the newest.
    #[schema(value_type = String, min_length = 1, example = "0199a2f5-7e30-7f5d-8cb2-304f5e6d7c8b")]
    artifact_id: Text,
    #[schema(value_type = String, min_length = 1, example = "## Problem\n\nBeekeepers lose their notes.")]
    content: Text,
}

/// Stores an edited artifact as its next version; for those who manage the project. If it waits for approval, the new
/// version waits in its place.
#[utoipa::path(post, path = "/api/artifacts/{id}", params(("id" = String, Path, description = "The project's id.")),
    request_body = ArtifactEdit, responses(
        (status = 201, description = "The new version.", body = Artifact),
        (status = 404, description = "`NOT_FOUND`: the caller sees no project with this id, or it has no such artifact."),
        (status = 409, description = "`CONFLICT`: there is a newer version, or the artifact's phase is running."),
    ))]
pub async fn edit(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId,
    JsonBody(ArtifactEdit { artifact_id, content }): JsonBody<ArtifactEdit>,
) -> Result<(StatusCode, Json<Artifact>), ApiError> {
    find(&app, &caller, &id, Access::Manage).await?;
    if content.0.trim().is_empty() {
        return Err(ApiError::invalid("`content` is missing: a string that is not empty"));
    }
    let edited = app.runs.edit(&id, &artifact_id.0, content.0, caller.name()).await?;
    Ok((StatusCode::CREATED, Json(edited)))
}
