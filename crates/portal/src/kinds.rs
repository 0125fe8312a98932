//! What the portal holds: kinds of entries, the fields of each, and what may stand in them.

mod values;

pub use values::{is_id, is_slug};

use serde_json::{Map, Value, json};
use values::{
    LATEST, LONGEST_LINE, LONGEST_NAME, LONGEST_SLUG, LONGEST_TEXT, MOST_LINES, is_address, is_icon, is_line,
    lines, slug_of,
};

/// What may stand in a field, and what stands there where nothing was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// One line; empty where absent.
    Line,
    /// Any text; empty where absent.
    Text,
    /// A web address or a path of this installation.
    Address,
    /// The name of a picture, or an `https://` address: a page shows it, and loads what it names.
    Icon,
    /// Letters, digits and hyphens: a part of an address. Made from the title where absent.
    Slug,
    Lines,
    Flag,
    /// From 0 to 100.
    Percent,
    /// Milliseconds since 1970, or null.
    Time,
}

#[derive(Debug)]
pub struct Field {
    pub name: &'static str,
    pub of: Type,
    pub required: bool,
}

const fn field(name: &'static str, of: Type) -> Field {
    Field { name, of, required: false }
}

const fn required(name: &'static str, of: Type) -> Field {
    Field { name, of, required: true }
}

#[derive(Debug)]
pub struct Kind {
    /// In paths and in files.
    pub plural: &'static str,
    /// In keys: `update:{id}`.
    pub singular: &'static str,
    pub fields: &'static [Field],
    pub has_created_at: bool,
    pub has_updated_at: bool,
}

pub static UPDATES: Kind = Kind {
    plural: "updates",
    singular: "update",
    fields: &[
        required("title", Type::Line),
        field("body", Type::Text),
        field("author", Type::Line),
        field("category", Type::Line),
        field("tags", Type::Lines),
        field("pinned", Type::Flag),
    ],
    has_created_at: true,
    has_updated_at: true,
};

pub static GOALS: Kind = Kind {
    plural: "goals",
    singular: "goal",
    fields: &[
        required("title", Type::Line),
        field("description", Type::Text),
        field("owner", Type::Line),
        field("status", Type::Line),
        field("progress", Type::Percent),
        field("dueAt", Type::Time),
    ],
    has_created_at: true,
    has_updated_at: true,
};

pub static TOOLS: Kind = Kind {
    plural: "tools",
    singular: "tool",
    fields: &[
        required("name", Type::Line),
        required("url", Type::Address),
        field("description", Type::Text),
        field("category", Type::Line),
        field("icon", Type::Icon),
    ],
    has_created_at: false,
    has_updated_at: false,
};

pub static TASKS: Kind = Kind {
    plural: "tasks",
    singular: "task",
    fields: &[
        required("title", Type::Line),
        field("status", Type::Line),
        field("assignee", Type::Line),
        field("dueAt", Type::Time),
        field("projectId", Type::Line),
        field("url", Type::Address),
    ],
    has_created_at: false,
    has_updated_at: false,
};

pub static PAGES: Kind = Kind {
    plural: "pages",
    singular: "page",
    fields: &[required("title", Type::Line), field("slug", Type::Slug), field("body", Type::Text)],
    has_created_at: false,
    has_updated_at: true,
};

pub static KINDS: [&Kind; 5] = [&UPDATES, &GOALS, &TOOLS, &TASKS, &PAGES];

impl Kind {
    pub fn key(&self, id: &str) -> String {
        format!("{}:{id}", self.singular)
    }

    /// A new entry from what was given, without `id` and times. Fails with the fault of the first wrong field.
    pub fn create(&self, given: &Map<String, Value>) -> Result<Map<String, Value>, String> {
        let mut entry = Map::new();
        for field in self.fields {
            let value = given.get(field.name).filter(|value| !value.is_null());
            let value = match value {
                Some(value) => field.check(value)?,
                None if field.required => return Err(format!("`{}` is missing", field.name)),
                None => field.absent(),
            };
            entry.insert(field.name.to_owned(), value);
        }
        fill_slug(&mut entry);
        Ok(entry)
    }

    /// The entry with a JSON merge patch applied: null takes a value away. `id` and times stay as they are.
    pub fn patch(
        &self,
        entry: &Map<String, Value>,
        patch: &Map<String, Value>,
    ) -> Result<Map<String, Value>, String> {
        let kept = ["id", "createdAt", "updatedAt"];
        for (name, value) in patch.iter().filter(|(name, _)| kept.contains(&name.as_str())) {
            if entry.get(name) != Some(value) {
                return Err(format!("`{name}` cannot be changed"));
            }
        }
        let changes: Map<String, Value> = patch
            .iter()
            .filter(|(name, _)| !kept.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        self.check_names(&changes)?;
        let mut patched = entry.clone();
        for field in self.fields {
            let value = match changes.get(field.name) {
                None => continue,
                Some(Value::Null) if field.required => {
                    return Err(format!("`{}` cannot be taken away", field.name));
                }
                Some(Value::Null) => field.absent(),
                Some(value) => field.check(value)?,
            };
            patched.insert(field.name.to_owned(), value);
        }
        fill_slug(&mut patched);
        Ok(patched)
    }

    /// Fails where something is given that this kind has no field for.
    pub fn check_names(&self, given: &Map<String, Value>) -> Result<(), String> {
        let is_known = |name: &String| self.fields.iter().any(|field| field.name == name);
        match given.keys().find(|name| !is_known(name)) {
            None => Ok(()),
            Some(unknown) => {
                let names: Vec<&str> = self.fields.iter().map(|field| field.name).collect();
                Err(format!("unknown field `{unknown}`: one of {}", names.join(", ")))
            }
        }
    }
}

impl Field {
    fn absent(&self) -> Value {
        match self.of {
            Type::Line | Type::Text | Type::Address | Type::Icon | Type::Slug => "".into(),
            Type::Lines => json!([]),
            Type::Flag => false.into(),
            Type::Percent => 0.into(),
            Type::Time => Value::Null,
        }
    }

