//! Interrupting, resuming and cancelling runs.

use e2e::supervisor_client::{SupervisorClient, check_ids, names, workflow};
use e2e::{SseEvent, Stoa, Vendor, reply};
use serde_json::json;
use std::time::{Duration, Instant};

const WORDS: &str =
    "a b c d e f g h i j k l m n o p q r s t u v w x y z a b c d e f g h i j k l m n o p q r s t u v w x y";

async fn start(model: &str) -> (Vendor, Stoa) {
    let vendor = Vendor::start(WORDS).await;
    let agents = [
        "name = \"quick\"".to_owned(),
        format!("name = \"writer\"\ninputs = [\"quick\"]\nmodel = \"{model}\""),
    ];
    let agents: Vec<&str> = agents.iter().map(String::as_str).collect();
    let stoa = Stoa::start_supervisor(&vendor, &workflow(&[("prd", &agents)])).serve();
    (vendor, stoa)
}

/// Executes until the second agent is at work. Returns the project, its stream, and the events so far.
async fn second_agent_at_work(
    client: &SupervisorClient,
    vendor: &Vendor,
) -> (String, e2e::Watch, Vec<SseEvent>) {
    let id = client.project().await;
    let mut watch = client.execute(&id, "prd").await;
    let mut seen = Vec::new();
    while seen.iter().filter(|event: &&SseEvent| event.name == "agent_start").count() < 2 {
        seen.push(watch.next().await.unwrap());
    }
    while vendor.asked().len() < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    (id, watch, seen)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interruption_stops_a_step_at_once_and_it_starts_again_on_resume() {
    let (vendor, stoa) = start("slow").await;
    let client = SupervisorClient::through_gateway(&stoa, "admin");
    let (id, mut watch, seen) = second_agent_at_work(&client, &vendor).await;
    let asked = Instant::now();
    let answer = client.post("/api/interrupt", &json!({ "projectId": id, "reason": "a second look" })).await;
    assert_eq!(
        (answer.status, &answer.json()["system_state"]["status"]),
        (200, &json!("interrupted")),
        "{answer:?}"
    );
    assert!(asked.elapsed() < Duration::from_millis(500), "{:?}", asked.elapsed());
    let interrupt = watch.until("interrupt").await;
    assert_eq!(
        (&interrupt.data["agent"], &interrupt.data["reason"]),
        (&json!("writer"), &json!("a second look"))
    );
    assert_eq!(interrupt.data["approvalId"], json!(null));

    let state = client.state(&id).await;
    assert_eq!(
        (&state["interrupt_signal"], &state["status"], &state["reason"]),
        (&json!(true), &json!("interrupted"), &json!("a second look"))
    );
    let artifacts = client.list(&format!("/api/artifacts/{id}")).await;
    assert_eq!(
        (artifacts.len(), &artifacts[0]["agent"]),
        (1, &json!("quick")),
        "nothing of the abandoned step is visible"
    );
    let traces = client.list(&format!("/api/traces/{id}")).await;
    assert_eq!((&traces[0]["agent"], &traces[0]["status"]), (&json!("writer"), &json!("interrupted")));
    let checkpoint = &client.history(&id).await["checkpoints"][0];
    assert_eq!(
        (&checkpoint["agent"], &checkpoint["status"], &checkpoint["step"]),
        (&json!("writer"), &json!("interrupted"), &json!(1))
    );
    // A second interruption changes nothing, and the run does not continue by itself.
    assert_eq!(client.post("/api/interrupt", &json!({ "projectId": id })).await.status, 200);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(vendor.asked().len(), 2);

    let wrong = client.post("/api/resume", &json!({ "projectId": id, "decision": "reject" })).await;
    assert_eq!(wrong.status, 400, "{wrong:?}");
    assert_eq!(client.post("/api/resume", &json!({ "projectId": id })).await.status, 200);
    let rest = watch.rest().await;
    assert_eq!(
        (names(&rest)[..2].to_vec(), names(&rest).last()),
        (vec!["resumed", "agent_start"], Some(&"phase_complete"))
    );
    let all: Vec<SseEvent> = seen
        .into_iter()
        .chain([interrupt])
        .chain(rest)
        .filter(|event| event.name != "agent_progress")
        .collect();
    assert_eq!(vendor.asked().len(), 3, "the step that had ended was not run again");
    assert_eq!(all.iter().filter(|event| event.name == "agent_complete").count(), 2);
    assert_eq!(client.list(&format!("/api/artifacts/{id}?versions=all")).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_hangs_can_be_interrupted_and_the_events_have_no_gap() {
    let (vendor, stoa) = start("hang").await;
    let client = SupervisorClient::local(&stoa);
    let (id, mut watch, mut seen) = second_agent_at_work(&client, &vendor).await;
    for round in 0..3 {
        let asked = Instant::now();
        assert_eq!(client.post("/api/interrupt", &json!({ "projectId": id })).await.status, 200);
        assert!(asked.elapsed() < Duration::from_millis(500), "round {round}: {:?}", asked.elapsed());
        assert_eq!(
            client.post("/api/resume", &json!({ "projectId": id, "decision": "approve" })).await.status,
            200
        );
        loop {
            seen.push(watch.next().await.unwrap());
            if seen.last().unwrap().name == "agent_start" {
                break;
            }
        }
        // In the first round the interruption comes before the step has begun.
        if round > 0 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    check_ids(&seen);
    let cancelled = client.post("/api/cancel", &json!({ "projectId": id, "reason": "enough" })).await;
    assert_eq!((cancelled.status, &cancelled.json()["status"]), (200, &json!("cancelled")), "{cancelled:?}");
    let rest = watch.rest().await;
    assert_eq!((names(&rest), &rest[0].data["reason"]), (vec!["cancelled"], &json!("enough")));
    let state = client.state(&id).await;
    assert_eq!((&state["interrupt_signal"], &state["status"]), (&json!(false), &json!("active")));
    let runs = client.list(&format!("/api/projects/{id}/runs")).await;
    assert_eq!((&runs[0]["status"], runs[0]["ended_at"].is_string()), (&json!("cancelled"), true));
    for path in ["/api/cancel", "/api/interrupt", "/api/resume"] {
        assert_eq!(client.post(path, &json!({ "projectId": id })).await.status, 409, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_run_can_be_cancelled_and_a_project_deleted_while_it_runs() {
    let (vendor, stoa) = start("hang").await;
    let client = SupervisorClient::local(&stoa);
    let (id, watch, _) = second_agent_at_work(&client, &vendor).await;
    assert_eq!(client.post("/api/interrupt", &json!({ "projectId": id })).await.status, 200);
    let joined = reply(client.execution(&id, "prd").header("prefer", "respond-async")).await;
    assert_eq!(
        (joined.status, &joined.json()["status"]),
        (202, &json!("interrupted")),
        "executing joins, and does not resume"
    );
    assert_eq!(client.post("/api/cancel", &json!({ "projectId": id })).await.status, 200);
    assert_eq!(watch.rest().await.last().unwrap().name, "cancelled");

    let again = client.execute(&id, "prd").await;
    assert_eq!(client.delete(&format!("/api/projects/{id}")).await.status, 200);
    assert!(
        again.rest().await.iter().all(|event| event.name != "phase_complete"),
        "the stream ends with the project"
    );
    assert_eq!(client.get(&format!("/api/projects/{id}")).await.status, 404);
    // The process executes other runs afterwards.
    let (other, _watch, _) = second_agent_at_work(&client, &vendor).await;
    assert_eq!(client.state(&other).await["status"], "running");
}
