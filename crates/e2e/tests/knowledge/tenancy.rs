//! One user's data is nowhere in what another sees: not in results, counts, errors, events or the graph.

use e2e::{Form, KnowledgeClient, Stoa};
use reqwest::Method;
use serde_json::json;

#[tokio::test]
async fn no_user_sees_counts_or_changes_another_users_documents() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let (ada, eve) = (admin.invite(&stoa, "ada").await, admin.invite(&stoa, "eve").await);
    let secret =
        ada.ingest_text("secret.txt", "The code of the vault at Acme Industries is xylophone.").await;
    assert_eq!(ada.ingest("broken.pdf", b"%PDF-").await.status, 400);

    assert!(eve.documents().await.is_empty());
    assert!(eve.find("xylophone").await.is_empty());
    let graph = eve.get("/api/graph").await.json();
    assert_eq!(graph, json!({ "nodes": [], "edges": [], "totals": { "nodes": 0, "edges": 0 } }));
    let nodes = ada.get("/api/graph").await.json()["nodes"].as_array().unwrap().clone();
    let around = format!("/api/graph?around={}", nodes[0]["id"].as_str().unwrap());
    assert_eq!((ada.get(&around).await.status, eve.get(&around).await.status), (200, 404));
    let node = format!("/api/graph/nodes/{}", nodes[0]["id"].as_str().unwrap());
    assert_eq!((ada.get(&node).await.status, eve.get(&node).await.status), (200, 404));
    let passage = ada.get("/api/search?query=xylophone").await.json()["results"][0]["id"].clone();
    let of_passage = format!("/api/graph?sources={}", passage.as_str().unwrap());
    assert!(!ada.get(&of_passage).await.json()["nodes"].as_array().unwrap().is_empty());
    assert_eq!(eve.get(&of_passage).await.json(), graph);
    let filtered = eve.get(&format!("/api/search?query=vault&documentId={secret}")).await;
    assert_eq!(filtered.json()["results"], json!([]));
    assert_eq!(eve.get(&format!("/api/graph?documentId={secret}")).await.json(), graph);

    // As if it did not exist, in the very same words.
    let other = "01a1de70-0000-7000-8000-000000000000";
    for (method, tail) in [
        ("GET", ""),
        ("DELETE", ""),
        ("GET", "/content"),
        ("GET", "/text"),
        ("POST", "/reindex"),
        ("POST", "/cancel"),
        ("POST", "/move"),
        ("POST", "/copy"),
    ] {
        let ask = |id: &str| {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            e2e::reply(eve.request(method, &format!("/api/documents/{id}{tail}")).json(&json!({})))
        };
        let (hidden, absent) = (ask(&secret).await, ask(other).await);
        assert_eq!((hidden.status, absent.status), (404, 404), "{method} {tail}");
        assert_eq!(hidden.body.replace(&secret, other), absent.body, "{method} {tail}");
    }

    // Naming her, or anybody, is refused alike.
    for user in [ada.id.as_str(), "nobody"] {
        for path in ["/api/documents", "/api/graph", "/api/documents/events", "/api/graph/nodes/x"] {
            assert_eq!(eve.get(&format!("{path}?userId={user}")).await.status, 403, "{path}");
        }
        assert_eq!(eve.get(&format!("/api/graph/search?q=x&userId={user}")).await.status, 403);
        assert_eq!(eve.get(&format!("/api/search?query=x&userId={user}")).await.status, 403);
        assert_eq!(eve.post(&format!("/api/documents/reindex?userId={user}")).await.status, 403);
        assert_eq!(eve.delete(&format!("/api/documents/purge-errors?userId={user}")).await.status, 403);
        let form = Form::new().text("userId", user).file("file", "a.txt", b"Planted text.");
        let planted = eve.submit("/api/ingest", form).await;
        assert_eq!((planted.status, &planted.json()["success"]), (403, &json!(false)));
    }
    assert_eq!(eve.post("/api/documents/reindex").await.json()["documentsReindexed"], 0);
    assert_eq!(eve.delete("/api/documents/purge-errors").await.json()["documentsPurged"], 0);
    assert_eq!(eve.get("/api/users").await.status, 403);
    assert_eq!(eve.get("/api/models").await.status, 403);

    // Hers is all there still.
    assert_eq!(ada.documents().await.len(), 2);
    assert_eq!(ada.find("xylophone").await, [secret.as_str()]);

    // An administrator may look and act for anybody.
    let seen = admin.get(&format!("/api/search?query=xylophone&userId={}", ada.id)).await.json();
    assert_eq!(seen["results"][0]["documentId"], json!(secret));
    assert!(admin.find("xylophone").await.is_empty(), "but their own search is their own");
    assert_eq!(admin.get("/api/graph?userId=nobody").await.status, 404);
    let form =
        Form::new().text("userId", &eve.id).file("file", "a.txt", b"Given to Eve by the administrator.");
    let given = admin.submit("/api/ingest", form).await.json();
    assert!(given["objectKey"].as_str().unwrap().starts_with(&format!("users/{}/documents/", eve.id)));
    assert_eq!(eve.find("administrator").await.len(), 1);
}

#[tokio::test]
async fn the_ranking_does_not_depend_on_what_others_have() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let (ada, eve) = (admin.invite(&stoa, "ada").await, admin.invite(&stoa, "eve").await);
    for (name, text) in [
        ("a.txt", "The pump of the cooling circuit failed in March."),
        ("b.txt", "The valve of the heating circuit was replaced."),
        ("c.txt", "A pump and a valve were ordered."),
    ] {
        ada.ingest_text(name, text).await;
    }
    let scores = async || ada.get("/api/search?query=pump+circuit").await.body;
    let before = scores().await;
    for number in 0..10 {
        eve.ingest_text("x.txt", &format!("Pump number {number} in circuit {number}, pump after pump."))
            .await;
    }
    assert_eq!(scores().await, before);
}
