//! Which route a path belongs to. Pure: decided on the decoded path, forwarded byte for byte.

use base::token::Route;
use std::borrow::Cow;

/// The prefixes that are forwarded, each with its route.
pub const PREFIXES: [(&str, Route); 3] =
    [("/build", Route::Build), ("/kv", Route::Kv), ("/core", Route::Core)];

/// Returns the prefix of a route; empty for `/auth`, which is not forwarded.
pub fn prefix_of(route: Route) -> &'static str {
    PREFIXES.iter().find(|(_, own)| *own == route).map_or("", |(prefix, _)| prefix)
}

/// What a path belongs to.
#[derive(Debug, PartialEq, Eq)]
pub enum Matched<'a> {
    /// Under `/auth`: what follows it, raw.
    Auth(&'a str),
    /// Under a prefix: what follows it, raw, with its leading slash.
    Proxied(Route, &'a str),
    /// Under a prefix or `/auth`, but written so that a target may take it for a path elsewhere.
    Escaping(Route),
    /// Under none of them.
    Nothing,
}

/// Finds the route that a path belongs to.
pub fn match_route(path: &str) -> Matched<'_> {
    let Some(inner) = path.strip_prefix('/') else { return Matched::Nothing };
    let (first, rest) = match inner.find('/') {
        Some(slash) => inner.split_at(slash),
        None => (inner, ""),
    };
    let decoded = decode(first);
    let (name, hidden_rest) = match decoded.find(['/', '\\']) {
        Some(slash) => decoded.split_at(slash),
        None => (&*decoded, ""),
    };
    let route = if name == "auth" {
        Route::Auth
    } else if let Some((_, route)) = PREFIXES.iter().find(|(prefix, _)| prefix[1..] == *name) {
        *route
    } else {
        return Matched::Nothing;
    };
    if !hidden_rest.is_empty() {
        return Matched::Escaping(route);
    }
    match route {
        Route::Auth => Matched::Auth(rest),
        _ if climbs_out(rest) => Matched::Escaping(route),
        _ if rest.is_empty() => Matched::Proxied(route, "/"),
        _ => Matched::Proxied(route, rest),
    }
}

/// Tells whether `..` segments lead above where the path starts, for any reader. A reader may take an encoded slash or a
/// backslash for a slash or for a letter, so a segment with such leads up by each of its `..` and down by one at most.
fn climbs_out(path: &str) -> bool {
    if !path.contains("..") && !path.contains('%') {
        return false;
    }
    let mut depth = 0i32;
    for segment in path.split('/') {
        let decoded = decode(segment);
        let mut goes_down = false;
        for part in decoded.split(['/', '\\']) {
            match part {
                "" | "." => {}
                ".." => depth -= 1,
                _ => goes_down = true,
            }
            if depth < 0 {
                return true;
            }
        }
        depth += i32::from(goes_down);
    }
    false
}

/// Percent-decodes a text once. What is no valid escape stays as it is; bytes that are not UTF-8 become `U+FFFD`.
fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let mut ahead = bytes.clone();
        match (byte, ahead.next().and_then(hex_digit), ahead.next().and_then(hex_digit)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push(high * 16 + low);
                bytes = ahead;
            }
            _ => decoded.push(byte),
        }
    }
    Cow::Owned(String::from_utf8_lossy(&decoded).into_owned())
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_matches_whole_segments_and_is_stripped() {
        for (path, matched) in [
            ("/build", Matched::Proxied(Route::Build, "/")),
            ("/build/", Matched::Proxied(Route::Build, "/")),
            ("/build/x", Matched::Proxied(Route::Build, "/x")),
            ("/kv/a//b/", Matched::Proxied(Route::Kv, "/a//b/")),
            ("/core//x", Matched::Proxied(Route::Core, "//x")),
            ("/%62uild/x", Matched::Proxied(Route::Build, "/x")),
            ("/build/a%2Fb%zz%", Matched::Proxied(Route::Build, "/a%2Fb%zz%")),
            ("/build/%25%32%65%25%32%65/x", Matched::Proxied(Route::Build, "/%25%32%65%25%32%65/x")),
            ("/build/a/../b", Matched::Proxied(Route::Build, "/a/../b")),
            ("/build/a%2fb/..", Matched::Proxied(Route::Build, "/a%2fb/..")),
            ("/build/..x/x..", Matched::Proxied(Route::Build, "/..x/x..")),
            ("/auth/login", Matched::Auth("/login")),
            ("/auth", Matched::Auth("")),
            ("/builder", Matched::Nothing),
            ("/Build/x", Matched::Nothing),
            ("/", Matched::Nothing),
            ("", Matched::Nothing),
            ("*", Matched::Nothing),
            ("//build/x", Matched::Nothing),
            ("/../build/x", Matched::Nothing),
            ("/x/../build", Matched::Nothing),
        ] {
            assert_eq!(match_route(path), matched, "{path}");
        }
    }

    #[test]
    fn a_path_that_leaves_its_prefix_is_seen() {
        for path in [
            "/build/..",
            "/build/../kv/x",
            "/build/%2e%2e/x",
            "/build/%2E./x",
            "/build/a/../../x",
            "/build/a//../../x",
            "/build/./../x",
            "/build/..%2fx",
            "/build/..%2Fx",
            "/build/..%5cx",
            "/build/..\\x",
            "/build/a%2fb/../..",
            "/build/a\\b/../..",
            "/build/a%2f..",
            "/build%2fx",
            "/build%2f..%2fkv",
            "/build%5cx",
        ] {
            assert_eq!(match_route(path), Matched::Escaping(Route::Build), "{path}");
        }
        assert_eq!(match_route("/auth%2flogin"), Matched::Escaping(Route::Auth));
    }
}
