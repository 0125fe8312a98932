//! Bodies on their way: events pass at once, whoever leaves is noticed, and what broke is not passed off as whole.

use crate::transfers::QUIET;
use e2e::{Raw, Stoa, Upstream, reply};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

async fn start() -> (Upstream, Stoa) {
    let upstream = Upstream::start().await;
    let stoa = Stoa::start().before(&upstream.url()).serve();
    (upstream, stoa)
}

async fn within(patience: Duration, what: &str, holds: impl Fn() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < patience, "{what}, within {patience:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[expect(clippy::disallowed_methods, reason = "real time: the target wrote its own into the event")]
fn micros_since(event: &[u8]) -> u64 {
    let left: u128 = std::str::from_utf8(event).unwrap().trim().trim_start_matches("data: ").parse().unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros();
    now.saturating_sub(left) as u64
}

async fn event_times(client: reqwest::Client) -> Vec<u64> {
    let _quiet = QUIET.lock().await;
    let (_upstream, stoa) = start().await;
    let mut response = client.get(stoa.url("/kv/sse")).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut times = Vec::new();
    while times.len() < 25 {
        let event = response.chunk().await.unwrap().unwrap();
        times.push(micros_since(&event));
    }
    times.sort_unstable();
    times
}

#[tokio::test]
async fn an_event_is_at_the_client_at_once() {
    let times = event_times(reqwest::Client::new()).await;
    assert!(times[12] < 10_000, "median {} µs", times[12]);
}

#[tokio::test]
async fn an_event_is_at_the_client_at_once_over_http_2() {
    let times = event_times(reqwest::Client::builder().http2_prior_knowledge().build().unwrap()).await;
    assert!(times[12] < 10_000, "median {} µs", times[12]);
}

#[tokio::test]
async fn an_event_stream_may_be_silent_for_longer_than_other_answers() {
    let upstream = Upstream::start().await;
    let stoa = Stoa::start().before(&upstream.url()).set("IDLE_TIMEOUT", "100ms").serve();
    let mut response = reqwest::get(stoa.url("/kv/sse")).await.unwrap();
    let started = Instant::now();
    while started.elapsed() < Duration::from_millis(500) {
        assert!(response.chunk().await.unwrap().is_some());
    }
}

#[tokio::test]
async fn a_client_that_leaves_before_its_answer_ends_the_request_at_the_target() {
    let (upstream, stoa) = start().await;
    let mut raw = Raw::connect(stoa.gateway).await;
    raw.send("GET /kv/hang HTTP/1.1\r\nHost: a\r\n\r\n").await;
    within(Duration::from_secs(2), "the target is asked", || upstream.requests() == 1).await;
    assert_eq!(upstream.abandoned(), 0);
    drop(raw);
    within(Duration::from_secs(1), "the target notices", || upstream.abandoned() == 1).await;
}

#[tokio::test]
async fn a_client_that_leaves_an_event_stream_ends_it_at_the_target() {
    let (upstream, stoa) = start().await;
    let mut response = reqwest::get(stoa.url("/kv/sse")).await.unwrap();
    assert!(response.chunk().await.unwrap().is_some());
    assert_eq!(upstream.abandoned(), 0);
    drop(response);
    within(Duration::from_secs(1), "the target notices", || upstream.abandoned() == 1).await;
}

#[tokio::test]
async fn a_client_that_resets_an_http_2_stream_ends_it_at_the_target() {
    let (upstream, stoa) = start().await;
    let client = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
    let hanging = tokio::spawn(client.get(stoa.url("/kv/hang")).send());
    within(Duration::from_secs(2), "the target is asked", || upstream.requests() == 1).await;
    hanging.abort();
    within(Duration::from_secs(1), "the target notices", || upstream.abandoned() == 1).await;
    assert_eq!(reply(client.get(stoa.url("/kv/x"))).await.status, 200, "the connection itself goes on");
}

#[tokio::test]
async fn a_client_that_leaves_in_its_upload_ends_it_at_the_target() {
    let (upstream, stoa) = start().await;
    let mut raw = Raw::connect(stoa.gateway).await;
    raw.send("POST /kv/count HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nsome").await;
    within(Duration::from_secs(2), "the target is asked", || upstream.requests() == 1).await;
    drop(raw);
    within(Duration::from_secs(1), "the target notices", || upstream.open_connections() == 0).await;
}

#[tokio::test]
async fn an_answer_that_breaks_off_breaks_off_at_the_client() {
    let (_upstream, stoa) = start().await;
    let http2 = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
    for path in ["/kv/die", "/kv/die-chunked"] {
        for client in [reqwest::Client::new(), http2.clone()] {
            let response = client.get(stoa.url(path)).send().await.unwrap();
            assert_eq!(response.status(), 200);
            let whole = response.bytes().await;
            assert!(whole.is_err(), "{path} was passed off as whole: {whole:?}");
        }
    }
    let mut raw = Raw::connect(stoa.gateway).await;
    raw.send("GET /kv/die-chunked HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let come = raw.read_to_end(Duration::from_secs(2)).await.expect("the connection is closed");
    let text = String::from_utf8(come).unwrap();
    assert!(text.contains("ten bytes.") && !text.ends_with("0\r\n\r\n"), "{text:?}");
}

#[tokio::test]
async fn an_answer_that_falls_silent_breaks_off_at_the_client() {
    let upstream = Upstream::start().await;
    let stoa = Stoa::start().before(&upstream.url()).set("UPSTREAM_TIMEOUT", "300ms").serve();
    let response = reqwest::get(stoa.url("/kv/stall")).await.unwrap();
    assert_eq!(response.status(), 200);
    let started = Instant::now();
    assert!(response.bytes().await.is_err());
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
}

#[tokio::test]
async fn connections_to_a_target_are_used_again() {
    let (upstream, stoa) = start().await;
    let client = reqwest::Client::new();
    for number in 0..50 {
        let request = client.post(stoa.url("/kv/x")).body(number.to_string());
        assert_eq!(reply(request).await.echoed().body(), number.to_string());
    }
    assert_eq!(upstream.connections(), 1, "for 50 requests");
}

#[tokio::test]
async fn a_connection_that_its_target_has_closed_is_not_used() {
    let upstream = Upstream::start_closing_after(1).await;
    let stoa = Stoa::start().before(&upstream.url()).serve();
    let client = reqwest::Client::new();
    for _ in 0..5 {
        for method in ["GET", "POST"] {
            let request = client.request(method.parse().unwrap(), stoa.url("/kv/x"));
            assert_eq!(reply(request.body("body")).await.echoed().body(), "body");
            tokio::time::sleep(Duration::from_millis(60)).await;
        }
    }
    assert_eq!(upstream.requests(), 10);
}

#[tokio::test]
async fn a_safe_request_that_met_a_stale_connection_is_sent_once_more() {
    let upstream = Upstream::start_breaking_after(1).await;
    let stoa = Stoa::start().before(&upstream.url()).serve();
    let client = reqwest::Client::new();
    assert_eq!(reply(client.get(stoa.url("/kv/x"))).await.status, 200);
    assert_eq!(reply(client.get(stoa.url("/kv/x"))).await.status, 200, "on a new connection");
    assert_eq!((upstream.requests(), upstream.connections()), (3, 2));
}

#[tokio::test]
async fn a_request_that_is_not_safe_to_repeat_is_never_sent_twice() {
    for body in ["", "body"] {
        let upstream = Upstream::start_breaking_after(1).await;
        let stoa = Stoa::start().before(&upstream.url()).serve();
        let client = reqwest::Client::new();
        assert_eq!(reply(client.get(stoa.url("/kv/x"))).await.status, 200);
        let answer = reply(client.post(stoa.url("/kv/x")).body(body)).await;
        assert_eq!(answer.error(), (502, "UPSTREAM_UNAVAILABLE".into(), "KV".into()), "{body:?}");
        assert_eq!(upstream.requests(), 2, "{body:?}");
    }
}

async fn upload_to(stoa: &Stoa, path: &str, body: &[u8]) -> e2e::raw::Answer {
    let mut raw = Raw::connect(stoa.gateway).await;
    raw.send(format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 10485760\r\n\r\n")).await;
    raw.send(body).await;
    raw.read_answer().await
}

#[tokio::test]
async fn an_answer_that_comes_before_the_end_of_an_upload_arrives() {
    let (_upstream, stoa) = start().await;
    for body in [b"the beginning".to_vec(), vec![b'x'; 10 << 20]] {
        let early = upload_to(&stoa, "/kv/early", &body).await;
        assert_eq!((early.status, early.body.as_str()), (413, "as asked"), "after {} bytes", body.len());
    }
}

#[tokio::test]
async fn an_early_answer_arrives_although_its_target_closes_on_the_rest_of_the_upload() {
    let (_upstream, stoa) = start().await;
    for round in 0..20 {
        let early = upload_to(&stoa, "/kv/early-close", &vec![b'x'; 10 << 20]).await;
        assert_eq!((early.status, early.body.as_str()), (413, "as asked"), "in round {round}");
    }
}
