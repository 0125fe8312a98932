//! The built-in workflow with the embedded model: what a person gets without a key.

use e2e::studio::{Studio, check_ids};
use e2e::{Person, Stoa};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn the_first_phase_runs_on_the_embedded_model_and_reads_the_callers_documents() {
    let stoa = Stoa::start().only("gateway,knowledge,supervisor").with_models().serve();
    let person = Person::admin(&stoa).await;
    person
        .ingest_text(
            "hives.md",
            "# Hives\n\nEvery hive is treated against varroa in August with formic acid.",
        )
        .await;
    let answer = e2e::reply(
        reqwest::Client::new()
            .post(stoa.url("/auth/login"))
            .json(&json!({ "username": "admin", "password": "password" })),
    )
    .await;
    let token = answer.json()["token"].as_str().unwrap().to_owned();
    let studio = Studio::with_token(&stoa, token);
    let id = studio.project().await;
    let events = studio.run(&id, "prd").await;
    check_ids(&events);
    assert_eq!(events.last().unwrap().data, json!({ "phase": "prd", "status": "complete" }));
    let artifacts = studio.list(&format!("/api/artifacts/{id}")).await;
    let agents: Vec<&str> = artifacts.iter().map(|artifact| artifact["agent"].as_str().unwrap()).collect();
    assert_eq!(agents, ["analyst", "product-manager", "prd-critic"]);
    assert!(
        artifacts.iter().all(|artifact| artifact["content"].as_str().unwrap().len() > 40),
        "{artifacts:?}"
    );
    let traces = studio.list(&format!("/api/traces/{id}")).await;
    assert!(
        traces
            .iter()
            .all(|trace| trace["provider"] == "edge-ai" && trace["output_tokens"].as_i64() > Some(0))
    );
    let logs = studio.history(&id).await["logs"].clone();
    let without = logs
        .as_array()
        .unwrap()
        .iter()
        .find(|log| log["message"].as_str().unwrap().contains("without the documents"));
    assert!(without.is_none(), "{without:?}");
}
