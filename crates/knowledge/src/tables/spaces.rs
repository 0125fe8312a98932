//! Spaces and their members.

use crate::records::{Member, Role, Space};
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};
use store::{Db, StoreError, Tx, parse_stored};

const COLUMNS: &str =
    "spaces.id, spaces.name, spaces.description, spaces.everyone, spaces.created_by, spaces.created_at";

/// Inserts a space and the owner of its documents.
pub async fn insert(tx: &mut Tx, space: &Space) -> Result<(), StoreError> {
    super::users::insert_owner(tx, &space.id, "", space.created_at).await?;
    let insert = "INSERT INTO spaces (id, name, description, everyone, created_by, created_at)
        VALUES ($1, $2, $3, $4, $5, $6)";
    let query = sqlx::query(insert).bind(&space.id).bind(&space.name).bind(&space.description);
    let query = query.bind(role_text(space.everyone)).bind(&space.created_by).bind(space.created_at);
    query.execute(tx.conn()).await?;
    Ok(())
}

/// Stores the name, the description and the role of everyone.
pub async fn update(tx: &mut Tx, space: &Space) -> Result<(), StoreError> {
    let update = "UPDATE spaces SET name = $2, description = $3, everyone = $4 WHERE id = $1";
    let query = sqlx::query(update).bind(&space.id).bind(&space.name).bind(&space.description);
    query.bind(role_text(space.everyone)).execute(tx.conn()).await?;
    Ok(())
}

/// Deletes a space with its members. The owner of its documents stays.
pub async fn delete(tx: &mut Tx, id: &str) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM spaces WHERE id = $1").bind(id).execute(tx.conn()).await?;
    Ok(())
}

/// Locks a space until the end of `tx`, and returns it.
pub async fn lock(tx: &mut Tx, id: &str) -> Result<Option<Space>, StoreError> {
    let update = AssertSqlSafe(format!("UPDATE spaces SET id = id WHERE id = $1 RETURNING {COLUMNS}"));
    let row = sqlx::query(update).bind(id).fetch_optional(tx.conn()).await?;
    row.as_ref().map(space_of).transpose()
}

pub async fn get(db: &Db, id: &str) -> Result<Option<Space>, StoreError> {
    let select = AssertSqlSafe(format!("SELECT {COLUMNS} FROM spaces WHERE id = $1"));
    let row = sqlx::query(select).bind(id).fetch_optional(db.read()).await?;
    row.as_ref().map(space_of).transpose()
}

/// Returns the spaces of a user, each with the user's role, by name.
pub async fn of_user(db: &Db, user_id: &str) -> Result<Vec<(Space, Role)>, StoreError> {
    let select = AssertSqlSafe(format!(
        "SELECT {COLUMNS}, COALESCE(m.role, '') FROM spaces
         LEFT JOIN space_members m ON m.space_id = spaces.id AND m.user_id = $1
         WHERE m.role IS NOT NULL OR everyone <> '' ORDER BY lower(spaces.name), spaces.id"
    ));
    let rows = sqlx::query(select).bind(user_id).fetch_all(db.read()).await?;
    let with_role = |row: &AnyRow| {
        let space = space_of(row)?;
        let role = parse_role(&row.try_get::<String, _>(6)?)?.max(space.everyone);
        Ok(role.map(|role| (space, role)))
    };
    rows.iter().filter_map(|row| with_role(row).transpose()).collect()
}

/// Returns all spaces, by name.
pub async fn all(db: &Db) -> Result<Vec<Space>, StoreError> {
    let select = AssertSqlSafe(format!("SELECT {COLUMNS} FROM spaces ORDER BY lower(name), id"));
    sqlx::query(select).fetch_all(db.read()).await?.iter().map(space_of).collect()
}

/// Returns the role of a user in a space; none if the user has none.
pub async fn role(db: &Db, space_id: &str, user_id: &str) -> Result<Option<Role>, StoreError> {
    let select = "SELECT everyone, COALESCE(m.role, '') FROM spaces
        LEFT JOIN space_members m ON m.space_id = spaces.id AND m.user_id = $2 WHERE spaces.id = $1";
    let Some(row) = sqlx::query(select).bind(space_id).bind(user_id).fetch_optional(db.read()).await? else {
        return Ok(None);
    };
    let (everyone, own) = (row.try_get::<String, _>(0)?, row.try_get::<String, _>(1)?);
    Ok(parse_role(&everyone)?.max(parse_role(&own)?))
}

pub async fn count(tx: &mut Tx) -> Result<i64, StoreError> {
    Ok(sqlx::query("SELECT COUNT(*) FROM spaces").fetch_one(tx.conn()).await?.try_get(0)?)
}

/// Adds a member, or changes the role of one.
pub async fn put_member(
    tx: &mut Tx,
    space_id: &str,
    user_id: &str,
    role: Role,
    added_at: i64,
) -> Result<(), StoreError> {
    let insert = "INSERT INTO space_members (space_id, user_id, role, added_at) VALUES ($1, $2, $3, $4)
        ON CONFLICT (space_id, user_id) DO UPDATE SET role = excluded.role";
    let query = sqlx::query(insert).bind(space_id).bind(user_id).bind(role_text(Some(role))).bind(added_at);
    query.execute(tx.conn()).await?;
    Ok(())
}

/// Returns false if the user is no member.
pub async fn delete_member(tx: &mut Tx, space_id: &str, user_id: &str) -> Result<bool, StoreError> {
    let delete = "DELETE FROM space_members WHERE space_id = $1 AND user_id = $2";
    let query = sqlx::query(delete).bind(space_id).bind(user_id);
    Ok(query.execute(tx.conn()).await?.rows_affected() == 1)
}

/// Returns the members of a space, the first added first.
pub async fn members(db: &Db, space_id: &str) -> Result<Vec<Member>, StoreError> {
    let select = "SELECT m.user_id, u.username, u.name, m.role, m.added_at FROM space_members m
        JOIN users u ON u.id = m.user_id WHERE m.space_id = $1 AND u.removed = 0 ORDER BY m.added_at, m.user_id";
    let rows = sqlx::query(select).bind(space_id).fetch_all(db.read()).await?;
    let members = rows.iter().map(|row| {
        Ok(Member {
            user_id: row.try_get(0)?,
            username: row.try_get(1)?,
            name: row.try_get(2)?,
            role: parse_stored("the role of a member", &row.try_get::<String, _>(3)?)?,
            added_at: row.try_get(4)?,
        })
    });
    members.collect()
}

fn role_text(role: Option<Role>) -> &'static str {
    role.map_or("", Into::into)
}

fn parse_role(text: &str) -> Result<Option<Role>, StoreError> {
    match text {
        "" => Ok(None),
        role => parse_stored("a role in a space", role).map(Some),
    }
}

fn space_of(row: &AnyRow) -> Result<Space, StoreError> {
    Ok(Space {
        id: row.try_get(0)?,
        name: row.try_get(1)?,
        description: row.try_get(2)?,
        everyone: parse_role(&row.try_get::<String, _>(3)?)?,
        created_by: row.try_get(4)?,
        created_at: row.try_get(5)?,
    })
}
