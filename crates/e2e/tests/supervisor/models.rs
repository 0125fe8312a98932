//! Which model answers for the agents: that of the request, then of the workflow, then of the settings.

use e2e::supervisor_client::{SupervisorClient, workflow};
use e2e::{Reply, Stoa, Vendor, reply};
use reqwest::Method;
use serde_json::{Value, json};

/// A workflow without a provider or a model.
const PLAIN: &str = "[[phase]]\nname = \"prd\"\n[[phase.agent]]\nname = \"analyst\"\nprompt = \"role.md\"\n";

async fn execute(client: &SupervisorClient, project: &str, more: Value) -> Reply {
    let mut body = json!({ "projectId": project });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    client.post("/api/execute", &body).await
}

/// Returns the provider and the model of the newest trace and of the newest run.
async fn answered_by(client: &SupervisorClient, project: &str) -> [Value; 4] {
    let trace = client.list(&format!("/api/traces/{project}")).await[0].clone();
    let run = client.list(&format!("/api/projects/{project}/runs")).await[0].clone();
    [&trace["provider"], &trace["model"], &run["provider"], &run["model"]].map(Value::clone)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_uses_the_provider_and_model_that_it_names() {
    let vendor = Vendor::start("One word after the other.").await;
    let agents: &[&str] = &["name = \"analyst\"\nmodel = \"of-the-workflow\""];
    let stoa = Stoa::start_supervisor(&vendor, &workflow(&[("prd", agents)])).serve();
    let client = SupervisorClient::local(&stoa);
    let id = client.project().await;
    assert_eq!(execute(&client, &id, json!({})).await.status, 200);
    assert_eq!(
        answered_by(&client, &id).await,
        [json!("vendor-a"), json!("of-the-workflow"), Value::Null, Value::Null]
    );

    assert_eq!(execute(&client, &id, json!({ "provider": "openai", "model": "named" })).await.status, 200);
    assert_eq!(vendor.asked().last().unwrap()["model"], "named");
    let named = ["vendor-a", "named", "vendor-a", "named"].map(Value::from);
    assert_eq!(answered_by(&client, &id).await, named);
    let shown = client.get(&format!("/api/hydrate/{id}")).await.json();
    assert_eq!(shown["history"]["runs"][0]["model"], "named");

    // The same in the query, as a browser sends it.
    let query = format!("/api/execute?projectId={id}&phase=prd&model=from-the-query");
    assert_eq!(client.get(&query).await.status, 200);
    assert_eq!(vendor.asked().last().unwrap()["model"], "from-the-query");
    assert_eq!(answered_by(&client, &id).await[2..], [Value::Null, json!("from-the-query")]);
    let both = client.request(Method::POST, &query).json(&json!({ "model": "another" }));
    assert_eq!(reply(both).await.status, 400);

    let asked = vendor.asked().len();
    for (more, message) in [
        (
            json!({ "provider": "nobody" }),
            "unknown provider `nobody`: one of edge-ai, vendor-a, vendor-b, vendor-c, or the name of a connection",
        ),
        (json!({ "provider": 7 }), "`provider` is not a string"),
        (
            json!({ "provider": "vendor-a", "model": "x\ny" }),
            "`model` is not a line of at most 200 characters",
        ),
        (json!({ "model": "x".repeat(201) }), "`model` is not a line of at most 200 characters"),
    ] {
        let refused = execute(&client, &id, more).await;
        assert_eq!((refused.status, refused.json()["error"].as_str().unwrap()), (400, message));
    }
    assert_eq!(vendor.asked().len(), asked);

    // A vendor without a secret is replaced by the embedded model, which is missing here.
    assert_eq!(execute(&client, &id, json!({ "provider": "vendor-b", "model": "m" })).await.status, 200);
    let [provider, _, asked_provider, asked_model] = answered_by(&client, &id).await;
    assert_eq!([provider, asked_provider, asked_model], ["edge-ai", "vendor-b", "m"].map(Value::from));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_has_the_model_of_its_last_start_and_is_not_joined_with_another() {
    let vendor = Vendor::start("One word after the other.").await;
    let agents: &[&str] = &["name = \"analyst\"\nretries = 0"];
    let stoa = Stoa::start_supervisor(&vendor, &workflow(&[("prd", agents)])).serve();
    let client = SupervisorClient::local(&stoa);
    let id = client.project().await;
    assert!(execute(&client, &id, json!({ "model": "fail" })).await.body.contains("event: error"));
    let runs = client.list(&format!("/api/projects/{id}/runs")).await;
    assert_eq!(runs[0]["model"], "fail");
    let hangs = client.request(Method::POST, "/api/execute").header("prefer", "respond-async");
    let hangs = reply(hangs.json(&json!({ "projectId": id, "provider": "vendor-a", "model": "hang" }))).await;
    assert_eq!((hangs.status, &hangs.json()["model"]), (202, &json!("hang")));
    let other = execute(&client, &id, json!({ "model": "named" })).await;
    assert_eq!(other.status, 409, "{other:?}");
    let joined = client.request(Method::POST, "/api/execute").header("prefer", "respond-async");
    let joined = reply(joined.json(&json!({ "projectId": id, "model": "hang" }))).await;
    assert_eq!((joined.status, &joined.json()["runId"]), (202, &hangs.json()["runId"]));
    assert_eq!(&hangs.json()["runId"], &runs[0]["id"], "the run that had failed goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_failed_goes_on_with_the_settings_model_if_its_next_start_names_none() {
    let vendor = Vendor::start("One word after the other.").await;
    let agents: &[&str] = &["name = \"analyst\"\nretries = 0"];
    let stoa = Stoa::start_supervisor(&vendor, &workflow(&[("prd", agents)])).serve();
    let admin = SupervisorClient::local(&stoa);
    let id = SupervisorClient::through_gateway(&stoa, "guest").project().await;
    assert!(execute(&admin, &id, json!({ "model": "fail" })).await.body.contains("event: error"));
    let guest = SupervisorClient::through_gateway(&stoa, "guest");
    assert!(execute(&guest, &id, json!({})).await.body.contains("event: phase_complete"));
    assert_ne!(
        vendor.asked().last().unwrap()["model"],
        "fail",
        "what an administrator chose is not the guest's"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_settings_choose_the_model_if_nothing_else_does() {
    let vendor = Vendor::start("One word after the other.").await;
    let start = Stoa::start_supervisor(&vendor, PLAIN);
    let stoa = start.set("AGENT_PROVIDER", "openai").set("AGENT_MODEL", "of-the-settings").serve();
    let client = SupervisorClient::local(&stoa);
    let agent = client.get("/api/workflow").await.json()["phases"][0]["agents"][0].clone();
    assert_eq!([&agent["provider"], &agent["model"]], ["vendor-a", "of-the-settings"]);
    let id = client.project().await;
    assert_eq!(execute(&client, &id, json!({})).await.status, 200);
    assert_eq!(answered_by(&client, &id).await[..2], ["vendor-a", "of-the-settings"].map(Value::from));

    let start = Stoa::start_supervisor(&vendor, PLAIN);
    let (code, _, said) = start.set("AGENT_PROVIDER", "nobody").set("AGENT_MODEL", "m").run(&["check"]);
    assert_eq!(code, 2, "{said}");
    let fault = "AGENT_PROVIDER: unknown provider `nobody`: one of edge-ai, vendor-a, vendor-b, vendor-c";
    assert!(said.contains(fault), "{said}");
    let (code, _, said) = Stoa::start_supervisor(&vendor, PLAIN).set("AGENT_MODEL", "m").run(&["check"]);
    assert!(code == 2 && said.contains("AGENT_MODEL: is for a vendor's model"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn guests_may_not_choose_a_paid_provider() {
    let vendor = Vendor::start("One word after the other.").await;
    let stoa = Stoa::start_supervisor(&vendor, &workflow(&[("prd", &["name = \"analyst\""])])).serve();
    let guest = SupervisorClient::through_gateway(&stoa, "guest");
    let id = guest.project().await;
    for more in [json!({ "provider": "vendor-a" }), json!({ "model": "dear" })] {
        let refused = execute(&guest, &id, more).await;
        assert_eq!(refused.status, 403, "{refused:?}");
    }
    assert_eq!(vendor.asked().len(), 0);
    assert_eq!(execute(&guest, &id, json!({ "provider": "edge-ai" })).await.status, 200);
    assert_eq!(answered_by(&guest, &id).await[0], "edge-ai");
    assert_eq!(
        execute(&SupervisorClient::through_gateway(&stoa, "admin"), &id, json!({ "provider": "vendor-a" }))
            .await
            .status,
        200
    );
}
