//! The portal's entries as one file: YAML, of which JSON is a part. A file is checked as a whole before it is stored.

use crate::cache::{CachedEntry, Import, Snapshot};
use crate::merge;
use crate::records::Kind;
use crate::values::is_id;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_saphyr::Spanned;
use std::collections::{BTreeMap, HashSet};

/// What is wrong with a file, and on which line.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct FileError {
    pub line: u64,
    pub message: String,
}

/// An entry as it is written, with the line of each field.
type Written = Spanned<BTreeMap<String, Spanned<Value>>>;

/// A file of entries; `E` is one of them.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, bound(deserialize = "E: Deserialize<'de>"))]
pub struct EntryFile<E> {
    #[serde(default = "Vec::new")]
    updates: Vec<E>,
    #[serde(default = "Vec::new")]
    goals: Vec<E>,
    #[serde(default = "Vec::new")]
    tools: Vec<E>,
    #[serde(default = "Vec::new")]
    tasks: Vec<E>,
    #[serde(default = "Vec::new")]
    pages: Vec<E>,
    #[serde(default = "Vec::new")]
    teams: Vec<E>,
}

/// Reads a file. Fails at the first error.
pub fn read(text: &str) -> Result<Vec<Import>, FileError> {
    let options = serde_saphyr::options! { strict_booleans: true };
    let file: EntryFile<Written> =
        serde_saphyr::from_str_with_options(text, options).map_err(|error| FileError {
            line: error.location().map_or(1, |place| place.line()),
            message: without_line(&error.without_snippet().to_string()),
        })?;
    let EntryFile { updates, goals, tools, tasks, pages, teams } = file;
    let mut imports = Vec::new();
    for (kind, list) in Kind::ALL.into_iter().zip([updates, goals, tools, tasks, pages, teams]) {
        let (mut ids, mut slugs) = (HashSet::new(), HashSet::new());
        for written in list {
            let import = read_entry(kind, &written)?;
            if let Some(slug) = import.entry.slug() {
                if slug.is_empty() {
                    let message = "`slug` is missing: the title has no letters to make it from".to_owned();
                    return Err(error_at(&written, "title", message));
                }
                if !slugs.insert(slug.to_owned()) {
                    return Err(error_at(&written, "slug", format!("another page has the slug `{slug}`")));
                }
            }
            let (field, id) = match kind {
                Kind::Team => ("name", Some(import.entry.id())),
                _ => ("id", import.id.as_deref()),
            };
            if let Some(id) = id
                && !ids.insert(id.to_owned())
            {
                let message = format!("another {} has the {field} `{id}`", kind.name());
                return Err(error_at(&written, field, message));
            }
            imports.push(import);
        }
    }
    Ok(imports)
}

fn read_entry(kind: Kind, written: &Written) -> Result<Import, FileError> {
    let mut fields: Map<String, Value> =
        written.value.iter().map(|(name, value)| (name.clone(), value.value.clone())).collect();
    let mut id = None;
    if kind != Kind::Team
        && let Some(given) = fields.remove("id")
    {
        let wrong = || error_at(written, "id", "`id` is not 1 to 64 of A-Z a-z 0-9 . _ -".to_owned());
        id = Some(given.as_str().filter(|id| is_id(id)).ok_or_else(wrong)?.to_owned());
    }
    let has_created_at = matches!(kind, Kind::Update | Kind::Goal);
    let created_at = take_time(&mut fields, "createdAt", has_created_at, written)?;
    let has_updated_at = has_created_at || kind == Kind::Page;
    let updated_at = take_time(&mut fields, "updatedAt", has_updated_at, written)?;
    let entry = merge::create_strictly(kind, &fields);
    let entry = entry.map_err(|error| error_at(written, &error.field, error.message))?;
    Ok(Import { entry, id, created_at, updated_at })
}

fn take_time(
    fields: &mut Map<String, Value>,
    name: &str,
    is_kept: bool,
    written: &Written,
) -> Result<Option<i64>, FileError> {
    let Some(given) = fields.remove(name) else { return Ok(None) };
    let time = given.as_i64().filter(|time| *time >= 0 && is_kept);
    let message = format!("`{name}` is not a time in milliseconds since 1970, or has no place here");
    time.map(Some).ok_or_else(|| error_at(written, name, message))
}

/// Returns an error at the line of a field, or at that of the entry if it does not have the field.
fn error_at(written: &Written, field: &str, message: String) -> FileError {
    let place = written.value.get(field).map_or(&written.referenced, |value| &value.referenced);
    FileError { line: place.line(), message }
}

/// Removes the place from an error of the parser: it comes before our messages.
fn without_line(message: &str) -> String {
    message.split(" at line ").next().unwrap_or(message).to_owned()
}

/// Returns the file that [`read`] takes, the oldest entries first.
pub fn write(snapshot: &Snapshot) -> EntryFile<&CachedEntry> {
    let oldest_first = |kind| snapshot.of(kind).iter().rev().map(|cached| &**cached).collect();
    EntryFile {
        updates: oldest_first(Kind::Update),
        goals: oldest_first(Kind::Goal),
        tools: oldest_first(Kind::Tool),
        tasks: oldest_first(Kind::Task),
        pages: oldest_first(Kind::Page),
        teams: snapshot.of(Kind::Team).iter().map(|cached| &**cached).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Entry;

    #[test]
    fn yaml_and_json_bring_the_same() {
        let yaml = "updates:\n- title: A\n  pinned: true\nteams:\n- name: Pumps\n  members:\n  - {name: Ada, role: lead}\n";
        let json = r#"{"updates": [{"title": "A", "pinned": true}], "teams": [{"name": "Pumps", "members": [{"name": "Ada", "role": "lead"}]}]}"#;
        let (yaml, json) = (read(yaml).unwrap(), read(json).unwrap());
        let entries = |imports: &[Import]| -> Vec<Entry> {
            imports.iter().map(|import| import.entry.clone()).collect()
        };
        assert_eq!(entries(&yaml), entries(&json));
        let Entry::Team(team) = &yaml[1].entry else { panic!("{yaml:?}") };
        assert_eq!(team.members[0].name, "Ada");
        assert!(read("").unwrap().is_empty());
    }

    #[test]
    fn an_error_has_its_line() {
        for (text, said) in [
            ("updates:\n- title: A\n- body: x\n", "line 3: `title` is missing"),
            ("updates:\n- title: A\n  colour: red\n", "line 3: unknown field `colour`"),
            ("goals:\n- title: A\n  progress: 500\n", "line 3: `progress` is not a number from 0 to 100"),
            ("tools:\n- name: A\n  url: javascript:alert(1)\n", "line 3: `url` is not a web address"),
            ("updates:\n- {id: a, title: A}\n- {id: a, title: B}\n", "line 3: another update has the id `a`"),
            ("updates:\n- {id: 'a b', title: A}\n", "line 2: `id` is not"),
            ("updates:\n- title: [\n", "line 2: "),
            ("updates: 7\n", "line 1: "),
            ("nothing: []\n", "line 1: unknown field `nothing`"),
            ("teams:\n- lead: Ada\n", "line 2: `name` is missing"),
            ("teams:\n- name: A\n- name: A\n", "line 3: another team has the name `A`"),
            ("pages:\n- title: A\n- title: a!\n", "line 3: another page has the slug `a`"),
            ("teams:\n- name: A\n  owns: [1]\n", "line 3: `owns` is not a list of ids"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.starts_with(said), "{text}: {error}");
        }
    }
}
