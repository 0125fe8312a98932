//! What only HTTP/2 clients can do.

use bytes::Bytes;
use e2e::Stoa;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};

#[tokio::test]
async fn an_upload_that_its_client_gives_up_never_looks_whole_to_the_target() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stoa = Stoa::start().before(&format!("http://{}", listener.local_addr().unwrap())).serve();
    let socket = TcpStream::connect(stoa.gateway).await.unwrap();
    let (client, connection) = h2::client::handshake(socket).await.unwrap();
    tokio::spawn(connection);
    let request = http::Request::post(stoa.url("/kv/x")).body(()).unwrap();
    let (_answer, mut body) = client.ready().await.unwrap().send_request(request, false).unwrap();
    body.send_data(Bytes::from_static(b"partial"), false).unwrap();
    let (mut target, _) = listener.accept().await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    body.send_reset(h2::Reason::NO_ERROR);
    let mut come = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(5), target.read_to_end(&mut come)).await;
    assert!(read.is_ok(), "the connection to the target stays open");
    let come = String::from_utf8(come).unwrap();
    assert!(come.contains("7\r\npartial\r\n"), "{come}");
    assert!(!come.contains("0\r\n\r\n"), "the target was told that this was all: {come}");
}

#[tokio::test]
async fn a_connection_in_use_is_not_idle() {
    let upstream = e2e::Upstream::start().await;
    let stoa = Stoa::start().before(&upstream.url()).set("IDLE_TIMEOUT", "300ms").serve();
    let socket = TcpStream::connect(stoa.gateway).await.unwrap();
    let (mut client, connection) = h2::client::handshake(socket).await.unwrap();
    let mut connection = tokio::spawn(connection);
    for _ in 0..10 {
        let request = http::Request::get(stoa.url("/kv/x")).body(()).unwrap();
        client = client.ready().await.unwrap();
        let (answer, _) = client.send_request(request, true).unwrap();
        assert_eq!(answer.await.unwrap().status(), 200);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let closed = tokio::time::timeout(Duration::from_secs(2), &mut connection).await;
    assert!(closed.is_ok(), "an idle one is closed");
}

#[tokio::test]
async fn a_client_that_makes_no_room_for_answers_is_let_go() {
    let upstream = e2e::Upstream::start().await;
    let stoa = Stoa::start().before(&upstream.url()).set("WRITE_TIMEOUT", "300ms").serve();
    let socket = TcpStream::connect(stoa.gateway).await.unwrap();
    let mut builder = h2::client::Builder::new();
    let (client, connection) = builder.initial_window_size(0).handshake::<_, Bytes>(socket).await.unwrap();
    let connection = tokio::spawn(connection);
    let request = http::Request::get(stoa.url("/kv/bytes?n=1000000")).body(()).unwrap();
    let (answer, _) = client.ready().await.unwrap().send_request(request, true).unwrap();
    let _unread = answer.await.unwrap();
    assert!(tokio::time::timeout(Duration::from_secs(3), connection).await.is_ok(), "it stays open");
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(upstream.open_connections(), 0);
}

#[tokio::test]
async fn a_host_or_target_that_is_none_is_refused_here_too() {
    let upstream = e2e::Upstream::start().await;
    let stoa = Stoa::start().before(&upstream.url()).serve();
    let socket = TcpStream::connect(stoa.gateway).await.unwrap();
    let (mut client, connection) = h2::client::handshake(socket).await.unwrap();
    tokio::spawn(connection);
    for (uri, status) in [
        ("http://a/kv/x", 200),
        ("http://user@a/kv/x", 400),
        ("http://a,b/kv/x", 400),
        ("http://a/kv/\u{e4}", 400),
    ] {
        let request = http::Request::get(uri).body(()).unwrap();
        client = client.ready().await.unwrap();
        let (answer, _) = client.send_request(request, true).unwrap();
        assert_eq!(answer.await.unwrap().status(), status, "{uri}");
    }
    assert_eq!(upstream.requests(), 1);
}
