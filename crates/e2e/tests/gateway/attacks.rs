//! Too much: headers, connections, bodies that nobody asked for.

use e2e::client::check_error;
use e2e::raw::exchange;
use e2e::{Raw, Stoa, Upstream, get};
use std::time::{Duration, Instant};

async fn start() -> (Upstream, Stoa) {
    let upstream = Upstream::start().await;
    let stoa = Stoa::start().before(&upstream.url()).serve();
    (upstream, stoa)
}

#[tokio::test]
async fn more_than_a_hundred_headers_or_32_kib_of_them_are_refused() {
    let (upstream, stoa) = start().await;
    let request =
        |headers: String| format!("GET /kv/x HTTP/1.1\r\nHost: a\r\n{headers}Connection: close\r\n\r\n");
    let many = |number: usize| (0..number).map(|n| format!("X-{n}: y\r\n")).collect::<String>();
    let long = |bytes: usize| format!("X: {}\r\n", "y".repeat(bytes));
    for fits in [many(98), long(31 * 1024)] {
        let answers = exchange(stoa.gateway, request(fits)).await;
        assert_eq!(answers[0].status, 200, "{answers:?}");
    }
    let long_path = format!("GET /kv/{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(33 * 1024));
    for flood in
        [request(many(99)), request(many(5000)), request(long(33 * 1024)), request(long(10 << 20)), long_path]
    {
        let answers = exchange(stoa.gateway, flood).await;
        assert_eq!((answers.len(), answers[0].status), (1, 431));
        check_error(431, &answers[0].json());
        assert!(answers[0].head.contains("connection: close"));
    }
    assert_eq!(upstream.requests(), 2);
}

#[tokio::test]
async fn a_flood_of_http_2_headers_is_refused() {
    let (upstream, stoa) = start().await;
    let client = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
    let mut request = client.get(stoa.url("/kv/x"));
    for number in 0..1000 {
        request = request.header(format!("x-{number}"), "y".repeat(100));
    }
    if let Ok(response) = request.send().await {
        assert_eq!(response.status(), 431);
    }
    assert_eq!(upstream.requests(), 0);
    assert_eq!(get(stoa.url("/kv/x")).await.status, 200, "the gateway goes on");
}

#[tokio::test]
async fn a_connection_over_the_limit_is_turned_away_until_another_closes() {
    let upstream = Upstream::start().await;
    let stoa = Stoa::start().before(&upstream.url()).set("MAX_CONNECTIONS", "2").serve();
    let request = "GET /kv/x HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut raw = Raw::connect(stoa.gateway).await;
        raw.send(request).await;
        assert_eq!(raw.read_answer().await.status, 200);
        open.push(raw);
    }
    let mut third = Raw::connect(stoa.gateway).await;
    let come = third.read_to_end(Duration::from_secs(2)).await.expect("it is closed");
    let answers = e2e::raw::split(&come);
    assert_eq!((answers.len(), answers[0].status), (1, 503));
    assert!(answers[0].head.contains("connection: close"));
    open[0].send(request).await;
    assert_eq!(open[0].read_answer().await.status, 200, "the others go on");

    open.pop();
    let started = Instant::now();
    loop {
        let mut raw = Raw::connect(stoa.gateway).await;
        raw.send(request).await;
        if raw.read_answer().await.status == 200 {
            break;
        }
        assert!(started.elapsed() < Duration::from_secs(2), "there is room again");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_refusal_is_readable_although_a_large_body_was_being_sent() {
    let (upstream, stoa) = start().await;
    let body = vec![b'x'; 10 << 20];
    for (path, status) in [("/build/x", 401), ("/nowhere", 404), ("/auth/login", 413)] {
        let head = format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", body.len());
        let mut raw = Raw::connect(stoa.gateway).await;
        raw.send(head).await;
        raw.send(&body).await;
        let answer = raw.read_answer().await;
        assert_eq!(answer.status, status, "{path}");
        assert!(answer.head.contains("connection: close"), "{}", answer.head);
        check_error(status, &answer.json());
    }
    assert_eq!(upstream.requests(), 0);
}

#[tokio::test]
async fn after_a_small_body_that_was_not_wanted_the_connection_goes_on() {
    let (_, stoa) = start().await;
    let mut raw = Raw::connect(stoa.gateway).await;
    for _ in 0..3 {
        raw.send("POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n").await;
        let answer = raw.read_answer().await;
        assert_eq!(answer.status, 404);
        assert!(!answer.head.contains("connection: close"), "{}", answer.head);
        raw.send("hello").await;
    }
    // This client sends its body only if it is asked to.
    raw.send("POST /nowhere HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n").await;
    let answer = raw.read_answer().await;
    assert_eq!(answer.status, 404);
    assert!(answer.head.contains("connection: close"), "{}", answer.head);
}

#[tokio::test]
async fn nonsense_is_refused_and_the_gateway_goes_on() {
    let (upstream, stoa) = start().await;
    let tls_hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n".as_slice();
    for bytes in [
        tls_hello,
        b"\0\0\0\0\r\n\r\n",
        b"\xff\xfe\xfd\n",
        b"SSH-2.0-x\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nxx\r\n\r\n",
    ] {
        let mut raw = Raw::connect(stoa.gateway).await;
        raw.send(bytes).await;
        let come = raw.read_to_end(Duration::from_secs(3)).await.expect("it is closed");
        let answers = e2e::raw::split(&come);
        assert!(answers.iter().all(|answer| answer.status == 400), "{answers:?}");
    }
    assert_eq!(upstream.requests(), 0);
    assert_eq!(get(stoa.url("/kv/x")).await.status, 200);
}
