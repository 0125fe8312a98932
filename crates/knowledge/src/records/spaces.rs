//! Spaces: documents that several users share.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};
use utoipa::ToSchema;

/// What a user may do in a space.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    ToSchema,
    IntoStaticStr,
    EnumString,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Role {
    /// Finds and reads its documents.
    Reader,
    /// Adds and removes documents, too.
    Editor,
}

/// Documents that several users share.
#[derive(Clone, Debug)]
pub struct Space {
    /// The owner of its documents.
    pub id: String,
    pub name: String,
    pub description: String,
    /// The role of all users; none if only members have one.
    pub everyone: Option<Role>,
    /// The user who made it.
    pub created_by: String,
    pub created_at: i64,
}

/// A user of a space.
#[derive(Clone, Debug)]
pub struct Member {
    pub user_id: String,
    pub username: String,
    pub name: String,
    pub role: Role,
    pub added_at: i64,
}

/// The owners whose documents a request sees: the caller, spaces of the caller, or both.
#[derive(Clone, Debug)]
pub struct Scope {
    user_id: String,
    owners: Vec<ScopedOwner>,
}

#[derive(Clone, Debug)]
struct ScopedOwner {
    id: String,
    /// The name of the space; none if the owner is a user.
    space: Option<String>,
}

impl Scope {
    /// Only the documents of the user.
    pub fn own(user_id: &str) -> Self {
        let own = ScopedOwner { id: user_id.to_owned(), space: None };
        Self { user_id: user_id.to_owned(), owners: vec![own] }
    }

    /// The documents of the user and of these spaces.
    pub fn with_spaces<'s>(user_id: &str, spaces: impl Iterator<Item = &'s Space>) -> Self {
        let mut scope = Self::own(user_id);
        let owner = |space: &Space| ScopedOwner { id: space.id.clone(), space: Some(space.name.clone()) };
        scope.owners.extend(spaces.map(owner));
        scope
    }

    /// The files in a conversation of the user.
    pub fn files(user_id: &str, owner_id: &str) -> Self {
        let owner = ScopedOwner { id: owner_id.to_owned(), space: None };
        Self { user_id: user_id.to_owned(), owners: vec![owner] }
    }

    /// Adds the files in a conversation of the user.
    pub fn and_files(mut self, owner_id: &str) -> Self {
        self.owners.push(ScopedOwner { id: owner_id.to_owned(), space: None });
        self
    }

    /// Returns the part of the scope that these ids name; none if one of them is not in it.
    pub fn only(mut self, ids: &[String]) -> Option<Self> {
        if !ids.iter().all(|id| self.contains(id)) {
            return None;
        }
        self.owners.retain(|owner| ids.contains(&owner.id));
        Some(self)
    }

    /// Returns the user whose scope it is.
    pub fn user_id(&self) -> &str {
        &self.user_id
    }

    /// Returns the ids of the owners.
    pub fn ids(&self) -> impl Iterator<Item = &str> + Clone {
        self.owners.iter().map(|owner| owner.id.as_str())
    }

    pub fn contains(&self, owner_id: &str) -> bool {
        self.ids().any(|id| id == owner_id)
    }

    /// Returns the name of a space; none for a user.
    pub fn space_name(&self, owner_id: &str) -> Option<&str> {
        self.owners.iter().find(|owner| owner.id == owner_id)?.space.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(id: &str) -> Space {
        Space {
            id: id.to_owned(),
            name: id.to_uppercase(),
            description: String::new(),
            everyone: None,
            created_by: String::new(),
            created_at: 0,
        }
    }

    #[test]
    fn a_scope_is_narrowed_to_what_is_in_it() {
        let scope = Scope::with_spaces("ada", [space("a"), space("b")].iter());
        assert_eq!(scope.ids().collect::<Vec<_>>(), ["ada", "a", "b"]);
        assert_eq!(
            (scope.space_name("a"), scope.space_name("ada"), scope.space_name("c")),
            (Some("A"), None, None)
        );
        let ids = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<String>>();
        let narrowed = scope.clone().only(&ids(&["b", "ada"])).unwrap();
        assert_eq!(narrowed.ids().collect::<Vec<_>>(), ["ada", "b"]);
        assert!(scope.only(&ids(&["a", "c"])).is_none());
    }
}
