//! The host that a request is for: `Host`, `:authority`, or the authority of an absolute target. Pure.
//!
//! Two programs may read a malformed host differently, so it is refused.

/// Returns whether this is `host` or `host:port`: a name, an IPv4 address, or an IPv6 address in brackets.
///
/// A comma is legal in a name but not used, and it would make a list of hosts look like a host.
pub fn is_host(text: &[u8]) -> bool {
    let (host, port) = match text.strip_prefix(b"[") {
        Some(rest) => match rest.iter().position(|byte| *byte == b']') {
            Some(end) if is_ipv6(&rest[..end]) => (&b"[]"[..], &rest[end + 1..]),
            _ => return false,
        },
        None => text.split_at(text.iter().position(|byte| *byte == b':').unwrap_or(text.len())),
    };
    let is_name = host == b"[]" || (!host.is_empty() && host.iter().all(is_name_byte));
    is_name && is_port(port)
}

fn is_ipv6(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| text.parse::<std::net::Ipv6Addr>().is_ok())
}

fn is_name_byte(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+;=".contains(byte)
}

/// Returns whether this is empty, or a colon and a number; the number may be missing.
fn is_port(text: &[u8]) -> bool {
    match text.split_first() {
        None => true,
        Some((b':', digits)) => {
            let number = std::str::from_utf8(digits).ok().filter(|_| digits.iter().all(u8::is_ascii_digit));
            digits.is_empty() || number.is_some_and(|number| number.parse::<u16>().is_ok())
        }
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_host;

    #[test]
    fn hosts_with_and_without_a_port() {
        for host in ["a", "a.example", "A-b_c.d:80", "127.0.0.1:8080", "[::1]", "[::1]:8080", "a:", "a:65535"]
        {
            assert!(is_host(host.as_bytes()), "{host}");
        }
    }

    #[test]
    fn what_is_more_or_less_than_a_host_is_refused() {
        for text in [
            "",
            ":80",
            "user@a",
            "user:pass@a",
            "a/path",
            "a/",
            "a?q",
            "a#f",
            "http://a",
            "a,b",
            "a, b",
            "a b",
            "a\tb",
            "a:80:80",
            "a:x",
            "a:+80",
            "a:65536",
            "::1",
            "[::1",
            "[::1]x",
            "[a]",
            "[]",
            "a\\b",
            "\u{e4}.example",
            "a\"b",
            "<a>",
        ] {
            assert!(!is_host(text.as_bytes()), "{text:?}");
        }
    }
}
