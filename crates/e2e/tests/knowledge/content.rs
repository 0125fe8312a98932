//! `GET /api/documents/{id}/content`: the file, its type, parts of it, and what a browser may do with it.

use super::formats::pdf_pages;
use e2e::passages::database_of;
use e2e::s3::S3;
use e2e::{KnowledgeClient, Reply, Stoa, reply};
use reqwest::Method;
use sqlx::{AnyConnection, Connection};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

/// Uploads a file, which may be refused as a document, and returns its id.
async fn upload(user: &KnowledgeClient, filename: &str, bytes: &[u8]) -> String {
    let answer = user.ingest(filename, bytes).await;
    answer.json()["documentId"].as_str().expect("a document").to_owned()
}

async fn content(user: &KnowledgeClient, id: &str, headers: &[(&str, &str)]) -> Reply {
    let request = user.request(Method::GET, &format!("/api/documents/{id}/content"));
    reply(headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))).await
}

/// Type and disposition, after checking what holds for every file.
async fn shown(user: &KnowledgeClient, id: &str) -> (String, String) {
    let answer = content(user, id, &[]).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("x-content-type-options"), ["nosniff"]);
    assert_eq!(answer.header("content-security-policy"), ["sandbox; default-src 'none'"]);
    let kind = answer.header("content-type")[0].to_owned();
    let disposition = answer.header("content-disposition")[0].split(';').next().unwrap().to_owned();
    (kind, disposition)
}

#[tokio::test]
async fn files_are_shown_only_if_they_cannot_run_script() {
    let stoa = Stoa::start_knowledge().serve();
    let user = KnowledgeClient::admin(&stoa).await;
    let pdf = pdf_pages("", &[b"BT /F1 24 Tf 72 700 Td (A hall.) Tj ET"]);
    let svg = b"<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"alert(1)\"><text>Pump</text></svg>";
    let utf8 = "text/plain; charset=utf-8";
    let mut ids = Vec::new();
    for (filename, bytes, kind, disposition) in [
        ("a.txt", &b"The pump circulates coolant."[..], utf8, "inline"),
        ("latin.txt", b"Die K\xfchlung der Anlage.", "text/plain", "inline"),
        ("a.md", b"# Pumps\n\nThey turn.", utf8, "inline"),
        ("a.json", br#"{"pumps": 3}"#, utf8, "inline"),
        ("hall", &pdf, "application/pdf", "inline"),
        ("a.html", PNG, "image/png", "inline"),
        (
            "a.png",
            b"<!doctype html><script>alert(1)</script><p>Pump</p>",
            "text/html; charset=utf-8",
            "attachment",
        ),
        ("a.svg", svg, "image/svg+xml; charset=utf-8", "attachment"),
        ("pump.txt", svg, "image/svg+xml; charset=utf-8", "attachment"),
        ("a.xml", b"<?xml version=\"1.0\"?><x>Pump</x>", "application/xml; charset=utf-8", "attachment"),
        ("a.bin", b"MZ\0\0program", "application/octet-stream", "attachment"),
    ] {
        let id = upload(&user, filename, bytes).await;
        let expected = (kind.to_owned(), disposition.to_owned());
        assert_eq!(shown(&user, &id).await, expected, "{filename}");
        ids.push((id, expected));
    }
    let listed = user.documents().await;
    let listed = |name: &str| {
        listed.iter().find(|document| document["filename"] == name).unwrap()["mediaType"].clone()
    };
    assert_eq!((listed("a.md"), listed("hall")), ("text/markdown".into(), "application/pdf".into()));

    // Documents of an earlier version have no type: the file tells, and in lists its name.
    sqlx::any::install_default_drivers();
    let mut connection = AnyConnection::connect(&database_of(&stoa)).await.unwrap();
    sqlx::query("UPDATE documents SET media_type = ''").execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    for (id, expected) in &ids {
        assert_eq!(shown(&user, id).await, *expected);
    }
    let listed = user.documents().await;
    let markdown = listed.iter().find(|document| document["filename"] == "a.md").unwrap();
    assert_eq!(markdown["mediaType"], "text/markdown");
}

async fn parts_are_sent(stoa: Stoa) {
    let user = KnowledgeClient::admin(&stoa).await;
    let text: String = (0..20_000).map(|number| format!("{number:05} pumps. ")).collect();
    let id = user.ingest_text("a.txt", &text).await;
    let whole = content(&user, &id, &[]).await;
    assert_eq!(whole.header("accept-ranges"), ["bytes"]);
    assert_eq!(whole.header("content-length"), [text.len().to_string()]);
    assert!(whole.body == text);
    let tag = whole.header("etag")[0].to_owned();
    let size = text.len();
    for (range, from, to) in [
        ("bytes=0-0", 0, 1),
        ("bytes=100-199", 100, 200),
        ("bytes=-13", size - 13, size),
        ("bytes=250000-", 250_000, size),
        ("bytes=250000-99999999", 250_000, size),
    ] {
        let part = content(&user, &id, &[("range", range)]).await;
        assert_eq!(part.status, 206, "{range}: {part:?}");
        assert!(part.body == text[from..to], "{range}");
        assert_eq!(part.header("content-range"), [format!("bytes {from}-{}/{size}", to - 1)]);
        assert_eq!(part.header("content-length"), [(to - from).to_string()]);
        assert_eq!(part.header("etag"), [tag.as_str()]);
    }
    for range in ["bytes=999999999-", "bytes=-0"] {
        let refused = content(&user, &id, &[("range", range)]).await;
        assert_eq!(refused.status, 416, "{range}");
        assert_eq!(refused.header("content-range"), [format!("bytes */{size}")]);
    }
    for ignored in ["bytes=0-1,5-6", "bytes=9-2", "lines=1-2", "rubbish"] {
        assert_eq!(content(&user, &id, &[("range", ignored)]).await.status, 200, "{ignored}");
    }
    let known = content(&user, &id, &[("if-none-match", &tag)]).await;
    assert_eq!((known.status, known.body.len()), (304, 0));
    let same = content(&user, &id, &[("range", "bytes=0-3"), ("if-range", &tag)]).await;
    assert_eq!((same.status, same.body.as_str()), (206, &text[..4]));
    let other = content(&user, &id, &[("range", "bytes=0-3"), ("if-range", "\"other\"")]).await;
    assert_eq!((other.status, other.body.len()), (200, size));
    let head = user.request(Method::HEAD, &format!("/api/documents/{id}/content"));
    let head = reply(head).await;
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.header("content-length"), [size.to_string()]);
}

