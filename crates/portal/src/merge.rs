//! From what is given to an entry: a new one from its fields, a changed one from a JSON merge patch.

use crate::entry::{Entry, Record};
use crate::records::{Goal, Kind, Page, Task, Team, Tool, Update};
use serde_json::{Map, Value};

/// What the server sets itself.
pub const READ_ONLY: [&str; 3] = ["id", "createdAt", "updatedAt"];

/// What is wrong with the fields of an entry.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FieldError {
    /// The first wrong field.
    pub field: String,
    pub message: String,
}

impl FieldError {
    fn new(field: &str, message: String) -> Self {
        Self { field: field.to_owned(), message }
    }
}

/// Makes a record from what is given, without its id and times. Null counts as absent, and fields that the kind does not
/// have are left out.
pub fn create<T: Record>(given: &Map<String, Value>) -> Result<T, FieldError> {
    let mut fields = defaults::<T>();
    for name in T::REQUIRED {
        if given.get(*name).is_none_or(Value::is_null) {
            return Err(FieldError::new(name, format!("`{name}` is missing")));
        }
    }
    for (name, value) in given.iter().filter(|(name, value)| !value.is_null() && !is_read_only(name)) {
        if let Some(field) = fields.get_mut(name) {
            *field = value.clone();
        }
    }
    read(fields)
}

/// Makes an entry of a kind as [`create`] does, but refuses fields that the kind does not have.
pub fn create_strictly(kind: Kind, given: &Map<String, Value>) -> Result<Entry, FieldError> {
    fn strictly<T: Record>(given: &Map<String, Value>) -> Result<Entry, FieldError> {
        check_names(given.keys(), &defaults::<T>())?;
        create::<T>(given).map(T::into)
    }
    let mut entry = match kind {
        Kind::Update => strictly::<Update>(given),
        Kind::Goal => strictly::<Goal>(given),
        Kind::Tool => strictly::<Tool>(given),
        Kind::Task => strictly::<Task>(given),
        Kind::Page => strictly::<Page>(given),
        Kind::Team => strictly::<Team>(given),
    }?;
    entry.fill_slug();
    Ok(entry)
}

/// Reads an entry as it is stored. Fields that it does not have yet are as if not given.
pub fn read_stored(kind: Kind, stored: Value) -> Result<Entry, FieldError> {
    fn stored_as<T: Record>(stored: Value) -> Result<Entry, FieldError> {
        let mut fields = defaults::<T>();
        if let Value::Object(stored) = stored {
            fields.extend(stored);
        }
        read::<T>(fields).map(T::into)
    }
    match kind {
        Kind::Update => stored_as::<Update>(stored),
        Kind::Goal => stored_as::<Goal>(stored),
        Kind::Tool => stored_as::<Tool>(stored),
        Kind::Task => stored_as::<Task>(stored),
        Kind::Page => stored_as::<Page>(stored),
        Kind::Team => stored_as::<Team>(stored),
    }
}

/// Returns the entry with a JSON merge patch applied: null takes a value away. What the server sets stays as it is.
pub fn patch(entry: &Entry, patch: &Map<String, Value>) -> Result<Entry, FieldError> {
    let mut patched = match entry {
        Entry::Update(update) => patch_record(update, patch).map(Entry::Update),
        Entry::Goal(goal) => patch_record(goal, patch).map(Entry::Goal),
        Entry::Tool(tool) => patch_record(tool, patch).map(Entry::Tool),
        Entry::Task(task) => patch_record(task, patch).map(Entry::Task),
        Entry::Page(page) => patch_record(page, patch).map(Entry::Page),
        Entry::Team(team) => patch_record(team, patch).map(Entry::Team),
    }?;
    patched.fill_slug();
    Ok(patched)
}

fn patch_record<T: Record>(record: &T, patch: &Map<String, Value>) -> Result<T, FieldError> {
    let (mut fields, mut defaults) = (fields_of(record), defaults::<T>());
    for (name, value) in patch.iter().filter(|(name, _)| is_read_only(name)) {
        if fields.get(name) != Some(value) {
            return Err(FieldError::new(name, format!("`{name}` cannot be changed")));
        }
    }
    let changes = || patch.iter().filter(|(name, _)| !is_read_only(name));
    check_names(changes().map(|(name, _)| name), &defaults)?;
    for (name, value) in changes() {
        if value.is_null() && T::REQUIRED.contains(&name.as_str()) {
            return Err(FieldError::new(name, format!("`{name}` cannot be taken away")));
        }
        let value = if value.is_null() { defaults.remove(name) } else { Some(value.clone()) };
        fields.insert(name.clone(), value.unwrap_or_default());
    }
    read(fields)
}

