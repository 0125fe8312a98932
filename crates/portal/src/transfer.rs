//! The portal's entries as one file: YAML, of which JSON is a part. What is read is checked as a whole first.

use crate::kinds::{KINDS, Kind, is_id};
use crate::shelf::Snapshot;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use serde_saphyr::Spanned;
use std::collections::{BTreeMap, HashSet};

#[derive(Debug, PartialEq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct Fault {
    pub line: u64,
    pub message: String,
}

/// What a file brings.
#[derive(Debug, Default)]
pub struct Cargo {
    pub entries: Vec<(&'static Kind, Map<String, Value>)>,
    pub teams: Vec<Map<String, Value>>,
}

type Raw = Spanned<BTreeMap<String, Spanned<Value>>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    updates: Vec<Raw>,
    #[serde(default)]
    goals: Vec<Raw>,
    #[serde(default)]
    tools: Vec<Raw>,
    #[serde(default)]
    tasks: Vec<Raw>,
    #[serde(default)]
    pages: Vec<Raw>,
    #[serde(default)]
    teams: Vec<Raw>,
}

pub fn read(text: &str) -> Result<Cargo, Fault> {
    let options = serde_saphyr::options! { strict_booleans: true };
    let file: File = serde_saphyr::from_str_with_options(text, options).map_err(|error| Fault {
        line: error.location().map_or(1, |place| place.line()),
        message: sentence(&error.without_snippet().to_string()),
    })?;
    let mut cargo = Cargo::default();
    let lists = [file.updates, file.goals, file.tools, file.tasks, file.pages];
    for (kind, list) in KINDS.into_iter().zip(lists) {
        let (mut ids, mut slugs) = (HashSet::new(), HashSet::new());
        for raw in list {
            let entry = entry(kind, &raw)?;
            if let Some(slug) = entry.get("slug").and_then(Value::as_str) {
                if slug.is_empty() {
                    let message = "`slug` is missing: the title has no letters to make it from".to_owned();
                    return Err(fault(&raw, "title", message));
                }
                if !slugs.insert(slug.to_owned()) {
                    return Err(fault(&raw, "slug", format!("another page has the slug `{slug}`")));
                }
            }
            if let Some(id) = entry.get("id").and_then(Value::as_str)
                && !ids.insert(id.to_owned())
            {
                return Err(fault(&raw, "id", format!("another {} has the id `{id}`", kind.singular)));
            }
            cargo.entries.push((kind, entry));
        }
    }
    let mut names = HashSet::new();
    for raw in file.teams {
        let team = team(&raw)?;
        let name = team.get("name").and_then(Value::as_str).unwrap_or_default();
        if !names.insert(name.to_owned()) {
            return Err(fault(&raw, "name", format!("another team has the name `{name}`")));
        }
        cargo.teams.push(team);
    }
    Ok(cargo)
}

/// An entry with its id and times, where it has them.
fn entry(kind: &Kind, raw: &Raw) -> Result<Map<String, Value>, Fault> {
    let mut given = Map::new();
    let mut kept = Map::new();
    for (name, value) in &raw.value {
        match name.as_str() {
            "id" => {
                let id = value.value.as_str().filter(|id| is_id(id));
                let wrong = || fault(raw, "id", "`id` is not 1 to 64 of A-Z a-z 0-9 . _ -".to_owned());
                kept.insert(name.clone(), id.ok_or_else(wrong)?.into());
            }
            "createdAt" | "updatedAt" => {
                let has = if name == "createdAt" { kind.has_created_at } else { kind.has_updated_at };
                let time = value.value.as_i64().filter(|time| *time >= 0 && has);
                let wrong = || {
                    fault(
                        raw,
                        name,
                        format!("`{name}` is not a time in milliseconds since 1970, or has no place here"),
                    )
                };
                kept.insert(name.clone(), time.ok_or_else(wrong)?.into());
            }
            _ => {
                given.insert(name.clone(), value.value.clone());
            }
        }
    }
    let mut entry = kind.check_names(&given).and_then(|()| kind.create(&given)).map_err(|message| {
        let named = message.split('`').nth(1).unwrap_or_default().to_owned();
        fault(raw, &named, message)
    })?;
    entry.extend(kept);
    Ok(entry)
}

