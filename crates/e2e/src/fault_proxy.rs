//! A TCP proxy to a real server that a test can cut, stall and restore, as if the server's machine went away.

use std::path::PathBuf;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The server behind the proxy.
#[derive(Clone)]
pub enum Server {
    Tcp(String),
    Unix(PathBuf),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Passes,
    Cut,
    Hangs,
}

pub struct FaultProxy {
    /// `host:port`
    pub address: String,
    state: watch::Sender<State>,
    server: watch::Sender<Server>,
    accepting: JoinHandle<()>,
}

impl FaultProxy {
    pub async fn start(server: Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        let (state, watched) = watch::channel(State::Passes);
        let (server, servers) = watch::channel(server);
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = servers.borrow().clone();
                tokio::spawn(forward(client, server, watched.clone()));
            }
        });
        Self { address, state, server, accepting }
    }

    /// Leads new connections to another server.
    pub fn lead_to(&self, server: Server) {
        self.server.send_replace(server);
    }

    /// Closes every connection and refuses new ones.
    pub fn cut(&self) {
        self.state.send_replace(State::Cut);
    }

    /// Stops forwarding. Connections stay open and new ones are accepted.
    pub fn hang(&self) {
        self.state.send_replace(State::Hangs);
    }

    pub fn mend(&self) {
        self.state.send_replace(State::Passes);
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn forward(mut client: TcpStream, server: Server, mut state: watch::Receiver<State>) {
    let copying = async {
        match server {
            Server::Tcp(address) => {
                let mut server = TcpStream::connect(address).await?;
                copy_bidirectional(&mut client, &mut server).await
            }
            Server::Unix(path) => {
                let mut server = UnixStream::connect(path).await?;
                copy_bidirectional(&mut client, &mut server).await
            }
        }
    };
    tokio::select! {
        _ = state.wait_for(|state| *state != State::Passes) => {}
        _ = copying => return,
    }
    let _ = state.wait_for(|state| *state != State::Hangs).await;
}
