//! The settings of single sign-on, if a provider is set.

use super::layers::Layers;
use super::parse::list;
use base::web::{HttpUrl, is_link};
use kit::headers::CookieSecure;
use portal::SsoSettings;
use std::str::FromStr;

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

pub fn sso(
    layers: &mut Layers,
    cookie_secure: CookieSecure,
    environment: &'static str,
) -> Option<SsoSettings> {
    // Each is read in any case, so that all faults are reported at once.
    let issuer = layers.read("oidc_issuer_url", issuer);
    let has_issuer = issuer.is_some();
    let client_id = layers.read("oidc_client_id", |text| match text {
        "" if has_issuer => {
            Err("is unset: expected the name that the provider at OIDC_ISSUER_URL gave us".into())
        }
        text => Ok(text.to_owned()),
    });
    let public_url = layers.read("portal_public_url", public_url);
    let admin_groups = layers.read("oidc_admin_groups", list::<Group>);
    let admin_domains = layers.read("oidc_admin_domains", list::<Domain>);
    let guest_domains = layers.read("oidc_guest_domains", list::<Domain>);
    Some(SsoSettings {
        issuer: issuer?,
        client_id,
        client_secret: layers.optional("oidc_client_secret"),
        public_url,
        admin_groups: admin_groups.into_iter().map(|Group(name)| name).collect(),
        admin_domains: admin_domains.into_iter().map(|Domain(name)| name).collect(),
        guest_domains: guest_domains.into_iter().map(|Domain(name)| name).collect(),
        cookie_secure,
        environment,
    })
}

struct Group(String);

impl FromStr for Group {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Self(text.to_owned()))
    }
}

struct Domain(String);

impl FromStr for Domain {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let name = text.strip_prefix('@').unwrap_or(text);
        let is_domain =
            !name.is_empty() && !name.contains(['@', '/', ':', '*']) && !name.contains(char::is_whitespace);
        let wrong = || {
            format!(
                "`{text}` is not a domain: expected what follows the `@` of an address, such as `example.org`"
            )
        };
        is_domain.then(|| Self(name.to_ascii_lowercase())).ok_or_else(wrong)
    }
}

/// Parses the issuer. It stays as it is written, because it is compared with what the provider says.
fn issuer(text: &str) -> Result<Option<String>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let wrong = || format!("`{text}` is not an issuer: expected `https://…`, or `http://` on this machine");
    let address = web_address(text).ok_or_else(wrong)?;
    let url = address.as_url();
    let is_loopback = url.host_str().is_some_and(|host| LOOPBACK.contains(&host));
    let is_safe = url.scheme() == "https" || is_loopback;
    if is_safe { Ok(Some(text.to_owned())) } else { Err(wrong()) }
}

fn public_url(text: &str) -> Result<Option<String>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let base = text.trim_end_matches('/');
    let wrong = || format!("`{text}` is not an address of the portal: such as `https://stoa.example.org/kv`");
    web_address(base).map(|_| Some(base.to_owned())).ok_or_else(wrong)
}

/// Parses an address that is sent in headers as it is written.
fn web_address(text: &str) -> Option<HttpUrl> {
    let is_plain = is_link(text) && text.is_ascii() && !text.contains(['?', '#', ';', '@', '\\']);
    HttpUrl::parse(text).filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_is_reached_safely() {
        for text in [
            "https://id.example.org",
            "https://id.example.org/realms/a/",
            "http://127.0.0.1:4000",
            "http://localhost:1",
        ] {
            assert_eq!(issuer(text), Ok(Some(text.to_owned())));
        }
        for text in
            ["id.example.org", "http://id.example.org", "https://", "ftp://a", "https://a?b=c", "https://a@b"]
        {
            assert!(issuer(text).is_err(), "{text}");
        }
        assert_eq!(issuer(""), Ok(None));
    }

    #[test]
    fn the_public_address_has_no_last_slash() {
        assert_eq!(public_url("https://a.org/kv/"), Ok(Some("https://a.org/kv".to_owned())));
        for text in ["a.org/kv", "https://a.org/kv?x", "https://a.org/kv;Domain=b"] {
            assert!(public_url(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_domain_is_written_with_or_without_its_sign() {
        let domains = |text: &str| {
            list::<Domain>(text).map(|domains| domains.into_iter().map(|Domain(name)| name).collect())
        };
        assert_eq!(domains("@Example.org, a.b"), Ok(vec!["example.org".to_owned(), "a.b".to_owned()]));
        assert!(domains("a@example.org").is_err());
        assert!(domains("*.example.org").is_err());
    }
}
