//! What is kept of a lead.

use kit::fields::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use store::StoreError;
use utoipa::ToSchema;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Waits to be forwarded.
    Queued,
    Forwarded,
    /// The CRM refused it for good.
    Failed,
    /// Kept, never forwarded.
    Spam,
    /// Nothing of the person is left.
    Erased,
}

impl Status {
    pub const ALL: [Self; 5] = [Self::Queued, Self::Forwarded, Self::Failed, Self::Spam, Self::Erased];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Forwarded => "forwarded",
            Self::Failed => "failed",
            Self::Spam => "spam",
            Self::Erased => "erased",
        }
    }

    pub fn find(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

    pub fn parse(text: &str) -> Result<Self, StoreError> {
        Self::find(text).ok_or_else(|| StoreError::Corrupt {
            what: "a lead's status".to_owned(),
            reason: format!("unknown status `{text}`"),
        })
    }
}

/// What a person agreed to. When and from where is that of the lead.
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
