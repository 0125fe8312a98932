//! An entry of any kind, and what every kind can say of itself.

use crate::records::{Goal, Kind, Page, Task, Team, Tool, Update};
use crate::values::slug_of;
use kit::page::excerpt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use utoipa::ToSchema;

/// A record of any kind.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum Entry {
    Update(Update),
    Goal(Goal),
    Tool(Tool),
    Task(Task),
    Page(Page),
    Team(Team),
}

impl Entry {
    pub fn kind(&self) -> Kind {
        match self {
            Self::Update(_) => Kind::Update,
            Self::Goal(_) => Kind::Goal,
            Self::Tool(_) => Kind::Tool,
            Self::Task(_) => Kind::Task,
            Self::Page(_) => Kind::Page,
            Self::Team(_) => Kind::Team,
        }
    }

    /// Returns what names the entry among those of its kind.
    pub fn id(&self) -> &str {
        match self {
            Self::Update(Update { id, .. })
            | Self::Goal(Goal { id, .. })
            | Self::Tool(Tool { id, .. })
            | Self::Task(Task { id, .. })
            | Self::Page(Page { id, .. }) => id,
            Self::Team(Team { name, .. }) => name,
        }
    }

    /// Sets the id. A team keeps its name.
    pub fn set_id(&mut self, new: String) {
        match self {
            Self::Update(Update { id, .. })
            | Self::Goal(Goal { id, .. })
            | Self::Tool(Tool { id, .. })
            | Self::Task(Task { id, .. })
            | Self::Page(Page { id, .. }) => *id = new,
            Self::Team(_) => {}
        }
    }

    pub fn title(&self) -> &str {
        match self {
            Self::Update(Update { title, .. })
            | Self::Goal(Goal { title, .. })
            | Self::Task(Task { title, .. })
            | Self::Page(Page { title, .. }) => title,
            Self::Tool(Tool { name, .. }) | Self::Team(Team { name, .. }) => name,
        }
    }

    /// Returns the slug of a page.
    pub fn slug(&self) -> Option<&str> {
        match self {
            Self::Page(page) => Some(&page.slug),
            _ => None,
        }
    }

    /// Makes the slug of a page from its title, if it has none.
    pub fn fill_slug(&mut self) {
        if let Self::Page(page) = self
            && page.slug.is_empty()
        {
            page.slug = slug_of(&page.title);
        }
    }

    /// Returns when it was created; 0 for kinds that do not say.
    pub fn created_at(&self) -> i64 {
        match self {
            Self::Update(Update { created_at, .. }) | Self::Goal(Goal { created_at, .. }) => *created_at,
            _ => 0,
        }
    }

    pub fn set_created_at(&mut self, time: i64) {
        match self {
            Self::Update(Update { created_at, .. }) | Self::Goal(Goal { created_at, .. }) => {
                *created_at = time
            }
            _ => {}
        }
    }

    pub fn set_updated_at(&mut self, time: i64) {
        match self {
            Self::Update(Update { updated_at, .. })
            | Self::Goal(Goal { updated_at, .. })
            | Self::Page(Page { updated_at, .. }) => *updated_at = time,
            _ => {}
        }
    }

    /// Returns the texts that are searched, by the names of their fields.
    pub fn texts(&self) -> Vec<(&'static str, Cow<'_, str>)> {
        match self {
            Self::Update(Update { title, body, author, category, tags, .. }) => {
                let texts = [("title", title), ("body", body), ("author", author), ("category", category)];
                borrowed(texts).chain([("tags", tags.join(" ").into())]).collect()
            }
            Self::Goal(Goal { title, description, owner, status, .. }) => {
                let texts =
                    [("title", title), ("description", description), ("owner", owner), ("status", status)];
                borrowed(texts).collect()
            }
            Self::Tool(Tool { name, description, category, .. }) => {
                borrowed([("name", name), ("description", description), ("category", category)]).collect()
            }
            Self::Task(Task { title, status, assignee, project_id, .. }) => {
                let texts =
                    [("title", title), ("status", status), ("assignee", assignee), ("projectId", project_id)];
                borrowed(texts).collect()
            }
            Self::Page(Page { title, slug, body, .. }) => {
                borrowed([("title", title), ("slug", slug), ("body", body)]).collect()
            }
            Self::Team(Team { name, lead, members, .. }) => {
                let members = members.iter().map(|member| format!("{} {}", member.name, member.role));
                let members = members.collect::<Vec<String>>().join(" ");
                borrowed([("name", name), ("lead", lead)]).chain([("members", members.into())]).collect()
            }
        }
    }

    /// Cuts its long text to so many characters and its lists to so many elements. Tells whether anything was cut.
    pub fn cut(&mut self, most_characters: usize, most_elements: usize) -> bool {
        match self {
            Self::Update(Update { body: text, .. })
            | Self::Page(Page { body: text, .. })
            | Self::Goal(Goal { description: text, .. })
            | Self::Tool(Tool { description: text, .. }) => {
                let (excerpt, is_cut) = excerpt(text, most_characters);
                // A copy, so that the memory of the long text is freed.
                *text = excerpt.to_owned();
                is_cut
            }
            Self::Team(Team { members, owns, .. }) => {
                let is_cut = members.len() > most_elements || owns.len() > most_elements;
                members.truncate(most_elements);
                owns.truncate(most_elements);
                is_cut
            }
            Self::Task(_) => false,
        }
    }
}

fn borrowed<'a, const N: usize>(
    texts: [(&'static str, &'a String); N],
) -> impl Iterator<Item = (&'static str, Cow<'a, str>)> {
    texts.into_iter().map(|(name, text)| (name, Cow::Borrowed(text.as_str())))
}

/// A record of one kind. Its default has what stands in fields that are not given.
pub trait Record: Default + Serialize + DeserializeOwned + Into<Entry> {
    /// The fields that must be given.
    const REQUIRED: &'static [&'static str];
}

macro_rules! records {
    ($($Record:ident: $required:expr,)*) => {
        $(
            impl From<$Record> for Entry {
                fn from(record: $Record) -> Self {
                    Self::$Record(record)
                }
            }

            impl Record for $Record {
                const REQUIRED: &'static [&'static str] = &$required;
            }
        )*
    };
}

records! {
    Update: ["title"],
    Goal: ["title"],
    Tool: ["name", "url"],
    Task: ["title"],
    Page: ["title"],
    Team: ["name"],
}
