//! What a crawl needs of an HTML page: its links, and what it says to robots. Its text is left to `extract`.

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use std::cell::RefCell;
use std::time::{Duration, Instant};
use url::Url;

/// The most links that are taken from one page.
const MOST_LINKS: usize = 5_000;
/// What is not parsed by then does not count. Of a tag, each attribute is compared with all before it.
const MAX_PARSE_TIME: Duration = Duration::from_secs(10);
const PIECE: usize = 64 << 10;
const LONGEST_ADDRESS: usize = 2_000;

/// What a page says to robots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RobotsDirectives {
    pub no_index: bool,
    pub no_follow: bool,
}

#[derive(Debug, Default)]
pub(super) struct Page {
    pub directives: RobotsDirectives,
    /// As they are written, without those that are not to be followed.
    hrefs: Vec<String>,
    base: Option<String>,
    canonical: Option<String>,
}

impl RobotsDirectives {
    /// Takes up the value of `X-Robots-Tag` or of a `meta` element. Directives for another robot do not count.
    pub fn add(&mut self, value: &str) {
        let directives = match value.split_once(':') {
            Some((agent, directives)) if agent.trim().eq_ignore_ascii_case("stoabot") => directives,
            Some((agent, _))
                if !agent.contains(',') && !agent.trim().eq_ignore_ascii_case("unavailable_after") =>
            {
                return;
            }
            _ => value,
        };
        for directive in directives.split(',') {
            let directive = directive.trim().to_ascii_lowercase();
            self.no_index |= matches!(directive.as_str(), "noindex" | "none");
            self.no_follow |= matches!(directive.as_str(), "nofollow" | "none");
        }
    }
}

impl Page {
    pub fn parse(html: &[u8]) -> Page {
        let text = String::from_utf8_lossy(html);
        let tokenizer = Tokenizer::new(PageSink::default(), TokenizerOpts::default());
        let input = BufferQueue::default();
        let (started, mut rest) = (Instant::now(), &*text);
        while !rest.is_empty() && started.elapsed() < MAX_PARSE_TIME {
            let (piece, behind) = rest.split_at(rest.floor_char_boundary(PIECE));
            input.push_back(StrTendril::from(piece));
            rest = behind;
            // Scripts are not run: the tokenizer only pauses at their ends.
            while !input.is_empty() {
                let _ = tokenizer.feed(&input);
            }
        }
        tokenizer.end();
        tokenizer.sink.0.take()
    }

    /// Returns the addresses that the page at `address` links to, without fragments; each once.
    pub fn links(&self, address: &Url) -> Vec<Url> {
        if self.directives.no_follow {
            return Vec::new();
        }
        let base = self.base.as_ref().and_then(|base| address.join(base).ok());
        let base = base.as_ref().unwrap_or(address);
        let mut links: Vec<Url> = self.hrefs.iter().filter_map(|href| resolved(base, href)).collect();
        let mut seen = std::collections::HashSet::new();
        links.retain(|link| seen.insert(link.clone()));
        links
    }

    /// Returns the address by which the page at `address` wants to be known.
    pub fn canonical(&self, address: &Url) -> Option<Url> {
        resolved(address, self.canonical.as_ref()?)
    }
}

/// Returns the address of a link to a page of the web.
pub(super) fn resolved(base: &Url, href: &str) -> Option<Url> {
    let mut url = base.join(href.trim()).ok()?;
    url.set_fragment(None);
    let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
    let is_anonymous = url.username().is_empty() && url.password().is_none();
    (is_web && is_anonymous && url.as_str().len() <= LONGEST_ADDRESS).then_some(url)
}

#[derive(Default)]
struct PageSink(RefCell<Page>);

impl TokenSink for PageSink {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let Token::TagToken(tag) = token else { return TokenSinkResult::Continue };
        if tag.kind != TagKind::StartTag {
            return TokenSinkResult::Continue;
        }
        self.0.borrow_mut().start(&tag);
        match &*tag.name {
            "title" | "textarea" => TokenSinkResult::RawData(RawKind::Rcdata),
            "style" | "iframe" | "noembed" | "noframes" | "xmp" => TokenSinkResult::RawData(RawKind::Rawtext),
            "script" => TokenSinkResult::RawData(RawKind::ScriptData),
            _ => TokenSinkResult::Continue,
        }
    }
}

impl Page {
    fn start(&mut self, tag: &Tag) {
        let attribute = |name: &str| {
            let found = tag.attrs.iter().find(|attribute| &*attribute.name.local == name);
            found.map(|attribute| &*attribute.value)
        };
        let has_relation = |wanted: &str| {
            let relations = attribute("rel").unwrap_or_default();
            relations.split_ascii_whitespace().any(|relation| relation.eq_ignore_ascii_case(wanted))
        };
        match (&*tag.name, attribute("href")) {
            ("a" | "area", Some(href)) if !has_relation("nofollow") && self.hrefs.len() < MOST_LINKS => {
                self.hrefs.push(href.to_owned());
            }
            ("base", Some(href)) if self.base.is_none() => self.base = Some(href.to_owned()),
            ("link", Some(href)) if has_relation("canonical") && self.canonical.is_none() => {
                self.canonical = Some(href.to_owned());
            }
            ("meta", _) => {
                let name = attribute("name").unwrap_or_default();
                if ["robots", "stoabot"].iter().any(|robot| name.eq_ignore_ascii_case(robot)) {
                    self.directives.add(attribute("content").unwrap_or_default());
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(html: &str) -> Vec<String> {
        let address = Url::parse("https://example.org/docs/page.html").unwrap();
        Page::parse(html.as_bytes()).links(&address).iter().map(Url::to_string).collect()
    }

    #[test]
    fn links_are_resolved_once_and_without_fragments() {
        let html = "<A HREF='a.html#x'>1</a><a href=a.html>2</a><a href=' ../b?c=1&amp;d=2 '>3</a>\
                    <a href='mailto:a@b'>4</a><a href='javascript:x()'>5</a><a href='//other.org/'>6</a>\
                    <a rel='x NoFollow' href='/no'>7</a><script>'<a href=/script>'</script><a>8</a>\
                    <a href='https://me:secret@example.org/'>9</a><!-- <a href=/comment> -->";
        let wanted =
            ["https://example.org/docs/a.html", "https://example.org/b?c=1&d=2", "https://other.org/"];
        assert_eq!(links(html), wanted);
    }

    #[test]
    fn the_base_and_nofollow_of_the_page_count() {
        assert_eq!(links("<base href='/other/'><a href=a>"), ["https://example.org/other/a"]);
        assert_eq!(links("<meta name=robots content='index, NOFOLLOW'><a href=a>"), [""; 0]);
        assert_eq!(links("<meta name=GoogleBot content='nofollow'><a href=/a>"), ["https://example.org/a"]);
    }

    #[test]
    fn wishes_for_other_robots_do_not_count() {
        let directives = |value: &str| {
            let mut directives = RobotsDirectives::default();
            directives.add(value);
            (directives.no_index, directives.no_follow)
        };
        assert_eq!(directives("noindex"), (true, false));
        assert_eq!(directives("None"), (true, true));
        assert_eq!(directives("googlebot: noindex"), (false, false));
        assert_eq!(directives("StoaBot: noindex, nofollow"), (true, true));
        assert_eq!(directives("noarchive, unavailable_after: 1 Jan 2040, noindex"), (true, false));
    }
}
