//! How the services are.

use e2e::{PortalClient, Stoa, Upstream};
use std::time::{Duration, Instant};

#[tokio::test(flavor = "multi_thread")]
async fn the_services_of_this_process_are_asked_for_real() {
    let stoa =
        Stoa::start().only("gateway,knowledge,supervisor,portal").set("STOA_MODELS_DIR", "none").serve();
    let answer = PortalClient::stranger(&stoa).get("/api/portal/status").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let status = answer.json();
    let names: Vec<&str> = status["services"]
        .as_array()
        .unwrap()
        .iter()
        .map(|service| service["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["knowledge", "supervisor"]);
    // The models are missing here, which their health says.
    assert!(
        status["services"].as_array().unwrap().iter().all(|service| service["status"] == "degraded"),
        "{status}"
    );
    assert!(status["services"][0]["latencyMs"].is_number() && status["uptime"].is_number());
    assert_eq!((&status["status"], &status["counts"]["tools"]), (&"degraded".into(), &3.into()));
    assert!(status["version"].is_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_hangs_or_is_gone_delays_no_answer() {
    let hanging = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let upstream = Upstream::start().await;
    let start =
        Stoa::start_portal().set("CORE_SERVICE_URL", format!("http://{}", hanging.local_addr().unwrap()));
    let stoa =
        start.set("BUILD_SERVICE_URL", "http://127.0.0.1:9").set("LEADS_SERVICE_URL", upstream.url()).serve();
    let client = PortalClient::stranger(&stoa);
    let started = Instant::now();
    let status = client.get("/api/portal/status").await.json();
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    let of = |name: &str| {
        status["services"].as_array().unwrap().iter().find(|service| service["name"] == name).unwrap()["status"].clone()
    };
    assert_eq!((of("knowledge"), of("supervisor"), of("leads")), ("down".into(), "down".into(), "ok".into()));
    // What is a second old at most is told again.
    let started = Instant::now();
    assert_eq!(client.get("/api/portal/status").await.status, 200);
    assert!(started.elapsed() < Duration::from_millis(500), "{:?}", started.elapsed());
}
