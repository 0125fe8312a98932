//! `GET /api/documents/{id}/content`: the file of a document, whole or a part of it.
//!
//! A file is what a user has uploaded, and a browser opens it in this origin: nothing in it may run. It is shown only if
//! its type cannot run script, and saved otherwise.

use super::App;
use super::caller::{Access, Caller};
use super::documents::find;
use super::form::File;
use crate::media_type::{self, HEAD};
use crate::records::Document;
use crate::tables;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use futures_util::TryStreamExt;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use kit::error::ApiError;
use kit::etag::{ETag, IfNoneMatch};
use kit::fields::Whole;
use kit::headers;
use kit::request::{PathId, Query};
use serde::Deserialize;
use std::ops::Range;
use utoipa::IntoParams;

/// A browser opens the file as a page that has no origin, runs nothing and loads nothing. PDF viewers work in it.
const SANDBOX: &str = "sandbox; default-src 'none'";

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ContentQuery {
    /// The number of one of the document's files; the current one if absent.
    #[param(inline)]
    version: Option<Whole<1, { i64::MAX as u64 }>>,
}

/// Returns the file of a document, as it was uploaded. `Range` asks for a part of it.
#[utoipa::path(get, path = "/api/documents/{id}/content",
    params(IfNoneMatch, ContentQuery, ("id" = String, Path),
        ("Range" = Option<String>, Header, description = "One range of bytes, such as `bytes=0-1023`. A list of \
            ranges is ignored."),
        ("If-Range" = Option<String>, Header, description = "`Range` counts only if the file has this `ETag`.")),
    responses(
        (status = 200, description = "The file, byte for byte. Its type is found from its content; types that cannot \
            run script are `inline`, all others are to be saved.",
            content((inline(File) = "application/octet-stream"), (inline(File) = "application/pdf"),
                (inline(File) = "image/png"), (inline(File) = "image/jpeg"), (inline(File) = "image/gif"),
                (inline(File) = "image/webp"), (inline(File) = "text/plain"), (inline(File) = "text/html"),
                (inline(File) = "image/svg+xml"), (inline(File) = "application/xml"),
                (inline(File) = "message/rfc822"), (inline(File) = "application/zip"),
                (inline(File) = "application/epub+zip"),
                (inline(File) = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
                (inline(File) = "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
                (inline(File) = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet")),
            headers(("Content-Disposition" = String, description = "`inline` or `attachment`, and the file's name."),
                ("ETag" = String), ("Accept-Ranges" = String))),
        (status = 206, description = "The part that `Range` asks for.", headers(("Content-Range" = String)),
            content((inline(File) = "application/octet-stream"), (inline(File) = "application/pdf"),
                (inline(File) = "image/png"), (inline(File) = "image/jpeg"), (inline(File) = "image/gif"),
                (inline(File) = "image/webp"), (inline(File) = "text/plain"), (inline(File) = "text/html"),
                (inline(File) = "image/svg+xml"), (inline(File) = "application/xml"),
                (inline(File) = "message/rfc822"), (inline(File) = "application/zip"),
                (inline(File) = "application/epub+zip"),
                (inline(File) = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
                (inline(File) = "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
                (inline(File) = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"))),
        (status = 304, description = "The client has this version."),
        (status = 404, description = "`NOT_FOUND`: the caller has no document with this id, or its file is gone."),
        (status = 416, description = "`RANGE_NOT_SATISFIABLE`: the file has no such part.",
            headers(("Content-Range" = String, description = "The size of the file: `bytes */52311`."))),
    ))]
pub async fn content(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
    Query(query): Query<ContentQuery>,
    known: IfNoneMatch,
    request: HeaderMap,
) -> Result<Response, ApiError> {
    let mut document = find(&app, &user, &id, Access::Read).await?;
    if let Some(Whole(version)) = query.version.filter(|version| version.0 != document.version.unsigned_abs())
    {
        let files = tables::files::of_document(app.db.read(), &id).await?;
        let file = files.into_iter().find(|file| file.version.unsigned_abs() == version);
        let file =
            file.ok_or_else(|| ApiError::not_found(format!("no version {version} of the document")))?;
        document = document.with_file(file);
    }
    let size = document.size.unsigned_abs();
    let tag = ETag::new(&document.content_hash);
    if known.has(&tag) {
        return Ok(tag.not_modified());
    }
    let is_this_version = headers::text(&request, header::IF_RANGE)
        .is_none_or(|given| given.trim_matches('"') == document.content_hash);
    let range = headers::only(&request, header::RANGE).filter(|_| is_this_version);
    let wanted = range.map_or(Wanted::Whole, |range| wanted_part(range, size));
    let (status, blob) = match &wanted {
        Wanted::Whole => (StatusCode::OK, app.blobs.get_stream(&document.object_key).await?),
        Wanted::Part(part) => {
            let blob = app.blobs.get_range(&document.object_key, part.clone()).await?;
            (StatusCode::PARTIAL_CONTENT, blob)
        }
        Wanted::Nothing => return Ok(no_such_part(size)),
    };
    let Some(blob) = blob else { return Err(gone()) };
    let media_type = media_type_of(&app, &document).await?;
    let mut response = (status, Body::from_stream(blob.bytes)).into_response();
    describe(response.headers_mut(), &document, &media_type);
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(blob.size));
    if let Wanted::Part(part) = wanted {
        let range = format!("bytes {}-{}/{size}", part.start, part.end.saturating_sub(1));
        insert(response.headers_mut(), header::CONTENT_RANGE, &range);
    }
    Ok(tag.mark(response))
}

/// Returns the type of a file. Of documents that were uploaded before types were stored, the beginning is read.
async fn media_type_of(app: &App, document: &Document) -> Result<String, ApiError> {
    if !document.media_type.is_empty() {
        return Ok(document.media_type.clone());
    }
    let length = document.size.unsigned_abs().min(HEAD as u64);
    let mut head = Vec::new();
    if length > 0 {
        let blob = app.blobs.get_range(&document.object_key, 0..length).await?.ok_or_else(gone)?;
        let pieces: Vec<bytes::Bytes> = blob.bytes.try_collect().await?;
        head = pieces.concat();
    }
    Ok(media_type::of_content(&document.filename, &head))
}

/// Says what the file is, and what a browser may do with it.
fn describe(headers: &mut HeaderMap, document: &Document, media_type: &str) {
    let shown_as = media_type::shown_as(media_type);
    let disposition = if shown_as.is_some() { "inline" } else { "attachment" };
    let name = percent_encoded(&document.filename);
    insert(headers, header::CONTENT_DISPOSITION, &format!("{disposition}; filename*=UTF-8''{name}"));
    insert(headers, header::CONTENT_TYPE, shown_as.unwrap_or(media_type));
    insert(headers, header::CONTENT_SECURITY_POLICY, SANDBOX);
    insert(headers, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    insert(headers, header::ACCEPT_RANGES, "bytes");
}

fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

fn gone() -> ApiError {
    ApiError::not_found("the document's file is gone")
}

fn no_such_part(size: u64) -> Response {
    let message = format!("the file has {size} bytes: `Range` asks for none of them");
    let error = ApiError::new(StatusCode::RANGE_NOT_SATISFIABLE, "RANGE_NOT_SATISFIABLE", message);
    let mut response = error.into_response();
    insert(response.headers_mut(), header::CONTENT_RANGE, &format!("bytes */{size}"));
    response
}

/// What a request wants of a file.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    Whole,
    Part(Range<u64>),
    /// Bytes that the file does not have.
    Nothing,
}

/// Reads a `Range` header (RFC 9110). One that cannot be read, or that names several ranges, is ignored.
fn wanted_part(range: &str, size: u64) -> Wanted {
    let Some((unit, range)) = range.split_once('=') else { return Wanted::Whole };
    let Some((first, last)) = range.trim().split_once('-') else { return Wanted::Whole };
    let (Ok(first), Ok(last)) = (number(first), number(last)) else { return Wanted::Whole };
    let part = match (first, last) {
        _ if !unit.trim().eq_ignore_ascii_case("bytes") => return Wanted::Whole,
        (None, None) => return Wanted::Whole,
        (Some(first), Some(last)) if last < first => return Wanted::Whole,
        (Some(first), last) => first..last.map_or(size, |last| last.saturating_add(1)).min(size),
        (None, Some(length)) => size.saturating_sub(length)..size,
    };
    if part.is_empty() { Wanted::Nothing } else { Wanted::Part(part) }
}

/// Reads a number; none if it is left out.
fn number(text: &str) -> Result<Option<u64>, ()> {
    match text.trim() {
        "" => Ok(None),
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            // More digits than a number has mean the end of the file.
            Ok(Some(digits.parse().unwrap_or(u64::MAX)))
        }
        _ => Err(()),
    }
}

fn percent_encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let encode = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_the_standard_says() {
        let part = |range: Range<u64>| Wanted::Part(range);
        for (range, expected) in [
            ("bytes=0-0", part(0..1)),
            ("bytes=2-5", part(2..6)),
            ("Bytes = 2-", part(2..10)),
            ("bytes=-3", part(7..10)),
            ("bytes=-99", part(0..10)),
            ("bytes=8-99", part(8..10)),
            ("bytes=8-99999999999999999999999", part(8..10)),
            ("bytes=10-", Wanted::Nothing),
            ("bytes=-0", Wanted::Nothing),
            ("bytes=99999999999999999999999-", Wanted::Nothing),
            ("bytes=5-2", Wanted::Whole),
            ("bytes=-", Wanted::Whole),
            ("bytes=0-1,3-4", Wanted::Whole),
            ("bytes=+1-2", Wanted::Whole),
            ("bytes=a-b", Wanted::Whole),
            ("lines=0-1", Wanted::Whole),
            ("", Wanted::Whole),
        ] {
            assert_eq!(wanted_part(range, 10), expected, "{range}");
        }
        assert_eq!(wanted_part("bytes=0-", 0), Wanted::Nothing);
    }
}
