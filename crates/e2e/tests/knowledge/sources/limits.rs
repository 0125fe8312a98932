//! What a source may cost: a copy of a repository counts towards the quota, and a list of pages is never in memory.

use super::{ended, source};
use crate::spaces::patch;
use e2e::{GitServer, KnowledgeClient, Repository, Stoa};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::io::Write;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Bytes that cannot be packed.
fn noise(count: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(count).collect()
}

#[tokio::test]
async fn the_copy_of_a_repository_counts_towards_the_quota() {
    let repository = Repository::new();
    repository
        .commit(&[("a.md", b"The shaft seal is replaced every month."), ("noise.bin", &noise(3 << 20))]);
    let server = GitServer::start(&repository.path(), "ada:s3cret").await;
    let stoa = Stoa::start_knowledge().set("ALLOW_PRIVATE_ADDRESSES", true).set("USER_QUOTA_MIB", 1).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let ada = admin.invite(&stoa, "ada").await;
    let bytes = async || ada.get("/api/documents").await.json()["storage"]["bytes"].as_i64().unwrap();
    let settings = json!({ "kind": "git", "url": server.url(), "username": "ada" });
    let id = source(&ada, json!({ "name": "Code", "secret": "s3cret", "settings": settings })).await;

    let first = ended(&ada, &id, &Value::Null).await;
    let error = first["lastRun"]["error"].as_str().unwrap_or_default();
    assert!(error.contains("the quota leaves"), "{first}");
    assert!(bytes().await < 100_000, "nothing of it is left: {}", bytes().await);

    let path = format!("/api/users/{}", ada.id);
    assert_eq!(patch(&admin, &path, json!({ "quota": 5_000_000 })).await.status, 200);
    assert_eq!(ada.post(&format!("/api/sources/{id}/run")).await.status, 202);
    let second = ended(&ada, &id, &first).await;
    assert_eq!(
        (&second["lastRun"]["error"], &second["items"]["stored"]),
        (&Value::Null, &json!(1)),
        "{second}"
    );
    assert!(bytes().await > 3 << 20, "{}", bytes().await);
    let refused = ada.ingest("b.txt", "A word. ".repeat(300_000).as_bytes()).await;
    assert_eq!((refused.status, &refused.json()["code"]), (413, &json!("QUOTA_EXCEEDED")), "{refused:?}");

    assert_eq!(ada.delete(&format!("/api/sources/{id}")).await.status, 200);
    assert!(bytes().await < 1_000, "it is gone with its source: {}", bytes().await);
}

/// The most memory that the process has used so far, in MiB.
fn peak(stoa: &Stoa) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", stoa.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() >> 10
}

#[tokio::test]
async fn a_packed_sitemap_of_millions_of_entries_costs_no_memory() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let site = listener.local_addr().unwrap();
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(b"<urlset>").unwrap();
    for _ in 0..2_700 {
        packed.write_all("<url><loc>/</loc></url>".repeat(1_000).as_bytes()).unwrap();
    }
    packed.write_all(b"</urlset>").unwrap();
    let packed = packed.finish().unwrap();
    assert!(packed.len() < 300_000, "{}", packed.len());
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut head = vec![0; 4096];
            let read = socket.read(&mut head).await.unwrap_or_default();
            let (status, kind, body) = match String::from_utf8_lossy(&head[..read]).split(' ').nth(1) {
                Some("/sitemap.xml.gz") => ("200 OK", "application/gzip", packed.as_slice()),
                Some("/") => ("200 OK", "text/html", b"<p>The okapi valve is new.".as_slice()),
                _ => ("404 Not Found", "text/plain", b"none".as_slice()),
            };
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
            );
            let _ = socket.write_all(&[head.as_bytes(), body].concat()).await;
        }
    });
    let stoa = Stoa::start_knowledge().set("ALLOW_PRIVATE_ADDRESSES", true).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    admin.ingest_text("a.txt", "The shaft seal is replaced every month.").await;
    let before = peak(&stoa);
    let settings = json!({ "kind": "web", "mode": "sitemap", "delay": 0,
        "addresses": [format!("http://{site}/sitemap.xml.gz")] });
    let id = source(&admin, json!({ "name": "Site", "settings": settings })).await;
    let ran = ended(&admin, &id, &Value::Null).await;
    assert_eq!((&ran["lastRun"]["error"], &ran["items"]["stored"]), (&Value::Null, &json!(1)), "{ran}");
    let taken = peak(&stoa) - before;
    assert!(taken < 100, "{taken} MiB");
}
