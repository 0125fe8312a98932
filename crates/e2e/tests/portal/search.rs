//! Search over everything that the portal holds.

use e2e::{PortalClient, Stoa};
use serde_json::{Value, json};

async fn found(client: &PortalClient, query: &str) -> Vec<(String, String)> {
    let answer = client.get(&format!("/api/portal/search?{query}")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    answer.json()["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| (text(&hit["type"]), text(&hit["title"])))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_found_the_best_first_and_mistakes_are_forgiven() {
    let stoa = Stoa::start_portal().serve();
    let client = PortalClient::through_gateway(&stoa, "admin");
    client
        .make(
            "/api/portal/updates",
            &json!({ "title": "New printers", "body": "On the third floor <b>today</b>." }),
        )
        .await;
    client.make("/api/portal/goals", &json!({ "title": "Paperless", "description": "No printer is used any more.", "owner": "Ada Solberg", "status": "blocked" })).await;
    client.make("/api/portal/tasks", &json!({ "title": "Move the fax", "assignee": "Ada Solberg", "status": "blocked", "projectId": "proj-4711" })).await;
    client
        .make(
            "/api/portal/pages",
            &json!({ "title": "Opening hours", "body": "Nine to five, on Fridays to four." }),
        )
        .await;
    let pair = |kind: &str, title: &str| (kind.to_owned(), title.to_owned());
    let (update, goal) = (pair("update", "New printers"), pair("goal", "Paperless"));
    assert_eq!(found(&client, "q=printer").await, [update.clone(), goal.clone()]);
    assert_eq!(found(&client, "query=prnters").await, [update.clone(), goal.clone()]);
    assert_eq!(found(&client, "q=printing&type=goal").await, std::slice::from_ref(&goal));
    assert_eq!(found(&client, "q=solberg").await.len(), 2);
    assert_eq!(found(&client, "q=blocked&type=goal").await, std::slice::from_ref(&goal));
    assert_eq!(found(&client, "q=4711").await, [pair("task", "Move the fax")]);
    assert_eq!(found(&client, "q=blocked").await.len(), 2);
    assert_eq!(found(&client, "q=friday").await, [pair("page", "Opening hours")]);
    assert_eq!(found(&client, "q=printer&limit=1").await, [update]);
    assert_eq!(found(&client, "q=elephant").await, []);
    assert_eq!(found(&client, "q=supervisor&type=tools").await, [pair("tool", "Supervisor")]);
    let answer = client.get("/api/portal/search?q=floor").await.json();
    assert_eq!(answer["results"][0]["snippet"], "On the third <mark>floor</mark> &lt;b&gt;today&lt;/b&gt;.");
    for query in ["", "q=", "q=%20", "q=x&limit=0", "q=x&limit=1000", "q=x&type=song", "q=%00"] {
        assert_eq!(client.get(&format!("/api/portal/search?{query}")).await.status, 400, "{query}");
    }
    assert_eq!(client.get(&format!("/api/portal/search?q={}", "x".repeat(1001))).await.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_parameters_are_named() {
    let stoa = Stoa::start_portal().serve();
    let client = PortalClient::through_gateway(&stoa, "admin");
    for (path, names) in [
        ("/api/portal/search?query=x&kind=goal", vec!["kind"]),
        ("/api/portal/search?q=x&type=goal&limit=3", vec![]),
        ("/api/portal/goals?offset=1&limit=1&after=", vec!["offset"]),
        ("/api/portal/goals/none?x=1", vec!["x"]),
        ("/api/portal/status?x=1", vec!["x"]),
    ] {
        assert_eq!(client.get(path).await.header("x-unknown-fields"), names, "{path}");
    }
}
