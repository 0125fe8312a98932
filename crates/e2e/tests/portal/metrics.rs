//! Figures of the last hour, from all processes.

use e2e::postgres::Postgres;
use e2e::{PortalClient, Stoa, get};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Waits until the figures are as wanted: they are stored every few seconds.
async fn until(client: &PortalClient, wanted: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let answer = client.get("/api/portal/metrics").await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let metrics = answer.json();
        if wanted(&metrics) {
            return metrics;
        }
        assert!(Instant::now() < deadline, "{metrics}");
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

fn service<'a>(metrics: &'a Value, name: &str) -> &'a Value {
    metrics["services"]
        .as_array()
        .unwrap()
        .iter()
        .find(|service| service["name"] == name)
        .unwrap_or(&Value::Null)
}

fn sum(list: &Value) -> i64 {
    list.as_array().map_or(0, |list| list.iter().filter_map(Value::as_i64).sum())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_hour_is_shown_to_administrators() {
    let stoa = Stoa::start().only("gateway,portal,leads").serve();
    let client = PortalClient::through_gateway(&stoa, "admin");
    for _ in 0..20 {
        get(stoa.url("/kv/api/portal/status")).await;
    }
    let metrics = until(&client, |metrics| sum(&service(metrics, "gateway")["requests"]) >= 20).await;
    let names: Vec<&Value> = metrics["services"].as_array().unwrap().iter().map(|own| &own["name"]).collect();
    assert_eq!(names, ["gateway", "leads", "ops", "portal"]);
    let portal = service(&metrics, "portal");
    assert_eq!((&portal["status"], sum(&portal["errors"])), (&json!("ok"), 0));
    for list in ["requests", "errors", "p50Ms", "p99Ms"] {
        assert_eq!(portal[list].as_array().unwrap().len(), 60, "{list}");
    }
    let busy = portal["requests"].as_array().unwrap().iter().rposition(|count| *count != 0).unwrap();
    assert!(busy >= 57, "now is at the end: {portal}");
    let (p50, p99) = (portal["p50Ms"][busy].as_f64().unwrap(), portal["p99Ms"][busy].as_f64().unwrap());
    assert!(0.0 < p50 && p50 <= p99, "{p50} {p99}");
    let time = |name: &str| metrics[name].as_i64().unwrap();
    assert_eq!((time("to") - time("from"), time("step")), (3_600_000, 60_000));
    assert_eq!(metrics["counts"]["tools"], 3);
    assert_eq!(metrics["processes"].as_array().unwrap().len(), 1);
    assert_eq!(metrics["processes"][0]["services"], json!(["leads", "portal", "gateway", "ops"]));
    let refused = [PortalClient::through_gateway(&stoa, "guest"), PortalClient::anonymous(&stoa)];
    for (client, status) in refused.iter().zip([403, 401]) {
        assert_eq!(client.get("/api/portal/metrics").await.status, status);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_processes_are_added_up_and_one_that_ends_is_gone() {
    let database = Postgres::shared().await.database().await;
    let start = || Stoa::start_portal().set("DATABASE_URL", &database).serve();
    let (first, second) = (start(), start());
    for stoa in [&first, &second] {
        for _ in 0..15 {
            get(stoa.url("/kv/api/portal/status")).await;
        }
    }
    let client = PortalClient::through_gateway(&first, "admin");
    let is_whole = |metrics: &Value| {
        metrics["processes"].as_array().unwrap().len() == 2
            && sum(&service(metrics, "gateway")["requests"]) >= 30
    };
    until(&client, is_whole).await;
    second.signal("TERM");
    let (code, _) = second.wait();
    assert_eq!(code, Some(0));
    let left = until(&client, |metrics| metrics["processes"].as_array().unwrap().len() == 1).await;
    assert!(sum(&service(&left, "gateway")["requests"]) >= 30, "what it has answered stays: {left}");
}
