//! Parses the head of a target's answer. Pure.

use crate::forward::is_hop_by_hop;
use bytes::{Bytes, BytesMut};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use kit::serve::{ChunkScanner, content_length};
use memchr::memmem;
use std::mem::MaybeUninit;

/// How the end of an answer's body is found.
pub enum Framing {
    Known(u64),
    Chunked(ChunkScanner),
    UntilClose,
}

pub struct ResponseHead {
    pub status: StatusCode,
    /// Without those that concern only the connection.
    pub headers: HeaderMap,
    pub framing: Framing,
    pub keep_alive: bool,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the target's answer is not valid HTTP: {0}")]
pub struct BadResponse(&'static str);

const MAX_HEAD_BYTES: usize = 64 * 1024;
const MAX_HEADERS: usize = 100;

/// Takes the head from the buffer once it is whole. Interim answers are skipped.
pub fn take_head(buffer: &mut BytesMut, method: &Method) -> Result<Option<ResponseHead>, BadResponse> {
    while let Some(end) = memmem::find(buffer, b"\r\n\r\n") {
        let head = read_head(buffer.split_to(end + 4).freeze(), method)?;
        if !head.status.is_informational() || head.status == StatusCode::SWITCHING_PROTOCOLS {
            return Ok(Some(head));
        }
    }
    if buffer.len() > MAX_HEAD_BYTES { Err(BadResponse("its head is too large")) } else { Ok(None) }
}

fn read_head(text: Bytes, method: &Method) -> Result<ResponseHead, BadResponse> {
    let mut room = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut []);
    let parser = httparse::ParserConfig::default();
    let parsed = parser.parse_response_with_uninit_headers(&mut response, &text, &mut room);
    if parsed != Ok(httparse::Status::Complete(text.len())) {
        return Err(BadResponse("its head cannot be read"));
    }
    let code = response.code.and_then(|code| StatusCode::from_u16(code).ok());
    let status = code.ok_or(BadResponse("its status is not a number"))?;
    let mut headers = HeaderMap::with_capacity(response.headers.len() + 4);
    let (mut length, mut chunked, mut keep_alive) = (None, false, response.version == Some(1));
    let mut named: Vec<HeaderName> = Vec::new();
    for field in response.headers.iter() {
        let name = HeaderName::from_bytes(field.name.as_bytes());
        let name = name.map_err(|_| BadResponse("a header's name"))?;
        let value = HeaderValue::from_maybe_shared(text.slice_ref(field.value));
        let value = value.map_err(|_| BadResponse("a header's value"))?;
        if name == header::CONNECTION {
            for option in value.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
                if option.eq_ignore_ascii_case(b"close") {
                    keep_alive = false;
                } else if !option.eq_ignore_ascii_case(b"keep-alive") {
                    named.extend(HeaderName::from_bytes(option));
                }
            }
        } else if name == header::TRANSFER_ENCODING {
            if chunked || !value.as_bytes().eq_ignore_ascii_case(b"chunked") {
                return Err(BadResponse("its `Transfer-Encoding` is not just `chunked`"));
            }
            chunked = true;
        } else if name == header::CONTENT_LENGTH {
            let number = content_length(value.as_bytes());
            let number = number.ok_or(BadResponse("its `Content-Length` is not a number"))?;
            if length.replace(number).is_some_and(|earlier| earlier != number) {
                return Err(BadResponse("its `Content-Length`s differ"));
            }
            headers.insert(name, value);
        } else if !is_hop_by_hop(&name)
            || (name == header::UPGRADE && status == StatusCode::SWITCHING_PROTOCOLS)
        {
            headers.append(name, value);
        }
    }
    for name in named.iter().filter(|name| **name != header::UPGRADE) {
        headers.remove(name);
    }
    if chunked && length.is_some() {
        // The chunks count; after both, the connection takes no other request.
        headers.remove(header::CONTENT_LENGTH);
        keep_alive = false;
    }
    let bodiless = *method == Method::HEAD
        || matches!(
            status,
            StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED | StatusCode::SWITCHING_PROTOCOLS
        );
    let framing = match (bodiless, chunked, length) {
        (true, _, _) => Framing::Known(0),
        (false, true, _) => Framing::Chunked(ChunkScanner::default()),
        (false, false, Some(length)) => Framing::Known(length),
        (false, false, None) => Framing::UntilClose,
    };
    // A body that may not be there would be taken for the next answer.
    let has_stray_body =
        bodiless && (chunked || (status == StatusCode::NO_CONTENT && length.unwrap_or(0) > 0));
    keep_alive &= !has_stray_body && !matches!(framing, Framing::UntilClose);
    Ok(ResponseHead { status, headers, framing, keep_alive })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Status, framing, whether the connection stays, names of the headers that pass.
    fn read(method: Method, head: &str) -> Result<String, BadResponse> {
        let mut buffer = BytesMut::from(format!("HTTP/1.1 {head}\r\n\r\nrest").as_bytes());
        let head = take_head(&mut buffer, &method)?.expect("a whole head");
        assert_eq!(&buffer[..], b"rest");
        let framing = match head.framing {
            Framing::Known(length) => length.to_string(),
            Framing::Chunked(_) => "chunked".to_owned(),
            Framing::UntilClose => "close".to_owned(),
        };
        let names: Vec<&str> = head.headers.keys().map(HeaderName::as_str).collect();
        Ok(format!("{} {framing} {} {}", head.status.as_u16(), head.keep_alive, names.join(",")))
    }

