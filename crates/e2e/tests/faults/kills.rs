//! Processes that are killed at random under load.

use crate::load::{Clients, Ledger, Subjects};
use crate::start;
use e2e::passages::database_of;
use e2e::postgres::Postgres;
use e2e::s3::S3;
use e2e::stoa::Start;
use e2e::{Crm, Vendor};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

const ANSWER: &str = "A short and sufficient answer of the model.";

/// Returns pseudo-random pauses of up to a second.
fn pauses() -> impl Iterator<Item = Duration> {
    let mut noise = 11_u64;
    std::iter::repeat_with(move || {
        noise = noise.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        Duration::from_millis(noise >> 54)
    })
}

/// Loads a process for a while.
async fn load(clients: &Clients, ledger: &Ledger, subjects: &Subjects, time: Duration) {
    let _ = tokio::time::timeout(time, clients.work(ledger, subjects)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_process_on_sqlite_is_killed_again_and_again() {
    let (vendor, crm, ledger) = (Vendor::start(ANSWER).await, Crm::start().await, Ledger::default());
    let mut stoa = start(&vendor, &crm).serve();
    let data = stoa.data.clone();
    let again = |data: &Arc<TempDir>| {
        let workflow = data.path().join("workflow.toml");
        start(&vendor, &crm).data(data).set("WORKFLOW", workflow.display())
    };
    let mut clients = Clients::of(&stoa).await;
    let subjects = clients.subjects().await;
    for pause in pauses().take(crate::kills()) {
        load(&clients, &ledger, &subjects, pause).await;
        // Dropped is SIGKILL.
        drop(stoa);
        stoa = again(&data).serve();
        clients = Clients::of(&stoa).await;
    }
    ledger.check(&clients, &subjects, &crm, &database_of(&stoa)).await;
    deep_check(again(&data));
}

/// Compares all that is stored, as an operator would.
fn deep_check(start: Start) {
    let (code, found, error) = start.run(&["check", "--deep"]);
    assert_eq!(code, 0, "{found}{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_three_processes_on_postgres_and_s3_is_killed_again_and_again() {
    let (vendor, crm, ledger) = (Vendor::start(ANSWER).await, Crm::start().await, Ledger::default());
    let (database, s3) = (Postgres::shared().await.database().await, S3::start().await);
    let settings = || {
        start(&vendor, &crm)
            .set("DATABASE_URL", &database)
            .set("DATABASE_CONNECTIONS", 8)
            .set("OBJECT_STORE_URL", format!("s3://{}/stoa", s3.bucket))
            .set("AWS_ENDPOINT_URL", &s3.endpoint)
            .set("AWS_ACCESS_KEY_ID", &s3.access_key_id)
            .set("AWS_SECRET_ACCESS_KEY", &s3.secret_access_key)
    };
    let start = || settings().serve();
    let mut processes = Vec::new();
    for stoa in [start(), start(), start()] {
        processes.push((Clients::of(&stoa).await, stoa));
    }
    let subjects = processes[0].0.subjects().await;
    for (kill, pause) in pauses().take(crate::kills()).enumerate() {
        let victim = kill % 3;
        tokio::join!(
            load(&processes[0].0, &ledger, &subjects, pause),
            load(&processes[1].0, &ledger, &subjects, pause),
            load(&processes[2].0, &ledger, &subjects, pause),
        );
        processes.remove(victim);
        let stoa = start();
        processes.insert(victim, (Clients::of(&stoa).await, stoa));
    }
    ledger.check(&processes[0].0, &subjects, &crm, &database).await;
    deep_check(settings());
}
