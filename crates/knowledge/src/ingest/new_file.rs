//! A file on its way to become a document: whose it is, where it comes from, and what happens if it is there already.

use super::Upload;
use crate::records::{Document, Metadata, SourceItem, User};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What happens to a file if a document of the same owner has the same content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Duplicates {
    /// That document is used for it, and the file is not stored.
    #[default]
    Reuse,
    /// It becomes a document of its own.
    Keep,
}

/// Whose document a file becomes.
#[derive(Clone, Copy, Debug)]
pub struct DocumentOwner<'a> {
    /// Of the user or space.
    pub id: &'a str,
    /// The user who adds it to a space; empty if the owner is a user.
    pub added_by: &'a str,
}

impl<'a> DocumentOwner<'a> {
    pub fn user(user: &'a User) -> Self {
        Self { id: &user.id, added_by: "" }
    }
}

/// What happens to a file if a document of the same owner has the same name and is in the same folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SameName {
    /// It becomes a document of its own.
    #[default]
    Keep,
    /// It takes the place of that document's file when it is indexed. The former file is kept for a while.
    Replace,
}

/// Where a file comes from, which decides whose place it takes.
pub enum Origin<'a> {
    /// A person uploads it.
    Upload(SameName),
    /// A run of a source has read it. The item's document gets it, if the item has one of its own.
    Item(ItemOrigin<'a>),
    /// An archive. The document of the file that had the same path in it gets it.
    Archive(&'a Document),
    /// A document of any owner, of whose file it is a copy. It becomes a document of its own.
    Copy(&'a Document),
}

impl Origin<'_> {
    /// Returns whether the file becomes a document of its own, whatever others there are.
    pub fn is_of_its_own(&self) -> bool {
        matches!(self, Self::Upload(SameName::Keep) | Self::Copy(_))
    }

    /// Returns the id of the document of whose file this is a copy; empty if it is none.
    pub fn copied_from(&self) -> &str {
        match self {
            Self::Copy(original) => &original.id,
            _ => "",
        }
    }
}

pub struct ItemOrigin<'a> {
    pub source_id: &'a str,
    /// The job of the run. Without it, the run does not count any more.
    pub job_id: i64,
    pub item: SourceItem,
}

/// A file on its way to become a document.
pub struct NewFile<'a> {
    pub owner: DocumentOwner<'a>,
    pub upload: Upload,
    pub metadata: Metadata,
    pub duplicates: Duplicates,
    pub origin: Origin<'a>,
    /// When the document is removed; none: never.
    pub expires_at: Option<i64>,
}

impl<'a> NewFile<'a> {
    /// A file that becomes a document of its own, whatever others there are.
    pub fn new(owner: DocumentOwner<'a>, upload: Upload) -> Self {
        Self {
            owner,
            upload,
            metadata: Metadata::new(),
            duplicates: Duplicates::Keep,
            origin: Origin::Upload(SameName::Keep),
            expires_at: None,
        }
    }
}

/// The document of a file that was submitted.
pub struct Submitted {
    pub document: Document,
    /// Whether it had the same content before.
    pub is_duplicate: bool,
}
