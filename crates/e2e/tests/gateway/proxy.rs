//! Requests and answers pass as they are: methods, bodies, statuses, over HTTP/1.1 and HTTP/2.

use e2e::client::Echoed;
use e2e::{Raw, Stoa, Upstream, get, reply};
use reqwest::header::HeaderValue;
use tokio::task::JoinSet;

async fn start() -> (Upstream, Stoa) {
    let upstream = Upstream::start().await;
    let stoa = Stoa::start().before(&upstream.url()).serve();
    (upstream, stoa)
}

#[tokio::test]
async fn every_method_is_forwarded_with_its_body() {
    let (_upstream, stoa) = start().await;
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "x-custom"] {
        let request = reqwest::Client::new().request(method.parse().unwrap(), stoa.url("/kv/x"));
        let echoed = reply(request.body("the body \u{2026}")).await.echoed();
        assert_eq!((echoed.method(), echoed.body()), (method, "the body \u{2026}"));
        assert_eq!(echoed.header("content-length"), ["12"], "{method}");
        assert_eq!(echoed.header("transfer-encoding"), [""; 0], "{method}");
    }
}

#[tokio::test]
async fn a_body_of_unknown_length_is_forwarded_chunked() {
    let (_upstream, stoa) = start().await;
    let mut raw = Raw::connect(stoa.gateway).await;
    raw.send("POST /kv/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n").await;
    raw.send("5;extension=1\r\nhello\r\n1\r\n \r\n").await;
    raw.send("5\r\nworld\r\n0\r\nX-Trailer: 1\r\n\r\n").await;
    let echoed = Echoed(raw.read_answer().await.json());
    assert_eq!(echoed.body(), "hello world");
    assert_eq!(echoed.header("transfer-encoding"), ["chunked"]);
    assert_eq!(echoed.header("content-length"), [""; 0]);
}

#[tokio::test]
async fn a_request_without_a_body_is_forwarded_without_one() {
    let (_upstream, stoa) = start().await;
    for method in ["GET", "DELETE", "OPTIONS"] {
        let request = reqwest::Client::new().request(method.parse().unwrap(), stoa.url("/kv/x"));
        let echoed = reply(request).await.echoed();
        assert_eq!(echoed.header("transfer-encoding"), [""; 0], "{method}");
        assert_eq!((echoed.body(), echoed.header("content-length")), ("", vec![]), "{method}");
    }
}

#[tokio::test]
async fn an_answer_comes_back_unchanged() {
    let (_upstream, stoa) = start().await;
    for status in [200, 201, 203, 299, 301, 307, 400, 401, 403, 404, 405, 409, 418, 429, 500, 502, 503, 599] {
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        let answer = reply(client.get(stoa.url(&format!("/kv/status?n={status}")))).await;
        assert_eq!((answer.status, answer.body.as_str()), (status, "as asked"));
        assert_eq!(answer.header("x-from-target"), ["yes"]);
        assert_eq!(answer.header("content-length"), ["8"]);
    }
    let answer = get(stoa.url("/kv/x")).await;
    assert_eq!(answer.header("set-cookie"), ["a=1", "b=2"]);
    assert_eq!(answer.header("content-type"), ["application/json"]);
}

