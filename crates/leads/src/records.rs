//! Leads as they are stored, and as they are shown.

use base::iso8601;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use strum::{EnumString, IntoStaticStr};

/// What has become of a lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum Status {
    /// Waits to be forwarded.
    Queued,
    Forwarded,
    /// The CRM refused it for good.
    Failed,
    /// Stored, never forwarded.
    Spam,
    /// All data of the person was removed.
    Erased,
}

impl Status {
    pub const ALL: [Self; 5] = [Self::Queued, Self::Forwarded, Self::Failed, Self::Spam, Self::Erased];

    pub fn as_str(self) -> &'static str {
        self.into()
    }

    pub fn find(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

/// What the person has consented to. The lead has the time and the address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consent {
    pub text: Option<String>,
    pub version: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Lead {
    pub id: String,
    pub form: String,
    pub status: Status,
    pub email: Option<String>,
    pub fields: BTreeMap<String, String>,
    pub consent: Option<Consent>,
    /// The network address that it came from.
    pub address: Option<String>,
    /// Leads that share it are forwarded one after the other.
    pub sequence_key: String,
    pub idempotency_key: Option<String>,
    pub content_digest: Option<String>,
    pub attempts: i64,
    /// Why it is spam, or what the CRM last said.
    pub error: Option<String>,
    pub created_at: i64,
    pub updated_at: i64,
    pub forwarded_at: Option<i64>,
}

impl Lead {
    pub fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "form": self.form,
            "status": self.status.as_str(),
            "email": self.email,
            "fields": self.fields,
            "consent": self.consent_json(),
            "address": self.address,
            "attempts": self.attempts,
            "error": self.error,
            "createdAt": iso8601(self.created_at),
            "updatedAt": iso8601(self.updated_at),
            "forwardedAt": self.forwarded_at.map(iso8601),
        })
    }

    pub fn consent_json(&self) -> Value {
        match &self.consent {
            Some(Consent { text, version }) => {
                json!({ "text": text, "version": version, "time": iso8601(self.created_at), "address": self.address })
            }
            None => Value::Null,
        }
    }
}
