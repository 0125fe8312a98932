//! The addresses that were found and those that come next, within the limits of the source.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use url::Url;

use super::kinds::may_be_page;
use crate::{Item, PAGE};

/// Addresses that a crawl stays below.
#[derive(Default)]
pub(super) struct Scope {
    prefixes: Vec<Prefix>,
}

struct Prefix {
    origin: String,
    /// With `/` at its end.
    folder: String,
    /// The folder itself without that `/`, if it was named so.
    page: Option<String>,
}

impl Scope {
    pub fn new(addresses: &[Url]) -> Scope {
        let prefixes = addresses.iter().map(|address| {
            let origin = address.origin().ascii_serialization();
            let path = address.path();
            let (folder, last) = path.rsplit_once('/').unwrap_or(("", path));
            // `/guide/index.html` is a page of `/guide/`, but `/guide` names all that is below it.
            match last.is_empty() || last.contains('.') {
                true => Prefix { origin, folder: format!("{folder}/"), page: None },
                false => Prefix { origin, folder: format!("{path}/"), page: Some(path.to_owned()) },
            }
        });
        Scope { prefixes: prefixes.collect() }
    }

    pub fn contains(&self, address: &Url) -> bool {
        let origin = address.origin().ascii_serialization();
        let below = |prefix: &Prefix| {
            address.path().starts_with(&prefix.folder) || prefix.page.as_deref() == Some(address.path())
        };
        self.prefixes.iter().any(|prefix| prefix.origin == origin && below(prefix))
    }

    /// Returns a short text that is another one for another scope.
    pub fn fingerprint(&self) -> String {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        for prefix in &self.prefixes {
            (&prefix.origin, &prefix.folder, &prefix.page).hash(&mut hasher);
        }
        format!("{:016x}", hasher.finish())
    }
}

/// The most bytes of addresses that are remembered.
const MAX_BYTES: usize = 32 << 20;

#[derive(Default)]
pub(super) struct Frontier {
    /// All addresses so far, with the number of links that led there.
    depths: HashMap<Arc<str>, u32>,
    bytes: usize,
    queue: VecDeque<Arc<str>>,
    /// Pages that are known by another address, which is in `depths`.
    replaced: HashSet<Arc<str>>,
    /// Whether an address was left out because the others take too much memory.
    pub is_overfull: bool,
    most_pages: usize,
    most_links: u32,
}

impl Frontier {
    pub fn new(most_pages: u32, most_links: u32) -> Frontier {
        Frontier { most_pages: most_pages as usize, most_links, ..Frontier::default() }
    }

    pub fn is_full(&self) -> bool {
        self.depths.len() >= self.most_pages
    }

    /// Adds an address that is not there yet.
    pub fn add(&mut self, address: &Url, depth: u32) {
        let address = address.as_str();
        if depth > self.most_links || self.is_full() || self.depths.contains_key(address) {
            return;
        }
        if let Some(address) = self.remember(address, depth) {
            self.queue.push_back(address);
        }
    }

    fn remember(&mut self, address: &str, depth: u32) -> Option<Arc<str>> {
        let bytes = self.bytes + address.len();
        if bytes > MAX_BYTES {
            self.is_overfull = true;
            return None;
        }
        let address: Arc<str> = address.into();
        self.bytes = bytes;
        self.depths.insert(address.clone(), depth);
        Some(address)
    }

    /// Adds the links of a page.
    pub fn add_links(&mut self, page: &str, links: &[Url]) {
        let depth = self.depth(page) + 1;
        for link in links.iter().filter(|link| may_be_page(link)) {
            self.add(link, depth);
        }
    }

    /// Takes up that a page wants to be known by another address. Returns whether that address is read by itself.
    pub fn replace(&mut self, page: &str, other: &Url) -> bool {
        // Of two pages that name each other, one is read.
        if page == other.as_str() || self.replaced.contains(other.as_str()) {
            return false;
        }
        self.add(other, self.depth(page));
        let is_read = self.depths.contains_key(other.as_str());
        if is_read {
            self.replaced.insert(page.into());
        }
        is_read
    }

    /// Takes up that a page redirects to another address. Returns whether that one is read by itself.
    pub fn redirect(&mut self, page: &str, other: &Url) -> bool {
        if page == other.as_str() {
            return false;
        }
        if self.depths.contains_key(other.as_str()) {
            return true;
        }
        // It is read as this page, and not again.
        if self.remember(other.as_str(), self.depth(page)).is_some() {
            self.most_pages += 1;
        }
        false
    }

    pub fn next_items(&mut self) -> Option<Vec<Item>> {
        let count = self.queue.len().min(PAGE);
        let items: Vec<Item> = self
            .queue
            .drain(..count)
            .map(|path| Item { path: path.to_string(), version: String::new() })
            .collect();
        Some(items).filter(|items| !items.is_empty())
    }

    fn depth(&self, page: &str) -> u32 {
        self.depths.get(page).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urls<const N: usize>(addresses: [&str; N]) -> [Url; N] {
        addresses.map(|address| Url::parse("https://example.org/").unwrap().join(address).unwrap())
    }

    #[test]
    fn a_crawl_stays_below_its_first_address() {
        let inside = |start: &str, other: &str| {
            let [start, other] = urls([start, other]);
            Scope::new(&[start]).contains(&other)
        };
        for other in ["/docs/", "/docs/a", "/docs/a/b?c"] {
            assert!(inside("/docs/", other) && inside("/docs/index.html", other) && inside("/docs", other));
        }
        assert!(inside("/docs", "/docs") && !inside("/docs/", "/docs"));
        for other in
            ["/", "/docsother", "/docs/../secret", "http://example.org/docs/a", "//example.org:8443/docs/a"]
        {
            assert!(!inside("/docs/", other) && !inside("/docs", other), "{other}");
        }
    }

    #[test]
    fn addresses_that_take_too_much_memory_are_left_out_and_told() {
        let mut frontier = Frontier::new(100_000, 3);
        let long = "x".repeat(1_900);
        for number in 0..20_000 {
            let [page] = urls([&format!("/{long}{number}")]);
            frontier.add(&page, 0);
        }
        assert!(frontier.is_overfull && frontier.bytes <= MAX_BYTES && frontier.depths.len() < 20_000);
    }

    #[test]
    fn of_two_pages_that_name_each_other_one_is_read() {
        let [one, other] = urls(["/1", "/2"]);
        let mut frontier = Frontier::new(10, 3);
        frontier.add(&one, 0);
        assert!(frontier.replace(one.as_str(), &other));
        assert!(!frontier.replace(other.as_str(), &one));
        assert!(!frontier.replace(other.as_str(), &other));
    }
}
