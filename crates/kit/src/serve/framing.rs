//! Finds the end of an HTTP/1 message, strictly. Pure.
//!
//! hyper accepts what a proxy must refuse: it ignores a Content-Length beside a Transfer-Encoding, and accepts a bare line
//! feed as the end of a line. If two programs disagree on where a request ends, requests can be smuggled. So every head is
//! checked here before hyper sees it.

use super::authority::is_host;
use super::{Limits, Refusal};
use http::Uri;
use memchr::memchr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyLength {
    Known(u64),
    Chunked,
}

/// Reads a request's head line by line as it arrives.
#[derive(Default)]
pub struct HeadScanner {
    line_start: usize,
    lines: usize,
    http_11: bool,
    /// Whether the target is a whole address, with a host.
    names_host: bool,
    hosts: usize,
    has_empty_host: bool,
    content_length: Option<u64>,
    chunked: bool,
}

impl HeadScanner {
    pub fn has_started(&self) -> bool {
        self.lines > 0
    }

    /// Reads on; `bytes` is all of the head so far. Returns the length of the head and of the body once the head is whole.
    pub fn advance(&mut self, bytes: &[u8]) -> Result<Option<(usize, BodyLength)>, Refusal> {
        while let Some(offset) = memchr(b'\n', &bytes[self.line_start..]) {
            let end = self.line_start + offset;
            let Some(line) = bytes[self.line_start..end].strip_suffix(b"\r") else {
                return Err(Refusal::Malformed("a line ends without a carriage return"));
            };
            self.line_start = end + 1;
            if self.line_start > Limits::MAX_HEAD_BYTES {
                return Err(Refusal::HeadTooLarge);
            }
            if line.is_empty() {
                return self.finish().map(|body| Some((self.line_start, body)));
            }
            self.lines += 1;
            match self.lines {
                1 => self.request_line(line)?,
                lines if lines > Limits::MAX_HEADERS + 1 => return Err(Refusal::HeadTooLarge),
                _ => self.header(line)?,
            }
        }
        if bytes.len() > Limits::MAX_HEAD_BYTES { Err(Refusal::HeadTooLarge) } else { Ok(None) }
    }

    fn header(&mut self, line: &[u8]) -> Result<(), Refusal> {
        if matches!(line[0], b' ' | b'\t') {
            return Err(Refusal::Malformed("a header is folded over two lines"));
        }
        let Some(colon) = memchr(b':', line) else {
            return Err(Refusal::Malformed("a header has no colon"));
        };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.ends_with(b" ") || name.ends_with(b"\t") {
            return Err(Refusal::Malformed("a header's name is followed by a space"));
        }
        if !is_token(name) {
            return Err(Refusal::Malformed("a header's name has a character that none may have"));
        }
        if has_control(value) {
            return Err(Refusal::Malformed("a header's value has a control character"));
        }
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"host") => self.set_host(value)?,
            14 if name.eq_ignore_ascii_case(b"content-length") => self.set_content_length(value)?,
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                if self.chunked || !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(Refusal::Malformed("`Transfer-Encoding` is not just `chunked`"));
                }
                self.chunked = true;
            }
            _ => {}
        }
        Ok(())
    }

    /// Checks `METHOD target HTTP/1.x`, with single spaces.
    fn request_line(&mut self, line: &[u8]) -> Result<(), Refusal> {
        let mut parts = line.splitn(3, |byte| *byte == b' ');
        let (Some(method), Some(target), Some(version)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(Refusal::Malformed("the request line is not `METHOD target HTTP/1.1`"));
        };
        if !is_token(method) {
            return Err(Refusal::Malformed("the method has a character that none may have"));
        }
        self.names_host = target_names_host(target)?;
        self.http_11 = match version {
            b"HTTP/1.1" => true,
            b"HTTP/1.0" => false,
            _ => return Err(Refusal::Malformed("the version is not HTTP/1.1")),
        };
        Ok(())
    }

    /// Checks the header `Host`, which may be empty for targets without a host.
    fn set_host(&mut self, value: &[u8]) -> Result<(), Refusal> {
        self.hosts += 1;
        self.has_empty_host = value.is_empty();
        if value.is_empty() || is_host(value) { Ok(()) } else { Err(BAD_HOST) }
    }

    fn set_content_length(&mut self, value: &[u8]) -> Result<(), Refusal> {
        let length = content_length(value).ok_or(Refusal::Malformed("`Content-Length` is not a number"))?;
        match self.content_length.replace(length) {
            None => Ok(()),
            Some(_) => Err(Refusal::Malformed("`Content-Length` is given twice")),
        }
    }

    fn finish(&self) -> Result<BodyLength, Refusal> {
        if self.hosts > 1 || (self.http_11 && self.hosts == 0) {
            return Err(Refusal::Malformed("`Host` is not given exactly once"));
        }
        if self.has_empty_host && self.names_host {
            return Err(Refusal::Malformed("`Host` is empty, but the target names a host"));
        }
        if self.chunked && !self.http_11 {
            return Err(Refusal::Malformed("`Transfer-Encoding` is not for HTTP/1.0"));
        }
        match (self.chunked, self.content_length) {
            (true, Some(_)) => {
                Err(Refusal::Malformed("both `Content-Length` and `Transfer-Encoding` are given"))
            }
            (true, None) => Ok(BodyLength::Chunked),
            (false, length) => Ok(BodyLength::Known(length.unwrap_or(0))),
        }
    }
}