    #[test]
    fn the_end_of_a_body_is_told_by_the_rules() {
        for (method, head, told) in [
            (Method::GET, "200 OK\r\nContent-Length: 5", "200 5 true content-length"),
            (Method::GET, "200 OK\r\nContent-Length: 5\r\nContent-Length: 5", "200 5 true content-length"),
            (Method::GET, "200 OK\r\nTransfer-Encoding: Chunked", "200 chunked true "),
            (Method::GET, "200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5", "200 chunked false "),
            (Method::GET, "200 OK", "200 close false "),
            (Method::HEAD, "200 OK\r\nContent-Length: 5", "200 0 true content-length"),
            (Method::GET, "204 No Content", "204 0 true "),
            (Method::GET, "304 Not Modified\r\nContent-Length: 5", "304 0 true content-length"),
            (
                Method::GET,
                "200 OK\r\nContent-Length: 0\r\nConnection: close, X-Hop\r\nX-Hop: 1",
                "200 0 false content-length",
            ),
            (
                Method::GET,
                "200 OK\r\nContent-Length: 0\r\nKeep-Alive: x\r\nUpgrade: y\r\nX: 1",
                "200 0 true content-length,x",
            ),
            (Method::GET, "101 Go\r\nConnection: upgrade\r\nUpgrade: websocket", "101 0 true upgrade"),
            (
                Method::GET,
                "100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 201 Made\r\nContent-Length: 1",
                "201 1 true content-length",
            ),
        ] {
            assert_eq!(read(method, head).as_deref(), Ok(told), "{head}");
        }
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        for head in [
            "200 OK\r\nContent-Length: 5\r\nContent-Length: 6",
            "200 OK\r\nContent-Length: +5",
            "200 OK\r\nContent-Length: 5, 5",
            "200 OK\r\nTransfer-Encoding: gzip, chunked",
            "200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            "200 OK\r\nX : 1",
            "200 OK\r\nX: 1\r\n folded",
            "2000 OK",
        ] {
            assert!(read(Method::GET, head).is_err(), "{head}");
        }
        let mut flood =
            BytesMut::from(format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(MAX_HEAD_BYTES)).as_bytes());
        assert!(take_head(&mut flood, &Method::GET).is_err());
        let mut half = BytesMut::from("HTTP/1.1 200 OK\r\nX: 1\r\n");
        assert!(matches!(take_head(&mut half, &Method::GET), Ok(None)));
    }

    #[test]
    fn broken_heads_of_answers_are_refused_or_read_and_never_past_their_end() {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 12\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\
                    Set-Cookie: a=b\r\n\r\nhello world!";
        let mut read = 0;
        mutations::mutations(head.as_bytes(), 20_000, |bytes| {
            let mut buffer = BytesMut::from(&bytes[..]);
            if let Ok(Some(_)) = take_head(&mut buffer, &Method::GET) {
                assert!(bytes.ends_with(&buffer), "what follows the head stays");
                read += 1;
            }
        });
        assert!(read > 100, "{read} were readable: the mutations are no test");
    }
}
