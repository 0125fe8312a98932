//! Storage that fails under the running program, seen from its front doors: clear answers, nothing lost, and everything works
//! again without a restart. And copies of it: backups, moves, and the check that they are whole.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test stops where it fails")]

mod away;
mod backup;
mod database;
mod deep_check;
mod full_disk;
mod moving;
mod office;

use e2e::{Reply, Stoa, get, reply};
use reqwest::Client;
use serde_json::json;
use std::time::{Duration, Instant};

/// Status, code, and whether the answer says when to try again.
fn fault(answer: &Reply) -> (u16, String, bool) {
    let body = answer.json();
    let (code, wait) = (body["code"].as_str().expect("a code"), answer.header("retry-after"));
    (answer.status, code.to_owned(), wait.iter().any(|seconds| seconds.parse::<u32>().is_ok()))
}

async fn post_lead(stoa: &Stoa, email: &str) -> Reply {
    let url = format!("http://{}/api/leads", stoa.leads.expect("the lead ingest runs"));
    reply(Client::new().post(url).json(&json!({ "email": email }))).await
}

async fn readiness(stoa: &Stoa) -> Reply {
    get(format!("http://{}/readyz", stoa.ops)).await
}

/// Asks until the answer has this status.
async fn becomes(status: u16, mut ask: impl AsyncFnMut() -> Reply) -> Reply {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let answer = ask().await;
        if answer.status == status {
            return answer;
        }
        assert!(Instant::now() < deadline, "not {status}: {answer:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
