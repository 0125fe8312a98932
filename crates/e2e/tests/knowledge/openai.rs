//! OpenAI's protocol: its own client, and the shapes that other clients rely on.

use e2e::{KnowledgeClient, Reply, Stoa, Vendor, get, reply, run_client};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::Duration;

const PUMP: &str = "The pump P-204 circulates coolant through the reactor hall.";
const QUESTION: &str = "What does the pump P-204 circulate?";

async fn library(stoa: &Stoa) -> KnowledgeClient {
    let admin = KnowledgeClient::admin(stoa).await;
    let ada = admin.invite(stoa, "ada").await;
    ada.ingest_text("pump.txt", PUMP).await;
    ada.ingest_text("bees.txt", "The varroa mite weakens colonies of honey bees.").await;
    ada
}

async fn complete(user: &KnowledgeClient, body: Value) -> Reply {
    reply(user.request(Method::POST, "/v1/chat/completions").body(body.to_string())).await
}

fn ask(model: &str) -> Value {
    json!({ "model": model, "messages": [{ "role": "user", "content": QUESTION }] })
}

fn with(model: &str, name: &str, value: Value) -> Value {
    let mut body = ask(model);
    body[name] = value;
    body
}

async fn edge_model(user: &KnowledgeClient) -> String {
    let models = user.get("/v1/models").await.json();
    let ids = models["data"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap());
    let found = ids.filter_map(|id| id.strip_prefix("edge-ai/")).next();
    found.expect("the embedded model").to_owned()
}

/// Status, type, parameter and code, of an error that is whole.
pub fn fault(answer: &Reply) -> (u16, Value, Value, Value) {
    let body = answer.json();
    assert_eq!(body["success"], false, "{answer:?}");
    assert!(!body["error"]["message"].as_str().expect("text").is_empty(), "{answer:?}");
    let field = |name: &str| body["error"][name].clone();
    (answer.status, field("type"), field("param"), field("code"))
}

