//! `GET /api/portal/metrics`: what the services of all processes have answered in the last hour.

use super::App;
use super::caller::Admin;
use super::status::Counts;
use crate::status::{Availability, ServiceStatus};
use axum::Json;
use axum::extract::State;
use kit::error::ApiError;
use kit::figures::{BUCKETS, Sums};
use serde::Serialize;
use std::collections::BTreeMap;
use store::figures::{self, Minute, Process};
use utoipa::ToSchema;

const STEP_MS: i64 = 60_000;
const STEPS: usize = 60;
/// A process that has not written for so long has ended.
const PROCESS_ENDED_MS: i64 = 120_000;

/// The last hour, in steps of a minute. The last step is the current minute.
#[derive(Serialize, ToSchema)]
pub struct Metrics {
    /// The start of the first step, in milliseconds since 1970.
    #[schema(example = 1_794_705_420_000_i64)]
    from: i64,
    /// The end of the last step.
    #[schema(example = 1_794_709_020_000_i64)]
    to: i64,
    /// The length of a step in milliseconds.
    #[schema(example = 60_000)]
    step: i64,
    services: Vec<ServiceMetrics>,
    counts: Counts,
    processes: Vec<ProcessView>,
}

/// What a service has answered: a number for each step.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ServiceMetrics {
    #[schema(example = "gateway")]
    name: String,
    status: Availability,
    requests: Vec<i64>,
    /// Answers with a status of 500 and above.
    errors: Vec<i64>,
    /// The time until half of the answers began, in milliseconds; null if there was none.
    p50_ms: Vec<Option<f64>>,
    /// The same for 99 of 100.
    p99_ms: Vec<Option<f64>>,
}

/// A process that runs.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Process)]
struct ProcessView {
    #[schema(example = "9f86d081884c7d65")]
    id: String,
    #[schema(example = 1_794_705_420_000_i64)]
    started_at: i64,
    services: Vec<String>,
    /// How many users' indexes are in its memory.
    #[schema(example = 103)]
    indexes: i64,
    /// The bytes that they and the graphs of these users take, without what is mapped from a file.
    #[schema(example = 52_428_800)]
    index_bytes: i64,
}

/// Returns what the services of all processes have answered in the last hour. Only for administrators.
#[utoipa::path(get, path = "/api/portal/metrics", responses((status = 200, body = Metrics)))]
pub async fn metrics(State(app): State<App>, _: Admin) -> Result<Json<Metrics>, ApiError> {
    let now = app.db.clock().now_ms();
    let to = now - now.rem_euclid(STEP_MS) + STEP_MS;
    let from = to - STEPS as i64 * STEP_MS;
    let minutes = figures::since(&app.db, from).await?;
    let processes = figures::processes(&app.db, now - PROCESS_ENDED_MS).await?;
    let statuses = app.services.status().await;
    let services = by_service(&minutes, from, &processes);
    let services = services.into_iter().map(|(name, steps)| {
        let status = availability(&name, &statuses, &processes);
        ServiceMetrics::new(name, status, &steps)
    });
    let services = services.collect();
    let snapshot = app.cache.current().await?;
    let counts = Counts::of(&snapshot);
    let processes = processes.into_iter().map(|process| ProcessView {
        id: process.id,
        started_at: process.started_at_ms,
        services: process.services,
        indexes: process.indexes,
        index_bytes: process.index_bytes,
    });
    let processes = processes.collect();
    Ok(Json(Metrics { from, to, step: STEP_MS, services, counts, processes }))
}

impl ServiceMetrics {
    fn new(name: String, status: Availability, steps: &[Sums]) -> Self {
        let rounded = |sums: &Sums, share| sums.quantile(share).map(|ms| (ms * 100.0).round() / 100.0);
        Self {
            name,
            status,
            requests: steps.iter().map(Sums::requests).collect(),
            errors: steps.iter().map(|sums| sums.errors).collect(),
            p50_ms: steps.iter().map(|sums| rounded(sums, 0.5)).collect(),
            p99_ms: steps.iter().map(|sums| rounded(sums, 0.99)).collect(),
        }
    }
}

/// Adds the minutes of all processes up, for each service that runs or has answered.
fn by_service(minutes: &[Minute], from: i64, processes: &[Process]) -> BTreeMap<String, Vec<Sums>> {
    let empty = || vec![Sums::default(); STEPS];
    let running = processes.iter().flat_map(|process| &process.services);
    let mut services: BTreeMap<String, Vec<Sums>> = running.map(|name| (name.clone(), empty())).collect();
    for minute in minutes {
        let step = usize::try_from((minute.minute_ms - from) / STEP_MS).unwrap_or(usize::MAX);
        let steps = services.entry(minute.service.clone()).or_insert_with(empty);
        // The clock of another process may be ahead.
        if let Some(sums) = steps.get_mut(step) {
            let times: [i64; BUCKETS] =
                std::array::from_fn(|bucket| minute.times.get(bucket).copied().unwrap_or(0));
            sums.add(&Sums { errors: minute.errors, times });
        }
    }
    services
}

/// Returns how a service is: as it says, if the portal asks it; otherwise whether a process runs it.
fn availability(name: &str, asked: &[ServiceStatus], processes: &[Process]) -> Availability {
    let mut answers = asked.iter().filter(|service| service.name == name).map(|service| service.status);
    if let Some(first) = answers.next() {
        // Of several addresses of a service, one that does not answer makes it degraded.
        return if answers.all(|other| other == first) { first } else { Availability::Degraded };
    }
    let runs = processes.iter().any(|process| process.services.iter().any(|service| service == name));
    if runs { Availability::Ok } else { Availability::Down }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minute(service: &str, minute_ms: i64, times: &[i64]) -> Minute {
        Minute { minute_ms, service: service.to_owned(), errors: 1, times: times.to_vec() }
    }

    #[test]
    fn processes_are_added_up_and_a_service_without_requests_is_there() {
        let process = Process {
            id: "a".to_owned(),
            started_at_ms: 0,
            seen_at_ms: 0,
            services: vec!["gateway".to_owned(), "leads".to_owned()],
            addresses: Vec::new(),
            indexes: 0,
            index_bytes: 0,
        };
        let minutes = [
            minute("gateway", 120_000, &[1, 2]),
            minute("gateway", 120_000, &[4]),
            minute("gateway", 60_000 * 61, &[9]),
            minute("portal", 60_000 * 60, &[1]),
        ];
        let services = by_service(&minutes, 60_000, &[process]);
        assert_eq!(services.keys().collect::<Vec<_>>(), ["gateway", "leads", "portal"]);
        let gateway = &services["gateway"];
        assert_eq!((gateway[1].requests(), gateway[1].errors, gateway[0].requests()), (7, 2, 0));
        assert_eq!(gateway.iter().map(Sums::requests).sum::<i64>(), 7, "a minute to come is left out");
        assert_eq!(services["portal"][59].requests(), 1);
        let shown = ServiceMetrics::new("leads".to_owned(), Availability::Ok, &services["leads"]);
        assert_eq!((shown.requests.len(), shown.p99_ms[0]), (60, None));
    }
}