    /// The value as it is stored.
    fn check(&self, value: &Value) -> Result<Value, String> {
        let name = self.name;
        let text = value.as_str().map(str::trim);
        let right = match self.of {
            Type::Line => text.filter(|text| is_line(text)).map(Value::from),
            Type::Text => {
                let whole = value
                    .as_str()
                    .filter(|text| text.chars().count() <= LONGEST_TEXT && !text.contains('\0'));
                whole.map(Value::from)
            }
            Type::Address => {
                text.filter(|text| is_address(text) || (text.is_empty() && !self.required)).map(Value::from)
            }
            Type::Icon => text.filter(|text| is_icon(text)).map(Value::from),
            Type::Slug => text.filter(|text| is_slug(text)).map(Value::from),
            Type::Lines => lines(value),
            Type::Flag => value.as_bool().map(Value::from),
            Type::Percent => {
                value.as_f64().filter(|number| (0.0..=100.0).contains(number)).map(|_| value.clone())
            }
            Type::Time => value.as_i64().filter(|time| (0..=LATEST).contains(time)).map(Value::from),
        };
        let right = right.filter(|value| !(self.required && value == ""));
        right.ok_or_else(|| format!("`{name}` is not {}", self.expected()))
    }

    fn expected(&self) -> String {
        match self.of {
            Type::Line if self.required => format!("a line of 1 to {LONGEST_LINE} characters"),
            Type::Line => format!("a line of at most {LONGEST_LINE} characters"),
            Type::Text => format!("a text of at most {LONGEST_TEXT} characters"),
            Type::Address => "a web address (http:// or https://) or a path such as /core/".to_owned(),
            Type::Icon => format!("a name of at most {LONGEST_NAME} characters or an https:// address"),
            Type::Slug => format!("1 to {LONGEST_SLUG} of a-z 0-9 -"),
            Type::Lines => format!("a list of at most {MOST_LINES} lines"),
            Type::Flag => "true or false".to_owned(),
            Type::Percent => "a number from 0 to 100".to_owned(),
            Type::Time => "a time in milliseconds since 1970".to_owned(),
        }
    }
}

fn fill_slug(entry: &mut Map<String, Value>) {
    if entry.get("slug").is_some_and(|slug| slug == "") {
        let title = entry.get("title").and_then(Value::as_str).unwrap_or_default();
        entry.insert("slug".to_owned(), slug_of(title).into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn what_is_absent_has_a_default_and_what_is_required_has_none() {
        let made = UPDATES.create(&object(json!({ "title": " Hello " }))).unwrap();
        assert_eq!(
            Value::from(made),
            json!({ "title": "Hello", "body": "", "author": "", "category": "", "tags": [], "pinned": false })
        );
        assert_eq!(UPDATES.create(&Map::new()).unwrap_err(), "`title` is missing");
        assert_eq!(
            PAGES.create(&object(json!({ "title": "Opening hours!" }))).unwrap()["slug"],
            "opening-hours"
        );
    }

    #[test]
    fn faults_name_the_field() {
        for (kind, given, fault) in [
            (&UPDATES, json!({ "title": 7 }), "`title` is not a line of 1 to 500 characters"),
            (&UPDATES, json!({ "title": " " }), "`title` is not a line of 1 to 500 characters"),
            (&UPDATES, json!({ "title": "a\nb" }), "`title` is not a line of 1 to 500 characters"),
            (
                &UPDATES,
                json!({ "title": "a", "tags": ["x", 1] }),
                "`tags` is not a list of at most 100 lines",
            ),
            (&GOALS, json!({ "title": "a", "progress": 101 }), "`progress` is not a number from 0 to 100"),
            (
                &GOALS,
                json!({ "title": "a", "dueAt": "soon" }),
                "`dueAt` is not a time in milliseconds since 1970",
            ),
            (&PAGES, json!({ "title": "a", "slug": "A b" }), "`slug` is not 1 to 100 of a-z 0-9 -"),
            (
                &TOOLS,
                json!({ "name": "a", "url": "/core/", "icon": "data:image/png,x" }),
                "`icon` is not a name of at most 64 characters or an https:// address",
            ),
        ] {
            assert_eq!(kind.create(&object(given)).unwrap_err(), fault);
        }
    }

    #[test]
    fn a_patch_changes_what_it_names_and_null_takes_away() {
        let entry = object(
            json!({ "id": "1", "title": "a", "body": "b", "pinned": true, "createdAt": 5, "updatedAt": 6 }),
        );
        let patch = |patch: Value| UPDATES.patch(&entry, &object(patch));
        let patched = patch(json!({ "body": null, "pinned": false, "id": "1" })).unwrap();
        assert_eq!(
            (&patched["title"], &patched["body"], &patched["pinned"]),
            (&json!("a"), &json!(""), &json!(false))
        );
        assert_eq!(patch(json!({ "title": null })).unwrap_err(), "`title` cannot be taken away");
        assert_eq!(patch(json!({ "id": "2" })).unwrap_err(), "`id` cannot be changed");
        assert_eq!(patch(json!({ "createdAt": 7 })).unwrap_err(), "`createdAt` cannot be changed");
        assert!(patch(json!({ "Title": "x" })).unwrap_err().starts_with("unknown field `Title`"));
    }
}
