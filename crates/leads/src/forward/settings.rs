//! Where the CRM is and how it is spoken to. Secrets are shown nowhere.

use super::exchange::{client, innermost};
use aws_lc_rs::hmac;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use reqwest::Url;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// In bytes.
const SHORTEST_SECRET: usize = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrmKind {
    Webhook,
    Hubspot,
}

#[derive(Clone)]
pub struct CrmSettings {
    pub kind: CrmKind,
    pub url: CrmUrl,
    pub token: Option<String>,
    pub signing_secret: Option<SigningSecret>,
    /// For a whole exchange.
    pub timeout: Duration,
    /// How long a lead waits after its first failure, and at most.
    pub retry_first: Duration,
    pub retry_longest: Duration,
}

impl CrmSettings {
    /// Whether it is a webhook that cannot know who calls.
    pub fn is_unsigned(&self) -> bool {
        self.kind == CrmKind::Webhook && self.signing_secret.is_none()
    }

    /// The address, or why it cannot be reached. Any answer will do; no lead and no token is sent.
    pub async fn reach(&self) -> Result<String, String> {
        let mut host = self.url.0.clone();
        host.set_path("/");
        host.set_query(None);
        let client = client(self.timeout).map_err(|error| innermost(&error))?;
        let kind = match self.kind {
            CrmKind::Hubspot => "hubspot",
            CrmKind::Webhook if self.is_unsigned() => "webhook, NOT signed: CRM_SIGNING_SECRET is unset",
            CrmKind::Webhook => "webhook, signed",
        };
        match client.get(host.clone()).send().await {
            Ok(_) => Ok(format!("{host} {kind}")),
            Err(error) => Err(format!("{host}: {}", innermost(&error))),
        }
    }
}

/// `http` or `https`.
#[derive(Clone)]
pub struct CrmUrl(pub(super) Url);

impl CrmUrl {
    pub(super) fn join<'a>(&self, segments: impl IntoIterator<Item = &'a str>) -> Url {
        let mut url = self.0.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        url
    }
}

impl FromStr for CrmUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let plain = |url: &Url| {
            let anonymous = url.username().is_empty() && url.password().is_none();
            matches!(url.scheme(), "http" | "https")
                && url.has_host()
                && anonymous
                && url.fragment().is_none()
        };
        // Not repeated in the message: somebody may have put a secret into it.
        let wanted =
            "is not an address: expected `https://HOST[:PORT][/PATH]` (or `http`), without credentials";
        Url::parse(text).ok().filter(plain).map(Self).ok_or_else(|| wanted.to_owned())
    }
}

/// What the webhook's receiver checks signatures with, as Standard Webhooks say.
#[derive(Clone)]
pub struct SigningSecret(Arc<hmac::Key>);

impl SigningSecret {
    pub(super) fn sign(&self, id: &str, seconds: i64, body: &str) -> String {
        let signature = hmac::sign(&self.0, format!("{id}.{seconds}.{body}").as_bytes());
        format!("v1,{}", BASE64_STANDARD.encode(signature))
    }
}

impl FromStr for SigningSecret {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = "is not a signing secret: expected `whsec_` and base64, 24 bytes at least";
        let secret = BASE64_STANDARD.decode(text.strip_prefix("whsec_").unwrap_or(text)).ok();
        let secret = secret.filter(|secret| secret.len() >= SHORTEST_SECRET);
        let key = secret.map(|secret| hmac::Key::new(hmac::HMAC_SHA256, &secret));
        key.map(|key| Self(Arc::new(key))).ok_or_else(|| wanted.to_owned())
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SigningSecret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_example_is_signed_as_published() {
        let secret: SigningSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD".parse().unwrap();
        let body = r#"{"email":"test@example.com","username":"test_user"}"#;
        let signature = secret.sign("msg_27UH4WbU6Z5A5EzD8u03UvzRbpk", 1_649_367_553, body);
        assert_eq!(signature, "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=");
    }

    #[test]
    fn secrets_and_addresses_that_will_not_do_are_not_repeated() {
        for text in ["", "whsec_", "hunter2", "whsec_hunter2!", "whsec_C2FVsBQIhrscCg=="] {
            let fault = text.parse::<SigningSecret>().unwrap_err();
            assert!(!fault.contains("hunter2"), "{fault}");
        }
        for text in ["", "crm.example", "ftp://crm.example", "https://user:hunter2@crm.example"] {
            let fault = text.parse::<CrmUrl>().err().unwrap();
            assert!(!fault.contains("hunter2"), "{fault}");
        }
    }
}