/// Fails if a name is given that the kind has no field for.
fn check_names<'a>(
    mut given: impl Iterator<Item = &'a String>,
    fields: &Map<String, Value>,
) -> Result<(), FieldError> {
    match given.find(|name| is_read_only(name) || !fields.contains_key(*name)) {
        None => Ok(()),
        Some(unknown) => {
            let names = fields.keys().map(String::as_str).filter(|name| !is_read_only(name));
            let names = names.collect::<Vec<&str>>().join(", ");
            Err(FieldError::new(unknown, format!("unknown field `{unknown}`: one of {names}")))
        }
    }
}

fn is_read_only(name: &str) -> bool {
    READ_ONLY.contains(&name)
}

fn defaults<T: Record>() -> Map<String, Value> {
    fields_of(&T::default())
}

fn fields_of<T: Record>(record: &T) -> Map<String, Value> {
    match serde_json::to_value(record) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// Reads all fields of a record. An error of a field says what that field is not.
fn read<T: Record>(fields: Map<String, Value>) -> Result<T, FieldError> {
    serde_path_to_error::deserialize(Value::Object(fields)).map_err(|error| {
        let field = error.path().to_string();
        let message = format!("`{field}` {}", error.inner());
        FieldError { field, message }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn what_is_absent_has_a_default_and_what_is_required_has_none() {
        let made: Update =
            create(&object(json!({ "title": " Hello ", "id": "x", "new": 1, "tags": null }))).unwrap();
        assert_eq!(made, Update { title: "Hello".to_owned(), ..Update::default() });
        assert_eq!(create::<Update>(&Map::new()).unwrap_err().message, "`title` is missing");
        let page = create_strictly(Kind::Page, &object(json!({ "title": "Opening hours!" }))).unwrap();
        assert_eq!(page.slug(), Some("opening-hours"));
    }

    #[test]
    fn faults_name_the_field() {
        for (kind, given, fault) in [
            (Kind::Update, json!({ "title": 7 }), "`title` is not a line of 1 to 500 characters"),
            (Kind::Update, json!({ "title": " " }), "`title` is not a line of 1 to 500 characters"),
            (Kind::Update, json!({ "title": "a\nb" }), "`title` is not a line of 1 to 500 characters"),
            (
                Kind::Update,
                json!({ "title": "a", "tags": ["x", 1] }),
                "`tags` is not a list of at most 100 lines",
            ),
            (
                Kind::Goal,
                json!({ "title": "a", "progress": 101 }),
                "`progress` is not a number from 0 to 100",
            ),
            (
                Kind::Goal,
                json!({ "title": "a", "dueAt": "soon" }),
                "`dueAt` is not a time in milliseconds since 1970",
            ),
            (Kind::Page, json!({ "title": "a", "slug": "A b" }), "`slug` is not 1 to 100 of a-z 0-9 -"),
            (
                Kind::Tool,
                json!({ "name": "a", "url": "/core/", "icon": "data:image/png,x" }),
                "`icon` is not a name of at most 64 characters or an https:// address",
            ),
        ] {
            let error = create_strictly(kind, &object(given)).unwrap_err();
            assert_eq!(error.message, fault);
            assert!(error.message.starts_with(&format!("`{}` is not", error.field)), "{error:?}");
        }
    }

    #[test]
    fn a_patch_changes_what_it_names_and_null_takes_away() {
        let entry = Update {
            id: "1".to_owned(),
            title: "a".to_owned(),
            body: "b".to_owned(),
            pinned: true,
            created_at: 5,
            updated_at: 6,
            ..Update::default()
        };
        let patched = |given: Value| patch(&entry.clone().into(), &object(given));
        let wanted = Update { body: String::new(), pinned: false, ..entry.clone() };
        let same_id = json!({ "body": null, "pinned": false, "id": "1" });
        assert_eq!(patched(same_id).unwrap(), wanted.into());
        for (given, said) in [
            (json!({ "title": null }), "`title` cannot be taken away"),
            (json!({ "id": "2" }), "`id` cannot be changed"),
            (json!({ "createdAt": 7 }), "`createdAt` cannot be changed"),
            (
                json!({ "Title": "x" }),
                "unknown field `Title`: one of author, body, category, pinned, tags, title",
            ),
        ] {
            assert_eq!(patched(given).unwrap_err().message, said);
        }
    }

    #[test]
    fn what_is_stored_is_read_as_it_was_written() {
        let goal = Goal { title: "a".to_owned(), progress: 12.5, due_at: Some(7), ..Goal::default() };
        let page = Page { title: "a".to_owned(), slug: "a".to_owned(), ..Page::default() };
        let team = Team { name: "a".to_owned(), owns: vec!["b".to_owned()], ..Team::default() };
        for entry in [Entry::from(goal), page.into(), team.into()] {
            let stored = serde_json::to_value(&entry).unwrap();
            assert_eq!(read_stored(entry.kind(), stored).unwrap(), entry);
        }
        let without_new_fields = json!({ "id": "1", "title": "a" });
        assert!(read_stored(Kind::Update, without_new_fields).is_ok());
        assert_eq!(read_stored(Kind::Update, json!({ "id": "1" })).unwrap_err().field, "title");
    }
}
