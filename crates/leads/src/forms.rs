//! The forms that leads come from: which fields each accepts, from which sites, and the fields' names in the CRM.

mod parse;

pub use parse::FormFault;

use crate::clean;
use crate::field_kind::FieldKind;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The form of `POST /api/leads`.
pub const DEFAULT: &str = "default";

/// One form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Form {
    pub name: String,
    /// In the order of the file.
    pub fields: Vec<(String, FieldKind)>,
    pub required: Vec<String>,
    /// The names of fields in the CRM, if they differ. A field with an empty name is not sent.
    pub crm: BTreeMap<String, String>,
    /// The origins whose pages may post, beside the service's own. In lower case; `*` means all.
    pub origins: Vec<String>,
    /// The page that a browser is sent to after it has posted.
    pub return_to: Option<String>,
    pub min_fill_time: Option<Duration>,
    /// The country code of telephone numbers that are typed without one.
    pub country_code: Option<String>,
    pub split_name: bool,
    pub consent_text: Option<String>,
    pub consent_version: Option<String>,
    pub consent_required: bool,
}

impl Form {
    pub fn kind(&self, field: &str) -> Option<FieldKind> {
        self.fields.iter().find(|(name, _)| name == field).map(|(_, kind)| *kind)
    }

    /// Returns the field that holds the person's email address.
    pub fn email_field(&self) -> Option<&str> {
        let found = self.fields.iter().find(|(_, kind)| *kind == FieldKind::Email);
        found.map(|(name, _)| name.as_str())
    }

    pub fn allows_origin(&self, origin: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        self.origins.iter().any(|own| *own == "*" || *own == origin)
    }
}

/// How a CRM wants the names of people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// As one text, and also in parts if the form says so.
    AsTyped,
    /// In two parts with these names.
    Parts { first: &'static str, last: &'static str },
}

/// All forms, by their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forms(Arc<BTreeMap<String, Form>>);

impl Default for Forms {
    /// Returns one form for contact requests.
    fn default() -> Self {
        let fields = ["name", "email", "phone", "company", "message"];
        let form = Form {
            name: DEFAULT.to_owned(),
            fields: fields.map(|name| (name.to_owned(), FieldKind::usual(name))).into(),
            required: vec!["email".to_owned()],
            ..Form::default()
        };
        Self(Arc::new(BTreeMap::from([(form.name.clone(), form)])))
    }
}

impl Forms {
    /// Reads the table `forms` of a settings file. Returns none if the file has none.
    pub fn parse(text: &str) -> Result<Option<Self>, Vec<FormFault>> {
        Ok(parse::forms(text)?.map(|forms| Self(Arc::new(forms))))
    }

    pub fn get(&self, name: &str) -> Option<&Form> {
        self.0.get(name)
    }

    /// Returns the forms in the order of their names.
    pub fn all(&self) -> impl Iterator<Item = &Form> {
        self.0.values()
    }

    pub fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    /// Returns a lead's fields under their names in the CRM; under their own names if the form does not exist any more.
    pub fn properties(
        &self,
        form: &str,
        fields: &BTreeMap<String, String>,
        naming: Naming,
    ) -> BTreeMap<String, String> {
        let unknown = Form::default();
        let form = self.get(form).unwrap_or(&unknown);
        let mut properties = BTreeMap::new();
        let mut put = |own: &str, usual: &str, value: &str| {
            let name = form.crm.get(own).map_or(usual, String::as_str);
            if !name.is_empty() && !value.is_empty() {
                properties.insert(name.to_owned(), value.to_owned());
            }
        };
        for (field, value) in fields {
            let is_name = form.kind(field).unwrap_or(FieldKind::usual(field)) == FieldKind::Name;
            let (first, last) = clean::split_name(value);
            match naming {
                Naming::Parts { first: first_name, last: last_name } if is_name => {
                    // The whole name only if the form gives it a name in the CRM.
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
