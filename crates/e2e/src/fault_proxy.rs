//! A TCP connection to a real server that a test can cut and mend: what a client sees when a machine goes away.

use std::path::PathBuf;
use std::sync::Arc;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Where the connections lead.
#[derive(Clone)]
pub enum Server {
    Tcp(String),
    Unix(PathBuf),
}

pub struct FaultProxy {
    /// `host:port`
    pub address: String,
    passes: watch::Sender<bool>,
    accepting: JoinHandle<()>,
}

impl FaultProxy {
    pub async fn start(server: Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        let (passes, watched) = watch::channel(true);
        let server = Arc::new(server);
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(forward(client, server.clone(), watched.clone()));
            }
        });
        Self { address, passes, accepting }
    }

    /// Ends every connection and accepts no other.
    pub fn cut(&self) {
        self.passes.send_replace(false);
    }

    pub fn mend(&self) {
        self.passes.send_replace(true);
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn forward(mut client: TcpStream, server: Arc<Server>, mut passes: watch::Receiver<bool>) {
    let copying = async {
        match server.as_ref() {
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
        _ = passes.wait_for(|passes| !passes) => {}
        _ = copying => {}
    }
}
