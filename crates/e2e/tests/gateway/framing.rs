//! Requests whose end two readers could see in different places: refused, and nothing smuggled behind them.

use e2e::client::check_error;
use e2e::raw::exchange;
use e2e::{Stoa, Upstream};

async fn start() -> (Upstream, Stoa) {
    let upstream = Upstream::start().await;
    let stoa = Stoa::start().before(&upstream.url()).serve();
    (upstream, stoa)
}

/// One answer, 400 in the gateway's record, and the connection closed behind it.
async fn assert_refused(stoa: &Stoa, request: &str) {
    let answers = exchange(stoa.gateway, request).await;
    assert_eq!(answers.len(), 1, "{request:?} gave {answers:?}");
    let record = answers[0].json();
    check_error(400, &record);
    assert_eq!((answers[0].status, &record["code"]), (400, &"INVALID_REQUEST".into()), "{request:?}");
}

const SMUGGLED: &str = "GET /kv/smuggled HTTP/1.1\r\nHost: a\r\n\r\n";

async fn assert_headers_refused(headers: &[&str]) {
    let (upstream, stoa) = start().await;
    for headers in headers {
        let body = "5\r\nhello\r\n0\r\n\r\n";
        let request = format!("POST /kv/x HTTP/1.1\r\nHost: a\r\n{headers}\r\n\r\n{body}{SMUGGLED}");
        assert_refused(&stoa, &request).await;
    }
    assert_eq!(upstream.requests(), 0);
}

#[tokio::test]
async fn a_length_beside_a_transfer_encoding_is_refused_in_either_order() {
    assert_headers_refused(&[
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Content-Length: 0\r\nTransfer-Encoding: chunked",
        "transfer-encoding: chunked\r\nX: y\r\ncontent-length: 15",
        "Content-Length: 5\r\nTransfer-Encoding: identity",
    ])
    .await;
}

#[tokio::test]
async fn a_length_that_is_not_one_plain_number_is_refused() {
    assert_headers_refused(&[
        "Content-Length: 5\r\nContent-Length: 5",
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: 5\r\ncontent-length: 0",
        "Content-Length: 5, 5",
        "Content-Length: 5,6",
        "Content-Length: +5",
        "Content-Length: -5",
        "Content-Length: 0x5",
        "Content-Length: 5 5",
        "Content-Length: 5;",
        "Content-Length: 5.0",
        "Content-Length: \"5\"",
        "Content-Length:",
        "Content-Length: five",
        "Content-Length: 18446744073709551616",
        "Content-Length: 99999999999999999999999999",
    ])
    .await;
}

#[tokio::test]
async fn a_transfer_encoding_other_than_chunked_is_refused() {
    assert_headers_refused(&[
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding: chunkedx",
        "Transfer-Encoding: identity",
        "Transfer-Encoding: gzip",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: chunked, gzip",
        "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
        "Transfer-Encoding: \"chunked\"",
        "Transfer-Encoding: chunked;q=1",
        "Transfer-Encoding:",
        "Transfer-Encoding: \x0bchunked",
        "Transfer-Encoding: chunked\0",
    ])
    .await;
}

#[tokio::test]
async fn headers_that_readers_read_differently_are_refused() {
    assert_headers_refused(&[
        "Content-Length : 5",
        "Transfer-Encoding : chunked",
        "Transfer-Encoding\t: chunked",
        " Content-Length: 5",
        "X: y\r\n Transfer-Encoding: chunked",
        "X: y\r\n\tContent-Length: 5",
        "Transfer-Encoding:\r\n chunked",
        "X: y\nContent-Length: 5",
        "X: y\nTransfer-Encoding: chunked",
        "X: a\rContent-Length: 5",
        "no colon",
        ": no name",
        "Bad Name: x",
        "X\0Y: z",
        "X: a\0b",
        "Host: b",
    ])
    .await;
}

#[tokio::test]
async fn a_request_line_or_host_that_is_not_whole_is_refused() {
    let (upstream, stoa) = start().await;
    for request in [
        "GET /kv/x HTTP/1.1\r\n\r\n",
        "GET /kv/x HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        "GET /kv/x HTTP/1.1\nHost: a\n\n",
        "GET /kv/x HTTP/1.1\r\nHost: a\n\r\n",
        "GET /kv/x HTTP/1.1\r\nHost: a\r\n\n",
        "GET /kv/x\r\n\r\n",
        "GET  /kv/x HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /kv/x y HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /kv/x HTTP/1.2.3\r\nHost: a\r\n\r\n",
        "GET /kv/x HTTP/3.0\r\nHost: a\r\n\r\n",
        "GET /kv/x http/1.1\r\nHost: a\r\n\r\n",
        "G@T /kv/x HTTP/1.1\r\nHost: a\r\n\r\n",
        " GET /kv/x HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /kv/x\0 HTTP/1.1\r\nHost: a\r\n\r\n",
    ] {
        assert_refused(&stoa, &format!("{request}{SMUGGLED}")).await;
    }
    assert_eq!(upstream.requests(), 0);
}

