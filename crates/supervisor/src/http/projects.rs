//! Projects: listing, creating, showing, changing and deleting them.

use super::App;
use super::caller::{Caller, Contributor};
use crate::access::{Access, SpaceRole, SpaceRoles};
use crate::projects::{Change, ProjectChanges};
use crate::records::{Owner, Project};
use crate::status::ProjectStatus;
use crate::tables;
use axum::Json;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use kit::error::ApiError;
use kit::fields::{AnyText, Text, Time, Whole, given};
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
    /// The space whose members share it. The caller must be one of its editors.
    #[schema(value_type = Option<String>, example = "0199a2f4-0b1c-7d3b-8a90-1f2e3d4c5b6a")]
    space_id: Option<AnyText>,
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
    /// The space whose members share it, of which the caller must be an editor. Null takes it out of its space.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, example = "0199a2f4-0b1c-7d3b-8a90-1f2e3d4c5b6a")]
    space_id: Option<Option<AnyText>>,
}

/// Whose a project is.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum OwnerKind {
    Administrators,
    Guests,
    User,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ProjectOwner)]
struct OwnerView {
    kind: OwnerKind,
    /// The user's id, if the owner is a user.
    #[schema(example = "5f0c1d9e-8b1a-4c55-9d0e-0a1b2c3d4e5f")]
    id: Option<String>,
    /// What the user was called when the project was created.
    #[schema(example = "ada@example.org")]
    name: Option<String>,
}

impl From<&Owner> for OwnerView {
    fn from(owner: &Owner) -> Self {
        match owner {
            Owner::Administrators => Self { kind: OwnerKind::Administrators, id: None, name: None },
            Owner::Guests => Self { kind: OwnerKind::Guests, id: None, name: None },
            Owner::User { id, name } => {
                Self { kind: OwnerKind::User, id: Some(id.clone()), name: Some(name.clone()) }
            }
        }
    }
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
    owner: OwnerView,
    /// The space whose members share it.
    #[schema(example = "0199a2f4-0b1c-7d3b-8a90-1f2e3d4c5b6a")]
    space_id: Option<String>,
    /// What the caller may do with it: `read`, also `execute`, or also `manage` it.
    access: Access,
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
    fn new(project: &Project, access: Access, product_seed: String) -> Self {
        Self {
            id: project.id.clone(),
            name: project.name.clone(),
            product_seed,
            current_phase: project.current_phase.clone(),
            status: project.status,
            owner: OwnerView::from(&project.owner),
            space_id: project.space_id.clone(),
            access,
            created_at: project.created_at,
        }
    }
}

impl ProjectView {
    pub fn new(project: &Project, access: Access, product_seed: String) -> Self {
        Self { project: NewProject::new(project, access, product_seed), updated_at: project.updated_at }
    }
}

impl ListedProject {
    fn new(project: &Project, access: Access) -> Self {
        Self {
            project: ProjectView::new(project, access, project.seed_excerpt.clone()),
            product_seed_truncated: project.is_seed_truncated(),
        }
    }
}

/// Lists the projects that the caller sees, the newest first.
#[utoipa::path(get, path = "/api/projects", params(ProjectsQuery), responses(
    (status = 200, description = "A page of at most 1 MiB; `Link` names the next one.", body = Vec<ListedProject>,
        headers(("Link" = String, description = "The next page, if there is one."))),
))]
pub async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<ProjectsQuery>,
) -> Result<Response, ApiError> {
    let limit = query.limit.map_or(DEFAULT_LIMIT, Whole::size);
    let (visible, roles) = caller.visible(&app).await?;
    let (db, visible) = (&app.db, &visible);
    let read = |before: Option<String>, rows| async move {
        tables::projects::page(db, visible, before.as_deref(), rows).await
    };
    let show = |project: &Project| {
        ListedProject::new(project, caller.who.access(project, &roles).unwrap_or(Access::Read))
    };
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
    JsonBody(CreateProject { name: Text(name), product_seed: Text(seed), space_id }): JsonBody<CreateProject>,
) -> Result<(StatusCode, Json<NewProject>), ApiError> {
    check_text("name", &name, LONGEST_NAME)?;
    check_text("product_seed", &seed, app.settings.seed_characters)?;
    let for_guests = app.settings.guest_limits.seed_characters;
    if caller.guest().is_some() && seed.chars().count() > for_guests {
        let message = format!("`product_seed` is too long: at most {for_guests} characters for guests");
        return Err(ApiError::invalid(message));
    }
    let space_id = space_id.map(|id| id.0).filter(|id| !id.is_empty());
    check_may_share(&app, &caller, space_id.as_deref()).await?;
    let (owner, guest) = (caller.as_owner(), caller.guest());
    let project = app.projects.create(name.trim(), &seed, owner, space_id, guest).await?;
    let access = caller.who.access(&project, &SpaceRoles::new()).unwrap_or(Access::Read);
    Ok((StatusCode::CREATED, Json(NewProject::new(&project, access, seed))))
}

