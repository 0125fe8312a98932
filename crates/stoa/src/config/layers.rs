//! Collects the settings from defaults, `stoa.toml`, environment and flags: each as text, with where it came from.

use super::settings::{Setting, setting_in_file, settings};
use super::{Faults, typos};
use leads::Forms;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const DEFAULT_FILE: &str = "stoa.toml";
/// The part of the file that is not a setting.
const FORMS: &str = "forms";
/// The text of each setting, and the faults found so far.
pub struct Layers {
    values: BTreeMap<&'static str, (String, String)>,
    forms: Forms,
    faults: Vec<String>,
    warnings: Vec<String>,
}

impl Layers {
    pub fn gather(file: Option<PathBuf>, flags: BTreeMap<String, String>) -> Self {
        let mut layers = Self::defaults();
        match file {
            Some(path) => layers.add_file(&path),
            None if Path::new(DEFAULT_FILE).exists() => layers.add_file(Path::new(DEFAULT_FILE)),
            None => {}
        }
        layers.add_environment();
        for (name, value) in flags {
            let flag = format!("--{}", name.replace('_', "-"));
            if name == "database_url" && has_password(&value) {
                layers.faults.push(format!(
                    "{flag}: has a password, which every user of this machine can read there: set DATABASE_URL or \
                     DATABASE_URL_FILE instead"
                ));
            }
            layers.set(&name, value, flag);
        }
        layers
    }

    pub fn defaults() -> Self {
        let values = settings().iter().map(|setting| {
            let place = setting.environment_name();
            (setting.name, (setting.default.to_owned(), place))
        });
        Self { values: values.collect(), forms: Forms::default(), faults: Vec::new(), warnings: Vec::new() }
    }

    fn add_file(&mut self, path: &Path) {
        let shown = path.display();
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) => return self.faults.push(format!("{shown}: {error}")),
        };
        let table = match text.parse::<toml::Table>() {
            Ok(table) => table,
            Err(error) => return self.faults.push(format!("{shown}: {error}")),
        };
        self.add_forms(path, &text);
        for (name, value) in table {
            if name == FORMS && value.is_table() {
                continue;
            }
            let value = match value {
                toml::Value::String(text) => text,
                toml::Value::Integer(number) => number.to_string(),
                toml::Value::Boolean(switch) => if switch { "on" } else { "off" }.to_owned(),
                _ => {
                    self.faults.push(format!("`{name}` in {shown}: expected a text or a number"));
                    continue;
                }
            };
            let place = format!("`{name}` in {shown}");
            if let Some(setting) = setting_in_file(&name) {
                self.set_from_file(setting, &value, place);
            } else if !self.set(&name, value, place) {
                let known: Vec<&str> = settings().iter().map(|setting| setting.name).collect();
                self.faults.push(format!("unknown setting `{name}` in {shown}: one of {}", known.join(", ")));
            }
        }
    }

    fn add_forms(&mut self, path: &Path, text: &str) {
        match Forms::parse(text) {
            Ok(forms) => self.forms = forms.unwrap_or_default(),
            Err(faults) => self.faults.extend(
                faults
                    .iter()
                    .map(|fault| format!("{} line {}: {}", path.display(), fault.line, fault.message)),
            ),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
    fn add_environment(&mut self) {
        for setting in settings() {
            let mut given = Vec::new();
            for name in setting.environment_names() {
                match std::env::var(&name) {
                    Ok(value) => given.push((name, value)),
                    Err(std::env::VarError::NotPresent) => {}
                    Err(std::env::VarError::NotUnicode(_)) => {
                        self.faults.push(format!("{name}: is not UTF-8"));
                    }
                }
            }
            self.add_variables(setting, given);
        }
        let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        self.warnings.extend(names.filter_map(|name| typos::warning(&name)));
    }

    /// Of a variable and its `_FILE`, an empty one counts as unset if the other has a value.
    fn add_variables(&mut self, setting: &Setting, mut given: Vec<(String, String)>) {
        if given.len() > 1 {
            given.retain(|(_, value)| !value.is_empty());
        }
        match given.as_slice() {
            [(one, _), (other, _)] => {
                self.faults.push(format!("{one} and {other} are both set: expected one"))
            }
            [(name, value)] if *name == setting.environment_name() => {
                self.set(setting.name, value.clone(), name.clone());
            }
            [(name, path)] if !path.is_empty() => self.set_from_file(setting, path, name.clone()),
            _ => {}
        }
    }

    /// Sets a setting to the content of a file, without the line end that editors and shells add.
    fn set_from_file(&mut self, setting: &Setting, path: &str, place: String) {
        match std::fs::read_to_string(path) {
            Ok(text) => drop(self.set(setting.name, text.trim_end_matches(['\r', '\n']).to_owned(), place)),
            Err(error) => self.faults.push(format!("{place}: cannot read `{path}`: {error}")),
        }
    }

    fn set(&mut self, name: &str, value: String, place: String) -> bool {
        match settings().iter().find(|setting| setting.name == name) {
            // An empty value means the default, unless it has a meaning of its own.
            Some(setting) if value.is_empty() && !setting.may_be_emptied() => true,
            Some(setting) => self.values.insert(setting.name, (value, place)).is_some(),
            None => false,
        }
    }

    pub fn text(&self, name: &str) -> &str {
        self.values.get(name).map_or("", |(value, _)| value)
    }

    pub fn optional(&self, name: &str) -> Option<String> {
        Some(self.text(name)).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    /// Parses a setting. A fault is collected until [`Layers::finish`], and the type's default is returned.
    pub fn read<T: Default>(&mut self, name: &str, parse: impl Fn(&str) -> Result<T, String>) -> T {
        parse(self.text(name)).unwrap_or_else(|fault| {
            let place = self.values.get(name).map_or(name, |(_, place)| place);
            self.faults.push(format!("{place}: {fault}"));
            T::default()
        })
    }

    /// Parses a setting whose default depends on others.
    pub fn read_or<T: Default>(
        &mut self,
        name: &str,
        default: T,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> T {
        if self.text(name).is_empty() { default } else { self.read(name, parse) }
    }

    /// Returns the forms of `stoa.toml`, or the built-in one.
    pub fn forms(&self) -> Forms {
        self.forms.clone()
    }

    /// Returns what may be a mistake, and removes it from the layers.
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// Adds a fault of a setting that could be parsed.
    pub fn fault(&mut self, name: &str, fault: &str) {
        let place = self.values.get(name).map_or(name, |(_, place)| place);
        self.faults.push(format!("{place}: {fault}"));
    }

    pub fn finish<T>(self, value: T) -> Result<T, Faults> {
        if self.faults.is_empty() { Ok(value) } else { Err(Faults(self.faults)) }
    }
}

/// Returns whether a URL of a database has a password.
pub fn has_password(url: &str) -> bool {
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = authority.split(['/', '?']).next().unwrap_or_default();
    authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':')) || url.contains("password=")
}
