//! Projects: listing, creating, showing, changing and deleting them.

use super::App;
use super::caller::{Admin, Caller, Contributor};
use crate::projects::Change;
use crate::records::Project;
use crate::status::ProjectStatus;
use crate::tables;
use axum::Json;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use kit::error::ApiError;
use kit::fields::{Text, Time, Whole};
use kit::page;
use kit::request::{JsonBody, PathId, Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

const LONGEST_NAME: usize = 200;
const DEFAULT_LIMIT: usize = 1_000;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ProjectsQuery {
    /// Projects on a page; 1000 if absent.
    #[param(inline)]
    limit: Option<Whole<1, 1000>>,
    /// The id of the last project of the page before.
    after: Option<String>,
}

#[derive(Deserialize, ToSchema)]
pub struct CreateProject {
    #[schema(value_type = String, min_length = 1, max_length = 200, example = "Bees")]
    name: Text,
    /// What is to be built. The settings limit its characters: by default to 100000, and to 20000 for guests.
    #[schema(value_type = String, min_length = 1, max_length = 100000,
        example = "A diary of each hive that works without a network.")]
    product_seed: Text,
}

/// What changes of a project. What is absent or null stays.
#[derive(Deserialize, ToSchema)]
pub struct ChangeProject {
    #[schema(value_type = Option<String>, min_length = 1, max_length = 200, example = "Bees and hives")]
    name: Option<Text>,
    /// What is to be built. Artifacts that exist stay as they are.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 100000,
        example = "A diary of each hive that works without a network.")]
    product_seed: Option<Text>,
}

/// A project that was just created.
#[derive(Serialize, ToSchema)]
pub struct NewProject {
    #[schema(example = "0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    id: String,
    #[schema(example = "Bees")]
    name: String,
    #[schema(example = "A diary of each hive that works without a network.")]
    product_seed: String,
    #[schema(example = "prd")]
    current_phase: String,
    status: ProjectStatus,
    created_at: Time,
}

/// A project.
#[derive(Serialize, ToSchema)]
#[schema(as = Project)]
pub struct ProjectView {
    #[serde(flatten)]
    project: NewProject,
    updated_at: Time,
}

/// A project in a list. Its `product_seed` has at most the first 300 characters.
#[derive(Serialize, ToSchema)]
pub struct ListedProject {
    #[serde(flatten)]
    project: ProjectView,
    /// Whether `product_seed` is only the beginning. The whole seed is at `/api/projects/{id}`.
    #[schema(example = false)]
    product_seed_truncated: bool,
}

#[derive(Serialize, ToSchema)]
pub struct Deleted {
    success: bool,
    #[schema(example = "0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    id: String,
}

impl NewProject {
    fn new(project: &Project, product_seed: String) -> Self {
        Self {
            id: project.id.clone(),
            name: project.name.clone(),
            product_seed,
            current_phase: project.current_phase.clone(),
            status: project.status,
            created_at: project.created_at,
        }
    }
}

impl ProjectView {
    pub fn new(project: &Project, product_seed: String) -> Self {
        Self { project: NewProject::new(project, product_seed), updated_at: project.updated_at }
    }
}

impl From<&Project> for ListedProject {
    fn from(project: &Project) -> Self {
        Self {
            project: ProjectView::new(project, project.seed_excerpt.clone()),
            product_seed_truncated: project.is_seed_truncated(),
        }
    }
}

/// Lists projects, the newest first.
#[utoipa::path(get, path = "/api/projects", params(ProjectsQuery), responses(
    (status = 200, description = "A page of at most 1 MiB; `Link` names the next one.", body = Vec<ListedProject>,
        headers(("Link" = String, description = "The next page, if there is one."))),
))]
pub async fn list(
    State(app): State<App>,
    _: Caller,
    Query(query): Query<ProjectsQuery>,
) -> Result<Response, ApiError> {
    let limit = query.limit.map_or(DEFAULT_LIMIT, Whole::size);
    let db = &app.db;
    let read = |before: Option<String>, rows| async move {
        tables::projects::page(db, before.as_deref(), rows).await
    };
    let show = |project: &Project| ListedProject::from(project);
    page::read_page(limit, query.after.as_deref(), read, |project| (&project.id, show(project))).await
}

