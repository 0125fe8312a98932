//! The page: the files that `npm run build` has written to `web/dist`, which are part of the program. A debug build reads
//! them from that folder whenever they are asked for.
//!
//! Addresses in the page are relative, and its screens are behind the `#`: so it works under any prefix, and only `/` and
//! `/assets` are served.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use base::hex;
use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY,
    VARY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use kit::error::ApiError;
use kit::etag::{ETag, IfNoneMatch};
use rust_embed::{Embed, EmbeddedFile};
use std::borrow::Cow;

#[derive(Embed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct Dist;

/// Finds a file by its path in the folder.
type Find = fn(&str) -> Option<EmbeddedFile>;

const INDEX: &str = "index.html";
/// What is shown if the page was not built.
const NOT_BUILT: &str = include_str!("page/not_built.html");

/// The names of encodings, and what the files with them end with. The first that the browser accepts is sent.
const ENCODINGS: [(&str, &str); 2] = [("br", ".br"), ("gzip", ".gz")];

/// Files with a hash in their names never change.
const FOR_EVER: &str = "public, max-age=31536000, immutable";
const ASK_FIRST: &str = "no-cache";

/// Sent with every file: a worker of the page has the policy of its own file.
const SECURITY: [(HeaderName, &str); 3] = [
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; \
         connect-src 'self'; worker-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'; object-src 'none'",
    ),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
];

/// Returns the page; through the gateway it is at `/kv/`.
#[utoipa::path(get, path = "/", security(()), params(IfNoneMatch), responses(
    (status = 200, description = "The page, or how to build it if it was not built.", content((String = "text/html"))),
    (status = 304, description = "The browser has it already."),
))]
pub async fn index(if_none_match: IfNoneMatch, headers: HeaderMap) -> Response {
    show_index(Dist::get, &if_none_match, &headers)
}

/// Returns a script, style or picture of the page.
#[utoipa::path(get, path = "/assets/{*rest}", security(()),
    params(("rest" = String, Path, description = "The name of the file, which may have slashes."), IfNoneMatch),
    responses(
        (status = 200, description = "The file, compressed if the browser accepts that. It never changes: its name has a \
            hash.", content(
                (String = "text/javascript"), (String = "text/css"), (String = "application/json"),
                (Vec<u8> = "image/svg+xml"), (Vec<u8> = "image/png"), (Vec<u8> = "font/woff2"),
                (Vec<u8> = "application/wasm"), (Vec<u8> = "application/octet-stream"),
            )),
        (status = 304, description = "The browser has it already."),
        (status = 404, description = "`NOT_FOUND`: the page has no such file; it may be of another version."),
    ))]
pub async fn asset(uri: Uri, if_none_match: IfNoneMatch, headers: HeaderMap) -> Result<Response, ApiError> {
    show_asset(Dist::get, uri.path(), &if_none_match, &headers)
}

fn show_index(find: Find, if_none_match: &IfNoneMatch, headers: &HeaderMap) -> Response {
    if let Some(response) = respond(find, INDEX, ASK_FIRST, if_none_match, headers) {
        return response;
    }
    let kind = content_type(INDEX);
    let mut response = ([(CONTENT_TYPE, kind), (CACHE_CONTROL, "no-store")], NOT_BUILT).into_response();
    add_security(response.headers_mut());
    response
}

fn show_asset(
    find: Find,
    path: &str,
    if_none_match: &IfNoneMatch,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    let name = path.trim_start_matches('/');
    let is_variant = ENCODINGS.iter().any(|(_, ending)| name.ends_with(ending));
    let leads_elsewhere = name.split('/').any(|part| ["", ".", ".."].contains(&part));
    let found = match is_variant || leads_elsewhere {
        true => None,
        false => respond(find, name, FOR_EVER, if_none_match, headers),
    };
    found.ok_or_else(|| ApiError::not_found("the page has no such file: load the page again"))
}

/// Returns a file in the best encoding that the browser accepts; none if there is no such file.
fn respond(
    find: Find,
    name: &str,
    cached: &'static str,
    if_none_match: &IfNoneMatch,
    headers: &HeaderMap,
) -> Option<Response> {
    let plain = find(name)?;
    let mut accepted = ENCODINGS.iter().filter(|(encoding, _)| accepts(headers, encoding));
    let compressed =
        accepted.find_map(|(encoding, ending)| Some((encoding, find(&format!("{name}{ending}"))?)));
    let (encoding, file) = match compressed {
        Some((encoding, file)) => (Some(*encoding), file),
        None => (None, plain),
    };
    // Of the bytes that are sent: each encoding has a tag of its own.
    let tag = ETag::new(hex(&file.metadata.sha256_hash()[..16]));
    let mut response = match if_none_match.has(&tag) {
        true => tag.not_modified(),
        false => tag.mark(Body::from(bytes(file.data)).into_response()),
    };
    let is_sent = response.status() == StatusCode::OK;
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(cached));
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if is_sent {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type(name)));
        if let Some(encoding) = encoding {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
        }
    }
    add_security(headers);
    Some(response)
}

