//! Defaults, `stoa.toml`, environment, flags: each setting as text, with where it came from.

use super::Faults;
use leads::Forms;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

const DEFAULTS: &str = include_str!("../defaults.toml");
const DEFAULT_FILE: &str = "stoa.toml";
/// The one part of the file that is no setting.
const FORMS: &str = "forms";

/// One setting as `defaults.toml` describes it.
pub struct Setting {
    pub name: &'static str,
    pub help: &'static str,
    default: &'static str,
}

impl Setting {
    pub fn environment_name(&self) -> String {
        // Alone, these names would be anybody's.
        let prefix = if matches!(self.name, "data_dir" | "models_dir") { "STOA_" } else { "" };
        format!("{prefix}{}", self.name.to_uppercase())
    }
}

/// All settings, read once from the commented file that is also their documentation.
pub fn settings() -> &'static [Setting] {
    static SETTINGS: LazyLock<Vec<Setting>> = LazyLock::new(|| {
        let mut help = "";
        let mut settings = Vec::new();
        for line in DEFAULTS.lines() {
            if let Some(comment) = line.strip_prefix("# ") {
                help = comment;
            } else if let Some((name, value)) = line.split_once(" = ") {
                settings.push(Setting { name, help, default: value.trim_matches('"') });
            }
        }
        settings
    });
    &SETTINGS
}

/// The text of each setting, and what has been found wrong so far.
pub struct Layers {
    values: BTreeMap<&'static str, (String, String)>,
    forms: Forms,
    faults: Vec<String>,
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
            layers.set(&name, value, flag);
        }
        layers
    }

    pub fn defaults() -> Self {
        let values = settings().iter().map(|setting| {
            let place = setting.environment_name();
            (setting.name, (setting.default.to_owned(), place))
        });
        Self { values: values.collect(), forms: Forms::default(), faults: Vec::new() }
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
        for (name, value) in table {
            if let (FORMS, toml::Value::Table(table)) = (name.as_str(), &value) {
                match Forms::parse(table) {
                    Ok(forms) => self.forms = forms,
                    Err(faults) => {
                        self.faults.extend(faults.iter().map(|fault| format!("{shown}: {fault}")));
                    }
                }
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
            if !self.set(&name, value, format!("`{name}` in {shown}")) {
                let known: Vec<&str> = settings().iter().map(|setting| setting.name).collect();
                self.faults.push(format!("unknown setting `{name}` in {shown}: one of {}", known.join(", ")));
            }
        }
    }

    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
    fn add_environment(&mut self) {
        for setting in settings() {
            let name = setting.environment_name();
            match std::env::var(&name) {
                Ok(value) => drop(self.set(setting.name, value, name)),
                Err(std::env::VarError::NotPresent) => {}
                Err(std::env::VarError::NotUnicode(_)) => self.faults.push(format!("{name}: is not UTF-8")),
            }
        }
    }

    fn set(&mut self, name: &str, value: String, place: String) -> bool {
        match settings().iter().find(|setting| setting.name == name) {
            // An empty value where there is a default means the default.
            Some(setting) if value.is_empty() && !setting.default.is_empty() => true,
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

    /// A value that cannot be read is noted, and its type's empty value stands in until [`Layers::finish`].
    pub fn read<T: Default>(&mut self, name: &str, parse: impl Fn(&str) -> Result<T, String>) -> T {
        parse(self.text(name)).unwrap_or_else(|fault| {
            let place = self.values.get(name).map_or(name, |(_, place)| place);
            self.faults.push(format!("{place}: {fault}"));
            T::default()
        })
    }

    /// The same for a setting whose default depends on others.
    pub fn read_or<T: Default>(
        &mut self,
        name: &str,
        default: T,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> T {
        if self.text(name).is_empty() { default } else { self.read(name, parse) }
    }

    /// The forms of `stoa.toml`, or the built-in one.
    pub fn forms(&self) -> Forms {
        self.forms.clone()
    }

    /// Something is wrong with a setting that can be read, beside others.
    pub fn fault(&mut self, name: &str, fault: &str) {
        let place = self.values.get(name).map_or(name, |(_, place)| place);
        self.faults.push(format!("{place}: {fault}"));
    }

    pub fn finish<T>(self, value: T) -> Result<T, Faults> {
        if self.faults.is_empty() { Ok(value) } else { Err(Faults(self.faults)) }
    }
}