#[tokio::test]
async fn the_official_client_works_on_both_ways() {
    let stoa = Stoa::start_knowledge().set("CHAT_REQUESTS_PER_MINUTE", 100).serve();
    let ada = library(&stoa).await;
    let url = format!("http://{}", stoa.knowledge.unwrap());
    let guest = reqwest::Client::new().post(stoa.url("/auth/guest")).body(r#"{"route": "CORE"}"#);
    let guest = reply(guest).await.json()["token"].as_str().unwrap().to_owned();
    let model = edge_model(&ada).await;
    let arguments = [url.as_str(), &stoa.url(""), &ada.token, &guest, &model];
    let printed = run_client("openai_client.py", &arguments).await;
    let lines: Vec<&str> = printed.lines().collect();
    let expected = [
        "models",
        "grounded",
        "plain",
        "streamed",
        "embedded",
        "refused",
        "gateway without Authorization",
        "gateway with a gateway token",
    ];
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn an_answer_has_every_field() {
    let stoa = Stoa::start_knowledge().serve();
    let ada = library(&stoa).await;
    let answer = complete(&ada, ask("stoa")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("x-ratelimit-remaining"), ["9"]);
    assert_eq!(answer.header("x-ratelimit-reset").len(), 1);
    let body = answer.json();
    assert!(body["created"].as_i64().unwrap() > 1_767_225_600, "seconds: {body}");
    assert!(body["created"].as_i64().unwrap() < 100_000_000_000, "seconds: {body}");
    let choice = &body["choices"][0];
    assert_eq!((&choice["index"], &choice["finish_reason"]), (&json!(0), &json!("stop")), "{body}");
    let names: Vec<&String> = choice.as_object().unwrap().keys().collect();
    assert_eq!(names, ["finish_reason", "index", "logprobs", "message"], "{body}");
    assert_eq!(choice["message"]["refusal"], Value::Null);
    let citation = &body["citations"][0];
    assert_eq!((&citation["number"], &citation["text"]), (&json!(1), &json!(PUMP)), "{body}");
    assert_eq!(citation["metadata"]["documentTitle"], "pump.txt");
    let models = ada.get("/v1/models").await.json();
    for model in models["data"].as_array().unwrap() {
        assert_eq!((&model["object"], &model["owned_by"]), (&json!("model"), &json!("edge-ai")), "{model}");
        assert!(model["created"].is_i64(), "{model}");
    }
    assert_eq!(models["data"].as_array().unwrap().len(), 2 + 7 + 1, "{models}");
}

#[tokio::test]
async fn a_stream_is_data_lines_up_to_done() {
    let stoa = Stoa::start_knowledge().serve();
    let ada = library(&stoa).await;
    let mut body = with("stoa/rag-chat", "stream", json!(true));
    body["stream_options"] = json!({ "include_usage": true });
    let answer = complete(&ada, body).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, vec!["text/event-stream"]));
    assert_eq!(answer.header("x-ratelimit-remaining"), ["9"]);
    let lines: Vec<&str> = answer.body.lines().filter(|line| !line.is_empty() && *line != ":").collect();
    assert!(lines.iter().all(|line| line.starts_with("data: ")), "{lines:?}");
    assert_eq!(lines.last(), Some(&"data: [DONE]"));
    let chunks: Vec<Value> =
        lines[..lines.len() - 1].iter().map(|line| serde_json::from_str(&line[6..]).unwrap()).collect();
    let (used, spoken) = chunks.split_last().unwrap();
    assert_eq!(used["choices"], json!([]), "{used}");
    assert!(used["usage"]["total_tokens"].is_u64(), "{used}");
    assert!(spoken.iter().all(|chunk| chunk["usage"].is_null() && chunk["id"] == used["id"]), "{spoken:?}");
    assert_eq!(spoken[0]["choices"][0]["delta"], json!({ "role": "assistant", "content": "" }));
    let last = spoken.last().unwrap();
    assert_eq!(last["choices"][0]["finish_reason"], "stop");
    assert_eq!(last["citations"][0]["number"], 1, "{last}");
    let before = &spoken[..spoken.len() - 1];
    assert!(before.iter().all(|chunk| chunk["choices"][0]["finish_reason"].is_null()), "{before:?}");
    let text: String =
        before.iter().map(|chunk| chunk["choices"][0]["delta"]["content"].as_str().unwrap()).collect();
    assert!(text.contains("coolant"), "{text}");

    let answer = complete(&ada, with("stoa/rag-chat", "stream", json!(true))).await;
    assert!(!answer.body.contains("\"usage\""), "only where it is asked for: {answer:?}");
}

#[tokio::test]
async fn what_cannot_be_done_is_refused_by_name() {
    let stoa = Stoa::start_knowledge().set("CHAT_REQUESTS_PER_MINUTE", 100).serve();
    let ada = KnowledgeClient::admin(&stoa).await;
    let image = json!([{ "role": "user", "content": [
        { "type": "text", "text": "What is this?" },
        { "type": "image_url", "image_url": { "url": "data:," } },
    ] }]);
    for (field, value, param) in [
        ("messages", image, "messages[0].content[1]"),
        ("messages", json!([]), "messages"),
        ("messages", json!([{ "role": "system", "content": "Be brief." }]), "messages"),
        ("messages", json!([{ "role": "robot", "content": "x" }]), "messages[0].role"),
        ("messages", json!([{ "role": "user" }]), "messages[0].content"),
        ("messages", json!([{ "role": "user", "content": "x".repeat(33 << 10) }]), "messages[0]"),
        ("n", json!(2), "n"),
        ("tools", json!([{ "type": "function", "function": { "name": "f" } }]), "tools"),
        ("functions", json!([{ "name": "f" }]), "functions"),
        ("response_format", json!({ "type": "json_object" }), "response_format"),
        ("temperature", json!(2.1), "temperature"),
        ("max_tokens", json!(0), "max_tokens"),
        ("max_completion_tokens", json!("many"), "max_completion_tokens"),
        ("stop", json!(["a", "b", "c", "d", "e"]), "stop"),
        ("stream", json!("yes"), "stream"),
        ("seed", json!(1.5), "seed"),
    ] {
        let answer = complete(&ada, with("stoa", field, value)).await;
        let expected = (400, json!("invalid_request_error"), json!(param), Value::Null);
        assert_eq!(fault(&answer), expected, "{field}: {answer:?}");
        assert!(answer.json()["error"]["message"].as_str().unwrap().contains(param), "{field}: {answer:?}");
    }
    let nothing = with("stoa", "tools", json!([]));
    assert_eq!(complete(&ada, nothing).await.status, 200, "no tools are no tools");
    let large = with("stoa", "user", json!("x".repeat(4 << 20)));
    assert_eq!(fault(&complete(&ada, large).await).0, 413);
}

