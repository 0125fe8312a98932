//! The lead ingest through its front door.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod admin;
mod backends;
mod faults;
mod forms;
mod forward;
mod forwarded;
mod intake;
mod origins;
mod same;
mod security;
mod settings;
mod spam;
mod storm;

use e2e::tokens::token;
use e2e::{Reply, Stoa, reply};
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn url(stoa: &Stoa, path: &str) -> String {
    format!("http://{}{path}", stoa.leads.expect("the lead ingest runs"))
}

fn request(stoa: &Stoa, method: Method, path: &str) -> RequestBuilder {
    let client = Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    client.request(method, url(stoa, path))
}

/// As a page's form sends it.
fn urlencoded(request: RequestBuilder, pairs: &[(&str, &str)]) -> RequestBuilder {
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    request.header("content-type", "application/x-www-form-urlencoded").body(body)
}

async fn post(stoa: &Stoa, path: &str, body: &Value) -> Reply {
    reply(request(stoa, Method::POST, path).json(body)).await
}

/// A lead that must be taken: its id.
async fn lead(stoa: &Stoa, path: &str, body: Value) -> String {
    let answer = post(stoa, path, &body).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    let id = answer.json()["leadId"].as_str().unwrap().to_owned();
    assert_eq!(answer.json(), json!({ "success": true, "leadId": id, "status": "queued" }));
    assert!(e2e::client::is_uuid(&id), "{id}");
    id
}

async fn as_admin(stoa: &Stoa, method: Method, path: &str) -> Reply {
    reply(request(stoa, method, path).bearer_auth(token("AUTH", "admin"))).await
}

async fn shown(stoa: &Stoa, id: &str) -> Value {
    let answer = as_admin(stoa, Method::GET, &format!("/api/leads/{id}")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

async fn listed(stoa: &Stoa, query: &str) -> Vec<Value> {
    let answer = as_admin(stoa, Method::GET, &format!("/api/leads{query}")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json().as_array().unwrap().clone()
}

/// Waits until a lead has this status.
async fn becomes(stoa: &Stoa, id: &str, status: &str) -> Value {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let lead = shown(stoa, id).await;
        if lead["status"] == status {
            return lead;
        }
        assert!(Instant::now() < deadline, "not {status}: {lead}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Status and code of an error in the services' shape.
fn fault(answer: &Reply) -> (u16, String) {
    let body = answer.json();
    assert_eq!(body["success"], false, "{answer:?}");
    assert!(body["error"].as_str().is_some_and(|text| !text.is_empty()), "{answer:?}");
    (answer.status, body["code"].as_str().unwrap().to_owned())
}

fn invalid(answer: &Reply, word: &str) {
    assert_eq!(fault(answer), (400, "INVALID_REQUEST".to_owned()), "{answer:?}");
    assert!(answer.json()["error"].as_str().unwrap().contains(word), "{word}: {answer:?}");
}
