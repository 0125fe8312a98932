//! A target for the gateway: a real HTTP server that reports what it was sent, and misbehaves on request.

mod answers;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

pub struct Upstream {
    pub address: SocketAddr,
    pub seen: Arc<Seen>,
    accepting: JoinHandle<()>,
    open: Arc<Mutex<JoinSet<()>>>,
}

#[derive(Default)]
pub struct Seen {
    pub connections: AtomicUsize,
    pub requests: AtomicUsize,
    /// Requests to `/hang` and `/sse` whose client has disconnected.
    pub abandoned: AtomicUsize,
    open: AtomicUsize,
    tunnels: AtomicUsize,
}

/// Counts as one until it is dropped.
struct Counted<F: Fn(&Seen) -> &AtomicUsize>(Arc<Seen>, F);

impl<F: Fn(&Seen) -> &AtomicUsize> Counted<F> {
    fn new(seen: &Arc<Seen>, which: F) -> Self {
        which(seen).fetch_add(1, Ordering::SeqCst);
        Self(seen.clone(), which)
    }
}

impl<F: Fn(&Seen) -> &AtomicUsize> Drop for Counted<F> {
    fn drop(&mut self) {
        self.1(&self.0).fetch_sub(1, Ordering::SeqCst);
    }
}

/// Binds a free port. A port that was looked up before could be taken by another process by then.
const ANY_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

impl Upstream {
    pub async fn start() -> Self {
        Self::start_on(ANY_PORT, Habit::Faithful).await
    }

    /// Starts at the address of another one.
    pub async fn start_at(address: SocketAddr) -> Self {
        Self::start_on(address, Habit::Faithful).await
    }

    /// Closes each connection after this many responses, without announcing it.
    pub async fn start_closing_after(answers: usize) -> Self {
        Self::start_on(ANY_PORT, Habit::ClosesAfter(answers)).await
    }

    /// After this many responses on a connection, reads one more request and closes without a response.
    pub async fn start_breaking_after(answers: usize) -> Self {
        Self::start_on(ANY_PORT, Habit::BreaksAfter(answers)).await
    }

    async fn start_on(address: SocketAddr, habit: Habit) -> Self {
        let listener = TcpListener::bind(address).await.expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let seen: Arc<Seen> = Arc::default();
        let open: Arc<Mutex<JoinSet<()>>> = Arc::default();
        let (shared, connections) = (seen.clone(), open.clone());
        let accepting = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                shared.connections.fetch_add(1, Ordering::SeqCst);
                let _ = socket.set_nodelay(true);
                connections.lock().unwrap().spawn(serve(socket, shared.clone(), habit));
            }
        });
        Self { address, seen, accepting, open }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    pub fn requests(&self) -> usize {
        self.seen.requests.load(Ordering::SeqCst)
    }

    pub fn abandoned(&self) -> usize {
        self.seen.abandoned.load(Ordering::SeqCst)
    }

    /// Returns the number of open connections.
    pub fn open_connections(&self) -> usize {
        self.seen.open.load(Ordering::SeqCst)
    }

    /// Returns the number of open upgraded connections.
    pub fn tunnels(&self) -> usize {
        self.seen.tunnels.load(Ordering::SeqCst)
    }

    /// Breaks all connections and refuses new ones.
    pub fn kill(&self) {
        self.accepting.abort();
        self.open.lock().unwrap().abort_all();
    }

    /// Refuses new connections; open ones stay.
    pub fn stop_accepting(&self) {
        self.accepting.abort();
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns an address without a listener.
pub async fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    listener.local_addr().expect("a bound address")
}

#[derive(Clone, Copy)]
enum Habit {
    Faithful,
    ClosesAfter(usize),
    BreaksAfter(usize),
}

async fn serve(socket: TcpStream, seen: Arc<Seen>, habit: Habit) {
    let _open = Counted::new(&seen, |seen| &seen.open);
    let answered = Arc::new(AtomicUsize::new(0));
    let counted = answered.clone();
    let service = service_fn(move |request| {
        let (seen, counted) = (seen.clone(), counted.clone());
        async move {
            seen.requests.fetch_add(1, Ordering::SeqCst);
            if let Habit::BreaksAfter(answers) = habit
                && counted.load(Ordering::SeqCst) >= answers
            {
                return Err(io::Error::other("as asked"));
            }
            let response = answers::answer(request, seen).await;
            counted.fetch_add(1, Ordering::SeqCst);
            Ok(response)
        }
    });
    let connection = http1::Builder::new()
        .max_headers(200)
        .serve_connection(TokioIo::new(socket), service)
        .with_upgrades();
    let enough = async {
        let Habit::ClosesAfter(answers) = habit else { return std::future::pending().await };
        while answered.load(Ordering::SeqCst) < answers {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    tokio::select! {
        _ = connection => {}
        () = enough => {}
    }
}
