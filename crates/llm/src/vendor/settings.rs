//! The settings of a vendor.

use base::web::HttpUrl;
use reqwest::Url;
use reqwest::header::HeaderValue;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use url::Host;

/// The vendors whose keys are set.
#[derive(Clone, Debug)]
pub struct Vendors {
    /// Uses the protocol of OpenAI's chat completions, as many other servers do.
    pub a: Option<VendorSettings>,
    /// Uses the protocol of Anthropic's messages.
    pub b: Option<VendorSettings>,
    /// Uses the protocol of Google's generateContent.
    pub c: Option<VendorSettings>,
    /// How long a vendor may send nothing, before an answer and within it.
    pub timeout: Duration,
}

impl Vendors {
    pub fn none() -> Self {
        Self { a: None, b: None, c: None, timeout: Duration::from_secs(60) }
    }
}

#[derive(Clone, Debug)]
pub struct VendorSettings {
    pub api_key: ApiKey,
    pub base_url: BaseUrl,
    /// The model that answers if a request names none.
    pub model: String,
    /// Most tokens of the question and the answer together.
    pub window: usize,
}

/// A vendor's key. It is never shown.
#[derive(Clone, PartialEq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Returns the key, to be kept encrypted.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns a header value: `prefix` and the key.
    pub(super) fn header(&self, prefix: &str) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("{prefix}{}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// Removes the key from a text, since a server may repeat it in a message that is shown.
    pub(super) fn removed_from(&self, text: &str) -> String {
        text.replace(&self.0, "[key]")
    }
}

impl FromStr for ApiKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let sound = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        sound
            .then(|| Self(text.to_owned()))
            .ok_or_else(|| "is not a key: expected letters, digits and signs".to_owned())
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ApiKey(…)")
    }
}

/// The address of a vendor's server: `http` or `https`, with the path below which all of the API is.
#[derive(Clone, Debug, PartialEq)]
pub struct BaseUrl(HttpUrl);

impl BaseUrl {
    pub fn as_str(&self) -> &str {
        self.0.as_url().as_str()
    }

    /// Returns whether another address is on the same server, which may be told the same key.
    pub fn is_same_server(&self, other: &Self) -> bool {
        self.0.as_url().origin() == other.0.as_url().origin()
    }

    /// Returns whether it is on this machine or in a private network.
    pub fn is_local(&self) -> bool {
        match self.0.as_url().host() {
            Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".local"),
            Some(Host::Ipv4(address)) => address.is_loopback() || address.is_private(),
            Some(Host::Ipv6(address)) => address.is_loopback() || address.is_unique_local(),
            None => false,
        }
    }

    pub(super) fn join<'a>(&self, segments: impl IntoIterator<Item = &'a str>) -> Url {
        self.0.join(segments)
    }
}

impl FromStr for BaseUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // The message does not repeat the text, which may hold a secret.
        let wanted = "is not an address: expected `https://HOST[:PORT][/PATH]` (or `http`), without a query or credentials";
        HttpUrl::parse(text).filter(|url| !url.has_query()).map(Self).ok_or_else(|| wanted.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_trimmed_checked_and_never_shown() {
        let key: ApiKey = " sk-secret-1\n".parse().unwrap();
        assert_eq!(key.header("Bearer ").unwrap().to_str().unwrap(), "Bearer sk-secret-1");
        let base_url = "https://host".parse().unwrap();
        let settings = VendorSettings { api_key: key, base_url, model: "m".to_owned(), window: 1 };
        let shown = format!("{settings:?} {:?}", Vendors { a: Some(settings.clone()), ..Vendors::none() });
        assert!(shown.contains("ApiKey(…)") && !shown.contains("secret"), "{shown}");
        for text in ["", "  ", "two words", "line\nfeed", "schlüssel"] {
            let fault = text.parse::<ApiKey>().unwrap_err();
            assert!(text.trim().is_empty() || !fault.contains(text), "{fault}");
        }
    }

    #[test]
    fn base_addresses_are_plain_web_addresses() {
        for (text, joined) in [
            ("https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
            ("http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1/chat/completions"),
            ("http://localhost", "http://localhost/chat/completions"),
        ] {
            let base: BaseUrl = text.parse().unwrap();
            assert_eq!(base.join(["chat", "completions"]).as_str(), joined);
        }
        for text in [
            "",
            "api.openai.com",
            "ftp://host",
            "unix:/run/x",
            "https://",
            "http://h?key=s3cr3t",
            "http://h#f",
            "https://user:s3cr3t@host",
        ] {
            let fault = text.parse::<BaseUrl>().unwrap_err();
            assert!(!fault.contains("s3cr3t"), "{fault}");
        }
    }
}
