//! Artifacts that wait for approval.

use e2e::supervisor_client::{SupervisorClient, check_ids, names, workflow};
use e2e::{Stoa, Vendor};
use serde_json::{Value, json};

const WITH_APPROVAL: &[(&str, &[&str])] =
    &[("prd", &["name = \"analyst\"\napproval = true", "name = \"writer\"\ninputs = [\"analyst\"]"])];

async fn start(phases: &[(&str, &[&str])]) -> (Vendor, Stoa) {
    let vendor = Vendor::start("One word after the other.").await;
    let stoa = Stoa::start_supervisor(&vendor, &workflow(phases)).serve();
    (vendor, stoa)
}

/// Executes until the first artifact waits. Returns the project, its stream, and the id of the approval.
async fn wait_for_approval(client: &SupervisorClient) -> (String, e2e::Watch, Value) {
    let id = client.project().await;
    let mut watch = client.execute(&id, "prd").await;
    let interrupt = watch.until("interrupt").await;
    assert_eq!((&interrupt.data["agent"], &interrupt.data["phase"]), (&json!("analyst"), &json!("prd")));
    assert!(interrupt.data["reason"].as_str().unwrap().contains("approval"));
    (id, watch, interrupt.data["approvalId"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_waits_for_approval_and_each_approval_is_answered_once() {
    let (vendor, stoa) = start(WITH_APPROVAL).await;
    let client = SupervisorClient::through_gateway(&stoa, "admin");
    let (id, watch, approval) = wait_for_approval(&client).await;
    let state = client.state(&id).await;
    assert_eq!((&state["interrupt_signal"], &state["status"]), (&json!(true), &json!("interrupted")));
    assert_eq!(state["approvals"][0]["approvalId"], approval);
    // The artifact can be read before it is approved.
    assert_eq!(client.list(&format!("/api/artifacts/{id}")).await.len(), 1);

    let resume = json!({ "projectId": id, "decision": "approve", "approvalId": approval });
    let both = tokio::join!(client.post("/api/resume", &resume), client.post("/api/resume", &resume));
    let mut statuses = [both.0.status, both.1.status];
    statuses.sort();
    assert_eq!(statuses, [200, 409], "two requests at the same moment");
    let rest = watch.rest().await;
    assert_eq!(
        names(&rest),
        ["resumed", "agent_start", "agent_progress", "agent_complete", "phase_complete"]
    );
    assert_eq!((&rest[0].data["decision"], &rest[0].data["agent"]), (&json!("approve"), &json!("analyst")));
    assert_eq!(client.post("/api/resume", &resume).await.status, 409);
    assert_eq!(vendor.asked().len(), 2);
    let state = client.state(&id).await;
    assert_eq!((&state["interrupt_signal"], &state["status"]), (&json!(false), &json!("complete")));
    let checkpoints = client.history(&id).await["checkpoints"].clone();
    assert_eq!(
        (&checkpoints[1]["status"], &checkpoints[1]["decided_by"]),
        (&json!("approved"), &json!("ada"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_replaces_the_artifact_before_the_run_continues() {
    let (vendor, stoa) = start(WITH_APPROVAL).await;
    let client = SupervisorClient::through_gateway(&stoa, "admin");
    let (id, watch, _) = wait_for_approval(&client).await;
    let missing = client.post("/api/resume", &json!({ "projectId": id, "decision": "edit" })).await;
    assert_eq!(missing.status, 400, "{missing:?}");
    let edit = json!({ "projectId": id, "decision": "edit", "content": "By hand." });
    assert_eq!(client.post("/api/resume", &edit).await.status, 200);
    let rest = watch.rest().await;
    assert_eq!(
        (rest[0].name.as_str(), &rest[0].data["artifact"]["content"]),
        ("resumed", &json!("By hand."))
    );
    assert!(vendor.last("user").contains("# Material from analyst\n\nBy hand."));
    let current = client.list(&format!("/api/artifacts/{id}")).await;
    let analyst = current.iter().find(|artifact| artifact["agent"] == "analyst").unwrap();
    assert_eq!(
        (&analyst["content"], &analyst["version"], &analyst["edited_by"]),
        (&json!("By hand."), &json!(2), &json!("ada"))
    );
    assert_eq!(client.list(&format!("/api/artifacts/{id}?versions=all")).await.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_agent_works_again_with_the_feedback_and_waits_again() {
    let (vendor, stoa) = start(WITH_APPROVAL).await;
    let client = SupervisorClient::local(&stoa);
    let (id, mut watch, first) = wait_for_approval(&client).await;
    let reject = json!({ "projectId": id, "decision": "reject", "feedback": "Name the mites." });
    assert_eq!(client.post("/api/resume", &reject).await.status, 200);
    let second = watch.until("interrupt").await.data["approvalId"].clone();
    assert_ne!(first, second);
    let prompt = vendor.last("user");
    assert!(prompt.contains("One word after the other.") && prompt.contains("Name the mites."), "{prompt}");
    let late = json!({ "projectId": id, "decision": "approve", "approvalId": first });
    assert_eq!(client.post("/api/resume", &late).await.status, 409, "the first approval was answered");
    let approve = json!({ "projectId": id, "decision": "approve", "approvalId": second });
    assert_eq!(client.post("/api/resume", &approve).await.status, 200);
    assert_eq!(watch.rest().await.last().unwrap().name, "phase_complete");
    let all = client.list(&format!("/api/artifacts/{id}?versions=all")).await;
    let analyst: Vec<&Value> = all.iter().filter(|artifact| artifact["agent"] == "analyst").collect();
    assert_eq!(
        (analyst.len(), &analyst[0]["superseded"], &analyst[1]["superseded"]),
        (2, &json!(true), &json!(false))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn several_approvals_are_answered_one_by_one_after_the_other_agents_have_finished() {
    let agents: &[&str] = &[
        "name = \"one\"\napproval = true",
        "name = \"two\"\napproval = true\nmodel = \"slow\"",
        "name = \"three\"\ninputs = [\"one\", \"two\"]",
    ];
    let (vendor, stoa) = start(&[("prd", agents)]).await;
    let client = SupervisorClient::local(&stoa);
    let id = client.project().await;
    let mut watch = client.execute(&id, "prd").await;
    let (first, second) = (watch.until("interrupt").await, watch.until("interrupt").await);
    assert_eq!((&first.data["agent"], &second.data["agent"]), (&json!("one"), &json!("two")));
    assert_eq!(vendor.asked().len(), 2);
    let unclear = client.post("/api/resume", &json!({ "projectId": id, "decision": "approve" })).await;
    assert_eq!(unclear.status, 409, "{unclear:?}");
    assert!(unclear.json()["error"].as_str().unwrap().contains(first.data["approvalId"].as_str().unwrap()));
    let resume = |approval: &Value| json!({ "projectId": id, "decision": "approve", "approvalId": approval });
    let answer = client.post("/api/resume", &resume(&second.data["approvalId"])).await;
    assert_eq!(
        (answer.status, &answer.json()["system_state"]["status"]),
        (200, &json!("interrupted")),
        "{answer:?}"
    );
    assert!(client.state(&id).await["reason"].as_str().unwrap().contains("`one`"));
    assert_eq!(client.post("/api/resume", &resume(&second.data["approvalId"])).await.status, 409);
    assert_eq!(
        client.post("/api/resume", &json!({ "projectId": id, "decision": "approve" })).await.status,
        200
    );
    let rest = watch.rest().await;
    check_ids(&rest);
    assert_eq!(
        names(&rest),
        ["resumed", "resumed", "agent_start", "agent_progress", "agent_complete", "phase_complete"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn all_projects_approvals_are_in_one_list_until_they_are_answered() {
    let (_vendor, stoa) = start(WITH_APPROVAL).await;
    let client = SupervisorClient::through_gateway(&stoa, "admin");
    let list = async |query: &str| {
        let answer = client.get(&format!("/api/approvals{query}")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    };
    assert_eq!(list("").await, json!({ "approvals": [], "total": 0, "decidable": 0, "next": null }));
    let (first, _one, approval) = wait_for_approval(&client).await;
    let (second, mut two, other) = wait_for_approval(&client).await;
    let both = list("").await;
    assert_eq!((&both["total"], &both["next"]), (&json!(2), &Value::Null));
    let shown = &both["approvals"][0];
    let artifact = client.list(&format!("/api/artifacts/{first}")).await.remove(0);
    assert_eq!(
        *shown,
        json!({
            "approvalId": approval, "projectId": first, "projectName": "Bees", "phase": "prd", "agent": "analyst",
            "mayDecide": true, "reason": "the artifact of `analyst` waits for approval", "artifact": artifact, "previous": null,
            "createdAt": shown["createdAt"],
        })
    );
    // Page by page, and only counted.
    let page = list("?limit=1").await;
    assert_eq!((&page["approvals"][0], &page["next"]), (shown, &approval));
    let page = list(&format!("?limit=1&after={}", approval.as_str().unwrap())).await;
    assert_eq!((&page["approvals"][0]["approvalId"], &page["next"]), (&other, &Value::Null));
    assert_eq!(list("?limit=0").await, json!({ "approvals": [], "total": 2, "decidable": 2, "next": null }));
    assert_eq!(client.get("/api/approvals?limit=1001").await.status, 400);

    let reject = json!({ "projectId": second, "decision": "reject", "feedback": "x", "approvalId": other });
    assert_eq!(client.post("/api/resume", &reject).await.status, 200);
    two.until("interrupt").await;
    let again = list("").await["approvals"][1].clone();
    assert_eq!(
        (&again["projectId"], &again["previous"]),
        (&json!(second), &json!("One word after the other."))
    );
    assert_eq!(again["artifact"]["version"], 2);
    assert_eq!(client.post("/api/cancel", &json!({ "projectId": first })).await.status, 200);
    let left = list("").await;
    assert_eq!((&left["total"], &left["approvals"][0]["projectId"]), (&json!(1), &json!(second)));
    assert_eq!(client.delete(&format!("/api/projects/{second}")).await.status, 200);
    assert_eq!(list("").await["total"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_answer_learns_who_decided_and_when() {
    let (_vendor, stoa) = start(WITH_APPROVAL).await;
    let client = SupervisorClient::through_gateway(&stoa, "admin");
    let (id, watch, approval) = wait_for_approval(&client).await;
    let resume = |decision: &str, approval: &Value| json!({ "projectId": id, "decision": decision, "approvalId": approval, "content": "By hand." });
    assert_eq!(client.post("/api/resume", &resume("edit", &approval)).await.status, 200);
    // While the run goes on, and after it has ended.
    let meanwhile = client.post("/api/resume", &resume("approve", &approval)).await;
    watch.rest().await;
    for answer in [meanwhile, client.post("/api/resume", &resume("reject", &approval)).await] {
        assert_eq!((answer.status, &answer.json()["code"]), (409, &json!("CONFLICT")), "{answer:?}");
        let body = answer.json();
        assert_eq!((&body["decidedBy"], &body["decision"]), (&json!("ada"), &json!("edit")), "{body}");
        assert!(body["decidedAt"].as_str().is_some_and(|time| time.ends_with('Z')), "{body}");
        assert!(body["error"].as_str().unwrap().contains("ada decided `edit`"), "{body}");
    }
    // An approval of another project is not told.
    let other = client.project().await;
    let answer = client
        .post("/api/resume", &json!({ "projectId": other, "decision": "approve", "approvalId": approval }))
        .await;
    assert_eq!((answer.status, answer.json().get("decidedBy")), (409, None), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_answer_to_an_approval_changes_nothing() {
    let (_vendor, stoa) = start(WITH_APPROVAL).await;
    let client = SupervisorClient::local(&stoa);
    let (id, _watch, _) = wait_for_approval(&client).await;
    for (body, status) in [
        (json!({}), 400),
        (json!({ "projectId": id }), 400),
        (json!({ "projectId": id, "decision": "maybe" }), 400),
        (json!({ "projectId": id, "decision": 1 }), 400),
        (json!({ "projectId": id, "decision": "edit", "content": " " }), 400),
        (json!({ "projectId": "nobody", "decision": "approve" }), 404),
        (json!({ "projectId": id, "decision": "approve", "approvalId": "another" }), 409),
    ] {
        assert_eq!(client.post("/api/resume", &body).await.status, status, "{body}");
    }
    assert_eq!(client.state(&id).await["status"], "interrupted");
    let quiet = client.project().await;
    assert_eq!(client.post("/api/resume", &json!({ "projectId": quiet })).await.status, 409);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_artifact_stays_if_the_run_is_cancelled_before_there_is_another() {
    let slow: &[(&str, &[&str])] = &[("prd", &["name = \"analyst\"\napproval = true\nmodel = \"slow\""])];
    let vendor = Vendor::start("a b c d e f g h i j k l m n o p q r s t u v w x y z").await;
    let stoa = Stoa::start_supervisor(&vendor, &workflow(slow)).serve();
    let client = SupervisorClient::local(&stoa);
    let (id, _watch, _) = wait_for_approval(&client).await;
    let reject = json!({ "projectId": id, "decision": "reject", "feedback": "Name the mites." });
    assert_eq!(client.post("/api/resume", &reject).await.status, 200);
    assert_eq!(client.post("/api/cancel", &json!({ "projectId": id })).await.status, 200);
    assert_eq!(client.list(&format!("/api/artifacts/{id}")).await.len(), 1);
}
