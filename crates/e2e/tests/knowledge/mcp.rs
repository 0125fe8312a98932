//! The Model Context Protocol: its own client, and what must hold whoever calls.

use e2e::{KnowledgeClient, Reply, Stoa, reply, run_client};
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use std::time::Duration;

async fn library(stoa: &Stoa) -> KnowledgeClient {
    let admin = KnowledgeClient::admin(stoa).await;
    let ada = admin.invite(stoa, "ada").await;
    ada.ingest_text("pump.txt", "The pump P-204 circulates coolant through the reactor hall.").await;
    ada.ingest_text("impeller.txt", "Dr. Ada Solberg inspected the impeller of P-204 in Rotterdam.").await;
    ada
}

fn post(stoa: &Stoa, body: &Value) -> RequestBuilder {
    let request = reqwest::Client::new().post(format!("http://{}/mcp", stoa.knowledge.unwrap()));
    let request = request.header("accept", "application/json, text/event-stream");
    request.header("content-type", "application/json").body(body.to_string())
}

fn call(name: &str, arguments: &Value) -> Value {
    let params = json!({ "name": name, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
}

pub async fn use_tool(stoa: &Stoa, user: &KnowledgeClient, name: &str, arguments: Value) -> Value {
    let answer = reply(post(stoa, &call(name, &arguments)).bearer_auth(&user.token)).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, vec!["application/json"]), "{answer:?}");
    answer.json()["result"].clone()
}

/// The words of a tool's error.
pub async fn refused(stoa: &Stoa, user: &KnowledgeClient, name: &str, arguments: Value) -> String {
    let result = use_tool(stoa, user, name, arguments).await;
    assert_eq!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_official_client_works_on_both_ways() {
    let stoa = Stoa::start_knowledge().set("CHAT_REQUESTS_PER_MINUTE", 100).serve();
    let ada = library(&stoa).await;
    let url = format!("http://{}", stoa.knowledge.unwrap());
    let printed = run_client("mcp_client.py", &[&url, &stoa.url(""), &ada.token]).await;
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines, ["the present protocol", "the one with a handshake", "through the gateway"]);
}

#[tokio::test]
async fn only_a_token_lets_in_and_no_page_of_another_site() {
    let stoa = Stoa::start_knowledge().serve();
    let ada = library(&stoa).await;
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let cookie = format!("service_session={}", ada.token);
    let unauthorized = |answer: Reply| {
        assert_eq!((answer.status, answer.header("www-authenticate")), (401, vec!["Bearer"]), "{answer:?}");
        assert_eq!(answer.json()["success"], false);
    };
    unauthorized(reply(post(&stoa, &list)).await);
    unauthorized(reply(post(&stoa, &list).bearer_auth("wrong")).await);
    unauthorized(reply(post(&stoa, &list).header("cookie", cookie)).await);
    let with_key = || post(&stoa, &list).header("x-api-key", &ada.token);
    let listed = reply(with_key()).await;
    assert_eq!(listed.json()["result"]["tools"].as_array().unwrap().len(), 4, "{listed:?}");
    // Whatever name a proxy in front has.
    assert_eq!(reply(with_key().header("host", "library.example.org")).await.status, 200);
    assert_eq!(reply(with_key().header("origin", "https://evil.example")).await.status, 403);
    let ours = with_key().header("host", "ours.example").header("origin", "http://ours.example");
    assert_eq!(reply(ours).await.status, 200);
    let forged =
        with_key().header("x-forwarded-host", "evil.example").header("origin", "http://evil.example");
    assert_eq!(reply(forged).await.status, 403, "anybody can say so");
}

#[tokio::test]
async fn wrong_requests_come_in_the_error_shape() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let large = call("search", &json!({ "query": "x".repeat(1 << 20) }));
    let plain = reqwest::Client::new().post(format!("http://{}/mcp", stoa.knowledge.unwrap()));
    let plain = plain.header("content-type", "application/json").body(list.to_string());
    for (answer, status) in [
        (reply(post(&stoa, &large).bearer_auth(&admin.token)).await, 413),
        (reply(plain.bearer_auth(&admin.token)).await, 406),
        (admin.get("/mcp").await, 405),
        (admin.delete("/mcp").await, 405),
    ] {
        assert_eq!(answer.status, status, "{answer:?}");
        assert_eq!(answer.json()["success"], false, "{answer:?}");
        assert!(!answer.json()["error"].as_str().unwrap().is_empty(), "{answer:?}");
    }
    let unknown = reply(post(&stoa, &call("erase", &json!({}))).bearer_auth(&admin.token)).await.json();
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
}