/// Refuses a space in which the caller is no editor.
async fn check_may_share(app: &App, caller: &Caller, space_id: Option<&str>) -> Result<(), ApiError> {
    let Some(id) = space_id else { return Ok(()) };
    if caller.guest().is_some() {
        return Err(ApiError::forbidden("guests have no spaces: sign in"));
    }
    match caller.space_roles(app).await?.get(id) {
        Some(SpaceRole::Editor) => Ok(()),
        Some(SpaceRole::Reader) => {
            Err(ApiError::forbidden("only editors of the space may put projects into it"))
        }
        None => Err(ApiError::not_found(format!("no space `{id}`"))),
    }
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
        (status = 404, description = "`NOT_FOUND`: the caller sees no project with this id."),
    ))]
pub async fn get(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId,
) -> Result<Json<ProjectView>, ApiError> {
    let (project, access) = find_with_access(&app, &caller, &id).await?;
    view(&app, &project, access).await
}

async fn view(app: &App, project: &Project, access: Access) -> Result<Json<ProjectView>, ApiError> {
    let seed = tables::projects::seed(&app.db, &project.id).await?.ok_or_else(|| no_project(&project.id))?;
    Ok(Json(ProjectView::new(project, access, seed)))
}

/// Changes the name of a project, what is to be built, or the space that it is in; for those who manage it.
#[utoipa::path(patch, path = "/api/projects/{id}", params(("id" = String, Path, description = "The project's id.")),
    request_body = ChangeProject, responses(
        (status = 200, body = ProjectView),
        (status = 404, description = "`NOT_FOUND`: the caller sees no project with this id."),
        (status = 409, description = "`CONFLICT`: a run of the project reads what is to be built."),
    ))]
pub async fn change(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId,
    JsonBody(body): JsonBody<ChangeProject>,
) -> Result<Json<ProjectView>, ApiError> {
    let project = find(&app, &caller, &id, Access::Manage).await?;
    let (name, seed) = (body.name.map(|name| name.0), body.product_seed.map(|seed| seed.0));
    if let Some(name) = &name {
        check_text("name", name, LONGEST_NAME)?;
    }
    if let Some(seed) = &seed {
        check_text("product_seed", seed, app.settings.seed_characters)?;
    }
    let space_id = body.space_id.as_ref().map(|id| id.as_deref().filter(|id| !id.is_empty()));
    if space_id.flatten().is_some() && project.owner == Owner::Guests {
        return Err(ApiError::invalid("a project of guests cannot be put into a space"));
    }
    check_may_share(&app, &caller, space_id.flatten()).await?;
    let name = name.as_deref().map(str::trim);
    let changes = ProjectChanges { name, product_seed: seed.as_deref(), space_id };
    match app.projects.change(&id, changes).await? {
        Change::Done => {
            let changed = tables::projects::get(&app.db, &id).await?.ok_or_else(|| no_project(&id))?;
            view(&app, &changed, Access::Manage).await
        }
        Change::NoProject => Err(no_project(&id)),
        Change::Running => Err(ApiError::conflict(
            "a run of the project is open: `product_seed` can be changed when it has ended",
        )),
    }
}

/// Deletes a project with everything in it; for those who manage it.
#[utoipa::path(delete, path = "/api/projects/{id}", params(("id" = String, Path, description = "The project's id.")),
    responses(
        (status = 200, body = Deleted),
        (status = 404, description = "`NOT_FOUND`: the caller sees no project with this id."),
    ))]
pub async fn remove(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId,
) -> Result<Json<Deleted>, ApiError> {
    find(&app, &caller, &id, Access::Manage).await?;
    match app.projects.delete(&id).await? {
        true => Ok(Json(Deleted { success: true, id })),
        false => Err(no_project(&id)),
    }
}

/// Returns the project with this id, if the caller may do this with it, or the error for the caller.
pub async fn find(app: &App, caller: &Caller, id: &str, needed: Access) -> Result<Project, ApiError> {
    let (project, access) = find_with_access(app, caller, id).await?;
    match needed <= access {
        true => Ok(project),
        false if needed == Access::Execute => {
            Err(ApiError::forbidden("you may only read this project: ask an editor of its space"))
        }
        false => Err(ApiError::forbidden(
            "this needs the project's owner, an editor of its space, or the scope `admin`",
        )),
    }
}

/// Returns the project with this id and what the caller may do with it, or the error for the caller.
pub async fn find_with_access(app: &App, caller: &Caller, id: &str) -> Result<(Project, Access), ApiError> {
    // No id has a NUL character, and PostgreSQL would refuse the statement.
    let project = match id.contains('\0') {
        true => None,
        false => tables::projects::get(&app.db, id).await?,
    };
    let project = project.ok_or_else(|| no_project(id))?;
    let access = caller.access(app, &project).await?.ok_or_else(|| no_project(id))?;
    Ok((project, access))
}

pub fn no_project(id: &str) -> ApiError {
    ApiError::not_found(format!("no project `{id}`"))
}
