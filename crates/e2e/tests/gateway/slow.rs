//! Clients that take their time: every wait has an end.

use e2e::client::check_error;
use e2e::raw::split;
use e2e::{Raw, Stoa, Upstream};
use std::time::{Duration, Instant};

async fn start(name: &str, value: &str) -> (Upstream, Stoa) {
    let upstream = Upstream::start().await;
    let stoa = Stoa::start().before(&upstream.url()).set(name, value).serve();
    (upstream, stoa)
}

/// Sends a byte every 20 ms until the server has closed; what it said, and how long that took.
async fn drip(raw: &mut Raw, bytes: impl Iterator<Item = u8>) -> (Vec<e2e::raw::Answer>, Duration) {
    let started = Instant::now();
    let (mut reading, mut writing) = raw.socket.split();
    let mut come = Vec::new();
    tokio::select! {
        read = tokio::io::AsyncReadExt::read_to_end(&mut reading, &mut come) => drop(read),
        () = async {
            for byte in bytes {
                let _ = tokio::io::AsyncWriteExt::write_all(&mut writing, &[byte]).await;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        } => panic!("it took all of it"),
    }
    (split(&come), started.elapsed())
}

#[tokio::test]
async fn headers_that_come_byte_by_byte_time_out() {
    let (upstream, stoa) = start("HEADER_TIMEOUT", "300ms").await;
    let endless =
        b"GET /kv/x HTTP/1.1\r\nHost: a\r\nX: ".iter().copied().chain(std::iter::repeat_n(b'y', 300));
    let mut raw = Raw::connect(stoa.gateway).await;
    let (answers, took) = drip(&mut raw, endless).await;
    assert_eq!((answers.len(), answers[0].status), (1, 408));
    check_error(408, &answers[0].json());
    assert!(took > Duration::from_millis(250) && took < Duration::from_secs(3), "{took:?}");
    assert_eq!(upstream.requests(), 0);
}

#[tokio::test]
async fn headers_of_a_later_request_time_out_too() {
    let (_upstream, stoa) = start("HEADER_TIMEOUT", "300ms").await;
    let mut raw = Raw::connect(stoa.gateway).await;
    raw.send("GET /kv/x HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert_eq!(raw.read_answer().await.status, 200);
    raw.send("GET /kv/x HTTP/1.1\r\nHos").await;
    let come = raw.read_to_end(Duration::from_secs(3)).await.expect("it is closed");
    assert_eq!(split(&come)[0].status, 408);
}

#[tokio::test]
async fn a_connection_that_says_nothing_is_closed() {
    let (_upstream, stoa) = start("HEADER_TIMEOUT", "300ms").await;
    let mut raw = Raw::connect(stoa.gateway).await;
    assert_eq!(raw.read_to_end(Duration::from_secs(3)).await, Some(Vec::new()));
}

#[tokio::test]
async fn a_connection_that_stops_in_its_first_line_is_closed() {
    let (_upstream, stoa) = start("HEADER_TIMEOUT", "300ms").await;
    for beginning in ["P", "GET /", "PRI * HTTP/2.0\r\n"] {
        let mut raw = Raw::connect(stoa.gateway).await;
        raw.send(beginning).await;
        assert!(raw.read_to_end(Duration::from_secs(3)).await.is_some(), "open after {beginning:?}");
    }
}

async fn assert_idle_close_after(path: &str, status: u16) {
    let (_upstream, stoa) = start("IDLE_TIMEOUT", "300ms").await;
    let mut raw = Raw::connect(stoa.gateway).await;
    raw.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")).await;
    assert_eq!(raw.read_answer().await.status, status);
    let started = Instant::now();
    assert_eq!(raw.read_to_end(Duration::from_secs(3)).await, Some(Vec::new()), "open after {path}");
    assert!(started.elapsed() > Duration::from_millis(200), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_connection_without_further_requests_is_closed_after_an_answer_of_a_target() {
    assert_idle_close_after("/kv/x", 200).await;
    assert_idle_close_after("/kv/slow?n=50", 200).await;
}

#[tokio::test]
async fn a_connection_without_further_requests_is_closed_after_an_answer_of_the_gateway() {
    assert_idle_close_after("/nowhere", 404).await;
}

#[tokio::test]
async fn waiting_longer_than_the_idle_time_for_an_answer_is_not_idling_but_what_follows_is() {
    assert_idle_close_after("/kv/slow?n=600", 200).await;
}

#[tokio::test]
async fn a_body_that_stops_coming_times_out() {
    let (_upstream, stoa) = start("BODY_TIMEOUT", "300ms").await;
    for (path, framing) in [
        ("/kv/count", "Content-Length: 100"),
        ("/kv/count", "Transfer-Encoding: chunked"),
        ("/auth/login", "Content-Length: 100"),
    ] {
        let mut raw = Raw::connect(stoa.gateway).await;
        raw.send(format!("POST {path} HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n5\r\nhello\r\n")).await;
        let come = raw.read_to_end(Duration::from_secs(4)).await.expect("it is closed");
        let answers = split(&come);
        assert_eq!(answers[0].status, 408, "{path} {framing}");
        assert!(answers[0].head.contains("connection: close"), "{}", answers[0].head);
        assert_eq!(answers[0].json()["code"], "REQUEST_TIMEOUT");
        check_error(408, &answers[0].json());
    }
}

#[tokio::test]
async fn a_body_that_comes_byte_by_byte_times_out() {
    let (_upstream, stoa) = start("BODY_TIMEOUT", "300ms").await;
    let mut raw = Raw::connect(stoa.gateway).await;
    raw.send("POST /kv/count HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n").await;
    let (answers, took) = drip(&mut raw, std::iter::repeat_n(b'x', 500)).await;
    assert!(answers.iter().all(|answer| answer.status == 408), "{answers:?}");
    assert!(took < Duration::from_secs(4), "{took:?}");
}

#[tokio::test]
async fn a_client_that_does_not_read_its_answer_is_cut_off() {
    let (upstream, stoa) = start("WRITE_TIMEOUT", "500ms").await;
    let mut raw = Raw::connect(stoa.gateway).await;
    raw.send("GET /kv/bytes?n=1073741824 HTTP/1.1\r\nHost: a\r\n\r\n").await;
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert_eq!(upstream.open_connections(), 0, "the target is not held up any longer");
    let come = raw.read_to_end(Duration::from_secs(5)).await.expect("the connection is closed");
    assert!(come.len() < 64 << 20, "{} bytes were still on their way", come.len());
}

#[tokio::test]
async fn a_client_that_reads_slowly_but_steadily_is_served() {
    let (_upstream, stoa) = start("WRITE_TIMEOUT", "500ms").await;
    let mut response = reqwest::get(stoa.url("/kv/bytes?n=16777216")).await.unwrap();
    let (mut read, mut next_pause) = (0, 0);
    while let Some(piece) = response.chunk().await.unwrap() {
        read += piece.len();
        if read > next_pause {
            tokio::time::sleep(Duration::from_millis(100)).await;
            next_pause += 1 << 20;
        }
    }
    assert_eq!(read, 16 << 20);
}
