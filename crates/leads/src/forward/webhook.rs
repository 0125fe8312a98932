//! A CRM behind a webhook, signed as the Standard Webhooks specification says.

use super::crm::{Crm, SendError};
use super::exchange::exchange;
use super::settings::CrmSettings;
use crate::forms::{Forms, Naming};
use crate::records::{GivenConsent, Lead};
use base::Clock;
use futures_util::future::BoxFuture;
use kit::fields::Time;
use reqwest::header::CONTENT_TYPE;
use serde::Serialize;
use std::collections::BTreeMap;

/// What is posted.
#[derive(Serialize)]
struct Event<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    timestamp: Time,
    data: Created<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Created<'a> {
    lead_id: &'a str,
    form: &'a str,
    email: Option<&'a str>,
    properties: BTreeMap<String, String>,
    consent: Option<GivenConsent>,
    created_at: Time,
}

pub struct Webhook {
    client: reqwest::Client,
    settings: CrmSettings,
    forms: Forms,
    clock: Clock,
}

impl Webhook {
    pub fn new(client: reqwest::Client, settings: CrmSettings, forms: Forms, clock: Clock) -> Self {
        Self { client, settings, forms, clock }
    }

    async fn post(&self, lead: &Lead) -> Result<(), SendError> {
        let body = self.body(lead);
        let now = self.clock.now_ms();
        let seconds = now.div_euclid(1000);
        let request =
            self.client.post(self.settings.url.0.as_url().clone()).header(CONTENT_TYPE, "application/json");
        let request = request.header("idempotency-key", &lead.id).header("webhook-id", &lead.id);
        let mut request = request.header("webhook-timestamp", seconds);
        if let Some(secret) = &self.settings.signing_secret {
            request = request.header("webhook-signature", secret.sign(&lead.id, seconds, &body));
        }
        if let Some(token) = &self.settings.token {
            request = request.bearer_auth(token);
        }
        let signed_ms = self.settings.signing_secret.as_ref().map(|_| now);
        exchange(request.body(body), signed_ms, &self.clock).await.map(drop)
    }

    fn body(&self, lead: &Lead) -> String {
        let properties = self.forms.properties(&lead.form, &lead.fields, Naming::AsTyped);
        let created_at = Time(lead.created_at);
        let data = Created {
            lead_id: &lead.id,
            form: &lead.form,
            email: lead.email.as_deref(),
            properties,
            consent: lead.given_consent(),
            created_at,
        };
        let event = Event { kind: "lead.created", timestamp: created_at, data };
        serde_json::to_string(&event).unwrap_or_default()
    }
}

impl Crm for Webhook {
    fn send<'a>(&'a self, lead: &'a Lead) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(self.post(lead))
    }
}
