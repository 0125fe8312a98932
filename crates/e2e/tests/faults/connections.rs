//! Connections that say nothing and senders that take their time, while other requests are answered as ever.

use crate::{kills, start};
use e2e::{Crm, Stoa, Vendor};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// In `make faults`; in `make test` a tenth of it.
const IDLE: usize = 10_000;
const SLOW: usize = 1_000;
const REQUESTS: usize = 200;
/// On a machine that does nothing else; with other tests beside it, four times as long.
const P99: Duration = Duration::from_millis(100);

/// A door of the program: what is asked there, and what is sent slowly.
struct Door {
    name: &'static str,
    address: SocketAddr,
    asked: &'static str,
    sent: &'static str,
}

fn doors(stoa: &Stoa) -> [Door; 5] {
    let door = |name, address: Option<SocketAddr>, asked, sent| Door {
        name,
        address: address.unwrap(),
        asked,
        sent,
    };
    [
        door("gateway", Some(stoa.gateway), "/core/api/health", "/core/api/auth/login"),
        door("knowledge", stoa.knowledge, "/api/health", "/api/auth/login"),
        door("supervisor", stoa.supervisor, "/livez", "/api/projects"),
        door("portal", stoa.portal, "/livez", "/api/portal/goals"),
        door("leads", stoa.leads, "/livez", "/api/leads"),
    ]
}

async fn connect(doors: &[Door], count: usize) -> Vec<(&'static str, TcpStream)> {
    let mut sockets = Vec::new();
    for door in doors.iter().cycle().take(count) {
        let socket = TcpStream::connect(door.address).await.expect("the connection is accepted");
        sockets.push((door.sent, socket));
    }
    sockets
}

/// Sends a byte of each body twice a second, until it is dropped.
async fn send_slowly(mut sockets: Vec<(&str, TcpStream)>) {
    for (path, socket) in &mut sockets {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{"
        );
        let _ = socket.write_all(head.as_bytes()).await;
    }
    loop {
        for (_, socket) in &mut sockets {
            // One that was too slow, or whose sender may not send it, is closed.
            let _ = socket.write_all(b" ").await;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Returns the time that 99 of 100 requests did not exceed.
async fn p99(client: &reqwest::Client, url: &str) -> Duration {
    let mut times = Vec::new();
    for _ in 0..REQUESTS {
        let asked = Instant::now();
        let answer = client.get(url).send().await.expect("an answer");
        assert_eq!(answer.status(), 200, "{url}");
        answer.bytes().await.expect("a body");
        times.push(asked.elapsed());
    }
    times.sort();
    times[REQUESTS * 99 / 100]
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_and_slow_senders_delay_no_request() {
    let (vendor, crm) = (Vendor::start("An answer.").await, Crm::start().await);
    let stoa = start(&vendor, &crm).set("MAX_CONNECTIONS", 15_000).set("HEADER_TIMEOUT", "60s").serve();
    let is_long = kills() >= 200;
    let share = if is_long { 1 } else { 10 };
    let doors = doors(&stoa);
    let idle = connect(&doors, IDLE / share).await;
    let slow = tokio::spawn(send_slowly(connect(&doors, SLOW / share).await));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let client = reqwest::Client::new();
    let most = if is_long { P99 } else { 4 * P99 };
    for Door { name, address, asked, .. } in &doors {
        let took = p99(&client, &format!("http://{address}{asked}")).await;
        println!(
            "{name}: p99 {took:?} beside {} idle connections and {} slow senders",
            idle.len(),
            SLOW / share
        );
        assert!(took < most, "{name}: {took:?}");
    }
    assert!(!slow.is_finished());
    slow.abort();
}