#[tokio::test]
async fn unknown_models_paths_and_methods_are_faults_of_this_protocol() {
    let stoa = Stoa::start_knowledge().set("CHAT_REQUESTS_PER_MINUTE", 100).serve();
    let ada = KnowledgeClient::admin(&stoa).await;
    let not_found = (404, json!("invalid_request_error"), json!("model"), json!("model_not_found"));
    for name in ["gpt-5", "stoa/nobody", "stoa/", "edge-ai/other", "edge-ai/", "robot/x", "/"] {
        assert_eq!(fault(&complete(&ada, ask(name)).await), not_found, "{name}");
    }
    for path in ["/v1/models/nothing", "/v1/models/vendor-a/gpt-5", "/v1/models/stoa%2Fnobody"] {
        assert_eq!(fault(&ada.get(path).await), not_found, "{path}");
    }
    for path in ["/v1/models/stoa/critic", "/v1/models/stoa%2Fcritic"] {
        assert_eq!(ada.get(path).await.json()["id"], "stoa/critic");
    }
    assert_eq!(fault(&ada.post("/v1/images/generations").await).0, 404);
    let wrong = ada.get("/v1/chat/completions").await;
    assert_eq!((fault(&wrong).0, wrong.header("allow")), (405, vec!["POST"]));
    let url = format!("http://{}/v1/models", stoa.knowledge.unwrap());
    let stranger = get(url).await;
    let no_key = (401, json!("invalid_request_error"), Value::Null, json!("invalid_api_key"));
    assert_eq!(fault(&stranger), no_key);
    assert_eq!(stranger.header("www-authenticate"), ["Bearer"]);
    // A vendor without its key: the embedded model answers, and says so.
    let answer = complete(&ada, with("openai/gpt-5", "max_tokens", json!(3))).await.json();
    assert!(answer["model"].as_str().unwrap().starts_with("edge-ai/"), "{answer}");
    assert_eq!(answer["choices"][0]["finish_reason"], "length", "{answer}");
}

#[tokio::test]
async fn one_limit_holds_over_all_ways_of_asking() {
    let stoa = Stoa::start_knowledge().set("CHAT_REQUESTS_PER_MINUTE", 2).serve();
    let ada = library(&stoa).await;
    let chat = ada.request(Method::POST, "/api/chat").body(json!({ "query": QUESTION }).to_string());
    assert_eq!(reply(chat).await.header("x-ratelimit-remaining"), ["1"]);
    assert_eq!(complete(&ada, json!({})).await.status, 400, "a bad request counts as well");
    let answer = complete(&ada, ask("stoa")).await;
    let limited = (429, json!("rate_limit_error"), Value::Null, json!("rate_limit_exceeded"));
    assert_eq!(fault(&answer), limited);
    assert_eq!(answer.header("x-ratelimit-remaining"), ["0"]);
    let wait: u64 = answer.header("retry-after")[0].parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    assert_eq!(ada.get("/v1/models").await.status, 200, "which asks no model");
}

#[tokio::test]
async fn no_answer_uses_another_users_documents() {
    let stoa = Stoa::start_knowledge().serve();
    library(&stoa).await;
    let bob = KnowledgeClient::admin(&stoa).await.invite(&stoa, "bob").await;
    let answer = complete(&bob, ask("stoa")).await.json();
    assert_eq!(answer["citations"], json!([]), "{answer}");
    assert!(!answer.to_string().contains("coolant"), "{answer}");
}

const SAYS_COOLANT: &str = "Coolant [1], not oil [7].";

fn beside(vendor: &Vendor) -> Stoa {
    Stoa::start_knowledge().set("VENDOR_A_API_KEY", "secret").set("VENDOR_A_BASE_URL", vendor.url()).serve()
}