const BAD_HOST: Refusal = Refusal::Malformed("the host is not `name` or `name:port`");

/// Returns whether the target is more than a path. Parses it only if it has unusual characters: hyper parses it again.
fn target_names_host(target: &[u8]) -> Result<bool, Refusal> {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/?=&%-._~+".contains(byte);
    if target.starts_with(b"/") && target.iter().all(plain) {
        return Ok(false);
    }
    if memchr(b'#', target).is_some() {
        return Err(Refusal::Malformed("the target has a `#`: a fragment is not sent to a server"));
    }
    if !target.is_ascii() {
        return Err(NOT_ASCII);
    }
    let uri = Uri::try_from(target).map_err(|_| Refusal::Malformed("the target is not a path"))?;
    names_host(&uri)
}

const NOT_ASCII: Refusal =
    Refusal::Malformed("the target has a character outside ASCII: expected it percent-encoded");

/// Checks the target of an HTTP/2 request, which hyper has already parsed.
pub fn check_target(uri: &Uri) -> Result<(), Refusal> {
    if uri.path_and_query().is_some_and(|path| !path.as_str().is_ascii()) {
        return Err(NOT_ASCII);
    }
    names_host(uri).map(drop)
}

fn names_host(uri: &Uri) -> Result<bool, Refusal> {
    match uri.authority() {
        Some(authority) if !is_host(authority.as_str().as_bytes()) => Err(BAD_HOST),
        authority => Ok(authority.is_some()),
    }
}

fn is_token(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|byte| is_token_byte(*byte))
}

pub fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Written without a branch for each byte, so that the compiler can vectorise it.
fn has_control(text: &[u8]) -> bool {
    text.iter().fold(false, |found, byte| found | ((*byte < b' ') & (*byte != b'\t')) | (*byte == 127))
}

