//! What a field of a form holds.

use serde::Serialize;
use strum::{EnumString, VariantNames};
use utoipa::ToSchema;

/// What a field holds, which decides how its value is cleaned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema, EnumString, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum FieldKind {
    /// One line.
    Text,
    /// Several lines.
    Long,
    Email,
    Phone,
    /// A person's first and last name together.
    Name,
}

impl FieldKind {
    /// Returns the kind of a field with this name, unless the form says otherwise.
    pub fn usual(name: &str) -> Self {
        match name {
            "email" => Self::Email,
            "phone" | "tel" | "telephone" | "mobile" => Self::Phone,
            "name" | "full_name" | "fullname" => Self::Name,
            "message" | "comment" | "comments" | "notes" => Self::Long,
            _ => Self::Text,
        }
    }
}