fn team(raw: &Raw) -> Result<Map<String, Value>, Fault> {
    let names = ["name", "lead", "members", "owns"];
    if let Some(unknown) = raw.value.keys().find(|name| !names.contains(&name.as_str())) {
        return Err(fault(raw, unknown, format!("unknown field `{unknown}`: one of {}", names.join(", "))));
    }
    let value = |name: &str| raw.value.get(name).map(|value| &value.value).filter(|value| !value.is_null());
    let line = |value: &Value| {
        value
            .as_str()
            .map(str::trim)
            .filter(|text| text.len() <= 500 && !text.contains(char::is_control))
            .map(str::to_owned)
    };
    let name = value("name").and_then(line).filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| fault(raw, "name", "`name` is missing: a team needs one".to_owned()))?;
    let lead = match value("lead") {
        None => String::new(),
        Some(lead) => line(lead).ok_or_else(|| fault(raw, "lead", "`lead` is not a line".to_owned()))?,
    };
    let wrong = |name: &str, what: &str| fault(raw, name, format!("`{name}` is not {what}"));
    let members = list(value("members"), |member| {
        let text = |name: &str| member.get(name).map_or(Some(String::new()), line);
        Some(json!({ "name": member.get("name").and_then(line)?, "role": text("role")? }))
    });
    let members = members.ok_or_else(|| wrong("members", "a list of {name, role}"))?;
    let owns = list(value("owns"), |id| line(id).map(Value::from));
    let owns = owns.ok_or_else(|| wrong("owns", "a list of ids"))?;
    let team = json!({ "name": name, "lead": lead, "members": members, "owns": owns });
    Ok(team.as_object().cloned().unwrap_or_default())
}

fn list(value: Option<&Value>, read: impl Fn(&Value) -> Option<Value>) -> Option<Vec<Value>> {
    value.map_or(Some(Vec::new()), |value| value.as_array()?.iter().map(read).collect())
}

/// At the field's line, or at the entry's.
fn fault(raw: &Raw, field: &str, message: String) -> Fault {
    let place = raw.value.get(field).map_or(&raw.referenced, |value| &value.referenced);
    Fault { line: place.line(), message }
}

/// The parser says where by itself, which we say in our own way.
fn sentence(message: &str) -> String {
    message.split(" at line ").next().unwrap_or(message).to_owned()
}

/// The form that [`read`] takes, the oldest first.
pub fn write(snapshot: &Snapshot) -> Value {
    let mut file = Map::new();
    for kind in KINDS {
        let entries: Vec<Value> =
            snapshot.of(kind).iter().rev().map(|item| Value::Object(item.value.clone())).collect();
        file.insert(kind.plural.to_owned(), entries.into());
    }
    let teams: Vec<Value> = snapshot.teams.iter().map(|team| Value::Object(team.value.clone())).collect();
    file.insert("teams".to_owned(), teams.into());
    Value::Object(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_and_json_bring_the_same() {
        let yaml = "updates:\n- title: A\n  pinned: true\nteams:\n- name: Pumps\n  members:\n  - {name: Ada, role: lead}\n";
        let json = r#"{"updates": [{"title": "A", "pinned": true}], "teams": [{"name": "Pumps", "members": [{"name": "Ada", "role": "lead"}]}]}"#;
        let (yaml, json) = (read(yaml).unwrap(), read(json).unwrap());
        assert_eq!(yaml.entries[0].1, json.entries[0].1);
        assert_eq!(yaml.teams, json.teams);
        assert_eq!(yaml.teams[0]["members"][0]["name"], "Ada");
        assert_eq!(read("").unwrap().entries.len(), 0);
    }

    #[test]
    fn a_fault_has_its_line() {
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
            let fault = read(text).unwrap_err().to_string();
            assert!(fault.starts_with(said), "{text}: {fault}");
        }
    }
}
