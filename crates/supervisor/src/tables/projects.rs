//! Projects and their seeds.

use super::AFTER_ALL;
use crate::access::Visible;
use crate::records::{Owner, Project};
use crate::status::{ProjectStatus, RunStatus, StoredName};
use kit::fields::Time;
use sqlx::any::{AnyArguments, AnyRow};
use sqlx::query::Query;
use sqlx::{Any, AssertSqlSafe, Row};
use store::jobs::{self, Job};
use store::{Db, StoreError, Tx, placeholders};

const COLUMNS: &str = "id, name, seed_excerpt, seed_length, current_phase, status, by_guest, owner_id, owner_name, space_id, \
                       created_at, updated_at";

/// Inserts a project. `guest_address` is where its guest is, if a guest has created it.
pub async fn insert(
    tx: &mut Tx,
    project: &Project,
    product_seed: &str,
    guest_address: Option<&str>,
) -> Result<(), StoreError> {
    let (owner_id, owner_name) = match &project.owner {
        Owner::User { id, name } => (Some(id), Some(name)),
        Owner::Administrators | Owner::Guests => (None, None),
    };
    let sql = format!("INSERT INTO projects ({COLUMNS}, guest_address) VALUES ({})", placeholders(1, 13));
    let query = sqlx::query(AssertSqlSafe(sql)).bind(&project.id).bind(&project.name);
    let query = query.bind(&project.seed_excerpt).bind(project.seed_length).bind(&project.current_phase);
    let query = query.bind(project.status.as_str()).bind(i64::from(project.owner == Owner::Guests));
    let query = query.bind(owner_id).bind(owner_name).bind(&project.space_id);
    let query = query.bind(project.created_at.0).bind(project.updated_at.0).bind(guest_address);
    query.execute(tx.conn()).await?;
    let insert = sqlx::query("INSERT INTO seeds (project_id, product_seed) VALUES ($1, $2)");
    insert.bind(&project.id).bind(product_seed).execute(tx.conn()).await?;
    Ok(())
}

/// Returns the whole seed of a project. None if there is no such project.
pub async fn seed(db: &Db, id: &str) -> Result<Option<String>, StoreError> {
    let query = sqlx::query("SELECT product_seed FROM seeds WHERE project_id = $1").bind(id);
    Ok(query.fetch_optional(db.read()).await?.map(|row| row.try_get(0)).transpose()?)
}

pub async fn get(db: &Db, id: &str) -> Result<Option<Project>, StoreError> {
    let sql = AssertSqlSafe(format!("SELECT {COLUMNS} FROM projects WHERE id = $1"));
    let row = sqlx::query(sql).bind(id).fetch_optional(db.read()).await?;
    row.as_ref().map(project_of).transpose()
}

/// Locks the project until the end of `tx`. Every change to a project does this first.
pub async fn lock(tx: &mut Tx, id: &str) -> Result<Option<Project>, StoreError> {
    let now = tx.db().clock().now_ms();
    let sql = AssertSqlSafe(format!("UPDATE projects SET updated_at = $2 WHERE id = $1 RETURNING {COLUMNS}"));
    let row = sqlx::query(sql).bind(id).bind(now).fetch_optional(tx.conn()).await?;
    row.as_ref().map(project_of).transpose()
}

/// As [`lock`], and holds a job in the same trip as [`jobs::hold`] does. Returns also whether the job is to be cancelled.
pub async fn lock_and_hold(tx: &mut Tx, id: &str, job: &Job) -> Result<Option<(Project, bool)>, StoreError> {
    let now = tx.db().clock().now_ms();
    let holding = jobs::holding(tx.db().dialect(), 3);
    let sql = format!(
        "UPDATE projects SET updated_at = $2 WHERE id = $1 RETURNING {COLUMNS}, ({holding}) AS cancel_requested"
    );
    let query = sqlx::query(AssertSqlSafe(sql)).bind(id).bind(now).bind(job.id).bind(job.attempt);
    let Some(row) = query.fetch_optional(tx.conn()).await? else { return Ok(None) };
    Ok(Some((project_of(&row)?, jobs::held(job, row.try_get("cancel_requested")?)?)))
}

/// Returns the visible projects that are older than `before`, the newest first.
pub async fn page(
    db: &Db,
    visible: &Visible,
    before: Option<&str>,
    limit: usize,
) -> Result<Vec<Project>, StoreError> {
    let condition = condition(visible, 3);
    let sql =
        format!("SELECT {COLUMNS} FROM projects WHERE id < $1 AND {condition} ORDER BY id DESC LIMIT $2");
    let query = sqlx::query(AssertSqlSafe(sql)).bind(before.unwrap_or(AFTER_ALL)).bind(limit as i64);
    bind(query, visible).fetch_all(db.read()).await?.iter().map(project_of).collect()
}

