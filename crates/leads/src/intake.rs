//! Checks what a form sends and makes a lead of it. Pure: `outbox` stores the lead, `http` answers.

use crate::clean;
use crate::field_kind::FieldKind;
use crate::forms::Form;
use crate::records::{Consent, Lead, Status};
use aws_lc_rs::digest::{SHA256, digest};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The most names in one submission.
pub const MOST_FIELDS: usize = 200;
pub const HONEYPOT: &str = "_gotcha";
pub const STARTED: &str = "_started";
pub const CONSENT: &str = "_consent";
const CONSENT_TEXT: &str = "_consent_text";
const CONSENT_VERSION: &str = "_consent_version";
const SPECIAL: [&str; 5] = [HONEYPOT, STARTED, CONSENT, CONSENT_TEXT, CONSENT_VERSION];
const NO: [&str; 5] = ["", "0", "false", "no", "off"];
/// Joins several values of one name.
const JOINT: &str = ";";
/// How many names an error repeats, and how much of each.
const NAMED: usize = 5;
const NAMED_CHARACTERS: usize = 64;

/// Names and values in the order in which they were sent.
pub type Pairs = Vec<(String, String)>;

/// What a client has sent to a form.
pub struct Submission {
    pub pairs: Pairs,
    pub idempotency_key: Option<String>,
    pub address: IpAddr,
}

/// Why a submission is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Invalid {
    pub message: String,
    /// The fields that are wrong.
    pub fields: Vec<String>,
}

/// Makes a lead of a submission. It gets its id when it is stored.
pub fn read(form: &Form, submission: Submission, now: i64) -> Result<Lead, Invalid> {
    let Submission { pairs, idempotency_key, address } = submission;
    let (special, pairs): (Pairs, Pairs) = pairs.into_iter().partition(|(name, _)| name.starts_with('_'));
    let special = |name: &str| {
        let found = special.iter().find(|(own, _)| own == name).map(|(_, value)| value.trim());
        found.filter(|value| !value.is_empty())
    };
    let fields = fields(form, pairs)?;
    let consent = consent(form, special)?;
    let spam = spam(form, special, now)?;
    let email = form.email_field().and_then(|field| fields.get(field)).cloned();
    // Spam has digests of its own: a lead that is no spam must not count as the same as one that was.
    let digest_of = if spam.is_some() { "spam" } else { "lead" };
    let content = fields.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()]);
    // A person who consents later has sent a different lead.
    let agreed: Vec<&str> = consent
        .iter()
        .flat_map(|consent: &Consent| [&consent.text, &consent.version])
        .map(|part| part.as_deref().unwrap_or("yes"))
        .collect();
    Ok(Lead {
        id: String::new(),
        form: form.name.clone(),
        status: if spam.is_some() { Status::Spam } else { Status::Queued },
        consent: consent.clone(),
        address: Some(address.to_string()),
        sequence_key: email.as_deref().map_or(String::new(), |email| digest_text(["email", email])),
        idempotency_key: idempotency_key.map(|key| digest_text([digest_of, "key", &key])),
        content_digest: Some(digest_text([digest_of].into_iter().chain(content).chain(agreed))),
        email,
        fields,
        attempts: 0,
        error: spam.map(str::to_owned),
        created_at: now,
        updated_at: now,
        forwarded_at: None,
    })
}

/// Returns the names in a submission that neither the form nor the service knows.
pub fn unknown_names<'a>(form: &'a Form, pairs: &'a Pairs) -> impl Iterator<Item = &'a str> {
    let names = pairs.iter().map(|(name, _)| name.as_str());
    names.filter(|name| !SPECIAL.contains(name) && form.kind(name).is_none())
}

fn fields(form: &Form, pairs: Pairs) -> Result<BTreeMap<String, String>, Invalid> {
    let mut fields: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in pairs {
        // A page may send more than the form asks for, such as the name of a button.
        let Some(kind) = form.kind(&name) else { continue };
        let value = clean::value(kind, &value, form.country_code.as_deref());
        let value = value.map_err(|fault| invalid(&[&name], format!("`{name}` {fault}")))?;
        match fields.get_mut(&name) {
            _ if value.is_empty() => {}
            Some(before) if form.email_field() == Some(&name) && *before != value => {
                return Err(invalid(&[&name], format!("`{name}` is given more than once")));
            }
            Some(before) if *before == value => {}
            Some(before) => {
                before.push_str(JOINT);
                before.push_str(&value);
            }
            None => drop(fields.insert(name, value)),
        }
    }
    let missing: Vec<&str> =
        form.required.iter().map(String::as_str).filter(|name| !fields.contains_key(*name)).collect();
    if !missing.is_empty() {
        return Err(invalid(&missing, format!("{} is missing", named(&missing))));
    }
    if fields.is_empty() {
        return Err(invalid(&[], "the form is empty".to_owned()));
    }
    Ok(fields)
}

fn consent<'a>(form: &Form, special: impl Fn(&str) -> Option<&'a str>) -> Result<Option<Consent>, Invalid> {
    let said = special(CONSENT).unwrap_or_default().to_lowercase();
    if NO.contains(&said.as_str()) {
        return match form.consent_required {
            true => Err(invalid(&[CONSENT], format!("`{CONSENT}` is missing: this form needs consent"))),
            false => Ok(None),
        };
    }
    let kept = |name: &str, configured: &Option<String>| {
        let Some(text) = special(name) else { return Ok(configured.clone()) };
        let text = clean::value(FieldKind::Long, text, None);
        text.map(Some).map_err(|fault| invalid(&[name], format!("`{name}` {fault}")))
    };
    // What the page showed, if it says so.
    let text = kept(CONSENT_TEXT, &form.consent_text)?;
    Ok(Some(Consent { text, version: kept(CONSENT_VERSION, &form.consent_version)? }))
}

/// Returns why a submission is spam, if it is.
fn spam<'a>(
    form: &Form,
    special: impl Fn(&str) -> Option<&'a str>,
    now: i64,
) -> Result<Option<&'static str>, Invalid> {
    if special(HONEYPOT).is_some() {
        return Ok(Some("the hidden field was filled in"));
    }
    let (Some(least), Some(started)) = (form.min_fill_time, special(STARTED)) else { return Ok(None) };
    let wrong = || invalid(&[STARTED], format!("`{STARTED}` is not a time in milliseconds since 1970"));
    let started: i64 = started.parse().map_err(|_| wrong())?;
    let taken = now.saturating_sub(started);
    // A start in the future says nothing: the visitor's clock is ahead.
    let too_fast = taken >= 0 && taken.unsigned_abs() < least.as_millis() as u64;
    Ok(too_fast.then_some("filled in faster than a person types"))
}

fn invalid(fields: &[&str], message: String) -> Invalid {
    let shown = fields.iter().take(NAMED).map(|name| shortened(name)).collect();
    Invalid { message, fields: shown }
}

/// `` `a`, `b` and 7 more ``
fn named(names: &[&str]) -> String {
    let first: Vec<String> = names.iter().take(NAMED).map(|name| format!("`{}`", shortened(name))).collect();
    match names.len().saturating_sub(NAMED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

fn shortened(name: &str) -> String {
    name.chars().take(NAMED_CHARACTERS).map(|sign| if sign.is_control() { ' ' } else { sign }).collect()
}

/// Hashes each part with its length, so that two different lists have different digests.
fn digest_text<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
        bytes.extend_from_slice(part.as_bytes());
    }
    base::hex(digest(&SHA256, &bytes).as_ref())
}
