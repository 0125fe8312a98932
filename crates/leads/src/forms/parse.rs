//! Reads forms from the tables `[forms.NAME]` of `stoa.toml`. Reports all faults at once, each with its key and line.

use super::Form;
use crate::field_kind::FieldKind;
use base::web::{is_link, is_local_path, is_origin};
use base::{duration, line_at};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use strum::VariantNames;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

/// The keys of [`RawForm`].
const KEYS: [&str; 12] = [
    "fields",
    "kinds",
    "required",
    "crm",
    "origins",
    "return_to",
    "min_fill_time",
    "country_code",
    "split_name",
    "consent_text",
    "consent_version",
    "consent_required",
];
const MOST_FIELDS: usize = 100;
/// The names of the two parts of a name, if they are sent separately.
const NAME_PARTS: [&str; 2] = ["first_name", "last_name"];
/// A form with one of these names could not be posted to: the service has paths of these names.
const RESERVED_NAMES: [&str; 2] = ["export", "forms"];

/// Something wrong with a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormFault {
    /// The line of the file, from 1.
    pub line: usize,
    /// Begins with the key, such as `` `forms.contact.fields`: ``.
    pub message: String,
}

/// A form as it is written. A value of a wrong type does not keep the others from being checked.
#[derive(Deserialize)]
struct RawForm {
    fields: Given<Vec<String>>,
    kinds: Given<BTreeMap<String, String>>,
    required: Given<Vec<String>>,
    crm: Given<BTreeMap<String, String>>,
    origins: Given<Vec<String>>,
    return_to: Given<Text>,
    min_fill_time: Given<Text>,
    country_code: Given<Text>,
    split_name: Given<bool>,
    consent_text: Given<Text>,
    consent_version: Given<Text>,
    consent_required: Given<bool>,
}

type Given<T> = Option<Typed<T>>;

#[derive(Deserialize)]
#[serde(untagged)]
enum Typed<T> {
    Expected(T),
    Other(IgnoredAny),
}

/// A text, which may also be written as a whole number.
#[derive(Deserialize)]
#[serde(untagged)]
enum Text {
    Text(String),
    Number(i64),
}

/// Reads the forms of a file. Returns none if the file has no table `forms`.
pub fn forms(text: &str) -> Result<Option<BTreeMap<String, Form>>, Vec<FormFault>> {
    let of_toml = |error: toml::de::Error| {
        let line = line_at(text, error.span().map_or(0, |span| span.start));
        vec![FormFault { line, message: error.message().to_owned() }]
    };
    let mut file = DeTable::parse(text).map_err(of_toml)?.into_inner();
    let Some((key, DeValue::Table(table))) =
        file.remove_entry("forms").map(|(key, value)| (key, value.into_inner()))
    else {
        return Ok(None);
    };
    let mut faults = Vec::new();
    if table.is_empty() {
        faults.push((key.span().start, "`forms`: expected at least one form, `[forms.NAME]`".to_owned()));
    }
    let mut forms = BTreeMap::new();
    for (name, value) in table {
        let (offset, name) = (name.span().start, name.into_inner().into_owned());
        let reader = Reader { offset, offsets: BTreeMap::new(), name: &name, faults: &mut faults };
        if let Some(form) = reader.form(value) {
            forms.insert(name, form);
        }
    }
    if faults.is_empty() {
        return Ok(Some(forms));
    }
    faults.sort_by_key(|(offset, _)| *offset);
    Err(faults
        .into_iter()
        .map(|(offset, message)| FormFault { line: line_at(text, offset), message })
        .collect())
}

fn is_word(text: &str) -> bool {
    let sign = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=64).contains(&text.len()) && text.bytes().all(sign)
}

/// Reads one form.
struct Reader<'a> {
    name: &'a str,
    /// Where the form begins in the file, in bytes.
    offset: usize,
    /// Where its keys are.
    offsets: BTreeMap<String, usize>,
    faults: &'a mut Vec<(usize, String)>,
}

