//! Stoa itself is no source, whatever addresses are allowed: its services trust programs of their machine.

use super::{ended, source};
use e2e::{KnowledgeClient, Stoa};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const REFUSED: &str = "is an address of Stoa itself";

fn pages(addresses: &[String]) -> Value {
    json!({ "kind": "web", "addresses": addresses, "delay": 0 })
}

/// Starts a site whose `/` is a page, and whose other paths redirect to the address that follows the `/`.
async fn site() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut head = vec![0; 4096];
            let read = socket.read(&mut head).await.unwrap_or_default();
            let head = String::from_utf8_lossy(&head[..read]).into_owned();
            let path = head.split(' ').nth(1).unwrap_or_default();
            let answer = match path.strip_prefix("/to/") {
                Some(target) => format!("302 Found\r\nLocation: http://{target}"),
                None if path == "/" => "200 OK\r\nContent-Type: text/html".to_owned(),
                None => "404 Not Found".to_owned(),
            };
            let body = "<p>The okapi valve is new.";
            let length = body.len();
            let answer =
                format!("HTTP/1.1 {answer}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}");
            let _ = socket.write_all(answer.as_bytes()).await;
        }
    });
    address
}

/// Checks that a source is refused: when it is added, or when it runs, with no document.
async fn refused(user: &KnowledgeClient, settings: Value) {
    let body = json!({ "name": "Stoa", "secret": "s3cret", "settings": settings });
    let answer = user.post_json("/api/sources", &body).await;
    if answer.status != 201 {
        assert!(answer.status == 400 && answer.body.contains(REFUSED), "{settings}: {answer:?}");
        return;
    }
    let id = answer.json()["source"]["id"].as_str().unwrap().to_owned();
    let ran = ended(user, &id, &Value::Null).await;
    let items = user.get(&format!("/api/sources/{id}/items")).await.body;
    let error = ran["lastRun"]["error"].as_str().unwrap_or_default();
    assert!(error.contains(REFUSED) || items.contains(REFUSED), "{settings}: {ran} {items}");
    assert_eq!(ran["items"]["stored"], json!(0), "{ran}");
}

#[tokio::test]
async fn no_source_reads_the_listeners_of_this_process() {
    let all = "gateway,knowledge,supervisor,portal,leads";
    let stoa = Stoa::start_knowledge().only(all).set("ALLOW_PRIVATE_ADDRESSES", true).serve();
    let ada = KnowledgeClient::admin(&stoa).await.invite(&stoa, "ada").await;
    let site = site().await;
    let services = [stoa.knowledge, stoa.supervisor, stoa.portal, stoa.leads].map(Option::unwrap);
    for address in services.into_iter().chain([stoa.gateway, stoa.ops]) {
        let port = address.port();
        refused(&ada, pages(&[format!("http://{address}/metrics")])).await;
        refused(&ada, pages(&[format!("http://localhost:{port}/metrics")])).await;
        refused(&ada, pages(&[format!("http://{site}/to/localhost:{port}/metrics")])).await;
    }
    let port = stoa.ops.port();
    for host in ["[::ffff:127.0.0.1]", "0.0.0.0", "2130706433", "127.1", "[::]"] {
        refused(&ada, pages(&[format!("http://{host}:{port}/metrics")])).await;
        refused(&ada, pages(&[format!("http://{site}/to/{host}:{port}/metrics")])).await;
    }
    for host in ["127.0.0.1", "localhost"] {
        let url = |scheme: &str| format!("{scheme}://{host}:{port}/a.git");
        for scheme in ["http", "ssh", "git"] {
            refused(&ada, json!({ "kind": "git", "url": url(scheme) })).await;
        }
        let endpoint = format!("http://{host}:{port}");
        refused(&ada, json!({ "kind": "s3", "bucket": "a", "endpoint": endpoint, "accessKeyId": "a" })).await;
        let mailbox = json!({ "kind": "imap", "host": host, "port": port, "username": "ada", "tls": false });
        refused(&ada, mailbox).await;
    }
    // Other programs of this machine are read.
    let body = json!({ "name": "Site", "settings": pages(&[format!("http://{site}/")]) });
    let ran = ended(&ada, &source(&ada, body).await, &Value::Null).await;
    assert_eq!(ran["items"]["stored"], json!(1), "{ran}");
}

#[tokio::test]
async fn no_source_reads_the_listeners_of_another_process_with_the_same_data() {
    let shared = tempfile::tempdir().unwrap();
    let database = format!("sqlite://{}", shared.path().join("stoa.db").display());
    let objects = format!("file://{}", shared.path().join("objects").display());
    let start =
        |start: e2e::stoa::Start| start.set("DATABASE_URL", &database).set("OBJECT_STORE_URL", &objects);
    let stoa = start(Stoa::start_knowledge()).set("ALLOW_PRIVATE_ADDRESSES", true).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let other = start(Stoa::start()).serve();
    let settings = pages(&[format!("http://{}/metrics", other.ops)]);
    let body = json!({ "name": "Stoa", "paused": true, "settings": settings });
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let answer = admin.post_json("/api/sources", &body).await;
        if answer.status == 400 {
            assert!(answer.body.contains(REFUSED), "{answer:?}");
            break;
        }
        assert!(Instant::now() < deadline, "{answer:?}");
        let id = answer.json()["source"]["id"].as_str().unwrap().to_owned();
        assert_eq!(admin.delete(&format!("/api/sources/{id}")).await.status, 200);
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}
