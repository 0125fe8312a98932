//! The settings of the CRM, if one is set.

use super::at_least_a_second;
use super::layers::Layers;
use base::duration;
use leads::{CrmKind, CrmSettings, CrmUrl, SigningSecret};

const HUBSPOT: &str = "https://api.hubapi.com";

/// Returns none if neither an address nor a kind is set. Faults in the others are reported in any case.
pub fn crm(layers: &mut Layers) -> Option<CrmSettings> {
    let kind = layers.read("crm_kind", kind);
    let url = layers.read("crm_url", url);
    let token = layers.read("crm_token", token);
    let signing_secret = layers.read("crm_signing_secret", signing_secret);
    let timeout = layers.read("crm_timeout", at_least_a_second);
    let retry_first = layers.read("crm_retry_first", duration);
    let retry_longest = layers.read("crm_retry_longest", duration);
    if retry_first > retry_longest {
        layers.fault("crm_retry_longest", "is shorter than CRM_RETRY_FIRST");
    }
    if kind.is_none() && url.is_none() {
        return None;
    }
    let kind = kind.unwrap_or(CrmKind::Webhook);
    match kind {
        CrmKind::Webhook if layers.text("crm_url").is_empty() => {
            layers.fault("crm_url", "is missing: a webhook needs its address");
        }
        CrmKind::Hubspot if layers.text("crm_token").is_empty() => {
            layers.fault("crm_token", "is missing: HubSpot needs the token of a private app");
        }
        CrmKind::Webhook | CrmKind::Hubspot => {}
    }
    let url = url.or_else(|| usual_url(kind))?;
    Some(CrmSettings { kind, url, token, signing_secret, timeout, retry_first, retry_longest })
}

fn kind(text: &str) -> Result<Option<CrmKind>, String> {
    match text {
        "" => Ok(None),
        "webhook" => Ok(Some(CrmKind::Webhook)),
        "hubspot" => Ok(Some(CrmKind::Hubspot)),
        _ => Err(format!("`{text}` is not known: one of webhook, hubspot")),
    }
}

/// Returns the address of a CRM that is the same for all its customers.
fn usual_url(kind: CrmKind) -> Option<CrmUrl> {
    match kind {
        CrmKind::Webhook => None,
        CrmKind::Hubspot => HUBSPOT.parse().ok(),
    }
}

fn url(text: &str) -> Result<Option<CrmUrl>, String> {
    if text.is_empty() { Ok(None) } else { text.parse().map(Some) }
}

/// Parses a token, which is sent in a header.
fn token(text: &str) -> Result<Option<String>, String> {
    let text = text.trim();
    match text.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(Some(text.to_owned()).filter(|text| !text.is_empty())),
        false => Err("is not a token: expected letters, digits and signs".to_owned()),
    }
}

fn signing_secret(text: &str) -> Result<Option<SigningSecret>, String> {
    if text.is_empty() { Ok(None) } else { text.trim().parse().map(Some) }
}
