//! What is remembered of a page between two readings: by what the server tells whether it has changed, and its links,
//! which a crawl goes on with if it has not.

use reqwest::header::{ETAG, HeaderMap, HeaderName, LAST_MODIFIED};
use serde::{Deserialize, Serialize};
use url::Url;

/// The most bytes of links that are remembered of one page. A page with more is read in full each time.
const MOST_BYTES: usize = 512 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub etag: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub modified: String,
    /// Of the answer, after redirects.
    pub address: String,
    /// Which addresses the crawl was limited to when the links were remembered.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scope: String,
    /// Relative to the address, if they are of the same host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    links: Vec<String>,
    /// Whether the page has more links than these.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_more_links: bool,
}

impl State {
    /// Returns what was remembered; nothing if it was for another crawl.
    pub fn parse(text: &str, scope: &str) -> State {
        let state: State = serde_json::from_str(text).unwrap_or_default();
        if state.scope == scope { state } else { State::default() }
    }

    pub fn new(headers: &HeaderMap, address: &Url, scope: &str, links: &[Url]) -> State {
        let header = |name: HeaderName| {
            let value = headers.get(name).and_then(|value| value.to_str().ok());
            value.filter(|value| value.len() <= 1_000).unwrap_or_default().to_owned()
        };
        let mut state = State { address: address.to_string(), scope: scope.to_owned(), ..State::default() };
        // A path that begins with two slashes would be read as a host.
        let is_near = |link: &Url| link.origin() == address.origin() && !link.path().starts_with("//");
        let shortened = links.iter().map(|link| match is_near(link) {
            true => &link[url::Position::BeforePath..],
            false => link.as_str(),
        });
        let mut left = MOST_BYTES;
        let fitting = shortened.map_while(|link| {
            left = left.checked_sub(link.len())?;
            Some(link.to_owned())
        });
        state.links = fitting.collect();
        state.has_more_links = state.links.len() < links.len();
        if !state.has_more_links {
            state.etag = header(ETAG);
            state.modified = header(LAST_MODIFIED);
        }
        state
    }

    /// Returns what is remembered of a page that is not indexed: where it leads to. It is read in full each time.
    pub fn of_skipped(address: &Url, scope: &str, links: &[Url]) -> String {
        match links.is_empty() {
            true => String::new(),
            false => State::new(&HeaderMap::new(), address, scope, links).to_text(),
        }
    }

    pub fn links(&self) -> Vec<Url> {
        let Ok(address) = Url::parse(&self.address) else { return Vec::new() };
        self.links.iter().filter_map(|link| address.join(link).ok()).collect()
    }

    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_come_back_and_too_many_make_the_page_be_read_in_full() {
        let address = Url::parse("https://example.org/a/").unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(ETAG, "\"1\"".parse().unwrap());
        let links: Vec<Url> = ["b", "?c", "//other.org/d", "https://example.org//e"]
            .iter()
            .map(|link| address.join(link).unwrap())
            .collect();
        let text = State::new(&headers, &address, "s", &links).to_text();
        assert_eq!(State::parse(&text, "s").links(), links);
        assert_eq!(State::parse(&text, "s").etag, "\"1\"");
        assert_eq!(State::parse(&text, "t"), State::default());

        let many: Vec<Url> = (0..5_000).map(|n| address.join(&n.to_string()).unwrap()).collect();
        let state = State::new(&headers, &address, "s", &many);
        assert_eq!((state.links(), state.etag.as_str(), state.has_more_links), (many, "\"1\"", false));
        let long = |n: usize| address.join(&format!("{}{n}", "x".repeat(1_000))).unwrap();
        let state = State::new(&headers, &address, "s", &(0..5_000).map(long).collect::<Vec<_>>());
        assert_eq!((state.etag.as_str(), state.has_more_links), ("", true));
        assert!((500..530).contains(&state.links().len()) && state.to_text().len() < 600_000);
    }
}