/// Creates a project.
#[utoipa::path(post, path = "/api/projects", request_body = CreateProject, responses(
    (status = 201, description = "The project is stored.", body = NewProject),
    (status = 429, description = "`TOO_MANY_REQUESTS`: guests have created too many projects."),
))]
pub async fn create(
    State(app): State<App>,
    Contributor(caller): Contributor,
    JsonBody(CreateProject { name: Text(name), product_seed: Text(seed) }): JsonBody<CreateProject>,
) -> Result<(StatusCode, Json<NewProject>), ApiError> {
    check_text("name", &name, LONGEST_NAME)?;
    check_text("product_seed", &seed, app.settings.seed_characters)?;
    let for_guests = app.settings.guest_limits.seed_characters;
    if caller.guest.is_some() && seed.chars().count() > for_guests {
        let message = format!("`product_seed` is too long: at most {for_guests} characters for guests");
        return Err(ApiError::invalid(message));
    }
    let project = app.projects.create(name.trim(), &seed, caller.guest.as_ref()).await?;
    Ok((StatusCode::CREATED, Json(NewProject::new(&project, seed))))
}

fn check_text(name: &str, text: &str, longest: usize) -> Result<(), ApiError> {
    if text.trim().is_empty() {
        return Err(ApiError::invalid(format!("`{name}` is missing: a string that is not empty")));
    }
    if text.chars().count() > longest {
        return Err(ApiError::invalid(format!("`{name}` is too long: at most {longest} characters")));
    }
    Ok(())
}

/// Returns a project.
#[utoipa::path(get, path = "/api/projects/{id}", params(("id" = String, Path, description = "The project's id.")),
    responses(
        (status = 200, body = ProjectView),
        (status = 404, description = "`NOT_FOUND`: no project has this id."),
    ))]
pub async fn get(
    State(app): State<App>,
    _: Caller,
    PathId(id): PathId,
) -> Result<Json<ProjectView>, ApiError> {
    get_view(&app, &id).await
}

async fn get_view(app: &App, id: &str) -> Result<Json<ProjectView>, ApiError> {
    let project = find(app, id).await?;
    let seed = tables::projects::seed(&app.db, id).await?.ok_or_else(|| no_project(id))?;
    Ok(Json(ProjectView::new(&project, seed)))
}

/// Changes the name of a project, or what is to be built. Only administrators may do so.
#[utoipa::path(patch, path = "/api/projects/{id}", params(("id" = String, Path, description = "The project's id.")),
    request_body = ChangeProject, responses(
        (status = 200, body = ProjectView),
        (status = 404, description = "`NOT_FOUND`: no project has this id."),
        (status = 409, description = "`CONFLICT`: a run of the project reads what is to be built."),
    ))]
pub async fn change(
    State(app): State<App>,
    _: Admin,
    PathId(id): PathId,
    JsonBody(body): JsonBody<ChangeProject>,
) -> Result<Json<ProjectView>, ApiError> {
    let (name, seed) = (body.name.map(|name| name.0), body.product_seed.map(|seed| seed.0));
    if let Some(name) = &name {
        check_text("name", name, LONGEST_NAME)?;
    }
    if let Some(seed) = &seed {
        check_text("product_seed", seed, app.settings.seed_characters)?;
    }
    match app.projects.change(&id, name.as_deref().map(str::trim), seed.as_deref()).await? {
        Change::Done => get_view(&app, &id).await,
        Change::NoProject => Err(no_project(&id)),
        Change::Running => Err(ApiError::conflict(
            "a run of the project is open: `product_seed` can be changed when it has ended",
        )),
    }
}

/// Deletes a project with everything in it. Only administrators may do so.
#[utoipa::path(delete, path = "/api/projects/{id}", params(("id" = String, Path, description = "The project's id.")),
    responses(
        (status = 200, body = Deleted),
        (status = 404, description = "`NOT_FOUND`: no project has this id."),
    ))]
pub async fn remove(State(app): State<App>, _: Admin, PathId(id): PathId) -> Result<Json<Deleted>, ApiError> {
    match app.projects.delete(&id).await? {
        true => Ok(Json(Deleted { success: true, id })),
        false => Err(no_project(&id)),
    }
}

/// Returns the project with this id, or the error for the caller.
pub async fn find(app: &App, id: &str) -> Result<Project, ApiError> {
    tables::projects::get(&app.db, id).await?.ok_or_else(|| no_project(id))
}

fn no_project(id: &str) -> ApiError {
    ApiError::not_found(format!("no project `{id}`"))
}
