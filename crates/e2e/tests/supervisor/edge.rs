//! The built-in workflow with the embedded model, which needs no key; and agents that search documents.

use e2e::supervisor_client::{SupervisorClient, check_ids, workflow};
use e2e::{KnowledgeClient, Reply, Stoa, Vendor, reply};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn the_first_phase_runs_on_the_embedded_model() {
    let stoa = Stoa::start().only("gateway,supervisor").with_models().serve();
    let client = SupervisorClient::through_gateway(&stoa, "guest");
    let id = client.project().await;
    let events = client.run(&id, "prd").await;
    check_ids(&events);
    assert_eq!(events.last().unwrap().data, json!({ "phase": "prd", "status": "complete" }));
    assert!(events.iter().any(|event| event.data["progress"].as_i64().is_some_and(|percent| percent < 100)));
    let artifacts = client.list(&format!("/api/artifacts/{id}")).await;
    let agents: Vec<&str> = artifacts.iter().map(|artifact| artifact["agent"].as_str().unwrap()).collect();
    assert_eq!(agents, ["analyst", "product-manager", "prd-critic"]);
    let analysis = artifacts[0]["content"].as_str().unwrap();
    assert!(analysis.contains("- A diary of each hive that works without a network.\n"), "{analysis}");
    assert!(
        ["## Problem\n", "## Users\n", "## Open questions\n"].iter().all(|part| analysis.contains(part)),
        "{analysis}"
    );
    let traces = client.list(&format!("/api/traces/{id}")).await;
    assert!(
        traces
            .iter()
            .all(|trace| trace["provider"] == "edge-ai" && trace["output_tokens"].as_i64() > Some(0))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_searches_the_documents_of_the_user_who_started_the_run() {
    let vendor = Vendor::start("One word after the other.").await;
    let text = workflow(&[("prd", &["name = \"analyst\"\nsearch = true"])]);
    let stoa =
        Stoa::start_supervisor(&vendor, &text).only("gateway,knowledge,supervisor").with_models().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    admin
        .ingest_text(
            "hives.md",
            "# Hives\n\nEvery hive is treated against varroa in August with formic acid.",
        )
        .await;
    let ada = admin.invite(&stoa, "ada").await;
    ada.ingest_text("secret.md", "The hive of Ada stands behind the chapel.").await;

    let client = SupervisorClient::with_token(&stoa, token(&stoa).await);
    let id = client.project().await;
    client.run(&id, "prd").await;
    let prompt = vendor.last("user");
    assert!(
        prompt.contains("# Passages from the documents")
            && prompt.contains("treated against varroa in August"),
        "{prompt}"
    );
    assert!(!prompt.contains("chapel"), "documents of others are not searched: {prompt}");

    // Guests, and callers that do not come through the gateway, have no documents.
    for client in [SupervisorClient::through_gateway(&stoa, "guest"), SupervisorClient::local(&stoa)] {
        let id = client.project().await;
        assert_eq!(client.run(&id, "prd").await.last().unwrap().name, "phase_complete");
        assert!(!vendor.last("user").contains("Passages"));
        let logs = client.history(&id).await["logs"].clone();
        let without = |log: &Value| log["message"].as_str().unwrap().contains("works without the documents");
        assert!(logs.as_array().unwrap().iter().any(without), "{logs}");
    }
}

async fn token(stoa: &Stoa) -> String {
    let body = json!({ "username": "admin", "password": "password" });
    let answer: Reply = reply(reqwest::Client::new().post(stoa.url("/auth/login")).json(&body)).await;
    answer.json()["token"].as_str().unwrap().to_owned()
}
