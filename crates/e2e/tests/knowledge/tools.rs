//! Tools, JSON by a schema and pictures: passed through to a connection's models, and refused where nothing takes them.

use super::openai::fault;
use e2e::vendor::REPORT;
use e2e::{KnowledgeClient, Reply, Stoa, Vendor, run_client};
use serde_json::{Value, json};

const PUMP: &str = "The pump P-204 circulates coolant through the reactor hall.";
const PICTURE: &str = "data:image/png;base64,iVBORw==";

async fn started(vendor: &Vendor) -> (Stoa, KnowledgeClient) {
    let start = Stoa::start_knowledge().set("CHAT_REQUESTS_PER_MINUTE", 1000);
    let stoa = start.set("VENDOR_A_API_KEY", "secret").set("VENDOR_A_BASE_URL", vendor.url()).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    admin.ingest_text("pump.txt", PUMP).await;
    (stoa, admin)
}

fn weather() -> Value {
    let parameters = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    json!({ "type": "function",
        "function": { "name": "weather", "description": "Of a city.", "parameters": parameters, "strict": true } })
}

fn report() -> Value {
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    json!({ "type": "json_schema", "json_schema": { "name": "report", "schema": schema, "strict": true } })
}

fn ask(model: &str, more: Value) -> Value {
    let mut body = json!({ "model": model, "messages": [{ "role": "user", "content": "How warm is it?" }] });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

async fn complete(user: &KnowledgeClient, body: &Value) -> Reply {
    user.post_json("/v1/chat/completions", body).await
}

#[tokio::test]
async fn the_official_client_and_langchain_work() {
    let vendor = Vendor::start("It is warm.").await;
    let (stoa, admin) = started(&vendor).await;
    let url = format!("http://{}", stoa.knowledge.unwrap());
    let printed = run_client("openai_tools_client.py", &[&url, &admin.token]).await;
    let expected = [
        "called",
        "called in a stream",
        "parsed",
        "seen",
        "responded",
        "responded in a stream",
        "responses parsed",
        "responses called",
        "responses from documents",
        "refused",
    ];
    assert_eq!(printed.lines().collect::<Vec<_>>(), expected);
    let printed = run_client("langchain_client.py", &[&url, &admin.token]).await;
    let expected = [
        "completions structured",
        "completions tools",
        "completions streamed",
        "responses structured",
        "responses tools",
        "responses streamed",
    ];
    assert_eq!(printed.lines().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn a_call_reaches_the_caller_and_its_result_the_model() {
    let vendor = Vendor::start("It is warm.").await;
    let (_stoa, admin) = started(&vendor).await;
    let named = json!({ "type": "function", "function": { "name": "weather" } });
    let more = json!({ "tools": [weather()], "tool_choice": named, "parallel_tool_calls": false,
        "response_format": report() });
    let answer = complete(&admin, &ask("vendor-a/tools", more.clone())).await;
    assert_eq!((answer.status, answer.header("x-unknown-fields").len()), (200, 0), "{answer:?}");
    let choice = answer.json()["choices"][0].clone();
    assert_eq!(
        (&choice["finish_reason"], &choice["message"]["content"]),
        (&json!("tool_calls"), &Value::Null)
    );
    let called = json!([{ "id": "call_1", "type": "function",
        "function": { "name": "weather", "arguments": REPORT } }]);
    assert_eq!(choice["message"]["tool_calls"], called);
    let sent = vendor.asked().pop().unwrap();
    for field in ["tools", "tool_choice", "parallel_tool_calls", "response_format"] {
        assert_eq!(sent[field], more[field], "{field}");
    }

    let mut body = ask("vendor-a/tools", more);
    let picture = json!([{ "type": "text", "text": "Here?" },
        { "type": "image_url", "image_url": { "url": PICTURE, "detail": "low" } }]);
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(json!({ "role": "assistant", "content": null, "tool_calls": called }));
    messages.push(json!({ "role": "tool", "tool_call_id": "call_1", "content": "21 degrees" }));
    messages.push(json!({ "role": "user", "content": picture }));
    body["model"] = json!("vendor-a/m");
    let answer = complete(&admin, &body).await.json();
    let choice = &answer["choices"][0];
    assert_eq!(
        (&choice["finish_reason"], &choice["message"]["content"]),
        (&json!("stop"), &json!("It is warm."))
    );
    assert_eq!(choice["message"].get("tool_calls"), None, "{answer}");
    let sent = vendor.asked().pop().unwrap()["messages"].clone();
    assert_eq!(sent[1], json!({ "role": "assistant", "content": null, "tool_calls": called }), "{sent}");
    assert_eq!(
        sent[2],
        json!({ "role": "tool", "tool_call_id": "call_1", "content": "21 degrees" }),
        "{sent}"
    );
    assert_eq!(sent[3]["content"][0]["image_url"]["url"], PICTURE, "{sent}");
    assert_eq!(sent[3]["content"][1], json!({ "type": "text", "text": "Here?" }), "{sent}");
}

#[tokio::test]
async fn a_call_is_streamed_in_pieces() {
    let vendor = Vendor::start("It is warm.").await;
    let (_stoa, admin) = started(&vendor).await;
    let body = ask("vendor-a/tools", json!({ "tools": [weather()], "stream": true }));
    let answer = complete(&admin, &body).await;
    let lines: Vec<&str> = answer.body.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    let (done, chunks) = lines.split_last().unwrap();
    assert_eq!(*done, "[DONE]");
    let chunks: Vec<Value> = chunks.iter().map(|chunk| serde_json::from_str(chunk).unwrap()).collect();
    let deltas: Vec<&Value> =
        chunks.iter().map(|chunk| &chunk["choices"][0]["delta"]["tool_calls"][0]).collect();
    let first = json!({ "index": 0, "id": "call_1", "type": "function",
        "function": { "name": "weather", "arguments": "" } });
    assert_eq!(*deltas[1], first, "{chunks:?}");
    let arguments: String =
        deltas.iter().filter_map(|delta| delta["function"]["arguments"].as_str()).collect();
    assert_eq!(arguments, REPORT);
    assert_eq!(chunks.last().unwrap()["choices"][0]["finish_reason"], "tool_calls");
}

#[tokio::test]
async fn what_no_model_can_take_is_refused_by_name() {
    let vendor = Vendor::start("It is warm.").await;
    let (_stoa, admin) = started(&vendor).await;
    let content = |part: Value| json!({ "messages": [{ "role": "user", "content": [part] }] });
    let image = |url: &str| content(json!({ "type": "image_url", "image_url": { "url": url } }));
    let tool = |function: Value| json!({ "tools": [{ "type": "function", "function": function }] });
    let twice = json!({ "tools": [weather(), weather()] });
    let orphan = json!([{ "role": "user", "content": "x" },
        { "role": "tool", "tool_call_id": "call_9", "content": "y" }]);
    let schema =
        |schema: Value| json!({ "response_format": { "type": "json_schema", "json_schema": schema } });
    for (more, param, says) in [
        (image("http://169.254.169.254/latest"), "messages[0].content[0]", "data:image/png"),
        (image("data:text/html;base64,AAAA"), "messages[0].content[0]", "image/png"),
        (content(json!({ "type": "input_audio" })), "messages[0].content[0]", "input_audio"),
        (
            json!({ "messages": [{ "role": "system", "content": [
                { "type": "image_url", "image_url": { "url": PICTURE } }] }] }),
            "messages[0].content[0]",
            "only messages of role user",
        ),
        (json!({ "messages": orphan }), "messages[1].tool_call_id", "call"),
        (json!({ "tools": [{ "type": "web_search" }] }), "tools[0]", "web_search"),
        (json!({ "tools": [{ "type": "function" }] }), "tools[0].function", "missing"),
        (tool(json!({})), "tools[0].function.name", "missing"),
        (tool(json!({ "name": "two words" })), "tools[0].function.name", "letters"),
        (tool(json!({ "name": "f", "parameters": [] })), "tools[0].function.parameters", "not an object"),
        (twice, "tools[1].function.name", "another's"),
        (json!({ "tool_choice": "required" }), "tool_choice", "no `tools`"),
        (
            json!({ "tools": [weather()], "tool_choice": { "type": "function", "function": { "name": "f" } } }),
            "tool_choice",
            "`f`",
        ),
        (json!({ "tool_choice": "sometimes" }), "tool_choice", "`required`"),
        (json!({ "response_format": { "type": "xml" } }), "response_format", "json_schema"),
        (json!({ "response_format": { "type": "json_schema" } }), "response_format.json_schema", "missing"),
        (schema(json!({ "name": "r" })), "response_format.json_schema.schema", "missing"),
        (schema(json!({ "name": "r", "schema": 7 })), "response_format.json_schema.schema", "not an object"),
    ] {
        let answer = complete(&admin, &ask("vendor-a/m", more)).await;
        let expected = (400, json!("invalid_request_error"), json!(param), Value::Null);
        assert_eq!(fault(&answer), expected, "{answer:?}");
        assert!(answer.json()["error"]["message"].as_str().unwrap().contains(says), "{says}: {answer:?}");
    }
    assert_eq!(vendor.asked(), Vec::<Value>::new());
}

#[tokio::test]
async fn models_that_read_documents_and_the_embedded_one_say_who_takes_it() {
    let vendor = Vendor::start("It is warm.").await;
    let (_stoa, admin) = started(&vendor).await;
    let image = json!({ "messages": [{ "role": "user", "content": [
        { "type": "text", "text": "What is this?" }, { "type": "image_url", "image_url": { "url": PICTURE } }] }] });
    for (more, param) in [
        (json!({ "tools": [weather()] }), "tools"),
        (json!({ "response_format": report() }), "response_format"),
        (image, "messages[0].content[1]"),
    ] {
        let answer = complete(&admin, &ask("stoa/vendor-a/m", more.clone())).await;
        assert_eq!((fault(&answer).0, fault(&answer).2), (400, json!(param)), "{answer:?}");
        assert!(answer.body.contains("`vendor-a/m` takes it"), "{answer:?}");
        for model in ["stoa", "edge-ai"] {
            let answer = complete(&admin, &ask(model, more.clone())).await;
            assert_eq!(fault(&answer).0, 400, "{answer:?}");
            assert!(answer.body.contains("model of a connection"), "{answer:?}");
        }
    }
    assert_eq!(vendor.asked(), Vec::<Value>::new());
}

#[tokio::test]
async fn what_a_server_refuses_is_the_callers_fault_if_it_was_the_callers() {
    let vendor = Vendor::start("It is warm.").await;
    let (_stoa, admin) = started(&vendor).await;
    for (more, status) in [
        (json!({ "tools": [weather()] }), 400),
        (json!({ "response_format": report() }), 400),
        (json!({}), 502),
    ] {
        let answer = complete(&admin, &ask("vendor-a/fail", more)).await;
        assert_eq!(fault(&answer).0, status, "{answer:?}");
        assert!(answer.body.contains("no such model"), "{answer:?}");
    }
    let sent = vendor.asked();
    assert!(sent[0].get("tools").is_some() && sent[1].get("response_format").is_some(), "{sent:?}");
}
