//! How the other services are, measured when a client asks.

use futures_util::future::join_all;
use serde::Serialize;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;
use utoipa::ToSchema;

/// Twice that is less than two seconds: a client may have to wait for a measurement that another one has given up, and
/// then for its own.
const TIMEOUT: Duration = Duration::from_millis(900);
const FRESH: Duration = Duration::from_secs(1);

/// A service and where its health is asked.
#[derive(Clone, Debug)]
pub struct Peer {
    pub name: &'static str,
    pub url: String,
}

/// How a service is.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceStatus {
    #[schema(example = "knowledge")]
    pub name: &'static str,
    pub status: Availability,
    /// How long it took to answer.
    #[schema(example = 5.3)]
    pub latency_ms: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Availability {
    Ok,
    /// It answers, but something that it needs does not.
    Degraded,
    Down,
}

pub struct Services {
    client: reqwest::Client,
    peers: Vec<Peer>,
    since: Instant,
    measured: Mutex<Option<(Instant, Arc<Vec<ServiceStatus>>)>>,
}

impl Services {
    pub fn new(peers: Vec<Peer>) -> Result<Self, reqwest::Error> {
        let client = reqwest::Client::builder().timeout(TIMEOUT).no_proxy().build()?;
        Ok(Self { client, peers, since: Instant::now(), measured: Mutex::default() })
    }

    /// Returns for how many seconds this service has run.
    pub fn uptime(&self) -> u64 {
        self.since.elapsed().as_secs()
    }

    /// Returns how each service is. They are asked at most once a second, however many clients ask.
    pub async fn status(&self) -> Arc<Vec<ServiceStatus>> {
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

    async fn ask(&self, peer: &Peer) -> ServiceStatus {
        let started = Instant::now();
        let answer = self.client.get(format!("{}/readyz", peer.url)).send().await;
        let status = match answer {
            Ok(answer) if answer.status().is_success() => Availability::Ok,
            Ok(_) => Availability::Degraded,
            Err(_) => Availability::Down,
        };
        ServiceStatus { name: peer.name, status, latency_ms: started.elapsed().as_secs_f64() * 1000.0 }
    }
}