/// Parses a `Content-Length`: digits and nothing else.
pub fn content_length(value: &[u8]) -> Option<u64> {
    let digits =
        std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    digits.and_then(|text| text.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(head: &str) -> Result<Option<(usize, BodyLength)>, Refusal> {
        HeadScanner::default().advance(head.as_bytes())
    }

    fn refused(headers: &str) -> &'static str {
        match scan(&format!("POST / HTTP/1.1\r\nHost: a\r\n{headers}\r\n")) {
            Err(Refusal::Malformed(why)) => why,
            other => panic!("{headers:?} gave {other:?}"),
        }
    }

    #[test]
    fn a_head_ends_at_its_empty_line_and_says_its_body_length() {
        let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\n\r\n";
        assert_eq!(scan(&format!("{head}hello")), Ok(Some((head.len(), BodyLength::Known(12)))));
        let chunked = "POST / HTTP/1.1\r\nhost: a\r\ntransfer-ENCODING: Chunked\r\n\r\n";
        assert_eq!(scan(chunked), Ok(Some((chunked.len(), BodyLength::Chunked))));
        assert_eq!(scan("GET / HTTP/1.0\r\n\r\n"), Ok(Some((18, BodyLength::Known(0)))));
    }

    #[test]
    fn a_head_may_come_byte_by_byte() {
        let head = b"GET / HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n";
        let mut scanner = HeadScanner::default();
        for end in 1..head.len() {
            assert_eq!(scanner.advance(&head[..end]), Ok(None), "at {end}");
        }
        assert_eq!(scanner.advance(head), Ok(Some((head.len(), BodyLength::Known(0)))));
    }

    #[test]
    fn forms_that_smuggle_are_refused() {
        assert!(refused("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n").contains("both"));
        assert!(refused("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n").contains("both"));
        assert!(refused("Content-Length: 5\r\nContent-Length: 6\r\n").contains("twice"));
        assert!(refused("Content-Length: 5\r\nContent-Length: 5\r\n").contains("twice"));
        for length in ["5, 5", "+5", "-1", "0x5", "5 5", "", "18446744073709551616"] {
            assert!(refused(&format!("Content-Length: {length}\r\n")).contains("not a number"), "{length}");
        }
        for coding in ["xchunked", "gzip, chunked", "chunked, chunked", "identity", ""] {
            assert!(refused(&format!("Transfer-Encoding: {coding}\r\n")).contains("not just"), "{coding}");
        }
        assert!(refused("X: 1\r\n folded\r\n").contains("folded"));
        assert!(refused("Content-Length : 5\r\n").contains("space"));
        assert!(refused("nonsense\r\n").contains("colon"));
        assert!(refused("Host: b\r\n").contains("Host"));
        assert_eq!(
            scan("GET / HTTP/1.1\nHost: a\n\n"),
            Err(Refusal::Malformed("a line ends without a carriage return"))
        );
        assert!(matches!(scan("GET / HTTP/1.1\r\n\r\n"), Err(Refusal::Malformed(_))));
        for header in ["X: a\rb", "X: a\0b", "X\0: a", "X Y: a", ": a", "X\u{e4}: a"] {
            assert!(refused(&format!("{header}\r\n")).contains("header's"), "{header:?}");
        }
        for line in [
            "GET /",
            "GET  / HTTP/1.1",
            "GET /a b HTTP/1.1",
            "GET / HTTP/1.2",
            "GET / http/1.1",
            "G\0T / HTTP/1.1",
        ] {
            assert!(
                matches!(scan(&format!("{line}\r\nHost: a\r\n\r\n")), Err(Refusal::Malformed(_))),
                "{line:?}"
            );
        }
    }

    #[test]
    fn a_host_that_is_not_one_is_refused_wherever_it_stands() {
        for host in ["user@a", "a/path", "a, b", "a,b", "a b", "http://a", "a:x", "\u{e4}"] {
            let head = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
            assert_eq!(scan(&head), Err(BAD_HOST), "{host:?}");
        }
        assert_eq!(scan("GET http://user@a/ HTTP/1.1\r\nHost: a\r\n\r\n"), Err(BAD_HOST));
        let with_empty_host = |target: &str| scan(&format!("GET {target} HTTP/1.1\r\nHost:\r\n\r\n"));
        assert!(
            matches!(with_empty_host("http://a/"), Err(Refusal::Malformed(why)) if why.contains("empty"))
        );
        assert!(with_empty_host("/").is_ok());
        assert!(scan("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n").is_err());
        assert!(scan("GET http://a:80/x HTTP/1.1\r\nHost: a\r\n\r\n").is_ok());
    }

    #[test]
    fn a_target_has_no_fragment_and_no_byte_outside_ascii() {
        for (target, why) in
            [("/a#b", "fragment"), ("/#", "fragment"), ("/\u{e4}", "ASCII"), ("/?\u{e4}", "ASCII")]
        {
            let scanned = scan(&format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
            assert!(matches!(scanned, Err(Refusal::Malformed(said)) if said.contains(why)), "{target}");
        }
    }

    #[test]
    fn floods_are_refused() {
        let many = "X: 1\r\n".repeat(Limits::MAX_HEADERS + 1);
        assert_eq!(scan(&format!("GET / HTTP/1.1\r\n{many}")), Err(Refusal::HeadTooLarge));
        let long = "x".repeat(Limits::MAX_HEAD_BYTES + 1);
        assert_eq!(scan(&format!("GET /{long}")), Err(Refusal::HeadTooLarge));
        let whole = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {long}\r\n\r\n");
        assert_eq!(scan(&whole), Err(Refusal::HeadTooLarge));
    }

    #[test]
    fn broken_heads_are_refused_or_read_and_never_past_their_end() {
        let head = "POST /a/b?c=d HTTP/1.1\r\nHost: example.org:80\r\nContent-Length: 12\r\nX-Empty:\r\n\
                    Transfer-Encoding: chunked\r\nConnection: keep-alive, x\r\n\r\nhello world!";
        let mut read = 0;
        mutations::mutations(head.as_bytes(), 20_000, |bytes| {
            // At once, and byte by byte: the same.
            let whole = HeadScanner::default().advance(&bytes);
            let mut scanner = HeadScanner::default();
            let piecewise = (0..=bytes.len()).map(|end| scanner.advance(&bytes[..end]));
            let piecewise = piecewise.into_iter().find(|told| !matches!(told, Ok(None))).unwrap_or(Ok(None));
            assert_eq!(whole.is_err(), piecewise.is_err(), "{:?}", String::from_utf8_lossy(&bytes));
            if let Ok(Some((length, _))) = whole {
                assert!(length <= bytes.len());
                assert_eq!(whole, piecewise);
                read += 1;
            }
        });
        assert!(read > 100, "{read} were readable: the mutations are no test");
    }
}
