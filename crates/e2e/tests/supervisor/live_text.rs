//! What agents write, while they write it.

use e2e::supervisor_client::{SupervisorClient, check_ids, workflow};
use e2e::{SseEvent, Stoa, Vendor, Watch};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::Duration;

/// Each word comes 25 ms after the one before. A bee has two UTF-16 units, and four bytes.
const WORDS: &str = "🐝a 🐝b 🐝c 🐝d 🐝e 🐝f 🐝g 🐝h 🐝i 🐝j 🐝k 🐝l 🐝m 🐝n 🐝o 🐝p 🐝q 🐝r 🐝s 🐝t 🐝u 🐝v 🐝w 🐝x 🐝y 🐝z 🐝a \
                     🐝b 🐝c 🐝d 🐝e 🐝f 🐝g 🐝h 🐝i 🐝j 🐝k 🐝l 🐝m 🐝n 🐝o 🐝p";

const SLOW: &[(&str, &[&str])] = &[("prd", &["name = \"analyst\"\nmodel = \"slow\""])];

async fn start(phases: &[(&str, &[&str])]) -> (Vendor, Stoa, SupervisorClient) {
    let vendor = Vendor::start(WORDS).await;
    let stoa = Stoa::start_supervisor(&vendor, &workflow(phases)).serve();
    let client = SupervisorClient::through_gateway(&stoa, "guest");
    (vendor, stoa, client)
}

/// Puts pieces together as a page does, and returns the text of an agent.
fn written(pieces: &[SseEvent], agent: &str) -> String {
    let mut units: Vec<u16> = Vec::new();
    for piece in pieces.iter().filter(|piece| piece.data["agent"] == agent) {
        let offset = piece.data["offset"].as_u64().unwrap() as usize;
        assert!(offset == 0 || offset == units.len(), "a gap before {piece:?}");
        units.truncate(offset);
        units.extend(piece.data["text"].as_str().unwrap().encode_utf16());
    }
    String::from_utf16(&units).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_sees_the_text_grow_and_a_late_one_gets_what_is_there_first() {
    let (_vendor, stoa, client) = start(SLOW).await;
    let id = client.project().await;
    let mut early = client.execute(&id, "prd").await;
    assert_eq!(early.next().await.unwrap().name, "agent_start");
    tokio::time::sleep(Duration::from_millis(500)).await;
    let run = early.header("x-run-id");
    let path = format!("/api/runs/{run}/events");
    let mut late = Watch::open(client.request(Method::GET, &path).header("last-event-id", "1")).await;
    let (early_end, late_end) = tokio::join!(early.until("phase_complete"), late.until("phase_complete"));
    assert_eq!(early_end, late_end);
    for watch in [&early, &late] {
        assert!(watch.live.len() > 2, "in several pieces: {:?}", watch.live);
        assert!(watch.live.iter().all(|piece| piece.name == "agent_text" && piece.data["phase"] == "prd"));
        let text = written(&watch.live, "analyst");
        assert!(WORDS.starts_with(&text) && text.len() > WORDS.len() / 3, "{text}");
    }
    let first = &late.live[0].data;
    assert_eq!(first["offset"], 0);
    assert!(first["text"].as_str().unwrap().len() > 30, "what is there so far: {first}");
    // Nothing of it is stored.
    let again = Watch::open(client.request(Method::GET, &path)).await;
    let stored = again.rest().await;
    check_ids(&stored);
    assert!(stored.iter().all(|event| event.name != "agent_text"), "{stored:?}");
    drop(stoa);
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_at_the_same_time_and_another_attempt_have_texts_of_their_own() {
    let agents: &[&str] = &[
        "name = \"one\"\nmodel = \"slow\"",
        "name = \"two\"\nmodel = \"slow\"",
        "name = \"again\"\nmodel = \"slow\"\ntime_limit = \"400ms\"\nretries = 1",
    ];
    let (_vendor, _stoa, client) = start(&[("prd", agents)]).await;
    let id = client.project().await;
    let mut watch = client.execute(&id, "prd").await;
    watch.until("error").await;
    for agent in ["one", "two", "again"] {
        assert!(WORDS.starts_with(&written(&watch.live, agent)), "{agent}");
    }
    let starts =
        watch.live.iter().filter(|piece| piece.data["agent"] == "again" && piece.data["offset"] == 0);
    assert_eq!(starts.count(), 2, "each attempt starts at 0: {:?}", watch.live);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_comes_after_the_start_of_its_agent_and_before_its_end() {
    let agents: &[&str] =
        &["name = \"one\"\nmodel = \"slow\"", "name = \"two\"\nmodel = \"slow\"\ninputs = [\"one\"]"];
    let (_vendor, _stoa, client) = start(&[("prd", agents)]).await;
    let id = client.project().await;
    let mut watch = client.execute(&id, "prd").await;
    let mut at_work: Vec<Value> = Vec::new();
    loop {
        let before = watch.live.len();
        let event = watch.next().await.unwrap();
        for piece in &watch.live[before..] {
            assert!(at_work.contains(&piece.data["agent"]), "{piece:?} while {at_work:?} were at work");
        }
        match event.name.as_str() {
            "agent_start" => at_work.push(event.data["agent"].clone()),
            "agent_complete" => at_work.retain(|agent| *agent != event.data["agent"]),
            "phase_complete" => break,
            _ => {}
        }
    }
    assert!(watch.live.iter().any(|piece| piece.data["agent"] == "two"));
    assert_eq!(client.list(&format!("/api/artifacts/{id}")).await[1]["content"], json!(WORDS));
}
