//! Web pages: single ones, those of a sitemap, or those that a crawl finds below its first address.

mod charset;
mod fetch;
mod frontier;
mod kinds;
mod page;
mod robots;
mod sitemap;
mod state;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName};
use reqwest::{Response, StatusCode};
use std::sync::Arc;
use std::time::Duration;
use url::Url;

use crate::{
    ConnectError, Connector, Environment, Found, Item, ItemError, Reading, Settings, Sink, WebMode, network,
};
use charset::Charset;
use fetch::{FetchError, Fetched, Fetcher, first_bytes};
use frontier::{Frontier, Scope};
use kinds::Kind;
use page::{Page, RobotsDirectives};
use sitemap::Sitemaps;
use state::State;

const MOST_ADDRESSES: usize = 10_000;
const MOST_PAGES: u32 = 100_000;
const MOST_DEPTH: u32 = 100;
const LONGEST_DELAY: u32 = 600_000;
/// The most of an HTML page that is looked at before it is written: links and directives behind it do not count.
const MOST_LOOKED_AT: usize = 4 << 20;
/// For the content of one page, or of a sitemap. Requests have limits of their own, and waiting for a host's turn may
/// take longer.
const CONTENT_TIMEOUT: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 600 });

pub(crate) struct Web {
    fetcher: Fetcher,
    frontier: Frontier,
    sitemaps: Sitemaps,
    /// Of a crawl.
    scope: Option<Arc<Scope>>,
    /// Part of each page's state. Empty if this is no crawl.
    fingerprint: String,
    /// Whether all addresses are of one scheme, host and port: if that is not reached, nothing is.
    has_one_origin: bool,
    /// A page that could not be read, and that had more links than are remembered.
    unread: Option<String>,
}

/// Returns the addresses of a source.
pub(crate) fn check(settings: &Settings, environment: &Environment) -> Result<Vec<Url>, ConnectError> {
    let Settings::Web { addresses, depth, pages, delay, .. } = settings else { return Ok(Vec::new()) };
    if addresses.is_empty() || addresses.len() > MOST_ADDRESSES {
        return Err(ConnectError::new(format!("`addresses` has to name 1 to {MOST_ADDRESSES} addresses")));
    }
    let limits = [
        ("depth", *depth, 0, MOST_DEPTH),
        ("pages", *pages, 1, MOST_PAGES),
        ("delay", *delay, 0, LONGEST_DELAY),
    ];
    for (field, value, least, most) in limits {
        if !(least..=most).contains(&value) {
            return Err(ConnectError::new(format!("`{field}` is {value}: expected {least} to {most}")));
        }
    }
    let parsed = addresses.iter().map(|address| {
        let mut url = network::parse_address("addresses", address, environment)?;
        url.set_fragment(None);
        Ok(url)
    });
    parsed.collect()
}

impl Web {
    pub fn open(settings: &Settings, environment: &Environment) -> Result<Web, ConnectError> {
        let addresses = check(settings, environment)?;
        let Settings::Web { mode, depth, pages, delay, .. } = settings else {
            return Err(ConnectError::new("these are no settings of web pages"));
        };
        let scope = (*mode == WebMode::Crawl).then(|| Arc::new(Scope::new(&addresses)));
        let mut web = Web {
            fetcher: Fetcher::new(environment, Duration::from_millis(u64::from(*delay)))?,
            frontier: Frontier::new(*pages, *depth),
            sitemaps: Sitemaps::default(),
            fingerprint: scope.as_ref().map(|scope| scope.fingerprint()).unwrap_or_default(),
            scope,
            has_one_origin: addresses.iter().all(|address| address.origin() == addresses[0].origin()),
            unread: None,
        };
        for address in addresses {
            match mode {
                WebMode::Sitemap => web.sitemaps.add(address, 0),
                WebMode::Pages | WebMode::Crawl => web.frontier.add(&address, 0),
            }
        }
        Ok(web)
    }

    async fn next_page(&mut self) -> Result<Option<Vec<Item>>, ConnectError> {
        loop {
            if let Some(items) = self.frontier.next_items() {
                return Ok(Some(items));
            }
            let is_full = self.frontier.is_full();
            if is_full || !self.sitemaps.read_next(&mut self.fetcher, &mut self.frontier).await? {
                return self.end();
            }
        }
    }

