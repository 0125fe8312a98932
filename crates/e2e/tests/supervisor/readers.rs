//! Many readers of one run: some disconnect and reconnect, some do not read.

use e2e::supervisor_client::{SupervisorClient, check_ids, workflow};
use e2e::{SseEvent, Stoa, Vendor, Watch};
use reqwest::Method;
use std::time::Duration;

const READERS: usize = 200;
const WORDS: &str =
    "a b c d e f g h i j k l m n o p q r s t u v w x y z a b c d e f g h i j k l m n o p q r s t u v w x y";

#[tokio::test(flavor = "multi_thread")]
async fn readers_that_reconnect_at_random_all_get_the_same_events() {
    let vendor = Vendor::start(WORDS).await;
    let agents = ["one", "two", "three", "four"]
        .map(|name| format!("name = \"{name}\"\nmodel = \"slow\"\nmax_tokens = 40"));
    let last = "name = \"last\"\nmodel = \"slow\"\ninputs = [\"one\", \"four\"]".to_owned();
    let agents: Vec<&str> = agents.iter().chain([&last]).map(String::as_str).collect();
    let stoa = Stoa::start_supervisor(&vendor, &workflow(&[("prd", &agents)])).serve();
    let client = SupervisorClient::local(&stoa);
    let id = client.project().await;
    let watch = client.execute(&id, "prd").await;
    let run = watch.header("x-run-id");
    let readers: Vec<_> =
        (0..READERS).map(|number| tokio::spawn(read(client.clone(), run.clone(), number as u64))).collect();
    let before = stoa.memory();
    let steady = watch.rest().await;
    check_ids(&steady);
    assert_eq!(steady.last().unwrap().name, "phase_complete");
    for reader in readers {
        assert_eq!(reader.await.unwrap(), steady);
    }
    assert!(stoa.memory() < before + 100.0, "{} MiB, then {} MiB", before, stoa.memory());
}

/// Reads all events of a run, with a new connection after a random time.
async fn read(client: SupervisorClient, run: String, seed: u64) -> Vec<SseEvent> {
    let mut noise = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut seen: Vec<SseEvent> = Vec::new();
    loop {
        let path = format!("/api/runs/{run}/events");
        let request = client.request(Method::GET, &path);
        let request = match seen.last() {
            Some(last) => request.header("last-event-id", last.id),
            None => request,
        };
        let response = request.send().await.unwrap();
        if response.status() == 204 {
            return seen;
        }
        let mut watch = Watch::of(response);
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let patience = Duration::from_millis(noise >> 54);
        let until = tokio::time::Instant::now() + patience;
        loop {
            match tokio::time::timeout_at(until, watch.next()).await {
                Ok(Some(event)) => seen.push(event),
                Ok(None) => return seen,
                Err(_) => break,
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_that_do_not_read_do_not_delay_the_run_and_take_little_memory() {
    let answer: &'static str = "a-line-of-letters-in-one-piece\n".repeat(15_000).leak();
    let vendor = Vendor::start(answer).await;
    let agents: Vec<String> = (0..12)
        .map(|number| format!("name = \"agent-{number}\"\nmax_tokens = 32768\ntemperature = 0"))
        .collect();
    let agents: Vec<&str> = agents.iter().map(String::as_str).collect();
    let stoa = Stoa::start_supervisor(&vendor, &workflow(&[("prd", &agents)])).serve();
    let client = SupervisorClient::local(&stoa);
    let id = client.project().await;
    // About six megabytes of artifacts, more than the buffers of a socket hold.
    let watch = client.execute(&id, "prd").await;
    let run = watch.header("x-run-id");
    let mut asleep = Vec::new();
    for _ in 0..40 {
        let request = client.request(Method::GET, &format!("/api/runs/{run}/events"));
        asleep.push(request.send().await.unwrap());
    }
    let before = stoa.memory();
    let events = watch.rest().await;
    assert_eq!(events.last().unwrap().name, "phase_complete");
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(stoa.memory() < before + 150.0, "{before} MiB, then {} MiB", stoa.memory());
    // A reader that continues gets all events.
    let woken = Watch::of(asleep.pop().unwrap()).rest().await;
    assert_eq!(woken.len(), events.len());
}
