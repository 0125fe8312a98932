//! The operations listener: health and metrics of the whole process, for operators only.

use crate::health::{Health, Reader};
use crate::metrics::Metrics;
use crate::serve::{AxumHandler, Door};
use axum::routing::get;

/// Serves `GET /livez`, `GET /readyz`, `GET /metrics`.
pub fn handler(health: Health, metrics: Metrics) -> AxumHandler {
    let figures = get(async move || metrics.render());
    let (health, _) = health.routes(Reader::Operator).split_for_parts();
    AxumHandler::new(health.route("/metrics", figures), Door::default())
}