    /// Ends the list, unless pages are missing in it that would be taken for gone.
    fn end(&mut self) -> Result<Option<Vec<Item>>, ConnectError> {
        if self.frontier.is_overfull {
            let message = "the addresses of the pages take too much memory: choose a part of them";
            return Err(ConnectError::new(message));
        }
        match self.unread.take() {
            None => Ok(None),
            Some(page) => {
                let message = format!("{page} cannot be read, and has too many links to remember them all");
                Err(ConnectError::new(message))
            }
        }
    }

    async fn read_page(
        &mut self,
        item: &Item,
        known: &str,
        sink: &mut dyn Sink,
    ) -> Result<Reading, ItemError> {
        let known = State::parse(known, &self.fingerprint);
        // What an unchanged page links to, or one that just cannot be read now, is still there.
        let mut links = known.links();
        let read = self.fetch_and_read(item, &known, &mut links, sink).await;
        // Of a page that is gone, the links are gone as well.
        if known.has_more_links && matches!(read, Err(ItemError::Item(_))) && !links.is_empty() {
            self.unread = Some(item.path.clone());
        }
        self.frontier.add_links(&item.path, &links);
        read
    }

    /// Reads a page, and replaces the remembered links by those that it has now.
    async fn fetch_and_read(
        &mut self,
        item: &Item,
        known: &State,
        links: &mut Vec<Url>,
        sink: &mut dyn Sink,
    ) -> Result<Reading, ItemError> {
        let address = Url::parse(&item.path).map_err(|error| ItemError::Item(error.to_string()))?;
        let fetched = match self.fetcher.get(&address, known).await {
            Ok(fetched) => fetched,
            Err(FetchError::Disallowed(reason)) => return Ok(Reading::skipped(reason)),
            Err(FetchError::Unreachable(reason)) if self.has_one_origin => {
                return Err(ItemError::Place(reason));
            }
            Err(error) => return Err(ItemError::Item(error.message())),
        };
        if let Some(reason) = self.redirected_elsewhere(item, &fetched.address) {
            return Ok(Reading::skipped(reason));
        }
        match fetched.response.status() {
            StatusCode::NOT_MODIFIED => Ok(Reading::Unchanged),
            status if status.is_success() => {
                let read = self.read_answer(item, fetched, links, sink);
                let read = tokio::time::timeout(CONTENT_TIMEOUT, read).await;
                read.unwrap_or_else(|_| Err(ItemError::Item("it takes too long".to_owned())))
            }
            status @ (StatusCode::NOT_FOUND | StatusCode::GONE) => {
                links.clear();
                Err(ItemError::Item(format!("the page is not there: the server answers {status}")))
            }
            status => Err(ItemError::Item(format!("the server answers {status}"))),
        }
    }

    /// Returns why a page of a crawl is not read if a redirect has led to this address.
    fn redirected_elsewhere(&mut self, item: &Item, address: &Url) -> Option<String> {
        let scope = self.scope.as_ref()?;
        if !scope.contains(address) {
            return Some(format!("it redirects to {address}, which is not below the source's addresses"));
        }
        let is_read = self.frontier.redirect(&item.path, address);
        is_read.then(|| format!("it redirects to {address}, which is read by itself"))
    }

    async fn read_answer(
        &mut self,
        item: &Item,
        fetched: Fetched,
        links: &mut Vec<Url>,
        sink: &mut dyn Sink,
    ) -> Result<Reading, ItemError> {
        let Fetched { mut response, address } = fetched;
        let content_type = header(&response, CONTENT_TYPE);
        let Some(kind) = Kind::of(&content_type, &address) else {
            return Ok(Reading::skipped(format!("its type is {content_type}")));
        };
        if !matches!(header(&response, CONTENT_ENCODING).as_str(), "" | "identity") {
            return Err(ItemError::Item("the server has packed it, which was not asked for".to_owned()));
        }
        let mut charset = Charset::of(&content_type);
        let mut directives = directives(&response);
        let mut start = Vec::new();
        if kind.is_html {
            start = first_bytes(&mut response, MOST_LOOKED_AT).await.map_err(ItemError::Item)?;
            start = charset.convert(&start, false).into_owned();
            let parsed;
            (start, parsed) = self.parse(start, &address).await?;
            let (page, found) = parsed;
            directives.no_index |= page.directives.no_index;
            *links = if directives.no_follow { Vec::new() } else { found };
            if let Some(canonical) = self.replaced_by(item, &page, &address) {
                let state = State::of_skipped(&address, &self.fingerprint, links);
                return Ok(Reading::Skipped { reason: format!("it is the same as {canonical}"), state });
            }
        }
        if directives.no_index {
            let state = State::of_skipped(&address, &self.fingerprint, links);
            return Ok(Reading::Skipped { reason: "it asks not to be indexed".to_owned(), state });
        }
        let state = State::new(response.headers(), &address, &self.fingerprint, links);
        sink.write(&start)?;
        drop(start);
        while let Some(piece) = next_piece(&mut response).await? {
            sink.write(&charset.convert(piece.as_ref(), false))?;
        }
        sink.write(&charset.convert(b"", true))?;
        let filename = kind.filename(&address);
        Ok(Reading::Read(Found {
            state: state.to_text(),
            filename,
            title: None,
            address: Some(address.into()),
        }))
    }