impl Reader<'_> {
    fn form(mut self, value: Spanned<DeValue<'_>>) -> Option<Form> {
        let name = self.name;
        if !is_word(name) || RESERVED_NAMES.contains(&name) {
            let wanted = "expected a name of 1 to 64 of a-z A-Z 0-9 _ - other than export and forms";
            self.faults.push((self.offset, format!("`forms.{name}`: {wanted}")));
        }
        let Some(table) = value.get_ref().as_table() else {
            let message = format!("`forms.{name}`: expected a table, `[forms.{name}]`");
            self.faults.push((self.offset, message));
            return None;
        };
        self.check_keys(table);
        match RawForm::deserialize(ValueDeserializer::from(value)) {
            Ok(raw) => Some(self.check(raw)),
            Err(error) => {
                self.faults.push((self.offset, format!("`forms.{name}`: {}", error.message())));
                None
            }
        }
    }

    fn check_keys(&mut self, table: &DeTable<'_>) {
        for key in table.keys() {
            let (offset, key) = (key.span().start, key.get_ref().to_string());
            if !KEYS.contains(&key.as_str()) {
                let message = format!("unknown key `forms.{}.{key}`: one of {}", self.name, KEYS.join(", "));
                self.faults.push((offset, message));
            }
            self.offsets.insert(key, offset);
        }
    }

    fn check(&mut self, raw: RawForm) -> Form {
        let fields = self.fields(raw.fields, raw.kinds);
        let known = |own: &str| fields.iter().any(|(field, _)| field == own);
        let required = self.texts("required", raw.required);
        for field in required.iter().filter(|field| !known(field)) {
            self.fault("required", &format!("`{field}` is not among the fields of the form"));
        }
        let crm = self.table("crm", raw.crm);
        for field in crm.keys().filter(|own| !known(own) && !NAME_PARTS.contains(&own.as_str())) {
            self.fault("crm", &format!("`{field}` is not among the fields of the form"));
        }
        let split_name = self.switch("split_name", raw.split_name);
        self.check_sent_names(&fields, &crm, split_name);
        Form {
            name: self.name.to_owned(),
            required,
            crm,
            origins: self.origins(raw.origins),
            return_to: self.parsed("return_to", raw.return_to, return_address),
            min_fill_time: self.parsed("min_fill_time", raw.min_fill_time, duration),
            country_code: self.parsed("country_code", raw.country_code, country_code),
            split_name,
            consent_text: self.text("consent_text", raw.consent_text),
            consent_version: self.text("consent_version", raw.consent_version),
            consent_required: self.switch("consent_required", raw.consent_required),
            fields,
        }
    }

    fn fields(
        &mut self,
        names: Given<Vec<String>>,
        kinds: Given<BTreeMap<String, String>>,
    ) -> Vec<(String, FieldKind)> {
        let names = self.texts("fields", names);
        if names.is_empty() || names.len() > MOST_FIELDS {
            self.fault("fields", &format!("expected 1 to {MOST_FIELDS} names of fields"));
        }
        for name in names.iter().filter(|name| name.starts_with('_') || !is_word(name)) {
            let wanted = "expected 1 to 64 of a-z A-Z 0-9 _ -, not beginning with `_`";
            self.fault("fields", &format!("`{name}` is not a name: {wanted}"));
        }
        let kinds = self.table("kinds", kinds);
        for name in kinds.keys().filter(|name| !names.contains(name)) {
            self.fault("kinds", &format!("`{name}` is not among the fields of the form"));
        }
        let mut fields = Vec::new();
        for name in names {
            let kind =
                kinds.get(&name).map_or(Ok(FieldKind::usual(&name)), |kind| kind.parse().map_err(|_| kind));
            let kind = kind.unwrap_or_else(|unknown| {
                let known = FieldKind::VARIANTS.join(", ");
                self.fault("kinds", &format!("`{unknown}` is not known: one of {known}"));
                FieldKind::Text
            });
            fields.push((name, kind));
        }
        fields
    }

    /// Refuses two fields that the CRM would get under one name: one of them would be lost.
    fn check_sent_names(
        &mut self,
        fields: &[(String, FieldKind)],
        crm: &BTreeMap<String, String>,
        split_name: bool,
    ) {
        let names = fields.iter().filter(|(_, kind)| *kind == FieldKind::Name).count();
        let is_field = |part: &str| fields.iter().any(|(field, _)| field == part);
        let parts = NAME_PARTS
            .into_iter()
            .filter(|part| split_name || (crm.contains_key(*part) && !is_field(part)))
            .flat_map(|part| std::iter::repeat_n((part, format!("the part `{part}` of a name")), names));
        let fields = fields.iter().map(|(field, _)| (field.as_str(), format!("`{field}`")));
        let mut sent: BTreeMap<&str, String> = BTreeMap::new();
        for (own, shown) in fields.chain(parts) {
            let name = crm.get(own).map_or(own, String::as_str);
            if let Some(other) = sent.insert(name, shown.clone()).filter(|_| !name.is_empty()) {
                self.fault("crm", &format!("{other} and {shown} would both be sent as `{name}`"));
            }
        }
    }

    fn origins(&mut self, given: Given<Vec<String>>) -> Vec<String> {
        let origins = self.texts("origins", given);
        let origins: Vec<String> = origins.iter().map(|origin| origin.trim().to_ascii_lowercase()).collect();
        for origin in origins.iter().filter(|origin| *origin != "*" && !is_origin(origin)) {
            let wanted = "expected `https://host[:port]`, or `*` for every one";
            self.fault("origins", &format!("`{origin}` is not an origin: {wanted}"));
        }
        origins
    }

    fn fault(&mut self, key: &str, what: &str) {
        let offset = self.offsets.get(key).copied().unwrap_or(self.offset);
        self.faults.push((offset, format!("`forms.{}.{key}`: {what}", self.name)));
    }

    fn value<T>(&mut self, key: &str, given: Given<T>, expected: &str) -> Option<T> {
        match given? {
            Typed::Expected(value) => Some(value),
            Typed::Other(_) => {
                self.fault(key, expected);
                None
            }
        }
    }

    fn text(&mut self, key: &str, given: Given<Text>) -> Option<String> {
        let expected = "expected a text that is not empty";
        match self.value(key, given, expected)? {
            Text::Text(text) if text.is_empty() => {
                self.fault(key, expected);
                None
            }
            Text::Text(text) => Some(text),
            Text::Number(number) => Some(number.to_string()),
        }
    }

    fn parsed<T>(
        &mut self,
        key: &str,
        given: Given<Text>,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        let text = self.text(key, given)?;
        parse(&text).map_err(|fault| self.fault(key, &fault)).ok()
    }

    fn switch(&mut self, key: &str, given: Given<bool>) -> bool {
        self.value(key, given, "expected true or false").unwrap_or(false)
    }

    fn texts(&mut self, key: &str, given: Given<Vec<String>>) -> Vec<String> {
        self.value(key, given, "expected a list of texts").unwrap_or_default()
    }

    fn table(&mut self, key: &str, given: Given<BTreeMap<String, String>>) -> BTreeMap<String, String> {
        self.value(key, given, "expected a table of texts").unwrap_or_default()
    }
}

/// Parses a link or a path of the same site, which is sent in a header as it is.
fn return_address(text: &str) -> Result<String, String> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic());
    if is_plain && (is_local_path(text) || is_link(text)) {
        return Ok(text.to_owned());
    }
    Err(format!("`{text}` is not a return address: expected `https://host/path` or `/path`"))
}

fn country_code(text: &str) -> Result<String, String> {
    let digits = text.strip_prefix('+').unwrap_or(text);
    let is_code = (1..=3).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && !digits.starts_with('0');
    is_code
        .then(|| digits.to_owned())
        .ok_or_else(|| format!("`{text}` is not a country code: such as `49` or `+1`"))
}

#[cfg(test)]
mod tests;
