//! Connections: servers of models that an administrator adds while the program runs.

use super::spaces::patch;
use e2e::postgres::Postgres;
use e2e::stoa::Start;
use e2e::{KnowledgeClient, Reply, Stoa, Vendor, get, reply};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const SEAL: &str = "The shaft seal must be replaced every year.";
const KEY: &str = "sk-connection-0123456789";

async fn connected(admin: &KnowledgeClient, vendor: &Vendor) -> Value {
    let body = json!({ "name": "Own server", "kind": "openai", "baseUrl": vendor.url(), "apiKey": KEY });
    let answer = admin.post_json("/api/connections", &body).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()["connection"].clone()
}

async fn put(admin: &KnowledgeClient, path: &str, body: &Value) -> Reply {
    reply(admin.request(Method::PUT, path).json(body)).await
}

async fn ask(user: &KnowledgeClient, more: Value) -> Value {
    let mut body = json!({ "query": "How often is the shaft seal replaced?" });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    user.post_json("/api/chat", &body).await.json()
}

#[tokio::test]
async fn a_connection_answers_at_once_and_after_a_restart_and_never_shows_its_key() {
    let vendor = Vendor::start("Once a year [1].").await;
    let stoa = Stoa::start_knowledge().set("CHAT_REQUESTS_PER_MINUTE", 100).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let ada = admin.invite(&stoa, "ada").await;
    ada.ingest_text("pump.md", SEAL).await;
    let own = connected(&admin, &vendor).await;
    let models = json!([
        { "name": "small", "window": 8192, "parameters": null, "pictures": null },
        { "name": "slow", "window": null, "parameters": null, "pictures": null },
    ]);
    assert_eq!((&own["models"], &own["hasKey"]), (&models, &json!(true)));
    let id = own["id"].as_str().unwrap().to_owned();

    let named = ask(&ada, json!({ "llmConfig": { "provider": "Own server", "model": "small" } })).await;
    assert_eq!(
        (&named["response"], &named["provider"]),
        (&json!("Once a year [1]."), &json!("Own server")),
        "{named}"
    );
    assert_eq!(ask(&ada, json!({})).await["provider"], "edge-ai");
    let set =
        put(&admin, "/api/models/defaults", &json!({ "chat": { "connection": id, "model": "slow" } })).await;
    assert_eq!(set.json()["chat"], json!({ "connection": id, "model": "slow" }), "{set:?}");
    let by_default = ask(&ada, json!({})).await;
    assert_eq!(
        (&by_default["provider"], &by_default["model"]),
        (&json!("Own server"), &json!("slow")),
        "{by_default}"
    );
    let listed = ada.get("/v1/models").await.json().to_string();
    assert!(listed.contains("stoa/Own server/small"), "{listed}");

    let tested =
        admin.post_json(&format!("/api/connections/{id}/test"), &json!({ "model": "small" })).await.json();
    assert_eq!(
        (&tested["success"], &tested["answer"]),
        (&json!(true), &json!("Once a year [1].")),
        "{tested}"
    );
    let shown = [
        admin.get("/api/connections").await,
        admin.get("/api/providers").await,
        patch(&admin, &format!("/api/connections/{id}"), json!({ "name": "House" })).await,
    ];
    for answer in shown {
        assert!(answer.status == 200 && !answer.body.contains("sk-connection"), "{answer:?}");
    }

    let data = stoa.data.clone();
    stoa.signal("KILL");
    stoa.wait();
    let stoa = Stoa::start_knowledge().data(&data).set("CHAT_REQUESTS_PER_MINUTE", 100).serve();
    let ada = KnowledgeClient::sign_in(&stoa, "ada@example.org", "correct horse").await;
    assert_eq!(ask(&ada, json!({})).await["provider"], "House");
    let admin = KnowledgeClient::admin(&stoa).await;
    assert_eq!(admin.delete(&format!("/api/connections/{id}")).await.status, 200);
    assert_eq!(admin.delete(&format!("/api/connections/{id}")).await.status, 404);
    assert_eq!(ask(&ada, json!({})).await["provider"], "edge-ai");
    assert_eq!(
        admin.get("/api/models/defaults").await.json(),
        json!({ "chat": null, "agents": null, "graph": null })
    );
}

