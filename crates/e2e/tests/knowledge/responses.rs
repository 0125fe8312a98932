//! `POST /v1/responses`: the shape of answers and events, and what is refused. The official client is in `tools`.

use super::openai::fault;
use e2e::vendor::REPORT;
use e2e::{KnowledgeClient, Reply, Stoa, Vendor};
use serde_json::{Value, json};

const PUMP: &str = "The pump P-204 circulates coolant through the reactor hall.";
const QUESTION: &str = "What does the pump P-204 circulate?";

async fn started(vendor: &Vendor, per_minute: usize) -> (Stoa, KnowledgeClient) {
    let start = Stoa::start_knowledge().set("CHAT_REQUESTS_PER_MINUTE", per_minute);
    let stoa = start.set("VENDOR_A_API_KEY", "secret").set("VENDOR_A_BASE_URL", vendor.url()).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    admin.ingest_text("pump.txt", PUMP).await;
    (stoa, admin)
}

async fn respond(user: &KnowledgeClient, body: Value) -> Reply {
    user.post_json("/v1/responses", &body).await
}

/// Returns the events of a stream; each has its own name as type, and their numbers leave no gap.
fn events(answer: &Reply) -> Vec<Value> {
    let names = answer.body.lines().filter_map(|line| line.strip_prefix("event: "));
    let data = answer.body.lines().filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<Value> = data.map(|data| serde_json::from_str(data).unwrap()).collect();
    let types: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(types, names.collect::<Vec<_>>());
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], number, "{event}");
    }
    events
}

fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap().trim_start_matches("response.")).collect()
}

