//! What holds for the interface of every service: its document is faithful, it is shown as a page, and identities are
//! checked alike. That single answers are as documented is seen in every suite (`e2e::schema`).
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use e2e::schema::{document, find_path};
use e2e::stoa::JWT_SECRET;
use e2e::{Stoa, get, reply, tokens};
use jsonwebtoken::Algorithm;
use reqwest::Method;
use reqwest::header::HeaderValue;
use serde_json::json;
use std::net::SocketAddr;

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

fn start() -> Stoa {
    Stoa::start().only("gateway,knowledge,supervisor,portal,leads").serve()
}

fn services(stoa: &Stoa) -> [(&'static str, SocketAddr); 4] {
    [
        ("knowledge", stoa.knowledge.unwrap()),
        ("supervisor", stoa.supervisor.unwrap()),
        ("portal", stoa.portal.unwrap()),
        ("leads", stoa.leads.unwrap()),
    ]
}

/// A path with something in place of each parameter.
fn example(template: &str) -> String {
    let parts = template.split('/').map(|part| if part.starts_with('{') { "none" } else { part });
    parts.collect::<Vec<_>>().join("/")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_documented_operation_is_served_and_no_other() {
    let stoa = start();
    let client = reqwest::Client::new();
    for (service, address) in services(&stoa) {
        let document = document(service);
        let templates: Vec<&String> = document["paths"].as_object().unwrap().keys().collect();
        assert!(templates.len() > 5, "{service} documents {templates:?}");
        for template in templates {
            let path = example(template);
            let item = find_path(&document, &path).unwrap();
            for name in METHODS {
                let method = Method::from_bytes(name.as_bytes()).unwrap();
                let answer = reply(client.request(method, format!("http://{address}{path}"))).await;
                let is_documented = item.get(name.to_lowercase()).is_some();
                let is_served = answer.status != 405 && !answer.body.contains("no such path");
                assert_eq!(is_served, is_documented, "{service}: {name} {template}: {answer:?}");
            }
        }
        assert_eq!(get(format!("http://{address}/api/not-there")).await.status, 404);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_says_what_it_does_and_shows_an_example() {
    for service in e2e::schema::SERVICES {
        let document = document(service);
        for (template, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let name = format!("{service}: {method} {template}");
                assert!(operation["summary"].as_str().is_some_and(|text| !text.is_empty()), "{name}");
                assert!(operation["operationId"].is_string(), "{name}");
                let bodies = operation["responses"].as_object().unwrap().values();
                for body in bodies.chain([&operation["requestBody"]]) {
                    let json = &body["content"]["application/json"];
                    assert!(json.is_null() || !json["example"].is_null(), "{name}: {body}");
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_is_a_page_that_asks_no_other_origin() {
    let stoa = start();
    for (service, address) in services(&stoa) {
        let served = get(format!("http://{address}/openapi.json")).await;
        assert!(served.json() == *document(service), "{service} serves another document");
        for file in ["/docs", "/docs/page.js", "/docs/page.css"] {
            let answer = get(format!("http://{address}{file}")).await;
            assert_eq!(answer.status, 200, "{answer:?}");
            let policy = answer.header("content-security-policy").concat();
            assert!(policy.starts_with("default-src 'none'") && !policy.contains("http"), "{policy}");
            for absolute in ["http://", "https://", "src=\"/", "href=\"/", "fetch(\"/"] {
                assert!(!answer.body.contains(absolute), "{service} {file} has {absolute}");
            }
        }
    }
}

/// What the gateway sends for the administrator.
fn identity() -> String {
    let mut claims = tokens::claims("AUTH", "admin");
    claims["projectId"] = "admin".into();
    let header = json!({ "typ": "gateway-identity+jwt", "alg": "HS256" });
    tokens::sign_as(&header, &claims, JWT_SECRET, Algorithm::HS256)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_identity_that_does_not_verify_is_refused_by_every_service() {
    let stoa = start();
    let client = reqwest::Client::new();
    let paths = ["/api/documents", "/api/projects", "/api/portal/updates", "/api/leads"];
    let good = identity();
    for ((service, address), path) in services(&stoa).into_iter().zip(paths) {
        let request = || client.get(format!("http://{address}{path}"));
        for bytes in [b"".as_slice(), b"x", b"a.b.c", b"\xff\xfe", &[b'a'; 5_000]] {
            let identity = HeaderValue::from_bytes(bytes).unwrap();
            let answer = reply(request().header("x-gateway-identity", identity)).await;
            assert_eq!(
                (answer.status, answer.json()["code"].as_str()),
                (403, Some("FORBIDDEN")),
                "{service}"
            );
        }
        let twice = request().header("x-gateway-identity", &good).header("x-gateway-identity", "x");
        assert_eq!(reply(twice).await.status, 403, "{service}");
        let once = reply(request().header("x-gateway-identity", &good)).await;
        assert_eq!(once.status, 200, "{service}: {once:?}");
    }
}
