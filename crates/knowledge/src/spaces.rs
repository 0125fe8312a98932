//! Spaces: who may make, see and change them.
//!
//! A space owns documents as a user does, with an index of its own. Every request asks for the caller's role anew, so a
//! change of members counts from the next request on. A caller without a role is told that there is no such space.

use crate::records::{Member, Role, Space, User};
use crate::tables::spaces as table;
use crate::{removal, tables};
use base::{Clock, Random};
use store::{Db, StoreError};

pub const LONGEST_DESCRIPTION: usize = 1_000;
/// Of all users together. Each search of a member looks into all of the member's spaces.
const MOST_SPACES: i64 = 1_000;

#[derive(Debug, thiserror::Error)]
pub enum SpaceError {
    #[error("no space `{0}`")]
    NoSuchSpace(String),
    #[error("no user `{0}`")]
    NoSuchUser(String),
    #[error("this user is not a member of the space")]
    NotAMember,
    #[error("only editors of the space may do this")]
    NotAnEditor,
    #[error("only an administrator, or the user who made the space, may do this")]
    NotAManager,
    #[error("only an administrator may make spaces")]
    OnlyAdministratorsCreate,
    #[error("there are {MOST_SPACES} spaces, the most that can be: delete one first")]
    TooMany,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a space is called, what it is for, and who may see it.
#[derive(Clone, Debug, Default)]
pub struct SpaceChanges {
    pub name: Option<String>,
    pub description: Option<String>,
    /// The role of all users; `Some(None)` takes it from them.
    pub everyone: Option<Option<Role>>,
}

/// A space, and what a user may do there.
#[derive(Clone, Debug)]
pub struct VisibleSpace {
    pub space: Space,
    /// None for an administrator who has no role in it.
    pub role: Option<Role>,
    /// Whether the user may change it and its members.
    pub manages: bool,
}

pub struct Spaces {
    db: Db,
    clock: Clock,
    random: Random,
    /// Whether users who are not administrators may make spaces.
    users_create: bool,
}

impl Spaces {
    pub fn new(db: Db, clock: Clock, random: Random, users_create: bool) -> Self {
        Self { db, clock, random, users_create }
    }

    /// Returns whether a user may make spaces.
    pub fn may_create(&self, user: &User) -> bool {
        user.is_admin || self.users_create
    }

    /// Makes a space, with the user as its first editor.
    pub async fn create(
        &self,
        user: &User,
        name: String,
        changes: SpaceChanges,
    ) -> Result<VisibleSpace, SpaceError> {
        if !self.may_create(user) {
            return Err(SpaceError::OnlyAdministratorsCreate);
        }
        let space = Space {
            id: self.random.uuid_v7(&self.clock).to_string(),
            name,
            description: changes.description.unwrap_or_default(),
            everyone: changes.everyone.flatten(),
            created_by: user.id.clone(),
            created_at: self.clock.now_ms(),
        };
        let mut tx = self.db.begin().await?;
        let user = tables::users::lock(&mut tx, &user.id).await?;
        let user = user.ok_or_else(|| SpaceError::NoSuchUser(space.created_by.clone()))?;
        if table::count(&mut tx).await? >= MOST_SPACES {
            return Err(SpaceError::TooMany);
        }
        table::insert(&mut tx, &space).await?;
        table::put_member(&mut tx, &space.id, &user.id, Role::Editor, space.created_at).await?;
        tx.commit().await?;
        Ok(VisibleSpace { space, role: Some(Role::Editor), manages: true })
    }

    /// Returns the spaces of a user, by name; with `all`, for an administrator, those of others too.
    pub async fn list(&self, user: &User, all: bool) -> Result<Vec<VisibleSpace>, SpaceError> {
        let own = table::of_user(&self.db, &user.id).await?;
        if !(all && user.is_admin) {
            let visible = own.into_iter().map(|(space, role)| visible(user, space, Some(role)));
            return Ok(visible.collect());
        }
        let role = |id: &str| own.iter().find(|(space, _)| space.id == id).map(|(_, role)| *role);
        let spaces = table::all(&self.db).await?.into_iter();
        Ok(spaces
            .map(|space| (role(&space.id), space))
            .map(|(role, space)| visible(user, space, role))
            .collect())
    }

