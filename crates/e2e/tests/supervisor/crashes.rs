//! Runs whose process is killed: nothing is lost, and no step is run twice.

use e2e::supervisor_client::{SupervisorClient, check_ids, workflow};
use e2e::{SseEvent, Stoa, Vendor, Watch};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const KILLS: usize = 20;
const PHASES: [&str; 5] = ["prd", "architecture", "plan", "build", "review"];
const WORDS: &str = "one two three four five six seven eight nine ten eleven twelve one two three four five six seven eight \
                     nine ten eleven twelve one two three four five six seven eight nine ten eleven twelve one two three \
                     four five six seven eight nine ten eleven twelve";

/// A workflow of five phases with four agents each, two of which work at the same time. A step takes more than a second.
fn five_phases() -> String {
    let agents: Vec<Vec<String>> = PHASES
        .iter()
        .map(|phase| {
            let agent = |name: &str, inputs: &str| {
                format!("name = \"{phase}-{name}\"\nmodel = \"slow\"\nmax_tokens = 60\ninputs = [{inputs}]")
            };
            let (first, second) = (format!("\"{phase}-a\""), format!("\"{phase}-b\""));
            vec![agent("a", ""), agent("b", &first), agent("c", &second), agent("d", &second)]
        })
        .collect();
    let agents: Vec<Vec<&str>> =
        agents.iter().map(|phase| phase.iter().map(String::as_str).collect()).collect();
    let phases: Vec<(&str, &[&str])> = PHASES.into_iter().zip(agents.iter().map(Vec::as_slice)).collect();
    workflow(&phases)
}

struct Victim {
    vendor: Vendor,
    data: Arc<TempDir>,
    stoa: Option<Stoa>,
    project: String,
    seen: Vec<SseEvent>,
}

impl Victim {
    fn start(&mut self) -> SupervisorClient {
        let start = Stoa::start_supervisor(&self.vendor, &five_phases()).data(&self.data);
        let file = self.data.path().join("workflow.toml");
        let stoa = self.stoa.insert(start.set("WORKFLOW", file.display()).serve());
        SupervisorClient::local(stoa)
    }

    fn kill(&mut self) {
        // Dropping it kills the process.
        self.stoa = None;
    }

    async fn watch(&self, client: &SupervisorClient, phase: &str) -> Option<Watch> {
        let mut request = client.execution(&self.project, phase);
        if let Some(last) = self.seen.last() {
            request = request.header("last-event-id", last.id);
        }
        let response = request.send().await.expect("an answer");
        (response.status() == 200).then(|| Watch::of(response))
    }

