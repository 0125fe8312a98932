//! Sources: places that documents come from by themselves. `items` has what became of each thing in a place.

pub mod items;

use super::App;
use super::caller::{Access, Caller, OwnerQuery};
use super::fields::name;
use super::users::Success;
use crate::records::{ItemStatus, Role, RunCounts, Source, User};
use crate::sources::{
    LONGEST_PAUSE, LONGEST_SECRET, NewSource, SHORTEST_PAUSE, SourceChanges, SourceError, is_running,
};
use crate::tables;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use connectors::Settings;
use http::StatusCode;
use kit::error::ApiError;
use kit::fields::AnyText;
use kit::fields::given;
use kit::request::{JsonBody, PathId, Query};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use utoipa::{IntoParams, ToSchema};

/// What readers of a space are told of a run that has failed.
const FAILED_FOR_READERS: &str = "it could not be read: editors of the space see why";

/// A source, as answers show it. Its secret is never shown.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DocumentSource)]
pub struct SourceView {
    #[schema(example = "0199a2f4-0b1c-7d3b-8a90-1f2e3d4c5b6a")]
    id: String,
    /// The space whose documents its items become; absent if they become a user's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    space_id: Option<String>,
    /// The user who added it.
    created_by: String,
    #[schema(example = "Manuals")]
    name: String,
    /// Readers of a space see what kind of place it is, and not where: those texts are empty.
    settings: Settings,
    /// Whether it has a secret.
    has_secret: bool,
    /// Seconds between the end of a run and the next; null if it runs only when asked to.
    #[schema(example = 3600)]
    every: Option<i64>,
    paused: bool,
    #[schema(inline)]
    status: SourceStatus,
    /// When the next run begins, in milliseconds since 1970; null if none is planned.
    next_run_at: Option<i64>,
    /// Null if it has never run.
    last_run: Option<RunView>,
    items: ItemCounts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SourceStatus {
    /// It waits for its next run.
    Waiting,
    Running,
    /// The last run could not be done. It is tried again, after a longer time each time.
    Failed,
    Paused,
}

/// The last run that has begun.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SourceRun)]
pub struct RunView {
    /// In milliseconds since 1970.
    #[schema(example = 1794821400000i64)]
    started_at: Option<i64>,
    /// Null while it is at work.
    ended_at: Option<i64>,
    /// Why it could not be done; null if it could.
    error: Option<String>,
    #[serde(flatten)]
    counts: RunCounts,
}

/// How many items of the place are documents, were skipped, or could not be read.
#[derive(Serialize, ToSchema)]
pub struct ItemCounts {
    #[schema(example = 120)]
    stored: i64,
    #[schema(example = 3)]
    skipped: i64,
    #[schema(example = 1)]
    error: i64,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceList {
    /// The oldest first.
    sources: Vec<SourceView>,
    /// Below which folders of the server a source may be; only for administrators.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    folder_roots: Option<Vec<String>>,
}

/// A new source. Null counts as absent.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewSourceBody {
    #[schema(value_type = String, min_length = 1, max_length = 100, example = "Manuals")]
    name: AnyText,
    settings: Settings,
    /// A password, a token or a key, as the kind of source says. It is stored encrypted and never shown.
    #[schema(value_type = Option<String>, max_length = 16384)]
    secret: Option<AnyText>,
    /// Seconds between the end of a run and the next, from a minute to 31 days; it runs only when asked to if absent.
    #[schema(minimum = 60, maximum = 2678400, example = 3600)]
    every: Option<u64>,
    /// The space whose documents its items become; they become the caller's if absent.
    #[schema(value_type = Option<String>)]
    space_id: Option<AnyText>,
}

/// What is to change of a source. What is absent stays.
#[derive(Deserialize, ToSchema)]
pub struct SourceChangesBody {
    #[schema(value_type = Option<String>, min_length = 1, max_length = 100, example = "Manuals")]
    name: Option<AnyText>,
    settings: Option<Settings>,
    /// Null drops it.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, max_length = 16384)]
    secret: Option<Option<AnyText>>,
    /// Null: it runs only when asked to.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<u64>, minimum = 60, maximum = 2678400, example = 3600)]
    every: Option<Option<u64>>,
    paused: Option<bool>,
}

/// A source after a change.
#[derive(Serialize, ToSchema)]
pub struct ChangedSource {
    success: bool,
    source: SourceView,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RemoveQuery {
    /// Whether its documents are removed, too; false if absent.
    #[serde(default)]
    documents: bool,
}

/// Lists the sources of the caller, or of a space.
#[utoipa::path(get, path = "/api/sources", params(OwnerQuery), responses(
    (status = 200, body = SourceList),
    (status = 404, description = "`NOT_FOUND`: no user has the id `userId`, or the caller no space `spaceId`."),
))]
pub async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(owner): Query<OwnerQuery>,
) -> Result<Json<SourceList>, ApiError> {
    let user = caller.0.clone();
    let folder_roots = user.is_admin.then(|| app.sources.folder_roots());
    let owner_id = owner.owner_id(&app, caller, Access::Read).await?;
    let mut sources = Vec::new();
    for source in app.sources.list(&owner_id).await? {
        sources.push(view(&app, &user, source).await?);
    }
    Ok(Json(SourceList { sources, folder_roots }))
}