#[tokio::test]
async fn messages_reach_a_vendor_as_they_are_or_with_the_sources() {
    let vendor = Vendor::start(SAYS_COOLANT).await;
    let stoa = beside(&vendor);
    let ada = library(&stoa).await;
    let messages = json!([
        { "role": "developer", "content": "Answer in French." },
        { "role": "user", "content": "Hello." },
        { "role": "assistant", "content": "Bonjour." },
        { "role": "user", "content": [{ "type": "text", "text": QUESTION }] },
    ]);
    let mut body = with("openai/org/model:7b", "messages", messages);
    body["stop"] = json!("END");
    body["max_tokens"] = json!(50);
    let answer = complete(&ada, body.clone()).await.json();
    assert_eq!(answer["model"], "vendor-a/org/model:7b", "{answer}");
    assert_eq!(answer["choices"][0]["message"]["content"], SAYS_COOLANT, "{answer}");
    let used = json!({ "prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18 });
    assert_eq!((&answer["usage"], &answer["citations"]), (&used, &json!([])));
    let plain = vendor.asked()[0].clone();
    assert_eq!((&plain["model"], &plain["stop"]), (&json!("org/model:7b"), &json!(["END"])), "{plain}");
    let roles: Vec<&str> =
        plain["messages"].as_array().unwrap().iter().map(|one| one["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"], "{plain}");
    assert!(!plain.to_string().contains("reactor hall"), "nothing was retrieved: {plain}");

    body["model"] = json!("stoa/openai/org/model:7b");
    let answer = complete(&ada, body).await.json();
    assert_eq!(answer["model"], "stoa/vendor-a/org/model:7b", "{answer}");
    assert_eq!(answer["choices"][0]["message"]["content"], "Coolant [1], not oil.", "no seventh source");
    assert_eq!(answer["citations"][0]["text"], PUMP, "{answer}");
    let grounded = vendor.asked()[1].to_string();
    for part in [PUMP, "Answer in French.", "User: Hello.", "Assistant: Bonjour.", QUESTION, "END"] {
        assert!(grounded.contains(part), "{part} in {grounded}");
    }
    let ids = ada.get("/v1/models").await.json();
    let owners = ids["data"].as_array().unwrap().iter().filter(|model| model["owned_by"] == "vendor-a");
    assert_eq!(owners.count(), 2, "{ids}");
}

#[tokio::test]
async fn a_vendor_that_breaks_off_ends_the_stream_with_an_error() {
    let vendor = Vendor::start(SAYS_COOLANT).await;
    let stoa = beside(&vendor);
    let admin = KnowledgeClient::admin(&stoa).await;
    let answer = complete(&admin, with("vendor-a/break", "stream", json!(true))).await;
    assert!(answer.body.contains("Coolant") && !answer.body.contains("[DONE]"), "{answer:?}");
    let last = answer.body.lines().rfind(|line| line.starts_with("data: ")).unwrap();
    let last: Value = serde_json::from_str(&last[6..]).unwrap();
    assert_eq!(last["error"]["code"], "provider_failed", "{last}");
    assert_eq!(fault(&complete(&admin, ask("vendor-a/break")).await).0, 502);
}

#[tokio::test]
async fn an_open_stream_ends_when_the_process_does() {
    let vendor = Vendor::start(SAYS_COOLANT).await;
    let stoa = beside(&vendor);
    let admin = KnowledgeClient::admin(&stoa).await;
    let body = with("vendor-a/hang", "stream", json!(true)).to_string();
    let request = admin.request(Method::POST, "/v1/chat/completions").body(body);
    let mut response = request.send().await.unwrap();
    let mut read = String::new();
    while !read.contains("Coolant") {
        read += &String::from_utf8_lossy(&response.chunk().await.unwrap().expect("more to come"));
    }
    stoa.signal("TERM");
    let (code, took) = stoa.wait();
    assert_eq!(code, Some(0));
    // It gets the time that every running request gets.
    assert!(took < Duration::from_secs(15), "{took:?}");
    while let Ok(Some(chunk)) = response.chunk().await {
        read += &String::from_utf8_lossy(&chunk);
    }
    assert!(!read.contains("[DONE]"), "{read}");
}
