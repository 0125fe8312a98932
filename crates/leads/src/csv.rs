//! Leads as CSV. Pure.

use crate::forms::Forms;
use crate::records::Lead;
use base::iso8601;
use kit::csv::row;
use std::collections::BTreeMap;

const FIXED: [&str; 11] = [
    "id",
    "form",
    "status",
    "createdAt",
    "forwardedAt",
    "attempts",
    "error",
    EMAIL,
    "address",
    "consentText",
    "consentVersion",
];
const EMAIL: &str = "email";
/// The column for fields that no form has any more.
const REST: &str = "otherFields";

/// The columns of an export.
pub struct Table {
    fields: Vec<String>,
}

impl Table {
    /// Returns a table with a column for each field of a form, or of all forms.
    pub fn new(forms: &Forms, form: Option<&str>) -> Self {
        let mut fields: Vec<String> = Vec::new();
        let wanted = forms.names().into_iter().filter(|name| form.is_none_or(|form| form == *name));
        for form in wanted.filter_map(|name| forms.get(name)) {
            // The person's address has a column already.
            let is_shown = |field: &str| field == EMAIL && form.email_field() == Some(EMAIL);
            for (field, _) in form.fields.iter().filter(|(field, _)| !is_shown(field)) {
                if !fields.contains(field) {
                    fields.push(field.clone());
                }
            }
        }
        Self { fields }
    }

    pub fn head(&self) -> String {
        let columns = FIXED.into_iter().map(str::to_owned);
        row(columns.chain(self.fields.iter().map(|field| column(field))).chain([REST.to_owned()]))
    }

    pub fn line(&self, lead: &Lead) -> String {
        let consent = lead.consent.as_ref();
        let text = |value: Option<&String>| value.cloned().unwrap_or_default();
        let fixed = [
            lead.id.clone(),
            lead.form.clone(),
            lead.status.as_str().to_owned(),
            iso8601(lead.created_at),
            lead.forwarded_at.map(iso8601).unwrap_or_default(),
            lead.attempts.to_string(),
            text(lead.error.as_ref()),
            text(lead.email.as_ref()),
            text(lead.address.as_ref()),
            text(consent.and_then(|consent| consent.text.as_ref())),
            text(consent.and_then(|consent| consent.version.as_ref())),
        ];
        let fields = self.fields.iter().map(|field| text(lead.fields.get(field)));
        let has_column = |name: &String, value: &String| {
            self.fields.contains(name) || (name == EMAIL && lead.email.as_ref() == Some(value))
        };
        let rest: BTreeMap<&String, &String> =
            lead.fields.iter().filter(|(name, value)| !has_column(name, value)).collect();
        let rest =
            if rest.is_empty() { String::new() } else { serde_json::to_string(&rest).unwrap_or_default() };
        row(fixed.into_iter().chain(fields).chain([rest]))
    }
}

/// Returns the name of a field's column. No two columns have the same name: field names have no dot.
fn column(field: &str) -> String {
    match FIXED.contains(&field) || field == REST {
        true => format!("fields.{field}"),
        false => field.to_owned(),
    }
}
