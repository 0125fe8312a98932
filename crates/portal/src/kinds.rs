//! What the portal holds: kinds of entries, the fields of each, and what may stand in them.

use serde_json::{Map, Value, json};

/// What may stand in a field, and what stands there where nothing was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// One line; empty where absent.
    Line,
    /// Any text; empty where absent.
    Text,
    /// A web address or a path of this installation.
    Address,
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
        field("icon", Type::Line),
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

const LONGEST_LINE: usize = 500;
const LONGEST_TEXT: usize = 200_000;
const MOST_LINES: usize = 100;
const LONGEST_ID: usize = 64;
const LONGEST_SLUG: usize = 100;
/// The year 9999.
const LATEST: i64 = 253_402_300_799_999;

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
            Type::Line | Type::Text | Type::Address | Type::Slug => "".into(),
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
            Type::Slug => format!("1 to {LONGEST_SLUG} of a-z 0-9 -"),
            Type::Lines => format!("a list of at most {MOST_LINES} lines"),
            Type::Flag => "true or false".to_owned(),
            Type::Percent => "a number from 0 to 100".to_owned(),
            Type::Time => "a time in milliseconds since 1970".to_owned(),
        }
    }
}

fn is_line(text: &str) -> bool {
    text.chars().count() <= LONGEST_LINE && !text.contains(char::is_control)
}

fn lines(value: &Value) -> Option<Value> {
    let lines = value.as_array().filter(|lines| lines.len() <= MOST_LINES)?;
    let lines: Option<Vec<&str>> =
        lines.iter().map(|line| line.as_str().map(str::trim).filter(|line| is_line(line))).collect();
    lines.map(|lines| json!(lines))
}

/// No other scheme: a link is clicked on by everybody.
fn is_address(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let is_web =
        rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_alphanumeric() || first == '['));
    is_line(text) && !text.contains([' ', '\\', '"', '<', '>']) && (is_web || is_local_path(text))
}

/// A path of this installation, which leads to no other host however it is read.
pub fn is_local_path(text: &str) -> bool {
    text.starts_with('/')
        && !text.starts_with("//")
        && !text.contains('\\')
        && !text.contains(char::is_control)
}

pub fn is_slug(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=LONGEST_SLUG).contains(&text.len()) && text.bytes().all(allowed)
}

pub fn is_id(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=LONGEST_ID).contains(&text.len()) && text.bytes().all(allowed)
}

fn fill_slug(entry: &mut Map<String, Value>) {
    if entry.get("slug").is_some_and(|slug| slug == "") {
        let title = entry.get("title").and_then(Value::as_str).unwrap_or_default();
        entry.insert("slug".to_owned(), slug_of(title).into());
    }
}

/// `Opening hours!` is `opening-hours`. Empty where nothing is left of it.
fn slug_of(title: &str) -> String {
    let words = title.to_lowercase();
    let words = words.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let slug = words.collect::<Vec<&str>>().join("-");
    slug.chars().take(LONGEST_SLUG).collect()
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
        ] {
            assert_eq!(kind.create(&object(given)).unwrap_err(), fault);
        }
    }

    #[test]
    fn links_lead_to_the_web_or_to_this_installation() {
        let url = |url: &str| TOOLS.create(&object(json!({ "name": "a", "url": url })));
        for good in ["https://example.org/x?y#z", "http://127.0.0.1:8081/", "/core/", "http://[::1]/"] {
            assert!(url(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "javascript:alert(1)",
            "//evil.example",
            "/\\evil.example",
            "https://",
            "ftp://x",
            "data:text/html,x",
            "http://a b",
        ] {
            assert!(url(bad).is_err(), "{bad}");
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
