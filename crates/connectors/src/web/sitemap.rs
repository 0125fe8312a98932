//! Sitemaps: lists of pages, and lists of such lists, plain or packed with gzip.

use flate2::read::MultiGzDecoder;
use quick_xml::Reader;
use quick_xml::events::Event;
use reqwest::header::CONTENT_ENCODING;
use std::collections::{HashSet, VecDeque};
use std::io::{BufRead, BufReader, Read};
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
/// The most open elements.
const MOST_OPEN: usize = 20;

/// The sitemaps that are still to be read.
#[derive(Default)]
pub(super) struct Sitemaps {
    queue: VecDeque<(Url, u32)>,
    seen: HashSet<Url>,
}

/// What a sitemap lists.
#[derive(Debug, Default, PartialEq, Eq)]
struct Listed {
    pages: Vec<Url>,
    sitemaps: Vec<Url>,
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
        let base = address.clone();
        let parsed = tokio::task::spawn_blocking(move || parse(&bytes, &base)).await;
        let listed = parsed.map_err(|_| failed("it was interrupted".to_owned()))?.map_err(failed)?;
        listed.pages.iter().for_each(|page| frontier.add(page, 0));
        listed.sitemaps.into_iter().for_each(|sitemap| self.add(sitemap, level + 1));
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

fn parse(bytes: &[u8], base: &Url) -> Result<Listed, String> {
    match bytes.starts_with(b"\x1f\x8b") {
        true => parse_text(BufReader::new(MultiGzDecoder::new(bytes).take(MOST_UNPACKED)), base),
        false => parse_text(bytes, base),
    }
}

fn parse_text(mut text: impl BufRead, base: &Url) -> Result<Listed, String> {
    let start = text.fill_buf().map_err(|error| error.to_string())?;
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    match start.first() {
        Some(b'<') => parse_xml(text, base),
        // A sitemap may also be one address in each line.
        Some(b'h') => {
            let lines =
                text.lines().collect::<Result<Vec<String>, _>>().map_err(|error| error.to_string())?;
            let pages = lines.iter().filter_map(|line| on_same_host(base, line)).collect();
            Ok(Listed { pages, sitemaps: Vec::new() })
        }
        _ => Err("it is neither XML nor a list of addresses".to_owned()),
    }
}

fn parse_xml(text: impl BufRead, base: &Url) -> Result<Listed, String> {
    let mut reader = Reader::from_reader(text);
    let mut listed = Listed::default();
    let mut is_known = false;
    // The names of the open elements, and the text of an open `loc`.
    let (mut open, mut location) = (Vec::<Vec<u8>>::new(), None::<String>);
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
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
                    let list = if is_sitemap { &mut listed.sitemaps } else { &mut listed.pages };
                    list.push(found);
                }
            }
            Event::Eof if !open.is_empty() => return Err("it ends too early".to_owned()),
            Event::Eof if is_known => return Ok(listed),
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
