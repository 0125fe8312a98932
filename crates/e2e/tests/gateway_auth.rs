//! `/auth/login` and `/auth/guest` through a real socket.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use e2e::Stoa;
use serde_json::{Value, json};

#[tokio::test]
async fn the_administrator_signs_in_and_gets_a_token() {
    let stoa = Stoa::start().serve();
    let login = json!({ "username": "admin", "password": "password" });
    let response = reqwest::Client::new().post(stoa.url("/auth/login")).json(&login).send().await.unwrap();
    assert_eq!(response.status(), 200);
    let body: Value = response.json().await.unwrap();
    assert_eq!(body["success"], true);
    assert_eq!(body["user"], json!({ "username": "admin", "role": "admin" }));
    assert_eq!(body["token"].as_str().unwrap().split('.').count(), 3);
}
