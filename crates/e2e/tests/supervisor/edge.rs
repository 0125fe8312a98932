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
    let artifacts = client.list(&format!("/api/artifacts/{id}")).await;
    let agents: Vec<&str> = artifacts.iter().map(|artifact| artifact["agent"].as_str().unwrap()).collect();
    assert_eq!(agents, ["analyst", "product-manager", "prd-critic"]);
    let analysis = artifacts[0]["content"].as_str().unwrap();
    assert!(analysis.contains("- A diary of each hive that works without a network.\n"), "{analysis}");
    assert!(
        ["## Problem\n", "## Users\n", "## Open questions\n"].iter().all(|part| analysis.contains(part)),
        "{analysis}"
    );
    // A worksheet has no word of the model's, so the model is not asked for any.
    for trace in client.list(&format!("/api/traces/{id}")).await {
        let [read, wrote] = ["input_tokens", "output_tokens"].map(|name| trace[name].as_i64());
        assert_eq!((&trace["provider"], read, wrote), (&json!("edge-ai"), Some(0), Some(0)), "{trace}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_model_no_worksheet_says_that_it_is_too_small() {
    let stoa = Stoa::start().only("gateway,supervisor").set("STOA_MODELS_DIR", "/nowhere").serve();
    let client = SupervisorClient::local(&stoa);
    let id = client.project().await;
    let events = client.run(&id, "prd").await;
    let last = events.last().unwrap();
    assert_eq!(last.name, "error", "{events:?}");
    assert!(last.data["message"].as_str().unwrap().contains("stoa models pull"), "{events:?}");
    assert!(client.list(&format!("/api/artifacts/{id}")).await.is_empty());
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
