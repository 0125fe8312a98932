//! Runs whose providers fail.

use e2e::supervisor_client::{SupervisorClient, check_ids, names, workflow};
use e2e::{Stoa, Vendor};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn messages(history: &Value) -> Vec<String> {
    let logs = history["logs"].as_array().unwrap().iter();
    logs.map(|log| log["message"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_ends_the_run_and_executing_again_continues_after_the_last_complete_step() {
    let vendor = Vendor::start("One word after the other.").await;
    let agents = |model: &str| {
        let writer = format!("name = \"writer\"\ninputs = [\"analyst\"]\nmodel = \"{model}\"\nretries = 0");
        workflow(&[("prd", &["name = \"analyst\"", &writer])])
    };
    let stoa = Stoa::start_supervisor(&vendor, &agents("fail")).serve();
    let client = SupervisorClient::local(&stoa);
    let id = client.project().await;
    let events = client.run(&id, "prd").await;
    check_ids(&events);
    let error = events.last().unwrap();
    assert_eq!((error.name.as_str(), &error.data["agent"]), ("error", &json!("writer")));
    let message = error.data["message"].as_str().unwrap();
    assert!(
        message.contains("vendor-a") && message.contains("400") && message.contains("no such model"),
        "{message}"
    );
    assert!(!message.contains("sk-test"), "the message has the secret: {message}");
    assert_eq!(client.state(&id).await["status"], "error");
    let traces = client.list(&format!("/api/traces/{id}")).await;
    assert_eq!((&traces[0]["status"], &traces[0]["error"]), (&json!("error"), &json!(message)));
    assert!(messages(&client.history(&id).await)[0].contains(message));
    assert_eq!(vendor.asked().len(), 2, "what is refused for good is not tried again");
    // It fails again, with events only of what was executed again.
    let again = client.run(&id, "prd").await;
    assert_eq!(names(&again), ["resumed", "agent_start", "error"]);

    // The workflow is corrected.
    let data = stoa.data.clone();
    drop(stoa);
    let start = Stoa::start_supervisor(&vendor, &agents("fine")).data(&data);
    std::fs::write(data.path().join("workflow.toml"), agents("fine")).unwrap();
    let stoa = start.set("WORKFLOW", data.path().join("workflow.toml").display()).serve();
    let client = SupervisorClient::local(&stoa);
    let events = client.run(&id, "prd").await;
    assert_eq!(
        names(&events),
        ["resumed", "agent_start", "agent_progress", "agent_complete", "phase_complete"]
    );
    assert_eq!(events[1].data["agent"], "writer");
    let all = client.list(&format!("/api/artifacts/{id}?versions=all")).await;
    assert_eq!(all.len(), 2, "the first agent has worked once: {all:?}");
    assert_eq!(client.list(&format!("/api/projects/{id}/runs")).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_gets_as_many_attempts_as_its_agent_has_each_within_the_time_limit() {
    let vendor = Vendor::start("One word after the other.").await;
    let agents = &["name = \"writer\"\nmodel = \"hang\"\nretries = 2\ntime_limit = \"300ms\""];
    let stoa = Stoa::start_supervisor(&vendor, &workflow(&[("prd", agents)])).serve();
    let client = SupervisorClient::local(&stoa);
    let id = client.project().await;
    let started = Instant::now();
    let events = client.run(&id, "prd").await;
    assert_eq!(vendor.asked().len(), 3);
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    assert!(
        events.last().unwrap().data["message"].as_str().unwrap().contains("longer than 0.3 s"),
        "{events:?}"
    );
    let logged = messages(&client.history(&id).await);
    let tries = logged.iter().filter(|message| message.contains("of 3 failed")).count();
    assert_eq!(tries, 2, "{logged:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_agents_finish_their_steps_after_one_has_failed() {
    let vendor = Vendor::start("a b c d e f g h i j k l m n o p q r s t u v w x y z").await;
    let agents = &[
        "name = \"bad\"\nmodel = \"fail\"\nretries = 0",
        "name = \"slow\"\nmodel = \"slow\"",
        "name = \"after\"\ninputs = [\"slow\"]",
    ];
    let stoa = Stoa::start_supervisor(&vendor, &workflow(&[("prd", agents)])).serve();
    let client = SupervisorClient::local(&stoa);
    let id = client.project().await;
    let events = client.run(&id, "prd").await;
    assert_eq!(events.last().unwrap().name, "error");
    let artifacts = client.list(&format!("/api/artifacts/{id}")).await;
    assert_eq!((artifacts.len(), &artifacts[0]["agent"]), (1, &json!("slow")));
    assert!(!events.iter().any(|event| event.data["agent"] == "after"), "no agent begins after a failure");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_not_json_fails() {
    let vendor = Vendor::start("Sure! Here it is.").await;
    let agents = &["name = \"lister\"\noutput = \"json\"\nretries = 1"];
    let stoa = Stoa::start_supervisor(&vendor, &workflow(&[("prd", agents)])).serve();
    let client = SupervisorClient::local(&stoa);
    let id = client.project().await;
    let events = client.run(&id, "prd").await;
    assert!(events.last().unwrap().data["message"].as_str().unwrap().contains("not JSON"), "{events:?}");
    assert_eq!((vendor.asked().len(), client.list(&format!("/api/artifacts/{id}")).await.len()), (2, 0));
    assert!(vendor.last("system").contains("one JSON value"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vendor_that_is_down_is_asked_as_often_as_the_agent_says() {
    let vendor = Vendor::start("One word after the other.").await;
    let agents = &["name = \"writer\"\nmodel = \"down\"\nretries = 1"];
    let stoa = Stoa::start_supervisor(&vendor, &workflow(&[("prd", agents)])).serve();
    let client = SupervisorClient::local(&stoa);
    let id = client.project().await;
    assert_eq!(client.run(&id, "prd").await.last().unwrap().name, "error");
    assert_eq!(vendor.asked().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_longer_than_max_tokens_is_cut_off() {
    let vendor = Vendor::start("word after word ").await;
    let agents = &["name = \"writer\"\nmodel = \"flood\"\nmax_tokens = 500"];
    let stoa = Stoa::start_supervisor(&vendor, &workflow(&[("prd", agents)])).serve();
    let client = SupervisorClient::local(&stoa);
    let id = client.project().await;
    assert_eq!(client.run(&id, "prd").await.last().unwrap().name, "phase_complete");
    let artifacts = client.list(&format!("/api/artifacts/{id}")).await;
    assert!(artifacts[0]["content"].as_str().unwrap().len() < 20_000);
    assert!(messages(&client.history(&id).await).iter().any(|message| message.contains("max_tokens")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vendors_error_with_a_nul_character_is_stored_on_postgresql() {
    let database = e2e::postgres::Postgres::shared().await.database().await;
    let vendor = Vendor::start("One word after the other.").await;
    let agents = &["name = \"writer\"\nmodel = \"fail\""];
    let stoa =
        Stoa::start_supervisor(&vendor, &workflow(&[("prd", agents)])).set("DATABASE_URL", database).serve();
    let client = SupervisorClient::local(&stoa);
    let id = client.project().await;
    assert_eq!(
        client.run(&id, "prd").await.last().unwrap().name,
        "error",
        "a NUL in its message is left out"
    );
    assert_eq!(client.state(&id).await["status"], "error");
}
