//! Leads as they are stored.

use kit::fields::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use strum::{EnumString, IntoStaticStr};
use utoipa::ToSchema;

/// What has become of a lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoStaticStr, EnumString)]
#[serde(rename_all = "lowercase")]
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
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// What the person has consented to. The lead has the time and the address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consent {
    pub text: Option<String>,
    pub version: Option<String>,
}

/// One lead.
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
    pub fn given_consent(&self) -> Option<GivenConsent> {
        let Consent { text, version } = self.consent.clone()?;
        Some(GivenConsent { text, version, time: Time(self.created_at), address: self.address.clone() })
    }
}

/// What a person agreed to, when, and from where.
#[derive(Serialize, ToSchema)]
pub struct GivenConsent {
    #[schema(example = "I agree to be called.")]
    text: Option<String>,
    #[schema(example = "2026-01")]
    version: Option<String>,
    time: Time,
    #[schema(example = "203.0.113.7")]
    address: Option<String>,
}
