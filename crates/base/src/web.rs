//! Addresses of the web, as settings and forms give them: links, origins, and URLs to send requests to.

use std::fmt;
use url::Url;

/// Returns whether a text is a link to a page on the web, with the scheme `http` or `https` and no other.
pub fn is_link(text: &str) -> bool {
    let begins_host = |first: char| first.is_alphanumeric() || first == '[';
    after_scheme(text).is_some_and(|rest| rest.starts_with(begins_host))
}

/// Returns whether a text is an origin, such as `https://example.org:8443`.
pub fn is_origin(text: &str) -> bool {
    after_scheme(text).is_some_and(|host| !host.is_empty() && !host.contains(['/', '?', '#', '@']))
}

/// Returns whether a text is a path on the same site. A browser cannot read it as the address of another host.
pub fn is_local_path(text: &str) -> bool {
    text.starts_with('/')
        && !text.starts_with("//")
        && !text.contains('\\')
        && !text.contains(char::is_control)
}

fn after_scheme(text: &str) -> Option<&str> {
    text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"))
}

/// The URL of a server that is called: `http` or `https`, without credentials and without a fragment.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpUrl(Url);

impl HttpUrl {
    /// Returns none for any other text. The text itself may hold a secret and belongs in no message.
    pub fn parse(text: &str) -> Option<Self> {
        let url = Url::parse(text).ok().filter(|_| !text.contains(char::is_whitespace))?;
        let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
        let is_anonymous = url.username().is_empty() && url.password().is_none();
        (is_web && is_anonymous && url.fragment().is_none()).then_some(Self(url))
    }

    pub fn as_url(&self) -> &Url {
        &self.0
    }

    pub fn has_query(&self) -> bool {
        self.0.query().is_some()
    }

    /// Returns the address below this one, with each segment as one part of the path, whatever it contains.
    pub fn join<'a>(&self, segments: impl IntoIterator<Item = &'a str>) -> Url {
        let mut url = self.0.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        url
    }
}

impl fmt::Debug for HttpUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "HttpUrl({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_have_a_scheme_of_the_web_and_a_host() {
        for good in ["https://example.org/x?y#z", "http://127.0.0.1:8081/", "http://[::1]/"] {
            assert!(is_link(good), "{good}");
        }
        for bad in ["", "javascript:alert(1)", "//a.example", "https://", "https:///x", "ftp://x"] {
            assert!(!is_link(bad), "{bad}");
        }
    }

    #[test]
    fn an_origin_ends_with_its_host_or_port() {
        assert!(is_origin("https://example.org") && is_origin("http://127.0.0.1:3000"));
        for bad in ["example.org", "https://", "https://a/", "https://a?b", "https://u@a", "*"] {
            assert!(!is_origin(bad), "{bad}");
        }
    }

    #[test]
    fn a_local_path_leads_to_no_other_host() {
        assert!(is_local_path("/") && is_local_path("/thanks?x=//y"));
        for bad in ["", "thanks", "//evil.example", "/\\evil.example", "/a\nb"] {
            assert!(!is_local_path(bad), "{bad}");
        }
    }

    #[test]
    fn urls_of_servers_are_plain() {
        for good in ["https://a", "http://127.0.0.1:8000/v1/", "https://crm.example/hook?tenant=7"] {
            assert!(HttpUrl::parse(good).is_some(), "{good}");
        }
        for bad in [
            "",
            "a.example",
            "ftp://a",
            "unix:/run/x",
            "https://",
            "http://a#f",
            "https://u:p@a",
            "http://a b",
        ] {
            assert!(HttpUrl::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn what_is_joined_stays_one_segment() {
        let base = HttpUrl::parse("https://host/v1").unwrap();
        assert_eq!(base.join(["models", "../a?b#c"]).as_str(), "https://host/v1/models/..%2Fa%3Fb%23c");
    }
}
