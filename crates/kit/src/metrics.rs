//! Metrics of the process. Those of a service are looked up once, at its start, so that counting is one addition.

use crate::figures::Figures;
use metrics::{Counter, Gauge, Histogram};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use std::sync::Arc;
use std::time::Duration;

const SECONDS: [f64; 14] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0];

/// The metrics of the process.
#[derive(Clone)]
pub struct Metrics(PrometheusHandle);

impl Metrics {
    /// Installs the recorder. Metrics have an effect only after this.
    pub fn install() -> Result<Self, BuildError> {
        PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &SECONDS)?
            .install_recorder()
            .map(Self)
    }

    /// Returns the metrics in Prometheus' text format.
    pub fn render(&self) -> String {
        self.0.render()
    }

    /// Adds recorded times to their histograms regularly; without it they accumulate until the next scrape.
    pub async fn upkeep(self) {
        let mut every = tokio::time::interval(Duration::from_secs(5));
        loop {
            every.tick().await;
            self.0.run_upkeep();
        }
    }
}

/// The metrics of one listener.
pub struct ServiceMetrics {
    answers: [Counter; 6],
    /// What the portal shows of this listener.
    pub figures: Arc<Figures>,
    pub seconds: Histogram,
    pub in_flight: Gauge,
    pub connections: Gauge,
    pub refused_connections: Counter,
}

impl ServiceMetrics {
    pub fn new(service: &'static str) -> Self {
        let answers = ["client_gone", "1xx", "2xx", "3xx", "4xx", "5xx"];
        Self {
            answers: answers.map(
                |class| metrics::counter!("http_requests_total", "service" => service, "status" => class),
            ),
            figures: Arc::default(),
            seconds: metrics::histogram!("http_request_duration_seconds", "service" => service),
            in_flight: metrics::gauge!("http_requests_in_flight", "service" => service),
            connections: metrics::gauge!("http_connections", "service" => service),
            refused_connections: metrics::counter!("http_connections_refused_total", "service" => service),
        }
    }

    /// Counts a response. Status 0 means a client that disconnected before its response.
    pub fn answered(&self, status: u16, seconds: f64) {
        self.answers[usize::from(status / 100).min(5)].increment(1);
        self.seconds.record(seconds);
    }
}
