//! What the portal keeps: the kinds of entries, and the fields of each. A record is as it is stored and as it is shown.

use crate::fields;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

/// A kind of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    #[serde(alias = "updates")]
    Update,
    #[serde(alias = "goals")]
    Goal,
    #[serde(alias = "tools")]
    Tool,
    #[serde(alias = "tasks")]
    Task,
    #[serde(alias = "pages")]
    Page,
    #[serde(alias = "teams", alias = "org")]
    Team,
}

impl Kind {
    pub const ALL: [Self; 6] = [Self::Update, Self::Goal, Self::Tool, Self::Task, Self::Page, Self::Team];

    /// Returns the kind's name for one entry.
    pub fn name(self) -> &'static str {
        match self {
            Self::Update => "update",
            Self::Goal => "goal",
            Self::Tool => "tool",
            Self::Task => "task",
            Self::Page => "page",
            Self::Team => "team",
        }
    }

    /// Returns what the keys of its entries begin with.
    pub fn key_prefix(self) -> &'static str {
        match self {
            Self::Update => "update:",
            Self::Goal => "goal:",
            Self::Tool => "tool:",
            Self::Task => "task:",
            Self::Page => "page:",
            Self::Team => "org:",
        }
    }

    pub fn key(self, id: &str) -> String {
        format!("{}{id}", self.key_prefix())
    }
}

/// A piece of news.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Update {
    #[schema(example = "0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    pub id: String,
    #[serde(deserialize_with = "fields::title")]
    #[schema(min_length = 1, max_length = 500, example = "New printers")]
    pub title: String,
    #[serde(deserialize_with = "fields::text")]
    #[schema(max_length = 200_000, example = "On the third floor, from Monday on.")]
    pub body: String,
    #[serde(deserialize_with = "fields::line")]
    #[schema(max_length = 500, example = "Ada Solberg")]
    pub author: String,
    #[serde(deserialize_with = "fields::line")]
    #[schema(max_length = 500, example = "office")]
    pub category: String,
    #[serde(deserialize_with = "fields::lines")]
    #[schema(max_items = 100, example = tags_example)]
    pub tags: Vec<String>,
    #[serde(deserialize_with = "fields::flag")]
    #[schema(example = false)]
    pub pinned: bool,
    /// In milliseconds since 1970.
    #[schema(example = 1_794_760_629_495_i64)]
    pub created_at: i64,
    /// In milliseconds since 1970.
    #[schema(example = 1_794_760_629_495_i64)]
    pub updated_at: i64,
}

/// Something that is to be reached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Goal {
    #[schema(example = "0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    pub id: String,
    #[serde(deserialize_with = "fields::title")]
    #[schema(min_length = 1, max_length = 500, example = "Paperless")]
    pub title: String,
    #[serde(deserialize_with = "fields::text")]
    #[schema(max_length = 200_000, example = "No printer is used any more.")]
    pub description: String,
    #[serde(deserialize_with = "fields::line")]
    #[schema(max_length = 500, example = "Ada Solberg")]
    pub owner: String,
    #[serde(deserialize_with = "fields::line")]
    #[schema(max_length = 500, example = "on track")]
    pub status: String,
    /// In percent.
    #[serde(deserialize_with = "fields::percent", serialize_with = "fields::write_number")]
    #[schema(minimum = 0, maximum = 100, example = 40)]
    pub progress: f64,
    /// In milliseconds since 1970.
    #[serde(deserialize_with = "fields::time")]
    #[schema(required = true, example = 1_798_761_600_000_i64)]
    pub due_at: Option<i64>,
    /// In milliseconds since 1970.
    #[schema(example = 1_794_760_629_495_i64)]
    pub created_at: i64,
    /// In milliseconds since 1970.
    #[schema(example = 1_794_760_629_495_i64)]
    pub updated_at: i64,
}

/// A link to something that people work with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    #[schema(example = "0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    pub id: String,
    #[serde(deserialize_with = "fields::title")]
    #[schema(min_length = 1, max_length = 500, example = "Mail")]
    pub name: String,
    /// A web address, or a path of this installation such as `/core/`.
    #[serde(deserialize_with = "fields::link")]
    #[schema(min_length = 1, max_length = 500, example = "https://mail.example.org/")]
    pub url: String,
    #[serde(deserialize_with = "fields::text")]
    #[schema(max_length = 200_000, example = "Letters without paper.")]
    pub description: String,
    #[serde(deserialize_with = "fields::line")]
    #[schema(max_length = 500, example = "office")]
    pub category: String,
    /// A name of at most 64 characters, or an `https://` address.
    #[serde(deserialize_with = "fields::icon")]
    #[schema(max_length = 500, example = "envelope")]
    pub icon: String,
}

/// Something that one person does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    #[schema(example = "0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    pub id: String,
    #[serde(deserialize_with = "fields::title")]
    #[schema(min_length = 1, max_length = 500, example = "Move the fax")]
    pub title: String,
    #[serde(deserialize_with = "fields::line")]
    #[schema(max_length = 500, example = "open")]
    pub status: String,
    #[serde(deserialize_with = "fields::line")]
    #[schema(max_length = 500, example = "Bob Dahl")]
    pub assignee: String,
    /// In milliseconds since 1970.
    #[serde(deserialize_with = "fields::time")]
    #[schema(required = true, example = 1_798_761_600_000_i64)]
    pub due_at: Option<i64>,
    #[serde(deserialize_with = "fields::line")]
    #[schema(max_length = 500, example = "01a1dfe6-d5f2-7000-8bc0-e6adefae6204")]
    pub project_id: String,
    /// A web address, or a path of this installation such as `/core/`.
    #[serde(deserialize_with = "fields::optional_link")]
    #[schema(max_length = 500, example = "https://tracker.example.org/17")]
    pub url: String,
}

/// A text with an address of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Page {
    #[schema(example = "0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    pub id: String,
    #[serde(deserialize_with = "fields::title")]
    #[schema(min_length = 1, max_length = 500, example = "Opening hours")]
    pub title: String,
    /// Stands for the page in its address. Made from the title if it is not given.
    #[serde(deserialize_with = "fields::slug")]
    #[schema(pattern = "^[a-z0-9-]{1,100}$", example = "opening-hours")]
    pub slug: String,
    #[serde(deserialize_with = "fields::text")]
    #[schema(max_length = 200_000, example = "Nine to five.")]
    pub body: String,
    /// In milliseconds since 1970.
    #[schema(example = 1_794_760_629_495_i64)]
    pub updated_at: i64,
}

/// People who work together. A file brings teams; the interface shows them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Team {
    #[serde(deserialize_with = "fields::team_name")]
    #[schema(example = "Pumps")]
    pub name: String,
    #[serde(deserialize_with = "fields::line")]
    #[schema(example = "Ada Solberg")]
    pub lead: String,
    #[serde(deserialize_with = "members")]
    pub members: Vec<Member>,
    /// The ids of tools and projects.
    #[serde(deserialize_with = "fields::ids")]
    #[schema(example = owns_example)]
    pub owns: Vec<String>,
}

/// One of the people in a team.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Member {
    #[serde(deserialize_with = "fields::line")]
    #[schema(example = "Bob Dahl")]
    pub name: String,
    #[serde(default, deserialize_with = "fields::line")]
    #[schema(required = true, example = "fitter")]
    pub role: String,
}

fn members<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<Member>, D::Error> {
    fields::read(value, "a list of {name, role}", |value| serde_json::from_value(value).ok())
}

fn tags_example() -> [&'static str; 2] {
    ["printers", "third floor"]
}

fn owns_example() -> [&'static str; 1] {
    ["printers"]
}