/// Returns the condition under which a row of `projects` is visible, with placeholders from `first` on for [`bind`].
pub fn condition(visible: &Visible, first: usize) -> String {
    match visible {
        Visible::All => "1 = 1".to_owned(),
        Visible::OfGuests => "projects.by_guest = 1".to_owned(),
        Visible::Of { spaces, .. } if spaces.is_empty() => format!("projects.owner_id = ${first}"),
        Visible::Of { spaces, .. } => {
            let spaces = placeholders(first + 1, spaces.len());
            format!("(projects.owner_id = ${first} OR projects.space_id IN ({spaces}))")
        }
    }
}

/// Binds the values of [`condition`].
pub fn bind<'q>(query: Query<'q, Any, AnyArguments>, visible: &'q Visible) -> Query<'q, Any, AnyArguments> {
    match visible {
        Visible::All | Visible::OfGuests => query,
        Visible::Of { user, spaces } => {
            spaces.iter().fold(query.bind(user), |query, space| query.bind(space))
        }
    }
}

/// Sets the status at the commit.
pub fn set_status(tx: &mut Tx, id: &str, status: ProjectStatus) {
    tx.later("UPDATE projects SET status = $2 WHERE id = $1").bind(id).bind(status.as_str());
}

/// Sets the status of a project of which no run is open, at the commit: it is complete if a run of its last phase ever
/// was. Moves it on to `phase`, if there is one.
pub fn settle(tx: &mut Tx, id: &str, phase: Option<&str>, last_phase: &str) {
    let update =
        "UPDATE projects SET current_phase = COALESCE($2, current_phase), status = CASE WHEN EXISTS (
            SELECT 1 FROM runs WHERE project_id = $1 AND phase = $3 AND runs.status = $4
        ) THEN $5 ELSE $6 END WHERE id = $1";
    let statement = tx.later(update).bind(id).bind(phase).bind(last_phase);
    let statement = statement.bind(RunStatus::Complete.as_str()).bind(ProjectStatus::Complete.as_str());
    statement.bind(ProjectStatus::Active.as_str());
}

pub async fn set_name(tx: &mut Tx, id: &str, name: &str) -> Result<(), StoreError> {
    let update = sqlx::query("UPDATE projects SET name = $2 WHERE id = $1").bind(id).bind(name);
    update.execute(tx.conn()).await?;
    Ok(())
}

pub async fn set_space(tx: &mut Tx, id: &str, space_id: Option<&str>) -> Result<(), StoreError> {
    let update = sqlx::query("UPDATE projects SET space_id = $2 WHERE id = $1").bind(id).bind(space_id);
    update.execute(tx.conn()).await?;
    Ok(())
}

pub async fn set_seed(
    tx: &mut Tx,
    id: &str,
    product_seed: &str,
    excerpt: &str,
    length: i64,
) -> Result<(), StoreError> {
    let update = sqlx::query("UPDATE projects SET seed_excerpt = $2, seed_length = $3 WHERE id = $1");
    update.bind(id).bind(excerpt).bind(length).execute(tx.conn()).await?;
    let update = sqlx::query("UPDATE seeds SET product_seed = $2 WHERE project_id = $1");
    update.bind(id).bind(product_seed).execute(tx.conn()).await?;
    Ok(())
}

/// Deletes a project with the rows of all tables that refer to it.
pub async fn delete(tx: &mut Tx, id: &str) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM projects WHERE id = $1").bind(id).execute(tx.conn()).await?;
    Ok(())
}

fn project_of(row: &AnyRow) -> Result<Project, StoreError> {
    Ok(Project {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        seed_excerpt: row.try_get("seed_excerpt")?,
        seed_length: row.try_get("seed_length")?,
        current_phase: row.try_get("current_phase")?,
        status: StoredName::parse(&row.try_get::<String, _>("status")?)?,
        owner: owner_of(row)?,
        space_id: row.try_get("space_id")?,
        created_at: Time(row.try_get("created_at")?),
        updated_at: Time(row.try_get("updated_at")?),
    })
}

fn owner_of(row: &AnyRow) -> Result<Owner, StoreError> {
    if row.try_get::<i64, _>("by_guest")? != 0 {
        return Ok(Owner::Guests);
    }
    let (id, name): (Option<String>, Option<String>) = (row.try_get("owner_id")?, row.try_get("owner_name")?);
    Ok(match id {
        Some(id) => Owner::User { id, name: name.unwrap_or_default() },
        None => Owner::Administrators,
    })
}