#[tokio::test]
async fn a_wrong_argument_is_named() {
    let stoa = Stoa::start_knowledge().set("CHAT_REQUESTS_PER_MINUTE", 100).serve();
    let ada = library(&stoa).await;
    for (name, arguments, part) in [
        ("search", json!({}), "`query`"),
        ("search", json!({ "query": 7 }), "`query`"),
        ("search", json!({ "query": "x", "topK": 101 }), "`topK`"),
        ("search", json!({ "query": "x", "mode": "magic" }), "`mode`"),
        ("search", json!({ "query": "x", "tags": "pump" }), "`tags`"),
        ("graph_neighbors", json!({}), "`node`"),
        ("graph_neighbors", json!({ "node": "Rotterdam", "limit": 0 }), "`limit`"),
        ("graph_neighbors", json!({ "node": "Atlantis" }), "`Atlantis`"),
        ("list_documents", json!({ "status": "lost" }), "`status`"),
        ("ask", json!({ "question": " " }), "`question`"),
        ("ask", json!({ "question": "x".repeat(33 << 10) }), "`question`"),
        ("ask", json!({ "question": "x", "agentType": "spy" }), "`agentType`"),
        ("ask", json!({ "question": "x", "topK": 1.5 }), "`topK`"),
    ] {
        let words = refused(&stoa, &ada, name, arguments.clone()).await;
        assert!(words.contains(part), "{name} {arguments}: {words}");
    }
    // Names however they are spelled, ids as they are.
    for node in ["Rotterdam", "rotterdam", "P-204", "p204"] {
        let near = use_tool(&stoa, &ada, "graph_neighbors", json!({ "node": node, "limit": 1 })).await;
        assert_eq!(near["structuredContent"]["neighbors"].as_array().unwrap().len(), 1, "{node}: {near}");
    }
}

#[tokio::test]
async fn nothing_of_another_user_is_ever_shown() {
    let stoa = Stoa::start_knowledge().serve();
    let ada = library(&stoa).await;
    let theirs = ada.documents().await[0]["id"].as_str().unwrap().to_owned();
    let bob = KnowledgeClient::admin(&stoa).await.invite(&stoa, "bob").await;
    let empty = |result: &Value, name: &str| {
        assert_eq!(result["structuredContent"][name], json!([]), "{result}");
        assert!(!result.to_string().contains("coolant"), "{result}");
    };
    for arguments in [
        json!({ "query": "coolant" }),
        json!({ "query": "coolant", "documentId": theirs }),
        json!({ "query": "coolant", "userId": ada.id }),
    ] {
        empty(&use_tool(&stoa, &bob, "search", arguments).await, "results");
    }
    empty(&use_tool(&stoa, &bob, "list_documents", json!({ "userId": ada.id })).await, "documents");
    let question = json!({ "question": "What circulates coolant?", "userId": ada.id });
    let answer = use_tool(&stoa, &bob, "ask", question).await;
    assert_eq!(answer["structuredContent"]["sources"], json!([]), "{answer}");
    assert!(
        refused(&stoa, &bob, "graph_neighbors", json!({ "node": "Rotterdam" })).await.contains("no `node`")
    );
}

#[tokio::test]
async fn asking_counts_as_chat_and_searching_does_not() {
    let stoa = Stoa::start_knowledge().set("CHAT_REQUESTS_PER_MINUTE", 1).serve();
    let ada = library(&stoa).await;
    let question = json!({ "question": "What does the pump P-204 circulate?" });
    let answer = use_tool(&stoa, &ada, "ask", question.clone()).await;
    assert!(answer["structuredContent"]["answer"].as_str().unwrap().contains("coolant"), "{answer}");
    let words = refused(&stoa, &ada, "ask", question).await;
    assert!(words.contains("rate limit exceeded") && words.contains("at most 1"), "{words}");
    let found = use_tool(&stoa, &ada, "search", json!({ "query": "coolant" })).await;
    assert_eq!(found["isError"], false, "{found}");
}

/// In the protocol's present form, which says with each request who speaks.
fn listen() -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "_meta": meta, "notifications": { "toolsListChanged": true } });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params })
}

#[tokio::test]
async fn no_stream_is_opened_that_a_stop_would_wait_for() {
    let stoa = Stoa::start_knowledge().serve();
    let ada = library(&stoa).await;
    // An open stream would never end by itself.
    let request = post(&stoa, &listen()).bearer_auth(&ada.token).timeout(Duration::from_secs(10));
    let request = request.header("mcp-protocol-version", "2026-07-28");
    let answer = reply(request.header("mcp-method", "subscriptions/listen")).await;
    assert_eq!(answer.json()["error"]["code"], -32601, "{answer:?}");
    stoa.signal("TERM");
    let (code, took) = stoa.wait();
    assert_eq!(code, Some(0));
    assert!(took < Duration::from_secs(5), "{took:?}");
}
