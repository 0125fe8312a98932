//! Leads as CSV (RFC 4180), with no cell that a spreadsheet would take for a formula. Pure.

use crate::forms::Forms;
use crate::records::Lead;
use base::iso8601;
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

fn row(cells: impl Iterator<Item = String>) -> String {
    let mut line = cells.map(|text| cell(&text)).collect::<Vec<String>>().join(",");
    line.push_str("\r\n");
    line
}

/// Quotes a cell. A spreadsheet runs what begins like a formula: an apostrophe makes it text.
fn cell(text: &str) -> String {
    let dangerous = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']);
    let text = if dangerous { format!("'{text}") } else { text.to_owned() };
    if text.contains(['"', ',', '\r', '\n', ';', '\t']) || text.starts_with('\'') {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::cell;

    #[test]
    fn cells_are_quoted_and_no_formula() {
        for (text, shown) in [
            ("plain", "plain"),
            ("", ""),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("=1+1", "\"'=1+1\""),
            ("+4930123456", "\"'+4930123456\""),
            ("-1", "\"'-1\""),
            ("@SUM(A1)", "\"'@SUM(A1)\""),
            ("\t=1", "\"'\t=1\""),
            ("=HYPERLINK(\"http://evil\")", "\"'=HYPERLINK(\"\"http://evil\"\")\""),
        ] {
            assert_eq!(cell(text), shown);
        }
    }
}