#[tokio::test]
async fn a_host_or_target_that_readers_read_differently_is_refused() {
    let (upstream, stoa) = start().await;
    for request in [
        "GET /kv/x HTTP/1.1\r\nHost: user@a\r\n\r\n",
        "GET /kv/x HTTP/1.1\r\nHost: a/path\r\n\r\n",
        "GET /kv/x HTTP/1.1\r\nHost: a, b\r\n\r\n",
        "GET /kv/x HTTP/1.1\r\nHost: a,b\r\n\r\n",
        "GET /kv/x HTTP/1.1\r\nHost: http://a\r\n\r\n",
        "GET /kv/x HTTP/1.1\r\nHost: a:port\r\n\r\n",
        "GET http://a/kv/x HTTP/1.1\r\nHost:\r\n\r\n",
        "GET http://user@a/kv/x HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /kv/x#fragment HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /kv/x?y#z HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /kv/\u{e4} HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /kv/x?\u{e4} HTTP/1.1\r\nHost: a\r\n\r\n",
    ] {
        assert_refused(&stoa, &format!("{request}{SMUGGLED}")).await;
    }
    assert_eq!(upstream.requests(), 0);
    let whole = "GET http://a:81/kv/x HTTP/1.1\r\nHost: b\r\nConnection: close\r\n\r\n";
    let echoed = e2e::client::Echoed(exchange(stoa.gateway, whole).await.remove(0).json());
    assert_eq!(echoed.header("x-forwarded-host"), ["a:81"], "the target's host counts");
}

#[tokio::test]
async fn an_extension_of_a_chunk_that_is_none_is_refused() {
    let (_upstream, stoa) = start().await;
    let send = async |extension: &str| {
        let body = format!("5{extension}\r\nhello\r\n0\r\n\r\n");
        let head =
            "POST /kv/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
        exchange(stoa.gateway, format!("{head}{body}")).await[0].status
    };
    for good in ["", ";a", ";a=b", ";a=\"b;c\"", " ;a = b"] {
        assert_eq!(send(good).await, 200, "{good:?}");
    }
    for bad in [";", ";=b", ";a=\"b", ";a\0b", ";a b", ";\u{1}=2"] {
        assert_eq!(send(bad).await, 400, "{bad:?}");
    }
}

#[tokio::test]
async fn a_body_that_is_not_well_chunked_is_refused_and_nothing_behind_it_is_read() {
    let (upstream, stoa) = start().await;
    let bodies = [
        "\r\nhello\r\n0\r\n\r\n",
        "g\r\nhello\r\n0\r\n\r\n",
        "-5\r\nhello\r\n0\r\n\r\n",
        "+5\r\nhello\r\n0\r\n\r\n",
        "0x5\r\nhello\r\n0\r\n\r\n",
        " 5\r\nhello\r\n0\r\n\r\n",
        "5 \r\nhello\r\n0\r\n\r\n",
        "5\nhello\r\n0\r\n\r\n",
        "5;a=b\nhello\r\n0\r\n\r\n",
        "5\r\nhelloworld\r\n0\r\n\r\n",
        "5\r\nhello0\r\n\r\n",
        "5\r\nhello\n0\r\n\r\n",
        "0\r\n\n",
        "0\r\nX: y\n\r\n",
        "fffffffffffffffff\r\nhello\r\n0\r\n\r\n",
        "10000000000000005\r\nhello\r\n0\r\n\r\n",
    ];
    for body in bodies {
        let head = "POST /kv/count HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_refused(&stoa, &format!("{head}{body}{SMUGGLED}")).await;
    }
    assert!(upstream.requests() <= bodies.len(), "at most the refused ones, which were on their way");
}

#[tokio::test]
async fn what_follows_a_request_within_its_body_is_body() {
    let (upstream, stoa) = start().await;
    let length = SMUGGLED.len();
    let request = format!(
        "POST /kv/x HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{SMUGGLED}"
    );
    let answers = exchange(stoa.gateway, request).await;
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].json()["body"], SMUGGLED);
    assert_eq!(upstream.requests(), 1);
}

#[tokio::test]
async fn a_refused_request_ends_the_connection_for_those_sent_with_it() {
    let (upstream, stoa) = start().await;
    let first = "GET /kv/first HTTP/1.1\r\nHost: a\r\n\r\n";
    let bad = "GET /kv/bad HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n";
    let answers = exchange(stoa.gateway, format!("{first}{bad}{SMUGGLED}")).await;
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [200, 400]);
    assert_eq!(upstream.requests(), 1);
}

#[tokio::test]
async fn a_length_that_connection_names_still_frames_the_body() {
    let (upstream, stoa) = start().await;
    for named in ["content-length", "close, Content-Length, transfer-encoding, host"] {
        let length = SMUGGLED.len();
        let request = format!(
            "POST /kv/x HTTP/1.1\r\nHost: a\r\nConnection: {named}\r\nContent-Length: {length}\r\n\r\n{SMUGGLED}\
             GET /nowhere HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        );
        let answers = exchange(stoa.gateway, request).await;
        assert_eq!(answers[0].json()["body"], SMUGGLED, "{answers:?}");
    }
    assert_eq!(upstream.requests(), 2, "the body was taken for a request");
}