    /// Follows a phase until `enough` returns true or the phase ends. Returns whether it has ended.
    async fn follow(
        &mut self,
        watch: &mut Watch,
        phase: &str,
        mut enough: impl FnMut(&SseEvent) -> bool,
        until: Instant,
    ) -> bool {
        loop {
            let next = tokio::time::timeout_at(until.into(), watch.next()).await;
            let Ok(next) = next else { return false };
            let event = next.expect("the stream goes on while the process lives");
            self.seen.push(event.clone());
            if event.name == "phase_complete" && event.data["phase"] == *phase {
                return true;
            }
            if enough(&event) {
                return false;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_killed_again_and_again_has_every_step_once_and_every_event_once() {
    let vendor = Vendor::start(WORDS).await;
    let data = Arc::new(TempDir::new().unwrap());
    std::fs::write(data.path().join("workflow.toml"), five_phases()).unwrap();
    std::fs::write(data.path().join("role.md"), "You do what your name says.\n").unwrap();
    let mut victim = Victim { vendor, data, stoa: None, project: String::new(), seen: Vec::new() };
    let mut client = victim.start();
    victim.project = client.project().await;
    let far = || Instant::now() + Duration::from_secs(30);
    let mut noise = 0x9e37_79b9_7f4a_7c15_u64;
    let mut kills = 0;
    for (number, phase) in PHASES.iter().enumerate() {
        // Without `Last-Event-ID`, which would start no run.
        let answer =
            client.execution(&victim.project, phase).header("prefer", "respond-async").send().await.unwrap();
        assert_eq!(answer.status(), 202);
        let mut over = false;
        let kills_of_this_phase = KILLS * (number + 1) / PHASES.len();
        while !over {
            let Some(mut watch) = victim.watch(&client, phase).await else { break };
            if kills >= kills_of_this_phase {
                over = victim.follow(&mut watch, phase, |_| false, far()).await;
                continue;
            }
            // Kills three times at a random moment, and then once right after a step.
            over = if kills % 4 == 3 {
                victim.follow(&mut watch, phase, |event| event.name != "agent_progress", far()).await
            } else {
                noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let moment = Instant::now() + Duration::from_millis((noise >> 32) % 700);
                victim.follow(&mut watch, phase, |_| false, moment).await
            };
            victim.kill();
            kills += 1;
            client = victim.start();
        }
    }
    assert!(kills >= KILLS, "only {kills} kills");
    check_ids(&victim.seen);
    assert_eq!(victim.seen[0].id, 1);
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for event in victim.seen.iter().filter(|event| event.name != "agent_progress") {
        let agent = event.data["agent"].as_str().or(event.data["phase"].as_str()).unwrap().to_owned();
        *counts.entry((event.name.clone(), agent)).or_default() += 1;
    }
    assert!(counts.values().all(|times| *times == 1), "{counts:?}");
    assert_eq!(counts.len(), 20 + 20 + 5, "{counts:?}");
    for agent in PHASES.iter().flat_map(|phase| ["a", "b", "c", "d"].map(|name| format!("{phase}-{name}"))) {
        let progress: Vec<i64> = victim
            .seen
            .iter()
            .filter(|event| event.data["agent"] == *agent)
            .filter_map(|event| event.data["progress"].as_i64())
            .collect();
        assert!(
            progress.is_sorted_by(|one, next| one < next) && progress.last() == Some(&100),
            "{agent} {progress:?}"
        );
    }
    let all = client.list(&format!("/api/artifacts/{}?versions=all", victim.project)).await;
    assert_eq!(all.len(), 20);
    assert!(all.iter().all(|artifact| artifact["version"] == 1 && artifact["content"] == WORDS), "{all:?}");
    let sent: Vec<&Value> = victim.seen.iter().filter_map(|event| event.data.get("artifact")).collect();
    assert!(all.iter().all(|artifact| sent.contains(&artifact)));
    let traces = client.list(&format!("/api/traces/{}", victim.project)).await;
    assert!(traces.len() == 20 && traces.iter().all(|trace| trace["status"] == "complete"), "{traces:?}");
    assert_eq!(client.state(&victim.project).await["status"], "complete");
    let runs = client.list(&format!("/api/projects/{}/runs", victim.project)).await;
    assert!(runs.len() == 5 && runs.iter().all(|run| run["status"] == "complete"), "{runs:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_run_stays_interrupted_after_its_process_is_killed() {
    let vendor = Vendor::start(WORDS).await;
    let agents = &["name = \"writer\"\nmodel = \"hang\""];
    let start = Stoa::start_supervisor(&vendor, &workflow(&[("prd", agents)]));
    let (data, file) = (start.path().to_owned(), start.path().join("workflow.toml"));
    let stoa = start.serve();
    let kept = stoa.data.clone();
    let client = SupervisorClient::local(&stoa);
    let id = client.project().await;
    client.execute(&id, "prd").await.until("agent_start").await;
    let body = serde_json::json!({ "projectId": id, "reason": "look" });
    assert_eq!(client.post("/api/interrupt", &body).await.status, 200);
    drop(stoa);
    assert!(data.exists());
    let again = Stoa::start_supervisor(&vendor, "").data(&kept).set("WORKFLOW", file.display()).serve();
    let client = SupervisorClient::local(&again);
    assert_eq!(client.state(&id).await["status"], "interrupted");
    assert_eq!(client.post("/api/resume", &serde_json::json!({ "projectId": id })).await.status, 200);
    let mut watch = client.execute(&id, "prd").await;
    watch.until("resumed").await;
    watch.until("agent_start").await;
}