#[tokio::test]
async fn the_agents_of_another_process_use_a_connection_soon() {
    let vendor = Vendor::start("Yes.").await;
    let database = Postgres::shared().await.database().await;
    let objects = tempfile::tempdir().unwrap();
    let objects = format!("file://{}", objects.path().display());
    let shared = |start: Start| start.set("DATABASE_URL", &database).set("OBJECT_STORE_URL", &objects);
    // The agents' process comes first, and finds no table of connections.
    let agents = shared(Stoa::start().only("gateway,supervisor")).serve();
    let stoa = shared(Stoa::start_knowledge()).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let id = connected(&admin, &vendor).await["id"].clone();
    let providers = async || {
        let workflow = get(format!("http://{}/api/workflow", agents.supervisor.unwrap())).await.json();
        let agent = workflow["phases"][0]["agents"][0].clone();
        (agent["provider"].clone(), agent["model"].clone())
    };
    assert_eq!(providers().await, (json!("edge-ai"), json!(null)));
    let body = json!({ "agents": { "connection": id, "model": "slow" } });
    assert_eq!(put(&admin, "/api/models/defaults", &body).await.status, 200);
    let deadline = Instant::now() + Duration::from_secs(30);
    while providers().await != (json!("Own server"), json!("slow")) {
        assert!(Instant::now() < deadline, "{:?}", providers().await);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_connection_is_said() {
    let vendor = Vendor::start("Yes.").await;
    let stoa = Stoa::start_knowledge().set("VENDOR_A_API_KEY", "sk-test-0123456789").serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let ada = admin.invite(&stoa, "ada").await;
    let id = connected(&admin, &vendor).await["id"].as_str().unwrap().to_owned();
    let path = format!("/api/connections/{id}");
    for answer in [
        ada.get("/api/connections").await,
        ada.get("/api/connections/found").await,
        ada.post(&format!("{path}/test")).await,
        ada.get("/api/models/defaults").await,
        ada.delete(&path).await,
    ] {
        assert_eq!(answer.status, 403, "{answer:?}");
    }
    let new = |name: &str, url: &str| json!({ "name": name, "kind": "openai", "baseUrl": url });
    for (body, status, says) in [
        (json!({}), 400, "name"),
        (new("", "http://127.0.0.1:1"), 400, "`name` is missing"),
        (new("a/b", "http://127.0.0.1:1"), 400, "slash"),
        (new("OpenAI", "http://127.0.0.1:1"), 400, "means something else"),
        (new("x", "ftp://127.0.0.1"), 400, "`baseUrl` is not an address"),
        (new("own SERVER", "http://127.0.0.1:1"), 409, "is called"),
        (json!({ "name": "x", "kind": "telnet", "baseUrl": "http://127.0.0.1:1" }), 400, "kind"),
        (
            json!({ "name": "x", "kind": "openai", "baseUrl": "http://127.0.0.1:1", "apiKey": "two words" }),
            400,
            "`apiKey`",
        ),
    ] {
        let answer = admin.post_json("/api/connections", &body).await;
        assert_eq!(answer.status, status, "{body}: {answer:?}");
        assert!(answer.json()["error"].as_str().unwrap().contains(says), "{body}: {answer:?}");
    }
    // A key is not told to another server, and a server that is away is kept with the reason.
    let moved = patch(&admin, &path, json!({ "baseUrl": "http://127.0.0.1:1/v1" })).await;
    assert!(moved.status == 400 && moved.body.contains("`apiKey` is missing"), "{moved:?}");
    let away = admin.post_json("/api/connections", &new("away", "http://127.0.0.1:1/v1")).await.json();
    assert!(away["error"].as_str().unwrap().contains("cannot be reached"), "{away}");
    assert_eq!(away["connection"]["models"], json!([]));
    let wrong = json!({ "name": "wrong", "kind": "openai", "baseUrl": vendor.url(), "apiKey": "wrong" });
    let wrong = admin.post_json("/api/connections", &wrong).await.json();
    assert!(wrong["error"].as_str().unwrap().contains("answered 401"), "{wrong}");
    assert!(!wrong["error"].as_str().unwrap().contains("wrong is"), "the key is not repeated: {wrong}");
    let failing = admin.post_json(&format!("{path}/test"), &json!({ "model": "fail" })).await.json();
    assert_eq!(failing["success"], false, "{failing}");
    assert!(!failing.to_string().contains(KEY), "{failing}");

    for (body, status) in [
        (json!({ "chat": { "connection": "none" } }), 404),
        (json!({ "chat": { "connection": "vendor-b" } }), 400),
        (json!({ "chat": { "connection": "edge-ai", "model": "x" } }), 400),
        (json!({ "chat": { "connection": "vendor-a" }, "agents": { "connection": id } }), 200),
        (json!({ "chat": null }), 200),
    ] {
        let answer = put(&admin, "/api/models/defaults", &body).await;
        assert_eq!(answer.status, status, "{body}: {answer:?}");
    }
    let defaults = admin.get("/api/models/defaults").await.json();
    assert_eq!(
        defaults,
        json!({ "chat": null, "agents": { "connection": id, "model": null }, "graph": null })
    );
    let listed = admin.get("/api/connections").await.json();
    assert_eq!(
        (&listed["connections"][0]["id"], &listed["connections"][0]["fromSettings"]),
        (&json!("vendor-a"), &json!(true))
    );
    let unknown = admin
        .post_json("/api/chat", &json!({ "query": "x", "llmConfig": { "provider": "nobody", "model": "m" } }))
        .await;
    assert!(unknown.status == 400 && unknown.body.contains("name of a connection"), "{unknown:?}");
}

#[tokio::test]
async fn the_model_for_the_graph_names_how_things_are_connected() {
    let vendor = Vendor::start("Ada Solberg | works for | Acme Industries\nNONE").await;
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let id = connected(&admin, &vendor).await["id"].clone();
    let text = "Ada Solberg is an engineer of Acme Industries. Acme Industries has its seat in Rotterdam. \
                Ada Solberg met Acme Industries in Rotterdam.";
    let types = async || {
        let graph = admin.get("/api/graph").await.json();
        let edges = graph["edges"].as_array().unwrap().clone();
        edges
            .iter()
            .map(|edge| format!("{} {} {}", edge["source"], edge["type"], edge["target"]))
            .collect::<Vec<_>>()
    };
    let document = admin.ingest_text("people.md", text).await;
    assert!(types().await.iter().all(|edge| edge.contains("relates_to")), "nothing asks a model");
    assert_eq!(vendor.asked().len(), 0);
    let set = put(&admin, "/api/models/defaults", &json!({ "graph": { "connection": id } })).await;
    assert_eq!(set.status, 200, "{set:?}");
    assert_eq!(admin.post(&format!("/api/documents/{document}/reindex")).await.status, 202);
    let expected = "\"ada-solberg\" \"works_for\" \"acme-industry\"".to_owned();
    let deadline = Instant::now() + Duration::from_secs(30);
    while !types().await.contains(&expected) {
        assert!(Instant::now() < deadline, "{:?}", types().await);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(vendor.last("user").contains("Names: ") && vendor.last("user").contains("Rotterdam"));
}
