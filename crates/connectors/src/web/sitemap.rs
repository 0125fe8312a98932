//! Sitemaps: lists of pages, and lists of such lists, plain or packed with gzip.

use flate2::read::MultiGzDecoder;
use quick_xml::Reader;
use quick_xml::events::Event;
use reqwest::header::CONTENT_ENCODING;
use std::collections::{HashSet, VecDeque};
use std::io::{BufRead, BufReader, Read};
use std::mem::take;
use url::Url;

use super::CONTENT_TIMEOUT;
use super::fetch::{Fetcher, first_bytes};
use super::frontier::Frontier;
use super::page::resolved;
use super::state::State;
use crate::ConnectError;

/// The most bytes of a sitemap, as it is sent and unpacked. The protocol allows 50 MB unpacked.
const MOST_BYTES: usize = 32 << 20;
const MOST_UNPACKED: u64 = 64 << 20;
const MOST_SITEMAPS: usize = 1_000;
const MOST_LEVELS: u32 = 3;
/// The most bytes of an element, a text or a line. They are held as a whole.
const MAX_PIECE_BYTES: u64 = 1 << 20;
/// The most open elements.
const MOST_OPEN: usize = 20;

/// The sitemaps that are still to be read.
#[derive(Default)]
pub(super) struct Sitemaps {
    queue: VecDeque<(Url, u32)>,
    seen: HashSet<Url>,
}

/// What a sitemap lists.
#[derive(Debug, PartialEq, Eq)]
enum Entry {
    Page(Url),
    Sitemap(Url),
}

impl Sitemaps {
    pub fn add(&mut self, address: Url, level: u32) {
        if level < MOST_LEVELS && self.seen.len() < MOST_SITEMAPS && self.seen.insert(address.clone()) {
            self.queue.push_back((address, level));
        }
    }

    /// Reads the next sitemap and adds its pages; returns whether there was one. One that cannot be read is an error:
    /// its pages would be taken for gone.
    pub async fn read_next(
        &mut self,
        fetcher: &mut Fetcher,
        frontier: &mut Frontier,
    ) -> Result<bool, ConnectError> {
        let Some((address, level)) = self.queue.pop_front() else { return Ok(false) };
        let failed =
            |reason: String| ConnectError::new(format!("the sitemap {address} cannot be read: {reason}"));
        let bytes = download(fetcher, &address).await.map_err(failed)?;
        let (base, mut found, mut sitemaps) = (address.clone(), take(frontier), take(self));
        // A packed one can list millions of entries: each is added as it is read, so that no list of them is kept.
        let parsed = tokio::task::spawn_blocking(move || {
            let parsed = parse(&bytes, &base, &mut |entry| match entry {
                Entry::Page(page) => found.add(&page, 0),
                Entry::Sitemap(sitemap) => sitemaps.add(sitemap, level + 1),
            });
            parsed.map(|()| (found, sitemaps))
        });
        let parsed = parsed.await.map_err(|_| failed("it was interrupted".to_owned()))?;
        (*frontier, *self) = parsed.map_err(failed)?;
        Ok(true)
    }
}

async fn download(fetcher: &mut Fetcher, address: &Url) -> Result<Vec<u8>, String> {
    let fetched = fetcher.get(address, &State::default()).await;
    let mut response = fetched.map_err(|error| error.message())?.response;
    if !response.status().is_success() {
        return Err(format!("the server answers {}", response.status()));
    }
    if let Some(encoding) = response.headers().get(CONTENT_ENCODING)
        && encoding != "gzip"
        && encoding != "identity"
    {
        return Err("it is packed in a way that was not asked for".to_owned());
    }
    let bytes = tokio::time::timeout(CONTENT_TIMEOUT, first_bytes(&mut response, MOST_BYTES)).await;
    let bytes = bytes.map_err(|_| "it takes too long".to_owned())??;
    if bytes.len() >= MOST_BYTES {
        return Err(format!("it has more than {MOST_BYTES} bytes"));
    }
    Ok(bytes)
}

