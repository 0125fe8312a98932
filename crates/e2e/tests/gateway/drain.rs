//! The orderly end: what is under way finishes, streams end, nothing new begins, and it never takes long.

use e2e::{Raw, Stoa, Upstream};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

async fn start() -> (Upstream, Stoa) {
    let upstream = Upstream::start().await;
    let stoa = Stoa::start().before(&upstream.url()).serve();
    (upstream, stoa)
}

/// Waits elsewhere, so that the target goes on answering here.
async fn wait(stoa: Stoa) -> (Option<i32>, Duration) {
    tokio::task::spawn_blocking(move || stoa.wait()).await.unwrap()
}

#[tokio::test]
async fn a_request_under_way_is_finished_and_new_connections_are_refused() {
    for signal in ["TERM", "INT"] {
        let (upstream, stoa) = start().await;
        let gateway = stoa.gateway;
        let slow = tokio::spawn(e2e::get(stoa.url("/kv/slow?n=800")));
        while upstream.requests() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        stoa.signal(signal);
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(TcpStream::connect(gateway).await.is_err(), "nothing listens any more");
        let answer = slow.await.unwrap();
        assert_eq!((answer.status, answer.body.as_str()), (200, "slow"));
        let (code, took) = wait(stoa).await;
        assert_eq!(code, Some(0));
        assert!(took < Duration::from_secs(2), "{took:?}");
    }
}

#[tokio::test]
async fn event_streams_and_idle_connections_end_at_once() {
    let (_upstream, stoa) = start().await;
    let mut events = reqwest::get(stoa.url("/kv/sse")).await.unwrap();
    assert!(events.chunk().await.unwrap().is_some());
    let http2 = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
    let mut events2 = http2.get(stoa.url("/kv/sse")).send().await.unwrap();
    assert!(events2.chunk().await.unwrap().is_some());
    let mut idle = Raw::connect(stoa.gateway).await;
    idle.send("GET /kv/x HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert_eq!(idle.read_answer().await.status, 200);
    let mut silent = Raw::connect(stoa.gateway).await;

    stoa.signal("TERM");
    let started = Instant::now();
    for events in [&mut events, &mut events2] {
        while events.chunk().await.expect("a stream that is told to end is whole").is_some() {}
    }
    assert_eq!(idle.read_to_end(Duration::from_secs(1)).await, Some(Vec::new()));
    assert_eq!(silent.read_to_end(Duration::from_secs(1)).await, Some(Vec::new()));
    assert_eq!(wait(stoa).await.0, Some(0));
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_tunnel_ends_with_the_process() {
    let (_upstream, stoa) = start().await;
    let mut raw = Raw::connect(stoa.gateway).await;
    raw.send("GET /kv/websocket HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n").await;
    assert_eq!(raw.read_head().await.status, 101);
    stoa.signal("TERM");
    assert!(raw.read_to_end(Duration::from_secs(2)).await.is_some());
    let (code, took) = wait(stoa).await;
    assert_eq!(code, Some(0));
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[tokio::test]
async fn a_request_that_hangs_holds_the_end_up_for_ten_seconds_at_most() {
    let (upstream, stoa) = start().await;
    let hanging = tokio::spawn(reqwest::get(stoa.url("/kv/hang")));
    while upstream.requests() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    stoa.signal("TERM");
    let (code, took) = wait(stoa).await;
    assert_eq!(code, Some(0));
    assert!(took > Duration::from_secs(9) && took < Duration::from_secs(11), "{took:?}");
    assert!(hanging.await.unwrap().is_err());
}
