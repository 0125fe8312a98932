//! Budgets: what is refused when one is used up, how it is said, and whom it does not concern.

use super::{Usage, ask, complete, connect, embedded, put, question, rows, usage};
use e2e::postgres::Postgres;
use e2e::stoa::Start;
use e2e::supervisor_client::{SupervisorClient, names, workflow};
use e2e::{KnowledgeClient, Stoa, Vendor, reply};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const USED_UP: &str = "your budget for today is used up: 18 of 18 tokens; it begins anew at 00:00 UTC, or an administrator can \
                       raise it";

async fn set(admin: &KnowledgeClient, budgets: Value) -> Value {
    let answer = put(admin, "/api/usage/budgets", &json!({ "budgets": budgets })).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["budgets"].clone()
}

#[tokio::test]
async fn a_user_whose_budget_is_used_up_is_told_so_on_every_way() {
    let all = Usage::start("Once a year [1].").await;
    let Usage { vendor, stoa, admin, ada, .. } = &all;
    let eve = admin.invite(stoa, "eve").await;
    eve.ingest_text("pump.md", super::SEAL).await;
    set(admin, json!([{ "kind": "user", "tokens": 18 }])).await;
    assert_eq!(ask(ada, "small").await.status, 200, "18 tokens");
    let asked = vendor.asked().len();

    let refused = ask(ada, "small").await;
    let body = refused.json().clone();
    assert_eq!(
        (refused.status, &body["code"], &body["error"]),
        (429, &json!("BUDGET_USED_UP"), &json!(USED_UP)),
        "{refused:?}"
    );
    let mine = ada.get("/api/usage/mine").await.json().clone();
    assert_eq!((&mine["used"], &mine["currency"]), (&json!({ "tokens": 18, "cost": 2.5 }), &json!("EUR")));
    assert_eq!(mine["limits"], json!({ "tokens": 18, "cost": null }));
    assert_eq!(mine["resetsAt"], body["resetAt"]);
    // The status says it also where the answer is a stream.
    let stream = ada.request(Method::POST, "/api/chat").json(&question("small"));
    let refused = reply(stream.header("accept", "text/event-stream")).await;
    assert_eq!((refused.status, &refused.json()["code"]), (429, &json!("BUDGET_USED_UP")), "{refused:?}");
    for name in ["Own server/small", "stoa/Own server/small"] {
        for streams in [false, true] {
            let messages = json!([{ "role": "user", "content": super::QUESTION }]);
            let body = json!({ "model": name, "messages": messages, "stream": streams });
            let refused = ada.post_json("/v1/chat/completions", &body).await;
            let error = refused.json()["error"].clone();
            assert_eq!(
                (refused.status, &error["type"], &error["code"], &error["message"]),
                (429, &json!("insufficient_quota"), &json!("insufficient_quota"), &json!(USED_UP)),
                "{name}: {refused:?}"
            );
        }
    }
    let talk = ada.post("/api/conversations").await.json()["id"].as_str().unwrap().to_owned();
    let path = format!("/api/conversations/{talk}/messages");
    let stream = ada.request(Method::POST, &path).json(&question("small"));
    assert_eq!(reply(stream.header("accept", "text/event-stream")).await.status, 200);
    let messages = ada.get(&format!("/api/conversations/{talk}")).await.json()["messages"].clone();
    let answer = &messages[1];
    assert_eq!((&answer["status"], &answer["error"]), (&json!("error"), &json!(USED_UP)), "{messages}");
    assert_eq!(vendor.asked().len(), asked, "the vendor was not asked");
    assert_eq!(usage(admin, "").await["totals"]["calls"], 1, "what is refused is no call");

    // Not the embedded model, and not another user.
    assert_eq!(complete(ada, &embedded(ada).await).await.status, 200);
    assert_eq!(ada.get("/api/usage/mine").await.json()["used"]["tokens"], 18);
    assert_eq!(ask(&eve, "small").await.status, 200);
    // One's own budget counts in place of that of each user.
    let budgets = json!([{ "kind": "user", "tokens": 18 }, { "kind": "user", "id": ada.id, "tokens": 19 }]);
    let shown = set(admin, budgets).await;
    assert_eq!((&shown[0]["used"], &shown[1]["used"]), (&Value::Null, &json!({ "tokens": 18, "cost": 2.5 })));
    assert_eq!(ask(ada, "small").await.status, 200, "a call may go beyond what is left");
    assert_eq!(ask(ada, "small").await.status, 429);
    assert_eq!(ask(&eve, "small").await.status, 429);
}

#[tokio::test]
async fn money_and_all_users_together_have_budgets_too() {
    let all = Usage::start("Once a year [1].").await;
    let Usage { stoa, admin, ada, .. } = &all;
    let eve = admin.invite(stoa, "eve").await;
    for client in [admin, &eve] {
        client.ingest_text("pump.md", super::SEAL).await;
    }
    set(admin, json!([{ "kind": "user", "id": ada.id, "cost": 2.51 }])).await;
    assert_eq!([ask(ada, "small").await.status, ask(ada, "small").await.status], [200, 200]);
    let refused = ask(ada, "small").await;
    assert!(refused.status == 429 && refused.body.contains("used up: 5.00 of 2.51 EUR;"), "{refused:?}");
    let shown = set(admin, json!([{ "kind": "all", "tokens": 54, "cost": 1000 }])).await;
    assert_eq!(shown[0]["used"], json!({ "tokens": 36, "cost": 5.0 }), "{shown}");
    assert_eq!(ask(&eve, "small").await.status, 200);
    for client in [&eve, ada, admin] {
        let refused = ask(client, "small").await;
        let whose = "the budget of all users together for today is used up: 54 of 54 tokens;";
        assert!(refused.status == 429 && refused.body.contains(whose), "{refused:?}");
    }
    set(admin, json!([])).await;
    assert_eq!(ask(&eve, "small").await.status, 200);
}

