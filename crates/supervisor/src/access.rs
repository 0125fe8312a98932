//! Who may do what with a project.

use crate::guests::Guest;
use crate::records::{Owner, Project};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use utoipa::ToSchema;

/// A caller, as far as projects are concerned.
#[derive(Clone, Debug, PartialEq)]
pub enum Who {
    Administrator,
    /// By its id.
    User(String),
    Guest(Guest),
}

/// What a caller may do with a project. Each allows what the ones before it allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    Read,
    /// Start its phases.
    Execute,
    /// Interrupt, resume, cancel, decide, edit, share and delete.
    Manage,
}

/// What a member may do in a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SpaceRole {
    Reader,
    Editor,
}

/// A caller's roles, by the ids of spaces.
pub type SpaceRoles = HashMap<String, SpaceRole>;

/// Projects that a caller sees.
#[derive(Clone, Debug)]
pub enum Visible {
    All,
    OfGuests,
    /// The user's own, and those in these spaces.
    Of {
        user: String,
        spaces: Vec<String>,
    },
}

impl Who {
    /// Returns what the caller may do with a project; none if it may not see it.
    pub fn access(&self, project: &Project, roles: &SpaceRoles) -> Option<Access> {
        let by_role = || match roles.get(project.space_id.as_ref()?)? {
            SpaceRole::Reader => Some(Access::Read),
            SpaceRole::Editor => Some(Access::Manage),
        };
        match (self, &project.owner) {
            (Self::Administrator, _) => Some(Access::Manage),
            (Self::User(id), Owner::User { id: owner, .. }) if id == owner => Some(Access::Manage),
            (Self::User(_), _) => by_role(),
            (Self::Guest(_), Owner::Guests) => Some(Access::Execute),
            (Self::Guest(_), Owner::Administrators | Owner::User { .. }) => None,
        }
    }

    /// Returns the projects that the caller manages; none for a guest.
    pub fn managed(&self, roles: &SpaceRoles) -> Option<Visible> {
        let editor = |(id, role): (&String, &SpaceRole)| (*role == SpaceRole::Editor).then(|| id.clone());
        match self {
            Self::Administrator => Some(Visible::All),
            Self::User(id) => {
                Some(Visible::Of { user: id.clone(), spaces: roles.iter().filter_map(editor).collect() })
            }
            Self::Guest(_) => None,
        }
    }

    pub fn visible(&self, roles: &SpaceRoles) -> Visible {
        match self {
            Self::Administrator => Visible::All,
            Self::User(id) => Visible::Of { user: id.clone(), spaces: roles.keys().cloned().collect() },
            Self::Guest(_) => Visible::OfGuests,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::ProjectStatus;
    use kit::fields::Time;

    fn project(owner: Owner, space: Option<&str>) -> Project {
        Project {
            id: "p".into(),
            name: "Bees".into(),
            seed_excerpt: String::new(),
            seed_length: 0,
            current_phase: "prd".into(),
            status: ProjectStatus::Active,
            owner,
            space_id: space.map(str::to_owned),
            created_at: Time(0),
            updated_at: Time(0),
        }
    }

    #[test]
    fn access_is_by_owner_then_by_space() {
        let user = |id: &str| Owner::User { id: id.into(), name: id.into() };
        let guest = Who::Guest(Guest::at([203, 0, 113, 7].into()));
        let (ada, eve) = (Who::User("ada".into()), Who::User("eve".into()));
        let roles = SpaceRoles::from([("r".into(), SpaceRole::Reader), ("e".into(), SpaceRole::Editor)]);
        let admins = Owner::Administrators;
        for (who, owner, space, expected) in [
            (&Who::Administrator, user("ada"), None, Some(Access::Manage)),
            (&Who::Administrator, Owner::Guests, None, Some(Access::Manage)),
            (&ada, user("ada"), None, Some(Access::Manage)),
            (&ada, user("ada"), Some("r"), Some(Access::Manage)),
            (&eve, user("ada"), None, None),
            (&eve, user("ada"), Some("another"), None),
            (&eve, user("ada"), Some("r"), Some(Access::Read)),
            (&eve, user("ada"), Some("e"), Some(Access::Manage)),
            (&eve, admins.clone(), None, None),
            (&eve, admins.clone(), Some("r"), Some(Access::Read)),
            (&eve, Owner::Guests, None, None),
            (&guest, Owner::Guests, None, Some(Access::Execute)),
            (&guest, user("ada"), Some("r"), None),
            (&guest, admins, Some("e"), None),
        ] {
            assert_eq!(who.access(&project(owner, space), &roles), expected, "{who:?} {space:?}");
        }
    }
}