#[tokio::test]
async fn an_answer_from_documents_has_its_citations() {
    let vendor = Vendor::start("Coolant [1].").await;
    let (_stoa, admin) = started(&vendor, 100).await;
    let answer = respond(&admin, json!({ "model": "stoa", "input": QUESTION, "store": true })).await;
    assert_eq!((answer.status, answer.header("x-unknown-fields").len()), (200, 0), "{answer:?}");
    assert_eq!(answer.header("x-ratelimit-remaining"), ["99"]);
    let body = answer.json();
    assert_eq!(body["citations"][0]["text"], PUMP, "{body}");
    let message = &body["output"][0];
    assert_eq!((&message["type"], &message["role"]), (&json!("message"), &json!("assistant")), "{body}");
    let text = message["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("coolant") && text.contains("[1]"), "{body}");
    assert_eq!(message["content"][0]["annotations"], json!([]));
    assert_eq!(
        (&body["store"], &body["status"], &body["error"]),
        (&json!(false), &json!("completed"), &json!(null))
    );

    let body = json!({ "model": "stoa/vendor-a/m", "instructions": "Answer in French.",
        "input": [{ "role": "user", "content": "Hello." }, { "role": "assistant", "content": "Bonjour." },
            { "role": "user", "content": [{ "type": "input_text", "text": QUESTION }] }] });
    let answer = respond(&admin, body).await.json();
    assert_eq!(answer["model"], "stoa/vendor-a/m", "{answer}");
    assert_eq!(answer["output"][0]["content"][0]["text"], "Coolant [1].");
    let sent = vendor.asked().pop().unwrap().to_string();
    for part in [PUMP, "Answer in French.", "User: Hello.", "Assistant: Bonjour.", QUESTION] {
        assert!(sent.contains(part), "{part} in {sent}");
    }
    let streamed = json!({ "model": "stoa", "input": QUESTION, "stream": true });
    let events = events(&respond(&admin, streamed).await);
    assert_eq!(events.last().unwrap()["response"]["citations"][0]["number"], 1);
}

#[tokio::test]
async fn items_reach_a_connection_and_a_call_comes_back() {
    let vendor = Vendor::start("It is warm.").await;
    let (_stoa, admin) = started(&vendor, 100).await;
    let parameters = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    let tool = json!({ "type": "function", "name": "weather", "parameters": parameters, "strict": true });
    let schema = json!({ "type": "json_schema", "name": "report", "schema": parameters, "strict": true });
    let picture =
        json!({ "type": "input_image", "image_url": "data:image/jpeg;base64,/9j/", "detail": "auto" });
    let body = json!({ "model": "vendor-a/tools", "instructions": "Be brief.", "max_output_tokens": 50,
        "temperature": 0.5, "tools": [tool], "tool_choice": { "type": "function", "name": "weather" },
        "parallel_tool_calls": false, "text": { "format": schema },
        "input": [{ "type": "message", "role": "user", "content": [picture] }] });
    let answer = respond(&admin, body.clone()).await;
    assert_eq!((answer.status, answer.header("x-unknown-fields").len()), (200, 0), "{answer:?}");
    let answer = answer.json();
    let call = &answer["output"][0];
    let found = ["type", "name", "arguments", "call_id", "status"].map(|field| call[field].as_str().unwrap());
    assert_eq!(found, ["function_call", "weather", REPORT, "call_1", "completed"], "{answer}");
    assert_eq!(answer["output"].as_array().unwrap().len(), 1, "{answer}");
    for field in ["instructions", "max_output_tokens", "temperature", "tool_choice", "text"] {
        assert_eq!(answer[field], body[field], "{field}");
    }
    let sent = vendor.asked().pop().unwrap();
    let function = json!({ "name": "weather", "parameters": parameters, "strict": true });
    assert_eq!(sent["tools"], json!([{ "type": "function", "function": function }]), "{sent}");
    assert_eq!(sent["tool_choice"], json!({ "type": "function", "function": { "name": "weather" } }));
    let by_schema = json!({ "name": "report", "schema": parameters, "strict": true });
    assert_eq!(sent["response_format"], json!({ "type": "json_schema", "json_schema": by_schema }));
    assert_eq!((&sent["parallel_tool_calls"], &sent["max_tokens"]), (&json!(false), &json!(50)));
    assert_eq!(sent["messages"][0], json!({ "role": "system", "content": "Be brief." }));
    assert_eq!(sent["messages"][1]["content"][0]["image_url"]["url"], "data:image/jpeg;base64,/9j/");

    let result = json!({ "type": "function_call_output", "call_id": "call_1", "output": "21 degrees" });
    let mut body = body;
    body["input"] = json!([{ "role": "user", "content": "How warm?" }, call, result]);
    let answer = respond(&admin, body).await.json();
    assert_eq!(answer["output"][0]["content"][0]["text"], "It is warm.", "{answer}");
    let sent = vendor.asked().pop().unwrap()["messages"].clone();
    assert_eq!(sent[2]["tool_calls"][0]["id"], "call_1", "{sent}");
    assert_eq!(
        sent[3],
        json!({ "role": "tool", "tool_call_id": "call_1", "content": "21 degrees" }),
        "{sent}"
    );
}

#[tokio::test]
async fn events_come_in_their_order() {
    let vendor = Vendor::start("It is warm.").await;
    let (_stoa, admin) = started(&vendor, 100).await;
    let body = |model: &str, more: Value| {
        let mut body = json!({ "model": model, "input": QUESTION, "stream": true });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let spoken = events(&respond(&admin, body("vendor-a/m", json!({}))).await);
    let begin = ["created", "in_progress", "output_item.added", "content_part.added"];
    let end = ["output_text.done", "content_part.done", "output_item.done", "completed"];
    let delta = ["output_text.delta"; 3];
    assert_eq!(types(&spoken), [&begin[..], &delta, &end].concat());
    assert_eq!(spoken[2]["item"]["content"], json!([]), "{spoken:?}");
    assert_eq!(spoken[7]["text"], "It is warm.");
    let last = &spoken.last().unwrap()["response"];
    assert_eq!((&last["output"][0], &last["usage"]["total_tokens"]), (&spoken[9]["item"], &json!(18)));
    assert_eq!(last["id"], spoken[0]["response"]["id"]);

    let tool = json!({ "type": "function", "name": "weather" });
    let called = events(&respond(&admin, body("vendor-a/tools", json!({ "tools": [tool] }))).await);
    let expected = [
        "created",
        "in_progress",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "completed",
    ];
    assert_eq!(types(&called), expected);
    assert_eq!(called[5]["arguments"], REPORT);
    assert_eq!(called[6]["item"]["status"], "completed");

    let broken = events(&respond(&admin, body("vendor-a/break", json!({}))).await);
    let last = broken.last().unwrap();
    assert_eq!((&last["type"], &last["response"]["status"]), (&json!("response.failed"), &json!("failed")));
    assert!(last["response"]["error"]["message"].as_str().unwrap().contains("vendor-a"), "{last}");
    let short = body("edge-ai", json!({ "max_output_tokens": 2 }));
    let short = events(&respond(&admin, short).await);
    let last = short.last().unwrap();
    let reason = &last["response"]["incomplete_details"]["reason"];
    assert_eq!((&last["type"], reason), (&json!("response.incomplete"), &json!("max_output_tokens")));
}

#[tokio::test]
async fn what_cannot_be_done_is_refused_by_name() {
    let vendor = Vendor::start("It is warm.").await;
    let (_stoa, admin) = started(&vendor, 100).await;
    let item = |item: Value| json!({ "input": [item] });
    let part = |part: Value| item(json!({ "role": "user", "content": [part] }));
    for (more, param) in [
        (json!({ "previous_response_id": "resp_1" }), "previous_response_id"),
        (json!({ "conversation": { "id": "c" } }), "conversation"),
        (json!({ "background": true }), "background"),
        (json!({ "input": [] }), "input"),
        (json!({ "input": 7 }), "input"),
        (item(json!({ "content": "x" })), "input[0].role"),
        (item(json!({ "role": "user" })), "input[0].content"),
        (item(json!({ "type": "reasoning" })), "input[0]"),
        (item(json!({ "type": "function_call", "name": "f" })), "input[0].call_id"),
        (item(json!({ "type": "function_call_output", "call_id": "c", "output": "" })), "input[0].call_id"),
        (part(json!({ "type": "input_image", "image_url": "https://host/a.png" })), "input[0].content[0]"),
        (part(json!({ "type": "input_image", "file_id": "f" })), "input[0].content[0]"),
        (part(json!({ "type": "input_file", "file_id": "f" })), "input[0].content[0]"),
        (json!({ "tools": [{ "type": "web_search_preview" }] }), "tools[0]"),
        (json!({ "tools": [{ "type": "function" }] }), "tools[0].name"),
        (json!({ "text": { "format": { "type": "json_schema" } } }), "text.format.name"),
        (json!({ "text": { "format": { "type": "json_schema", "name": "r" } } }), "text.format.schema"),
        (json!({ "max_output_tokens": 0 }), "max_output_tokens"),
        (json!({ "temperature": 3 }), "temperature"),
    ] {
        let mut body = json!({ "model": "vendor-a/m", "input": QUESTION });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = respond(&admin, body).await;
        let expected = (400, json!("invalid_request_error"), json!(param), Value::Null);
        assert_eq!(fault(&answer), expected, "{more}: {answer:?}");
        assert!(answer.json()["error"]["message"].as_str().unwrap().contains(param), "{answer:?}");
    }
    let tool = json!({ "type": "function", "name": "f" });
    let grounded = respond(&admin, json!({ "model": "stoa", "input": QUESTION, "tools": [tool] })).await;
    assert_eq!((fault(&grounded).0, fault(&grounded).2), (400, json!("tools")), "{grounded:?}");
    assert_eq!(vendor.asked(), Vec::<Value>::new());
    let unknown = respond(&admin, json!({ "model": "gpt-5", "input": QUESTION })).await;
    assert_eq!((fault(&unknown).0, fault(&unknown).3), (404, json!("model_not_found")));
    let wrong = admin.get("/v1/responses").await;
    assert_eq!((fault(&wrong).0, wrong.header("allow")), (405, vec!["POST"]));
}

#[tokio::test]
async fn a_response_counts_as_a_question() {
    let vendor = Vendor::start("It is warm.").await;
    let (_stoa, admin) = started(&vendor, 1).await;
    assert_eq!(respond(&admin, json!({})).await.status, 400, "a bad request counts as well");
    let limited = respond(&admin, json!({ "model": "stoa", "input": QUESTION })).await;
    assert_eq!((fault(&limited).0, fault(&limited).3), (429, json!("rate_limit_exceeded")));
    assert_eq!(limited.header("x-ratelimit-remaining"), ["0"]);
}
