//! HTTP upgrades, WebSocket above all: tunnelled both ways, or answered as the target answers.

use e2e::tokens::token;
use e2e::{Raw, Stoa, Upstream};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

async fn start() -> (Upstream, Stoa) {
    let upstream = Upstream::start().await;
    let stoa = Stoa::start().before(&upstream.url()).set("IDLE_TIMEOUT", "300ms").serve();
    (upstream, stoa)
}

async fn upgrade(stoa: &Stoa, path: &str, authorization: &str) -> Raw {
    let mut raw = Raw::connect(stoa.gateway).await;
    raw.send(format!(
        "GET {path} HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{authorization}\r\n"
    ))
    .await;
    raw
}

async fn echo(raw: &mut Raw, sent: &str) {
    raw.send(sent).await;
    let mut come = vec![0; sent.len()];
    tokio::time::timeout(Duration::from_secs(2), raw.socket.read_exact(&mut come)).await.unwrap().unwrap();
    assert_eq!(String::from_utf8(come).unwrap(), sent.to_uppercase());
}

#[tokio::test]
async fn an_upgrade_is_tunnelled_in_both_directions() {
    let (_upstream, stoa) = start().await;
    let mut raw = upgrade(&stoa, "/kv/websocket", "").await;
    let head = raw.read_head().await;
    assert_eq!(head.status, 101);
    assert!(head.head.contains("upgrade: websocket"), "{}", head.head);
    assert!(head.head.contains("connection: upgrade"), "{}", head.head);
    echo(&mut raw, "hello").await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    echo(&mut raw, "still here after the idle timeout\r\n\r\n").await;
    echo(&mut raw, &"a longer one ".repeat(10_000)).await;
}

#[tokio::test]
async fn what_a_client_sends_right_behind_its_upgrade_reaches_the_target() {
    let (_upstream, stoa) = start().await;
    let mut raw = upgrade(&stoa, "/kv/websocket", "").await;
    raw.send("early").await;
    assert_eq!(raw.read_head().await.status, 101);
    let mut come = [0; 5];
    tokio::time::timeout(Duration::from_secs(2), raw.socket.read_exact(&mut come)).await.unwrap().unwrap();
    assert_eq!(&come, b"EARLY");
}

#[tokio::test]
async fn a_tunnel_ends_for_both_when_one_side_closes() {
    let (upstream, stoa) = start().await;
    let mut raw = upgrade(&stoa, "/kv/websocket", "").await;
    assert_eq!(raw.read_head().await.status, 101);
    echo(&mut raw, "hello").await;
    raw.socket.shutdown().await.unwrap();
    assert_eq!(raw.read_to_end(Duration::from_secs(2)).await, Some(Vec::new()));
    let started = Instant::now();
    while upstream.tunnels() > 0 {
        assert!(started.elapsed() < Duration::from_secs(2), "the target's side is closed");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn an_upgrade_obeys_the_rules_of_its_route() {
    let (upstream, stoa) = start().await;
    assert_eq!(upgrade(&stoa, "/build/websocket", "").await.read_answer().await.status, 401);
    let forged = upgrade(&stoa, "/build/websocket", "Authorization: Bearer x\r\n").await.read_answer().await;
    assert_eq!(forged.status, 403);
    assert_eq!(upstream.requests(), 0);
    let authorization = format!("Authorization: Bearer {}\r\n", token("BUILD", "guest"));
    let mut raw = upgrade(&stoa, "/build/websocket", &authorization).await;
    assert_eq!(raw.read_head().await.status, 101);
    echo(&mut raw, "hello").await;
}

#[tokio::test]
async fn a_refused_upgrade_is_answered_as_the_target_answers() {
    let (_upstream, stoa) = start().await;
    let mut raw = upgrade(&stoa, "/kv/status?n=403", "").await;
    let answer = raw.read_answer().await;
    assert_eq!((answer.status, answer.body.as_str()), (403, "as asked"));
    assert!(answer.head.contains("x-from-target: yes"));
}

#[tokio::test]
async fn the_headers_of_an_upgrade_reach_the_target() {
    let (_upstream, stoa) = start().await;
    let mut raw = upgrade(&stoa, "/kv/x", "Cookie: a=1\r\n").await;
    let echoed = e2e::client::Echoed(raw.read_answer().await.json());
    assert_eq!(echoed.header("upgrade"), ["websocket"]);
    assert_eq!(echoed.header("connection"), ["upgrade"]);
    assert_eq!(echoed.header("sec-websocket-version"), ["13"]);
    assert_eq!(echoed.header("sec-websocket-key"), ["dGhlIHNhbXBsZSBub25jZQ=="]);
    assert_eq!((echoed.header("cookie"), echoed.header("x-gateway-route")), (vec!["a=1"], vec!["KV"]));
}

#[tokio::test]
async fn a_switch_of_protocols_that_was_not_requested_is_not_passed_on() {
    let (_upstream, stoa) = start().await;
    let mut raw = Raw::connect(stoa.gateway).await;
    raw.send("GET /kv/websocket HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert_eq!(raw.read_answer().await.status, 502);
}