    /// Returns the text, and what it has: the page, and the links that a crawl follows. Works in another thread: there
    /// may be thousands of links, each to be compared with as many rules.
    async fn parse(&self, html: Vec<u8>, address: &Url) -> Result<(Vec<u8>, (Page, Vec<Url>)), ItemError> {
        let (scope, rules, address) = (self.scope.clone(), self.fetcher.known_rules(), address.clone());
        let parsed = tokio::task::spawn_blocking(move || {
            let page = Page::parse(&html);
            let links = match scope {
                None => Vec::new(),
                Some(scope) => {
                    let mut links = page.links(&address);
                    links.retain(|link| scope.contains(link) && rules.allow(link));
                    links
                }
            };
            (html, (page, links))
        });
        parsed.await.map_err(|_| ItemError::Place("reading the page was interrupted".to_owned()))
    }

    /// Returns the address under which a page of a crawl is read instead.
    fn replaced_by(&mut self, item: &Item, page: &Page, address: &Url) -> Option<Url> {
        let canonical = page.canonical(address)?;
        if canonical == *address || !self.scope.as_ref()?.contains(&canonical) {
            return None;
        }
        self.frontier.replace(&item.path, &canonical).then_some(canonical)
    }
}

impl Connector for Web {
    fn next_items(&mut self) -> BoxFuture<'_, Result<Option<Vec<Item>>, ConnectError>> {
        self.next_page().boxed()
    }

    fn read<'a>(
        &'a mut self,
        item: &'a Item,
        known: &'a str,
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<Reading, ItemError>> {
        self.read_page(item, known, sink).boxed()
    }
}

async fn next_piece(response: &mut Response) -> Result<Option<impl AsRef<[u8]> + use<>>, ItemError> {
    let piece = response.chunk().await;
    piece.map_err(|error| ItemError::Item(format!("it ends too early: {}", base::innermost(&error))))
}

fn header(response: &Response, name: HeaderName) -> String {
    let value = response.headers().get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().to_owned()
}

fn directives(response: &Response) -> RobotsDirectives {
    let mut directives = RobotsDirectives::default();
    for value in response.headers().get_all("x-robots-tag") {
        directives.add(value.to_str().unwrap_or_default());
    }
    directives
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nowhere;

    impl Sink for Nowhere {
        fn write(&mut self, _piece: &[u8]) -> Result<(), ItemError> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn waiting_for_the_turn_of_a_host_does_not_count_as_slow() {
        let site = fetch::site::Site::start().await;
        site.html("/a", "<p>a");
        site.put(
            "/sitemap.xml",
            200,
            "",
            format!("<urlset><url><loc>{}</loc></url></urlset>", site.url("/a")),
        );
        let settings = Settings::Web {
            mode: WebMode::Sitemap,
            addresses: vec![site.url("/sitemap.xml")],
            depth: 0,
            pages: 1,
            delay: 1_300,
        };
        let environment = Environment { allow_private_addresses: true, ..Environment::default() };
        let mut web = Web::open(&settings, &environment).unwrap();
        let items = web.next_page().await.unwrap().unwrap();
        let read = web.read_page(&items[0], "", &mut Nowhere).await;
        assert!(matches!(read, Ok(Reading::Read(_))), "{read:?}");
    }
}
