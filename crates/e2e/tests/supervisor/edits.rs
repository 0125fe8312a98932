//! Edits of artifacts: a new version at any time, by those who manage the project.

use e2e::supervisor_client::{SupervisorClient, workflow};
use e2e::{Reply, Stoa, Vendor};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

async fn edit(client: &SupervisorClient, project: &str, artifact: &Value, content: &str) -> Reply {
    let body = json!({ "artifactId": artifact["id"], "content": content });
    client.post(&format!("/api/artifacts/{project}"), &body).await
}

async fn newest(client: &SupervisorClient, project: &str, agent: &str) -> Value {
    let artifacts = client.list(&format!("/api/artifacts/{project}")).await;
    artifacts.into_iter().find(|artifact| artifact["agent"] == agent).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_is_a_new_version_with_its_author_and_an_older_one_is_refused() {
    let vendor = Vendor::start("One word after the other.").await;
    let json_agent = "name = \"modeller\"\noutput = \"json\"\ninputs = [\"analyst\"]";
    let phases: &[(&str, &[&str])] = &[("prd", &["name = \"analyst\""]), ("architecture", &[json_agent])];
    let stoa = Stoa::start_supervisor(&vendor, &workflow(phases)).serve();
    let admin = SupervisorClient::through_gateway(&stoa, "admin");
    let id = admin.project().await;
    admin.run(&id, "prd").await;
    let first = newest(&admin, &id, "analyst").await;
    let made = edit(&admin, &id, &first, "Written by a person.").await;
    let second = made.json();
    assert_eq!(
        (made.status, &second["version"], &second["edited_by"]),
        (201, &json!(2), &json!("ada")),
        "{made:?}"
    );
    assert_eq!(newest(&admin, &id, "analyst").await, second);
    // Of two edits of the same version, one is refused.
    let late = edit(&admin, &id, &first, "Written at the same time.").await;
    assert_eq!((late.status, &late.json()["code"]), (409, &json!("CONFLICT")), "{late:?}");
    // The next phase reads what the person wrote.
    admin.run(&id, "architecture").await;
    let read = vendor.asked().iter().any(|asked| asked.to_string().contains("Written by a person."));
    assert!(read, "{:?}", vendor.asked());
    // Executed again, the phase makes the version after it.
    admin.run(&id, "prd").await;
    assert_eq!(newest(&admin, &id, "analyst").await["version"], 3);
    for (artifact, content, status) in [
        (json!({ "id": "none" }), "x", 404),
        (second.clone(), " ", 400),
        (newest(&admin, &id, "analyst").await, "Again.", 201),
    ] {
        assert_eq!(edit(&admin, &id, &artifact, content).await.status, status, "{artifact}");
    }
    let other = admin.project().await;
    assert_eq!(edit(&admin, &other, &newest(&admin, &id, "analyst").await, "x").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_takes_the_place_of_what_waits_for_approval() {
    let vendor = Vendor::start("One word after the other.").await;
    let agents: &[&str] =
        &["name = \"analyst\"\napproval = true", "name = \"critic\"\ninputs = [\"analyst\"]"];
    let stoa = Stoa::start_supervisor(&vendor, &workflow(&[("prd", agents)])).serve();
    let client = SupervisorClient::local(&stoa);
    let id = client.project().await;
    let mut watch = client.execute(&id, "prd").await;
    watch.until("interrupt").await;
    let edited = edit(&client, &id, &newest(&client, &id, "analyst").await, "Mended by hand.").await.json();
    let waiting = client.get("/api/approvals").await.json();
    assert_eq!(waiting["approvals"][0]["artifact"]["id"], edited["id"], "{waiting}");
    assert_eq!(waiting["total"], 1, "it still waits");
    let approve = json!({ "projectId": id, "decision": "approve" });
    assert_eq!(client.post("/api/resume", &approve).await.status, 200);
    watch.until("phase_complete").await;
    assert!(vendor.last("user").contains("Mended by hand."), "the critic reads the edit");
    assert_eq!(newest(&client, &id, "analyst").await["version"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_running_phase_writes_is_edited_after_it() {
    let vendor = Vendor::start("One word after the other.").await;
    let agents: &[&str] =
        &["name = \"analyst\"", "name = \"critic\"\ninputs = [\"analyst\"]\nmodel = \"hang\""];
    let stoa = Stoa::start_supervisor(&vendor, &workflow(&[("prd", agents)])).serve();
    let client = SupervisorClient::local(&stoa);
    let id = client.project().await;
    let mut watch = client.execute(&id, "prd").await;
    watch.until("agent_complete").await;
    let artifact = newest(&client, &id, "analyst").await;
    assert_eq!(edit(&client, &id, &artifact, "x").await.status, 409);
    assert_eq!(client.post("/api/interrupt", &json!({ "projectId": id })).await.status, 200);
    assert_eq!(edit(&client, &id, &artifact, "Mended while it was interrupted.").await.status, 201);
    assert_eq!(client.post("/api/resume", &json!({ "projectId": id })).await.status, 200);
    // The analyst, and the critic twice.
    let deadline = Instant::now() + Duration::from_secs(20);
    while vendor.asked().len() < 3 {
        assert!(Instant::now() < deadline, "the critic was not asked again");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(vendor.last("user").contains("Mended while it was interrupted."));
}
