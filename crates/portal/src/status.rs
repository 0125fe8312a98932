//! How the other services are, measured when somebody asks.

use futures_util::future::join_all;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// Twice that is within the two seconds of a caller who comes when another has just gone away.
const PATIENCE: Duration = Duration::from_millis(900);
const FRESH: Duration = Duration::from_secs(1);

/// A service and where its health is asked.
#[derive(Clone, Debug)]
pub struct Peer {
    pub name: &'static str,
    pub url: String,
}

pub struct Status {
    client: reqwest::Client,
    peers: Vec<Peer>,
    since: Instant,
    measured: Mutex<Option<(Instant, Arc<Vec<Value>>)>>,
}

impl Status {
    pub fn new(peers: Vec<Peer>) -> Result<Self, reqwest::Error> {
        let client = reqwest::Client::builder().timeout(PATIENCE).no_proxy().build()?;
        Ok(Self { client, peers, since: Instant::now(), measured: Mutex::default() })
    }

    pub fn uptime(&self) -> u64 {
        self.since.elapsed().as_secs()
    }

    /// Each service; asked at most once a second, however many want to know.
    pub async fn services(&self) -> Arc<Vec<Value>> {
        let mut measured = self.measured.lock().await;
        if let Some((at, services)) = &*measured
            && at.elapsed() < FRESH
        {
            return services.clone();
        }
        let services = Arc::new(join_all(self.peers.iter().map(|peer| self.ask(peer))).await);
        *measured = Some((Instant::now(), services.clone()));
        services
    }

    async fn ask(&self, peer: &Peer) -> Value {
        let started = Instant::now();
        let answer = self.client.get(format!("{}/readyz", peer.url)).send().await;
        let status = match answer {
            Ok(answer) if answer.status().is_success() => "ok",
            Ok(_) => "degraded",
            Err(_) => "down",
        };
        json!({ "name": peer.name, "status": status, "latencyMs": started.elapsed().as_secs_f64() * 1000.0 })
    }
}