#[tokio::test]
async fn parts_of_a_file_in_a_folder_are_sent() {
    parts_are_sent(Stoa::start_knowledge().serve()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_of_a_file_in_s3_are_sent() {
    let s3 = S3::start().await;
    let start = Stoa::start_knowledge().set("OBJECT_STORE_URL", format!("s3://{}/stoa", s3.bucket));
    let start = start.set("AWS_ENDPOINT_URL", &s3.endpoint).set("AWS_ACCESS_KEY_ID", &s3.access_key_id);
    parts_are_sent(start.set("AWS_SECRET_ACCESS_KEY", &s3.secret_access_key).serve()).await;
}

#[tokio::test]
async fn parts_come_through_the_gateway() {
    let stoa = Stoa::start_knowledge().serve();
    let user = KnowledgeClient::admin(&stoa).await;
    let id = user.ingest_text("a.txt", "The pump circulates coolant.").await;
    let token = super::administrators::gateway_token(&stoa, "admin", "password").await;
    let url = stoa.url(&format!("/core/api/documents/{id}/content"));
    let request = reqwest::Client::new().get(url).bearer_auth(token).header("range", "bytes=4-7");
    let part = reply(request).await;
    assert_eq!((part.status, part.body.as_str()), (206, "pump"));
    assert_eq!(part.header("content-range"), ["bytes 4-7/28"]);
}

#[tokio::test]
async fn an_empty_file_has_no_parts() {
    let stoa = Stoa::start_knowledge().serve();
    let user = KnowledgeClient::admin(&stoa).await;
    let id = upload(&user, "empty.txt", b"").await;
    assert_eq!(content(&user, &id, &[]).await.status, 200);
    assert_eq!(content(&user, &id, &[("range", "bytes=0-")]).await.status, 416);
}