/// The agents are in a process of their own.
#[tokio::test(flavor = "multi_thread")]
async fn a_project_has_a_budget_that_counts_in_every_process_and_a_run_goes_on_when_it_is_raised() {
    let vendor = Vendor::start("One word after the other.").await;
    let database = Postgres::shared().await.database().await;
    let objects = tempfile::tempdir().unwrap();
    let objects = format!("file://{}", objects.path().display());
    let shared = |start: Start| start.set("DATABASE_URL", &database).set("OBJECT_STORE_URL", &objects);
    let stoa = shared(Stoa::start_knowledge()).serve();
    let agents: &[&str] = &["name = \"first\"", "name = \"second\"\ninputs = [\"first\"]"];
    let supervisor = shared(Stoa::start_supervisor(&vendor, &workflow(&[("prd", agents)])))
        .set("CORE_SERVICE_URL", format!("http://{}", stoa.knowledge.unwrap()))
        .serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let ada = admin.invite(&stoa, "ada").await;
    let token = ada.post("/api/auth/token").await.json()["token"].as_str().unwrap().to_owned();
    let client = SupervisorClient::with_token(&supervisor, token);
    let project = client.project().await;
    set(&admin, json!([{ "kind": "project", "tokens": 18 }])).await;

    let events = client.run(&project, "prd").await;
    let last = events.last().unwrap();
    assert_eq!(last.name, "error", "{events:?}");
    let whose = "the budget of this project for today is used up: 18 of 18 tokens;";
    assert!(last.data.to_string().contains(whose), "{last:?}");
    assert!(names(&events).contains(&"agent_complete"), "the first agent had enough: {:?}", names(&events));
    assert_eq!(vendor.asked().len(), 1, "the second is neither asked nor retried");
    let log = client.history(&project).await["logs"].to_string();
    assert!(!log.contains("try 1 of"), "{log}");

    let budgets =
        json!([{ "kind": "project", "tokens": 18 }, { "kind": "project", "id": project, "tokens": 19 }]);
    let shown = set(&admin, budgets).await;
    assert_eq!(shown[1]["used"], json!({ "tokens": 18, "cost": 0.0 }), "{shown}");
    let events = client.run(&project, "prd").await;
    assert!(names(&events).contains(&"phase_complete"), "{events:?}");
    assert_eq!(vendor.asked().len(), 2, "the first agent is not asked again");

    let deadline = Instant::now() + Duration::from_secs(30);
    while usage(&admin, "").await["totals"]["calls"] != 2 {
        assert!(Instant::now() < deadline, "{}", usage(&admin, "").await);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(rows(&admin, "by=project").await, json!([[project, 2, 22, 14, 0.0]]));
    assert_eq!(usage(&admin, "by=project").await["rows"][0]["name"], "Bees");
    assert_eq!(rows(&admin, "by=user").await, json!([[ada.id, 2, 22, 14, 0.0]]));
    assert_eq!(rows(&admin, "by=purpose").await, json!([["agents", 2, 22, 14, 0.0]]));
    assert_eq!(rows(&admin, "by=connection").await, json!([["vendor-a", 2, 22, 14, 0.0]]));
    assert_eq!(ada.get("/api/usage/mine").await.json()["used"]["tokens"], 36);

    // An administrator is the same user to both services, and programs on this machine are none.
    let token = admin.post("/api/auth/token").await.json()["token"].as_str().unwrap().to_owned();
    let gateway = SupervisorClient::with_token(&supervisor, token);
    set(&admin, json!([])).await;
    for client in [&gateway, &SupervisorClient::local(&supervisor)] {
        let project = client.project().await;
        assert!(names(&client.run(&project, "prd").await).contains(&"phase_complete"));
    }
    connect(&admin, &vendor).await;
    assert_eq!(complete(&admin, "Own server/small").await.status, 200);
    let deadline = Instant::now() + Duration::from_secs(30);
    while usage(&admin, "").await["totals"]["calls"] != 7 {
        assert!(Instant::now() < deadline, "{}", usage(&admin, "").await);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let by_user = rows(&admin, "by=user").await;
    let expected = [json!([admin.id, 3, 33, 21, 0.0]), json!(["local", 2, 22, 14, 0.0])];
    for row in expected {
        assert!(by_user.as_array().unwrap().contains(&row), "{row}: {by_user}");
    } // The rest of the statements on PostgreSQL.
    for by in ["day", "model", "space"] {
        assert_eq!(usage(&admin, &format!("by={by}")).await["totals"]["inputTokens"], 77, "{by}");
    }
    let lines = admin.get("/api/usage.csv").await.body;
    assert_eq!(lines.lines().filter(|line| line.contains(",Bees,vendor-a,")).count(), 6, "{lines}");
}
