//! The CRM's address, credentials and retry times. Secrets are never shown.

use super::exchange::client;
use aws_lc_rs::hmac;
use base::innermost;
use base::web::HttpUrl;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
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
    /// For a whole request.
    pub timeout: Duration,
    /// The longest pause after a lead's first failure, and after any.
    pub retry_first: Duration,
    pub retry_longest: Duration,
}

impl CrmSettings {
    /// Returns whether it is a webhook that cannot verify the sender.
    pub fn is_unsigned(&self) -> bool {
        self.kind == CrmKind::Webhook && self.signing_secret.is_none()
    }

    /// Returns the address, or why it cannot be reached. Any answer counts; no lead and no token is sent.
    pub async fn reach(&self) -> Result<String, String> {
        let mut host = self.url.0.as_url().clone();
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

/// The address that leads are sent to.
#[derive(Clone)]
pub struct CrmUrl(pub(super) HttpUrl);

impl FromStr for CrmUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // The message does not repeat the text, which may hold a secret.
        let wanted =
            "is not an address: expected `https://HOST[:PORT][/PATH]` (or `http`), without credentials";
        HttpUrl::parse(text).map(Self).ok_or_else(|| wanted.to_owned())
    }
}

/// The secret that signs what is sent to a webhook, as the Standard Webhooks specification says.
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
    fn errors_do_not_repeat_wrong_secrets_and_addresses() {
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