/// Adds a source. Its first run begins at once. Folders of the server are for administrators.
#[utoipa::path(post, path = "/api/sources", request_body = NewSourceBody, responses(
    (status = 201, body = ChangedSource),
    (status = 403, description = "`FORBIDDEN`: the caller is only a reader of the space, or not an administrator."),
    (status = 404, description = "`NOT_FOUND`: the caller has no space `spaceId`."),
    (status = 409, description = "`CONFLICT`: there are 100 sources already."),
))]
pub async fn create(
    State(app): State<App>,
    caller: Caller,
    JsonBody(body): JsonBody<NewSourceBody>,
) -> Result<Response, ApiError> {
    let user = caller.0.clone();
    check_kind(&user, &body.settings)?;
    let owner = OwnerQuery { user_id: None, space_id: body.space_id.map(|id| id.0) };
    let new = NewSource {
        owner_id: owner.owner_id(&app, caller, Access::Change).await?,
        created_by: user.id.clone(),
        name: name(&body.name)?,
        settings: body.settings,
        secret: body.secret.map(secret).transpose()?,
        every: body.every.map(pause).transpose()?,
    };
    let source = view(&app, &user, app.sources.create(new).await?).await?;
    Ok((StatusCode::CREATED, Json(ChangedSource { success: true, source })).into_response())
}

/// Returns a source.
#[utoipa::path(get, path = "/api/sources/{id}", params(("id" = String, Path)), responses(
    (status = 200, body = SourceView),
    (status = 404, description = "`NOT_FOUND`: the caller has no source with this id."),
))]
pub async fn get(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
) -> Result<Json<SourceView>, ApiError> {
    let source = find(&app, &user, &id, Access::Read).await?;
    Ok(Json(view(&app, &user, source).await?))
}

/// Changes a source.
#[utoipa::path(patch, path = "/api/sources/{id}", params(("id" = String, Path)), request_body = SourceChangesBody,
    responses(
        (status = 200, body = ChangedSource),
        (status = 403, description = "`FORBIDDEN`: the caller is only a reader of the space, or not an administrator."),
        (status = 404, description = "`NOT_FOUND`: the caller has no source with this id."),
    ))]
pub async fn update(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
    JsonBody(body): JsonBody<SourceChangesBody>,
) -> Result<Json<ChangedSource>, ApiError> {
    let source = find(&app, &user, &id, Access::Change).await?;
    check_kind(&user, &source.settings)?;
    if let Some(settings) = &body.settings {
        check_kind(&user, settings)?;
    }
    let changes = SourceChanges {
        name: body.name.as_ref().map(name).transpose()?,
        settings: body.settings,
        secret: body.secret.map(|given| given.map(secret).transpose()).transpose()?,
        every: body.every.map(|given| given.map(pause).transpose()).transpose()?,
        paused: body.paused,
    };
    let source = app.sources.update(&id, changes).await?;
    Ok(Json(ChangedSource { success: true, source: view(&app, &user, source).await? }))
}

/// Begins a run of a source now. Items that could not be read are tried again.
#[utoipa::path(post, path = "/api/sources/{id}/run", params(("id" = String, Path)), responses(
    (status = 202, body = ChangedSource),
    (status = 403, description = "`FORBIDDEN`: the caller is only a reader of the space."),
    (status = 404, description = "`NOT_FOUND`: the caller has no source with this id."),
    (status = 409, description = "`CONFLICT`: the source is paused."),
))]
pub async fn run(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
) -> Result<Response, ApiError> {
    find(&app, &user, &id, Access::Change).await?;
    let source = view(&app, &user, app.sources.run_now(&id).await?).await?;
    Ok((StatusCode::ACCEPTED, Json(ChangedSource { success: true, source })).into_response())
}