#[tokio::test]
async fn answers_without_a_body_end_where_their_head_ends() {
    let (_upstream, stoa) = start().await;
    let mut raw = Raw::connect(stoa.gateway).await;
    for (method, path, status) in [
        ("HEAD", "/kv/x", 200),
        ("HEAD", "/kv/bytes?n=100000", 200),
        ("GET", "/kv/status?n=204", 204),
        ("GET", "/kv/status?n=304", 304),
        ("HEAD", "/kv/status?n=404", 404),
        ("HEAD", "/nowhere", 404),
    ] {
        raw.send(format!("{method} {path} HTTP/1.1\r\nHost: a\r\n\r\n")).await;
        let head = raw.read_head().await;
        assert_eq!((head.status, head.body.as_str()), (status, ""), "{method} {path}");
        if path.contains("bytes") {
            assert!(head.head.contains("content-length: 100000"), "{}", head.head);
        }
    }
    raw.send("GET /kv/x HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert_eq!(Echoed(raw.read_answer().await.json()).uri(), "/x", "the connection is still in step");
}

#[tokio::test]
async fn a_connection_serves_many_requests_also_when_they_are_sent_ahead() {
    let (_upstream, stoa) = start().await;
    let mut raw = Raw::connect(stoa.gateway).await;
    for number in 0..5 {
        raw.send(format!("GET /kv/{number} HTTP/1.1\r\nHost: a\r\n\r\n")).await;
        assert_eq!(Echoed(raw.read_answer().await.json()).uri(), format!("/{number}"));
    }
    let mut ahead = String::new();
    for number in 0..5 {
        let body = format!("body {number}");
        let length = body.len();
        ahead += &format!("POST /kv/{number} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{body}");
    }
    ahead += "POST /kv/chunked HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n";
    ahead += "GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\nGET /kv/last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    raw.send(ahead).await;
    let come = raw.read_to_end(std::time::Duration::from_secs(10)).await.expect("it closes after the last");
    let answers = e2e::raw::split(&come);
    let uris: Vec<String> =
        answers.iter().map(|answer| answer.json()["uri"].as_str().unwrap_or("-").into()).collect();
    assert_eq!(uris, ["/0", "/1", "/2", "/3", "/4", "/chunked", "-", "/last"]);
    assert_eq!(answers[3].json()["body"], "body 3");
    assert_eq!(answers[5].json()["body"], "ab");
    assert_eq!(answers[6].status, 404);
}

#[tokio::test]
async fn http_1_0_is_served_and_closed() {
    let (_upstream, stoa) = start().await;
    let answers = e2e::raw::exchange(stoa.gateway, "GET /kv/x HTTP/1.0\r\n\r\n").await;
    assert_eq!(answers.len(), 1);
    assert_eq!(Echoed(answers[0].json()).uri(), "/x");
}

#[tokio::test]
async fn a_client_that_asks_before_it_sends_its_body_is_answered() {
    let (_upstream, stoa) = start().await;
    let mut raw = Raw::connect(stoa.gateway).await;
    raw.send("POST /kv/x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n").await;
    assert_eq!(raw.read_head().await.status, 100);
    raw.send("hello").await;
    assert_eq!(Echoed(raw.read_answer().await.json()).body(), "hello");
    raw.send("POST /build/x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n").await;
    assert_eq!(raw.read_answer().await.status, 401, "nothing is asked for that would be refused");
}

fn http2() -> reqwest::Client {
    reqwest::Client::builder().http2_prior_knowledge().build().unwrap()
}

#[tokio::test]
async fn http_2_is_served_and_its_cookies_are_joined() {
    let (_upstream, stoa) = start().await;
    let mut request = http2().post(stoa.url("/kv/x?y")).body("hello").build().unwrap();
    for cookie in ["a=1", "b=2", "c=3"] {
        request.headers_mut().append("cookie", HeaderValue::from_static(cookie));
    }
    let response = http2().execute(request).await.unwrap();
    assert_eq!(response.version(), reqwest::Version::HTTP_2);
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers().get_all("set-cookie").iter().count(), 2);
    let echoed = Echoed(response.json().await.unwrap());
    assert_eq!((echoed.method(), echoed.uri(), echoed.body()), ("POST", "/x?y", "hello"));
    assert_eq!(echoed.header("cookie"), ["a=1; b=2; c=3"]);
    assert_eq!(echoed.header("x-forwarded-host"), [stoa.gateway.to_string()]);
}

#[tokio::test]
async fn http_2_obeys_the_same_rules() {
    let (_upstream, stoa) = start().await;
    let client = http2();
    let error = |path: &str| reply(client.get(stoa.url(path)));
    assert_eq!(error("/build/x").await.error(), (401, "MISSING_TOKEN".into(), "BUILD".into()));
    assert_eq!(error("/nowhere").await.error(), (404, "NOT_FOUND".into(), "AUTH".into()));
    let forged = client.get(stoa.url("/kv/x")).header("x-gateway-identity", "forged");
    assert_eq!(reply(forged).await.echoed().header("x-gateway-identity"), [""; 0]);
    let login = client.post(stoa.url("/auth/login")).body(r#"{"username":"admin","password":"password"}"#);
    assert_eq!(reply(login).await.status, 200);
}

#[tokio::test]
async fn many_requests_at_once_on_one_http_2_connection_all_get_their_own_answer() {
    let (_upstream, stoa) = start().await;
    let client = http2();
    let mut calls = JoinSet::new();
    for number in 0..100 {
        let request = client.post(stoa.url(&format!("/kv/{number}"))).body(number.to_string());
        calls.spawn(async move {
            let echoed = reply(request).await.echoed();
            assert_eq!(
                (echoed.uri(), echoed.body()),
                (format!("/{number}").as_str(), number.to_string().as_str())
            );
        });
    }
    assert_eq!(calls.join_all().await.len(), 100);
}
