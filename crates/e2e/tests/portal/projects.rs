//! The project of a task: one that there is, as the supervisor tells the caller.

use e2e::api::Api;
use e2e::tokens::token;
use e2e::{PortalClient, Stoa};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn a_task_names_a_project_that_exists() {
    let stoa = Stoa::start().only("gateway,supervisor,portal").set("STOA_MODELS_DIR", "none").serve();
    let client = PortalClient::with_token(&stoa, token("AUTH", "admin"));
    let build = Api::new(stoa.url("/build"), Some(token("AUTH", "admin")));
    let body = json!({ "name": "Fax", "product_seed": "Move the fax." });
    let project = build.post("/api/projects", &body).await.json()["id"].as_str().unwrap().to_owned();
    let task = client.make("/api/portal/tasks", &json!({ "title": "A", "projectId": project })).await;
    let one = format!("/api/portal/tasks/{}", task["id"].as_str().unwrap());
    for id in ["01a1dfe6-d5f2-7000-8bc0-e6adefae6204", "nothing", "../projects", "a b", "?limit=1", "ä"] {
        let made = client.post("/api/portal/tasks", &json!({ "title": "B", "projectId": id })).await;
        let changed = client.patch(&one, &json!({ "projectId": id })).await;
        for answer in [made, changed] {
            assert_eq!(
                (answer.status, &answer.json()["code"]),
                (400, &json!("INVALID_REQUEST")),
                "{id}: {answer:?}"
            );
            assert!(answer.json()["error"].as_str().unwrap().starts_with("`projectId` is"), "{answer:?}");
        }
    }
    assert_eq!(client.list("/api/portal/tasks").await.len(), 1);
    // A task keeps a project that was deleted, and can be changed; it is not given to another.
    assert_eq!(build.delete(&format!("/api/projects/{project}")).await.status, 200);
    let kept = client.patch(&one, &json!({ "title": "C", "projectId": project })).await;
    assert_eq!((kept.status, &kept.json()["title"]), (200, &json!("C")), "{kept:?}");
    let late = client.post("/api/portal/tasks", &json!({ "title": "D", "projectId": project })).await;
    assert_eq!(late.status, 400, "{late:?}");
    assert_eq!(client.patch(&one, &json!({ "projectId": null })).await.json()["projectId"], json!(""));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_answer_of_the_supervisor_no_project_is_linked() {
    let stoa = Stoa::start_portal().set("BUILD_SERVICE_URL", "http://127.0.0.1:9").serve();
    let client = PortalClient::direct(&stoa, "admin");
    let linked = client.post("/api/portal/tasks", &json!({ "title": "A", "projectId": "x" })).await;
    assert_eq!((linked.status, &linked.json()["code"]), (503, &json!("UNAVAILABLE")), "{linked:?}");
    client.make("/api/portal/tasks", &json!({ "title": "A" })).await;
    // A portal that knows no supervisor takes what it is given.
    let alone = Stoa::start_portal().serve();
    let client = PortalClient::direct(&alone, "admin");
    client.make("/api/portal/tasks", &json!({ "title": "A", "projectId": "x" })).await;
}
