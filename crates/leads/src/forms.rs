//! The forms that leads come from: which fields each takes, from where, and what the CRM calls them.

mod parse;

use crate::clean;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The form of `POST /api/leads`.
pub const DEFAULT: &str = "default";

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One line.
    Text,
    /// Several lines.
    Long,
    Email,
    Phone,
    /// Of a person, first and last name together.
    Name,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Form {
    pub name: String,
    /// In the order of the configuration.
    pub fields: Vec<(String, Kind)>,
    pub required: Vec<String>,
    /// What the CRM calls a field, where that is another name; empty: it is not sent.
    pub crm: BTreeMap<String, String>,
    /// Origins whose pages may post, besides our own. In lower case; `*` is every one.
    pub origins: Vec<String>,
    /// Where a browser goes after it has posted.
    pub return_to: Option<String>,
    pub min_fill_time: Option<Duration>,
    /// Of telephone numbers that are typed without one.
    pub country_code: Option<String>,
    pub split_name: bool,
    pub consent_text: Option<String>,
    pub consent_version: Option<String>,
    pub consent_required: bool,
}

impl Form {
    pub fn kind(&self, field: &str) -> Option<Kind> {
        self.fields.iter().find(|(name, _)| name == field).map(|(_, kind)| *kind)
    }

    /// Which field is the person's address.
    pub fn email_field(&self) -> Option<&str> {
        let found = self.fields.iter().find(|(_, kind)| *kind == Kind::Email);
        found.map(|(name, _)| name.as_str())
    }

    pub fn allows_origin(&self, origin: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        self.origins.iter().any(|own| *own == "*" || *own == origin)
    }
}

/// How a CRM wants names of people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// Whole, and in parts where the form says so.
    AsTyped,
    /// In these two parts.
    Parts { first: &'static str, last: &'static str },
}

/// All forms, by their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forms(Arc<BTreeMap<String, Form>>);

impl Default for Forms {
    /// One form for contact requests.
    fn default() -> Self {
        let fields = ["name", "email", "phone", "company", "message"];
        let form = Form {
            name: DEFAULT.to_owned(),
            fields: fields.map(|name| (name.to_owned(), parse::usual_kind(name))).into(),
            required: vec!["email".to_owned()],
            ..Form::default()
        };
        Self(Arc::new(BTreeMap::from([(form.name.clone(), form)])))
    }
}

impl Forms {
    /// From the table `forms` of a configuration. Each fault names its key.
    pub fn parse(table: &toml::Table) -> Result<Self, Vec<String>> {
        parse::forms(table).map(|forms| Self(Arc::new(forms)))
    }

    pub fn get(&self, name: &str) -> Option<&Form> {
        self.0.get(name)
    }

    pub fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    /// A lead's fields as the CRM knows them. Where the form is gone, under their own names.
    pub fn properties(
        &self,
        form: &str,
        fields: &BTreeMap<String, String>,
        naming: Naming,
    ) -> BTreeMap<String, String> {
        let nothing = Form::default();
        let form = self.get(form).unwrap_or(&nothing);
        let mut properties = BTreeMap::new();
        let mut put = |own: &str, usual: &str, value: &str| {
            let name = form.crm.get(own).map_or(usual, String::as_str);
            if !name.is_empty() && !value.is_empty() {
                properties.insert(name.to_owned(), value.to_owned());
            }
        };
        for (field, value) in fields {
            let is_name = form.kind(field).unwrap_or(parse::usual_kind(field)) == Kind::Name;
            let (first, last) = clean::split_name(value);
            match naming {
                Naming::Parts { first: first_name, last: last_name } if is_name => {
                    // The whole name only where somebody has a place for it.
                    put(field, "", value);
                    put("first_name", first_name, &first);
                    put("last_name", last_name, &last);
                }
                _ => put(field, field, value),
            }
            if is_name && form.split_name && naming == Naming::AsTyped {
                put("first_name", "first_name", &first);
                put("last_name", "last_name", &last);
            }
        }
        properties
    }
}