fn parse(bytes: &[u8], base: &Url, add: &mut dyn FnMut(Entry)) -> Result<(), String> {
    match bytes.starts_with(b"\x1f\x8b") {
        true => parse_text(BufReader::new(MultiGzDecoder::new(bytes).take(MOST_UNPACKED)), base, add),
        false => parse_text(bytes, base, add),
    }
}

fn parse_text(mut text: impl BufRead, base: &Url, add: &mut dyn FnMut(Entry)) -> Result<(), String> {
    let start = text.fill_buf().map_err(|error| error.to_string())?;
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    match start.first() {
        Some(b'<') => parse_xml(text, base, add),
        // A sitemap may also be one address in each line.
        Some(b'h') => parse_lines(text, base, add),
        _ => Err("it is neither XML nor a list of addresses".to_owned()),
    }
}

fn parse_lines(mut text: impl BufRead, base: &Url, add: &mut dyn FnMut(Entry)) -> Result<(), String> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut text).take(MAX_PIECE_BYTES).read_until(b'\n', &mut line);
        if read.map_err(|error| error.to_string())? == 0 {
            return Ok(());
        }
        on_same_host(base, &String::from_utf8_lossy(&line)).map(Entry::Page).into_iter().for_each(&mut *add);
    }
}

fn parse_xml(text: impl BufRead, base: &Url, add: &mut dyn FnMut(Entry)) -> Result<(), String> {
    let mut reader = Reader::from_reader(text.take(MAX_PIECE_BYTES));
    let mut is_known = false;
    // The names of the open elements, and the text of an open `loc`.
    let (mut open, mut location) = (Vec::<Vec<u8>>::new(), None::<String>);
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        reader.get_mut().set_limit(MAX_PIECE_BYTES);
        match reader.read_event_into(&mut buffer).map_err(|error| error.to_string())? {
            Event::Start(_) if open.len() == MOST_OPEN => return Err("it is nested too deeply".to_owned()),
            Event::Start(start) => {
                let name = start.local_name().as_ref().to_vec();
                is_known |= matches!(name.as_slice(), b"urlset" | b"sitemapindex");
                // An `image:loc` is in an `image`, and is no page.
                let parent = open.last().map(Vec::as_slice).unwrap_or_default();
                if name == b"loc" && matches!(parent, b"url" | b"sitemap") {
                    location = Some(String::new());
                }
                open.push(name);
            }
            Event::Text(piece) => add_text(&mut location, &String::from_utf8_lossy(&piece)),
            Event::CData(piece) => add_text(&mut location, &String::from_utf8_lossy(&piece)),
            Event::GeneralRef(reference) => {
                let name = String::from_utf8_lossy(&reference).into_owned();
                let known = quick_xml::escape::resolve_predefined_entity(&name);
                match (reference.resolve_char_ref(), known) {
                    (Ok(Some(c)), _) => add_text(&mut location, c.encode_utf8(&mut [0; 4])),
                    (_, Some(known)) => add_text(&mut location, known),
                    _ => {}
                }
            }
            Event::End(_) => {
                open.pop();
                if let Some(found) = location.take().and_then(|text| on_same_host(base, &text)) {
                    let is_sitemap = open.last().is_some_and(|parent| parent == b"sitemap");
                    add(if is_sitemap { Entry::Sitemap(found) } else { Entry::Page(found) });
                }
            }
            Event::Eof if !open.is_empty() => return Err("it ends too early".to_owned()),
            Event::Eof if is_known => return Ok(()),
            Event::Eof => return Err("it has no `urlset` and no `sitemapindex`".to_owned()),
            _ => {}
        }
    }
}

fn add_text(location: &mut Option<String>, piece: &str) {
    if let Some(location) = location
        && location.len() < 4_000
    {
        location.push_str(piece);
    }
}

/// Returns an address of the sitemap's own host; a sitemap cannot speak for others.
fn on_same_host(base: &Url, text: &str) -> Option<Url> {
    resolved(base, text).filter(|url| url.host() == base.host())
}
