//! What a request has that the service does not know is named in a header, and is no error.

use e2e::{Form, KnowledgeClient, Reply, Stoa, reply};
use reqwest::Method;
use serde_json::json;

fn unknown(answer: &Reply) -> Vec<&str> {
    answer.header("x-unknown-fields")
}

#[tokio::test]
async fn every_reader_names_what_it_does_not_know() {
    let stoa = Stoa::start_knowledge().set("LOG_LEVEL", "debug").set("CHAT_REQUESTS_PER_MINUTE", 100).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    admin.ingest_text("pump.txt", "The pump circulates coolant.").await;
    let chat = json!({
        "query": "What does the pump do?", "documentID": "x", "top_k": 3, "historyContext": "",
        "llmConfig": { "provider": "edge-ai", "model": "m", "max_tokens": 9 },
        "sources": [{ "text": "The pump circulates coolant.", "score": 1 }],
    });
    let answer = admin.post_json("/api/chat?stream=true", &chat).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(unknown(&answer), ["documentID, llmConfig.max_tokens, stream, top_k"]);
    assert!(stoa.logs("documentID, llmConfig.max_tokens, stream, top_k"), "at debug");
    let stream = admin.request(Method::POST, "/api/chat").json(&chat).header("accept", "text/event-stream");
    assert_eq!(unknown(&reply(stream).await), ["documentID, llmConfig.max_tokens, top_k"]);
    // It helps most where something is wrong.
    let wrong = admin.post_json("/api/chat", &json!({ "qeury": "What?" })).await;
    assert_eq!((wrong.status, unknown(&wrong)), (400, vec!["qeury"]));

    for (path, names) in [
        ("/api/search?query=pump&topk=3&userId=", vec!["topk"]),
        ("/api/documents?offset=3&limit=3", vec!["offset"]),
        ("/api/graph?depth=2&around=", vec!["depth"]),
        ("/api/auth/me?x", vec!["x"]),
        ("/api/health?z=1&%C3%BC%0A,=2&a=3", vec!["%C3%BC%0A%2C, a, z"]),
        ("/api/documents", vec![]),
        ("/livez?x=1", vec!["x"]),
        ("/nowhere?x=1", vec![]),
    ] {
        let answer = admin.get(path).await;
        assert_eq!(unknown(&answer), names, "{path}: {answer:?}");
    }
    let login = json!({ "username": "a", "password": "b", "remember": true });
    assert_eq!(unknown(&admin.post_json("/api/auth/login", &login).await), ["remember"]);
    let message = json!([{ "role": "user", "content": "What does the pump do?" }]);
    let body = json!({ "model": "stoa", "messages": message, "top_p": 1, "tools": [], "user": "ada" });
    let answer = admin.post_json("/v1/chat/completions", &body).await;
    assert_eq!((answer.status, unknown(&answer)), (200, vec!["top_p, user"]), "{answer:?}");

    let form =
        Form::new().file("file", "a.txt", b"The valve leaks.").text("goals", "x").text("overwrite", "1");
    let answer = admin.submit("/api/ingest?wait=1", form).await;
    assert_eq!((answer.status, unknown(&answer)), (200, vec!["goals, overwrite, wait"]), "{answer:?}");
    let form =
        Form::new().text("name", "Ada").text("email", "a@example.org").text("password", "correct horse");
    let answer =
        admin.submit("/api/signup", form.text("metadata", "{}").file("files", "a.txt", b"A pump.")).await;
    assert_eq!((answer.status, unknown(&answer)), (200, vec!["metadata"]), "{answer:?}");
    let tool = json!({ "name": "search", "arguments": { "query": "pump", "k": 3 } });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": tool });
    let request = admin.request(Method::POST, "/mcp").json(&call);
    let answer = reply(request.header("accept", "application/json, text/event-stream")).await;
    assert_eq!((answer.status, unknown(&answer)), (200, vec!["k"]), "{answer:?}");
}
