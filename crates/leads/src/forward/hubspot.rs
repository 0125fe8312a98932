//! HubSpot: creates or updates a contact for each email address.

use super::crm::{Crm, SendError};
use super::exchange::{excerpt, exchange};
use super::settings::CrmSettings;
use crate::forms::{Forms, Naming};
use crate::records::Lead;
use base::Clock;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// HubSpot's names for the parts of a name.
const NAMES: Naming = Naming::Parts { first: "firstname", last: "lastname" };
const UPSERT: [&str; 6] = ["crm", "v3", "objects", "contacts", "batch", "upsert"];

/// The body of an upsert.
#[derive(Serialize)]
struct Batch<'a> {
    inputs: [Contact<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Contact<'a> {
    id_property: &'static str,
    id: &'a str,
    properties: BTreeMap<String, String>,
    object_write_trace_id: &'a str,
}

pub struct Hubspot {
    client: reqwest::Client,
    settings: CrmSettings,
    forms: Forms,
    clock: Clock,
}

impl Hubspot {
    pub fn new(client: reqwest::Client, settings: CrmSettings, forms: Forms, clock: Clock) -> Self {
        Self { client, settings, forms, clock }
    }

    async fn upsert(&self, lead: &Lead) -> Result<(), SendError> {
        let Some(email) = &lead.email else {
            let message = "the lead has no email address, by which HubSpot knows its contacts".to_owned();
            return Err(SendError::Refused { message });
        };
        let properties = self.forms.properties(&lead.form, &lead.fields, NAMES);
        let contact =
            Contact { id_property: "email", id: email, properties, object_write_trace_id: &lead.id };
        let body = Batch { inputs: [contact] };
        let request = self.client.post(self.settings.url.0.join(UPSERT)).header("idempotency-key", &lead.id);
        let request = request.bearer_auth(self.settings.token.as_deref().unwrap_or_default());
        let answer = exchange(request.json(&body), None, &self.clock).await?;
        // A batch may succeed as a whole and contain errors.
        let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
        if !answer["results"].is_array() && !answer["errors"].is_array() {
            let message =
                "the answer is not in HubSpot's format: another server may have answered".to_owned();
            return Err(SendError::Later { cause: "unexpected", message, after: None });
        }
        match answer["errors"].as_array().and_then(|errors| errors.first()) {
            None => Ok(()),
            Some(fault) => {
                let said = excerpt(fault["message"].as_str().unwrap_or("no reason given"));
                Err(SendError::Refused { message: format!("HubSpot took no contact: {said}") })
            }
        }
    }
}

impl Crm for Hubspot {
    fn send<'a>(&'a self, lead: &'a Lead) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(self.upsert(lead))
    }
}