    /// Returns a space that the user has a role in, or any space to an administrator.
    pub async fn get(&self, user: &User, id: &str) -> Result<VisibleSpace, SpaceError> {
        let no_such = || SpaceError::NoSuchSpace(id.to_owned());
        // No id has a NUL character, and PostgreSQL would refuse the statement.
        if id.contains('\0') {
            return Err(no_such());
        }
        let role = table::role(&self.db, id, &user.id).await?;
        if role.is_none() && !user.is_admin {
            return Err(no_such());
        }
        let space = table::get(&self.db, id).await?.ok_or_else(no_such)?;
        Ok(visible(user, space, role))
    }

    /// Returns a space whose documents the user may change.
    pub async fn get_to_edit(&self, user: &User, id: &str) -> Result<VisibleSpace, SpaceError> {
        let found = self.get(user, id).await?;
        match found.role == Some(Role::Editor) || user.is_admin {
            true => Ok(found),
            false => Err(SpaceError::NotAnEditor),
        }
    }

    pub async fn update(
        &self,
        user: &User,
        id: &str,
        changes: SpaceChanges,
    ) -> Result<VisibleSpace, SpaceError> {
        let before = self.get_to_manage(user, id).await?;
        let mut tx = self.db.begin().await?;
        let space = table::lock(&mut tx, id).await?;
        let mut space = space.ok_or_else(|| SpaceError::NoSuchSpace(id.to_owned()))?;
        space.name = changes.name.unwrap_or(space.name);
        space.description = changes.description.unwrap_or(space.description);
        space.everyone = changes.everyone.unwrap_or(space.everyone);
        table::update(&mut tx, &space).await?;
        tx.commit().await?;
        // A user who had a role only as everyone has may have none by now.
        Ok(VisibleSpace { space, ..before })
    }

    /// Removes a space with all of its documents.
    pub async fn remove(&self, user: &User, id: &str) -> Result<(), SpaceError> {
        self.get_to_manage(user, id).await?;
        let mut tx = self.db.begin().await?;
        if !removal::remove_user(&mut tx, id).await? {
            return Err(SpaceError::NoSuchSpace(id.to_owned()));
        }
        table::delete(&mut tx, id).await?;
        tx.commit().await?;
        Ok(())
    }

    /// Returns the members of a space, for all who have a role in it.
    pub async fn members(&self, user: &User, id: &str) -> Result<Vec<Member>, SpaceError> {
        self.get(user, id).await?;
        Ok(table::members(&self.db, id).await?)
    }

    /// Adds a member, or changes the role of one. `name` is the id, the username or the email address of a user.
    pub async fn put_member(
        &self,
        user: &User,
        id: &str,
        name: &str,
        role: Role,
    ) -> Result<Member, SpaceError> {
        self.get_to_manage(user, id).await?;
        let no_such = || SpaceError::NoSuchUser(name.to_owned());
        let member = match tables::users::get(&self.db, name).await? {
            Some(found) => Some(found),
            None => tables::users::find_by_login_name(&self.db, &name.to_lowercase())
                .await?
                .map(|(found, _)| found),
        };
        let member = member.ok_or_else(no_such)?;
        let mut tx = self.db.begin().await?;
        table::lock(&mut tx, id).await?.ok_or_else(|| SpaceError::NoSuchSpace(id.to_owned()))?;
        tables::users::lock(&mut tx, &member.id).await?.ok_or_else(no_such)?;
        table::put_member(&mut tx, id, &member.id, role, self.clock.now_ms()).await?;
        tx.commit().await?;
        let members = table::members(&self.db, id).await?;
        members.into_iter().find(|added| added.user_id == member.id).ok_or(SpaceError::NotAMember)
    }

    /// Takes a member out of a space. Members may take out themselves.
    pub async fn remove_member(&self, user: &User, id: &str, member_id: &str) -> Result<(), SpaceError> {
        let found = self.get(user, id).await?;
        if !found.manages && member_id != user.id {
            return Err(SpaceError::NotAManager);
        }
        let mut tx = self.db.begin().await?;
        if !table::delete_member(&mut tx, id, member_id).await? {
            return Err(SpaceError::NotAMember);
        }
        tx.commit().await?;
        Ok(())
    }

    async fn get_to_manage(&self, user: &User, id: &str) -> Result<VisibleSpace, SpaceError> {
        let found = self.get(user, id).await?;
        if found.manages { Ok(found) } else { Err(SpaceError::NotAManager) }
    }
}

fn visible(user: &User, space: Space, role: Option<Role>) -> VisibleSpace {
    let manages = user.is_admin || (space.created_by == user.id && role.is_some());
    VisibleSpace { space, role, manages }
}