/// Removes a source, with or without its documents.
#[utoipa::path(delete, path = "/api/sources/{id}", params(("id" = String, Path), RemoveQuery), responses(
    (status = 200, body = Success),
    (status = 403, description = "`FORBIDDEN`: the caller is only a reader of the space."),
    (status = 404, description = "`NOT_FOUND`: the caller has no source with this id."),
))]
pub async fn remove(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
    Query(query): Query<RemoveQuery>,
) -> Result<Json<Success>, ApiError> {
    find(&app, &user, &id, Access::Change).await?;
    app.sources.remove(&id, query.documents).await?;
    Ok(Json(Success { success: true }))
}

/// Finds a source of the caller or of a space of theirs, or for an administrator any source.
async fn find(app: &App, user: &User, id: &str, access: Access) -> Result<Source, ApiError> {
    let source = app.sources.get(id).await?;
    if source.owner_id == user.id || user.is_admin {
        return Ok(source);
    }
    let is_visible = tables::spaces::role(&app.db, &source.owner_id, &user.id).await?.is_some();
    if !is_visible {
        return Err(SourceError::NoSuchSource(id.to_owned()).into());
    }
    if access == Access::Change {
        app.spaces.get_to_edit(user, &source.owner_id).await?;
    }
    Ok(source)
}

/// Files of the server are for administrators.
fn check_kind(user: &User, settings: &Settings) -> Result<(), ApiError> {
    match !user.is_admin && connectors::is_local(settings) {
        true => {
            Err(ApiError::forbidden("only an administrator may read folders and repositories of the server"))
        }
        false => Ok(()),
    }
}

/// Returns a source as a user may see it. Where it is, and what went wrong there, is for those who may change it.
async fn view(app: &App, user: &User, source: Source) -> Result<SourceView, ApiError> {
    let may_change = source.owner_id == user.id
        || user.is_admin
        || tables::spaces::role(&app.db, &source.owner_id, &user.id).await? == Some(Role::Editor);
    let counts = tables::source_items::counts(&app.db, &source.id).await?;
    let count = |status: ItemStatus| counts.get(&status).copied().unwrap_or(0);
    let is_space = tables::spaces::get(&app.db, &source.owner_id).await?.is_some();
    let status = match () {
        () if is_running(&source) => SourceStatus::Running,
        () if source.is_paused => SourceStatus::Paused,
        () if source.last_run.error.is_some() => SourceStatus::Failed,
        () => SourceStatus::Waiting,
    };
    let run = source.last_run;
    Ok(SourceView {
        id: source.id,
        space_id: is_space.then_some(source.owner_id),
        created_by: source.created_by,
        name: source.name,
        settings: if may_change { source.settings } else { source.settings.without_place() },
        has_secret: !source.secret.is_empty(),
        every: Some(source.every).filter(|seconds| *seconds > 0),
        paused: source.is_paused,
        status,
        next_run_at: source.next_run_at.filter(|_| status != SourceStatus::Running),
        last_run: (run.number > 0).then_some(RunView {
            started_at: run.started_at,
            ended_at: run.ended_at,
            error: run.error.map(|error| if may_change { error } else { FAILED_FOR_READERS.to_owned() }),
            counts: run.counts,
        }),
        items: ItemCounts {
            stored: count(ItemStatus::Stored),
            skipped: count(ItemStatus::Skipped),
            error: count(ItemStatus::Error),
        },
    })
}

fn secret(text: AnyText) -> Result<String, ApiError> {
    match text.0.len() {
        0..=LONGEST_SECRET => Ok(text.0),
        _ => Err(ApiError::invalid(format!("`secret` is longer than {LONGEST_SECRET} bytes"))),
    }
}

fn pause(seconds: u64) -> Result<Duration, ApiError> {
    let pause = Duration::from_secs(seconds);
    match (SHORTEST_PAUSE..=LONGEST_PAUSE).contains(&pause) {
        true => Ok(pause),
        false => Err(ApiError::invalid(format!(
            "`every` is {seconds}: seconds from {} to {}",
            SHORTEST_PAUSE.as_secs(),
            LONGEST_PAUSE.as_secs()
        ))),
    }
}