fn add_security(headers: &mut HeaderMap) {
    for (name, value) in SECURITY {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

fn bytes(data: Cow<'static, [u8]>) -> Bytes {
    match data {
        Cow::Borrowed(data) => Bytes::from_static(data),
        Cow::Owned(data) => data.into(),
    }
}

/// Returns whether the browser accepts an encoding. One with the weight 0 is refused.
fn accepts(headers: &HeaderMap, encoding: &str) -> bool {
    let lists = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|item| {
        let (name, weight) = item.split_once(';').unwrap_or((item, ""));
        let weight = weight.trim().strip_prefix("q=").and_then(|weight| weight.trim().parse::<f32>().ok());
        name.trim().eq_ignore_ascii_case(encoding) && weight != Some(0.0)
    })
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "txt" => "text/plain; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "ttf" => "font/ttf",
        "wasm" => "application/wasm",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::header::{CONTENT_LENGTH, ETAG, IF_NONE_MATCH};

    /// A page of three files, of which the script is also there in both encodings.
    #[derive(Embed)]
    #[folder = "tests/page"]
    struct Small;

    #[derive(Embed)]
    #[folder = "tests/there-is-no-such-folder"]
    #[allow_missing = true]
    struct Nothing;

    const SCRIPT: &str = "/assets/app-1a2b3c.js";

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    async fn condition(headers: &HeaderMap) -> IfNoneMatch {
        use axum::extract::FromRequestParts;
        let mut request = http::Request::new(());
        *request.headers_mut() = headers.clone();
        let (mut parts, ()) = request.into_parts();
        match IfNoneMatch::from_request_parts(&mut parts, &()).await {
            Ok(condition) => condition,
            Err(never) => match never {},
        }
    }

    async fn asset_with(path: &str, sent: &[(HeaderName, &str)]) -> Result<Response, ApiError> {
        let headers = headers(sent);
        show_asset(Small::get, path, &condition(&headers).await, &headers)
    }

    async fn body(response: Response) -> Vec<u8> {
        axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap().to_vec()
    }

    fn text<'a>(response: &'a Response, name: &HeaderName) -> &'a str {
        response.headers().get(name).map_or("", |value| value.to_str().unwrap())
    }

    #[tokio::test]
    async fn the_index_is_asked_for_each_time_and_has_the_policy() {
        let none = HeaderMap::new();
        let response = show_index(Small::get, &condition(&none).await, &none);
        assert_eq!(text(&response, &CONTENT_TYPE), "text/html; charset=utf-8");
        assert_eq!(text(&response, &CACHE_CONTROL), "no-cache");
        assert!(
            text(&response, &CONTENT_SECURITY_POLICY).starts_with("default-src 'none'; script-src 'self';")
        );
        let again = headers(&[(IF_NONE_MATCH, text(&response, &ETAG))]);
        let response = show_index(Small::get, &condition(&again).await, &again);
        assert_eq!(
            (response.status(), text(&response, &CACHE_CONTROL)),
            (StatusCode::NOT_MODIFIED, "no-cache")
        );
        assert!(body(response).await.is_empty());
    }

    #[tokio::test]
    async fn the_best_encoding_that_the_browser_accepts_is_sent() {
        for (accepted, encoding, content) in [
            ("gzip, deflate, br, zstd", "br", "brotli\n"),
            ("gzip", "gzip", "gzip\n"),
            ("br;q=0, GZIP;q=0.5", "gzip", "gzip\n"),
            ("identity", "", "let page;\n"),
            ("", "", "let page;\n"),
        ] {
            let response = asset_with(SCRIPT, &[(ACCEPT_ENCODING, accepted)]).await.unwrap();
            assert_eq!(text(&response, &CONTENT_ENCODING), encoding, "{accepted}");
            assert_eq!(text(&response, &CONTENT_TYPE), "text/javascript; charset=utf-8");
            assert_eq!(text(&response, &CACHE_CONTROL), FOR_EVER);
            assert_eq!(text(&response, &VARY), "accept-encoding");
            assert_eq!(body(response).await, content.as_bytes(), "{accepted}");
        }
        let style = asset_with("/assets/app-1a2b3c.css", &[(ACCEPT_ENCODING, "br")]).await.unwrap();
        assert_eq!(
            (text(&style, &CONTENT_ENCODING), text(&style, &CONTENT_TYPE)),
            ("", "text/css; charset=utf-8")
        );
    }

    #[tokio::test]
    async fn a_tag_is_of_one_encoding() {
        let plain = asset_with(SCRIPT, &[]).await.unwrap();
        let tag = text(&plain, &ETAG);
        let same = asset_with(SCRIPT, &[(IF_NONE_MATCH, tag)]).await.unwrap();
        assert_eq!((same.status(), text(&same, &CONTENT_LENGTH)), (StatusCode::NOT_MODIFIED, ""));
        let other = asset_with(SCRIPT, &[(IF_NONE_MATCH, tag), (ACCEPT_ENCODING, "br")]).await.unwrap();
        assert_eq!(other.status(), StatusCode::OK);
    }

    #[tokio::test]
    async fn what_is_no_file_of_the_page_is_not_found() {
        for path in [
            "/assets/app-1a2b3c.js.br",
            "/assets/app-1a2b3c.js.gz",
            "/assets/../index.html",
            "/assets/./app-1a2b3c.js",
            "/assets//app-1a2b3c.js",
            "/assets/%2e%2e/index.html",
            "/assets/",
            "/assets",
            "/assets/app.js",
            "/assets/../../Cargo.toml",
        ] {
            assert_eq!(asset_with(path, &[]).await.unwrap_err().status(), StatusCode::NOT_FOUND, "{path}");
        }
    }

    #[tokio::test]
    async fn a_page_that_was_not_built_says_how_to_build_it() {
        let none = HeaderMap::new();
        let response = show_index(Nothing::get, &condition(&none).await, &none);
        assert_eq!((response.status(), text(&response, &CACHE_CONTROL)), (StatusCode::OK, "no-store"));
        assert!(text(&response, &CONTENT_SECURITY_POLICY).contains("script-src 'self'"));
        let page = String::from_utf8(body(response).await).unwrap();
        assert!(page.contains("make run") && !page.contains("<script") && !page.contains("style"), "{page}");
    }
}
