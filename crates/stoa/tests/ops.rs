//! The operations listener: health and metrics, and nothing of them at the front door.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use e2e::{Stoa, Upstream};
use serde_json::Value;

async fn get(url: String) -> (u16, String) {
    let response = reqwest::get(url).await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

#[tokio::test]
async fn health_and_metrics_are_on_their_own_listener() {
    let upstream = Upstream::start().await;
    let stoa = Stoa::start().set("CORE_SERVICE_URL", upstream.url()).serve();
    let ops = |path: &str| format!("http://{}{path}", stoa.ops);
    assert_eq!(get(ops("/livez")).await, (200, r#"{"status":"ok"}"#.to_owned()));
    let (status, body) = get(ops("/readyz")).await;
    assert_eq!(status, 200, "{body}");
    for _ in 0..3 {
        assert_eq!(get(stoa.url("/core/")).await.0, 200);
    }
    assert_eq!(get(stoa.url("/nowhere")).await.0, 404);
    let (status, figures) = get(ops("/metrics")).await;
    assert_eq!(status, 200);
    for line in [
        r#"http_requests_total{service="gateway",status="2xx"} 3"#,
        r#"http_requests_total{service="gateway",status="4xx"} 1"#,
        r#"http_request_duration_seconds_count{service="gateway"} 4"#,
        r#"http_requests_in_flight{service="gateway"} 0"#,
    ] {
        assert!(figures.contains(line), "{line} is not in:\n{figures}");
    }
    for path in ["/livez", "/readyz", "/metrics"] {
        assert_eq!(get(stoa.url(path)).await.0, 404, "{path} at the gateway");
    }
}

#[tokio::test]
async fn unknown_paths_and_methods_come_in_the_error_shape() {
    let stoa = Stoa::start().serve();
    let (status, body) = get(format!("http://{}/nowhere", stoa.ops)).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &body["code"], &body["success"]), (404, &"NOT_FOUND".into(), &false.into()));
    let request = reqwest::Client::new().post(format!("http://{}/livez", stoa.ops));
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 405);
    assert_eq!(response.headers()["allow"], "GET,HEAD");
    assert_eq!(response.headers()["x-request-id"].len(), 36);
    let body: Value = response.json().await.unwrap();
    assert_eq!(body["code"], "METHOD_NOT_ALLOWED");
}

#[tokio::test]
async fn a_dependency_that_is_gone_is_named() {
    let stoa = Stoa::start().serve();
    std::fs::remove_dir_all(stoa.data.path().join("objects")).unwrap();
    let (status, body) = get(format!("http://{}/readyz", stoa.ops)).await;
    assert_eq!(status, 503, "{body}");
    let body: Value = serde_json::from_str(&body).unwrap();
    let objects = body["checks"].as_array().unwrap().iter().find(|check| check["name"] == "objects").unwrap();
    assert_eq!(objects["status"], "unavailable");
    assert!(stoa.logs("service=ops method=GET path=/readyz status=503"), "{}", stoa.log());
}
