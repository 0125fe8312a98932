//! vendor-a against what OpenAI documents of `POST /v1/chat/completions`.

use crate::peer::{Answer, Peer, Request, error, stream};
use crate::{KEY, ask, failure, hold, in_turns, model, schema};
use llm::{Cause, Usage, VENDOR_A};
use serde::Deserialize;

const USAGE: &str = r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":42,"completion_tokens":7,"total_tokens":49,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}}

"#;
const DONE: &str = "data: [DONE]\n\n";

pub fn chunk(delta: &str, finish: &str) -> String {
    format!(
        r#"data: {{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","service_tier":"default","system_fingerprint":"fp","choices":[{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":{finish}}}],"usage":null}}"#
    ) + "\n\n"
}

pub fn normal() -> String {
    let deltas = [
        r#"{"role":"assistant","content":"","refusal":null}"#,
        r#"{"content":"Blue"}"#,
        r#"{"content":" – ja 🙂."}"#,
    ];
    let chunks: String = deltas.iter().map(|delta| chunk(delta, "null")).collect();
    chunks + &chunk("{}", r#""stop""#) + USAGE + DONE
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    model: String,
    messages: Vec<Message>,
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
    temperature: Option<f64>,
    stop: Option<Vec<String>>,
    seed: Option<i64>,
    reasoning_effort: Option<String>,
    stream: bool,
    stream_options: Option<StreamOptions>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    role: String,
    content: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StreamOptions {
    include_usage: bool,
}

pub fn check(request: &Request) -> Result<(), String> {
    hold(request.method == "POST" && request.path == "/v1/chat/completions", "wrong method or path")?;
    hold(request.header("authorization")? == format!("Bearer {KEY}"), "wrong key")?;
    hold(request.header("content-type")? == "application/json", "wrong type")?;
    let body: Body = schema(&request.body)?;
    hold(!body.model.is_empty() && body.stream, "no model, or no stream")?;
    hold(body.stream_options.is_none_or(|options| options.include_usage), "no usage asked for")?;
    hold(body.max_tokens.is_some() != body.max_completion_tokens.is_some(), "both limits, or none")?;
    hold(body.max_tokens.or(body.max_completion_tokens) == Some(256), "wrong limit")?;
    hold(body.temperature.is_none_or(|value| (value - 0.25).abs() < 1e-9), "wrong temperature")?;
    hold(body.stop.is_none_or(|stop| stop == ["\nUser:", "\n\n"]), "wrong stops")?;
    hold(body.seed.is_none_or(|seed| (0..=i64::from(i32::MAX)).contains(&seed)), "seed out of range")?;
    hold(body.reasoning_effort.is_none_or(|effort| effort == "none"), "it should not think")?;
    let (system, turns) = body.messages.split_first().ok_or("no messages")?;
    hold(system.role == "system" && system.content == "Be brief.\n\nCite.", "wrong system message")?;
    hold(turns.iter().all(|turn| !turn.content.is_empty()), "an empty message")?;
    in_turns(&turns.iter().map(|turn| turn.role.as_str()).collect::<Vec<_>>(), "assistant")
}

async fn peer(answers: impl IntoIterator<Item = Answer>) -> Peer {
    Peer::start(check, answers).await
}

#[tokio::test]
async fn an_answer_streams_to_its_end_with_usage() {
    let peer = peer([stream(&normal())]).await;
    let (text, usage) = ask(&model(VENDOR_A, &peer)).await;
    assert_eq!(text, "Blue – ja 🙂.");
    assert_eq!(usage.unwrap(), Usage { input_tokens: 42, output_tokens: 7, cut_off: false });
    assert_eq!(peer.bodies()[0]["model"], "default-model");
    assert_eq!(
        peer.bodies()[0]["messages"][1]["content"],
        "Passage [1]: the sky is blue.\n\nWhat colour is the sky?"
    );
}

#[tokio::test]
async fn single_bytes_carriage_returns_and_comments_change_nothing() {
    let noisy = normal().replace("\n\n", "\n\n: keep-alive\n\n").replace('\n', "\r\n");
    let peer = peer([stream(&noisy).in_single_bytes()]).await;
    let (text, usage) = ask(&model(VENDOR_A, &peer)).await;
    assert_eq!((text.as_str(), usage.unwrap().output_tokens), ("Blue – ja 🙂.", 7));
}

#[tokio::test]
async fn an_answer_at_its_limit_says_so() {
    let answer = chunk(r#"{"content":"Bl"}"#, "null") + &chunk("{}", r#""length""#) + USAGE + DONE;
    let peer = peer([stream(&answer)]).await;
    let (text, usage) = ask(&model(VENDOR_A, &peer)).await;
    assert_eq!((text.as_str(), usage.unwrap().cut_off), ("Bl", true));
}

/// Like llama.cpp's Python server.
#[tokio::test]
async fn usage_is_estimated_where_the_server_does_not_say() {
    let answer = chunk(r#"{"content":"123456789"}"#, "null") + &chunk("{}", r#""stop""#) + DONE.trim_end();
    let peer = peer([stream(&answer)]).await;
    let usage = ask(&model(VENDOR_A, &peer)).await.1.unwrap();
    assert_eq!(usage.output_tokens, 3);
    assert!(usage.input_tokens > 30, "{usage:?}");
}

#[tokio::test]
async fn a_refused_or_filtered_answer_is_an_error() {
    let refusal =
        chunk(r#"{"refusal":"I can't "}"#, "null") + &chunk(r#"{"refusal":"help."}"#, r#""stop""#) + DONE;
    let filtered = chunk(r#"{"content":"Some"}"#, "null") + &chunk("{}", r#""content_filter""#) + DONE;
    let peer = peer([stream(&refusal), stream(&filtered)]).await;
    let model = model(VENDOR_A, &peer);
    assert!(matches!(failure(&model).await, Cause::Declined(said) if said == "I can't help."));
    assert!(matches!(failure(&model).await, Cause::Declined(said) if said.contains("filter")));
}

const NO_MAX_TOKENS: &str = r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#;
const NO_TEMPERATURE: &str = r#"{"error":{"message":"Unsupported value: 'temperature' does not support 0.25 with this model. Only the default (1) value is supported.","type":"invalid_request_error","param":"temperature","code":"unsupported_value"}}"#;

#[tokio::test]
async fn what_a_model_refuses_is_left_out_and_remembered() {
    let answers =
        [error(400, NO_MAX_TOKENS), error(400, NO_TEMPERATURE), stream(&normal()), stream(&normal())];
    let peer = peer(answers).await;
    let model = model(VENDOR_A, &peer);
    assert_eq!(ask(&model).await.0, "Blue – ja 🙂.");
    assert_eq!(ask(&model).await.0, "Blue – ja 🙂.");
    let bodies = peer.bodies();
    let has = |index: usize| {
        ["max_tokens", "max_completion_tokens", "temperature"].map(|name| bodies[index].get(name).is_some())
    };
    assert_eq!((has(0), has(1)), ([true, false, true], [false, true, true]));
    assert_eq!((has(2), has(3)), ([false, true, false], [false, true, false]));
}

#[tokio::test]
async fn a_question_refused_for_good_is_asked_no_more() {
    let peer = peer([error(400, NO_TEMPERATURE), error(400, NO_TEMPERATURE)]).await;
    let cause = failure(&model(VENDOR_A, &peer)).await;
    assert!(matches!(cause, Cause::Refused { status: 400, message, .. } if message.contains("temperature")));
}

#[tokio::test]
async fn an_error_in_the_stream_is_told() {
    let failed = r#"data: {"error":{"message":"The server had an error","type":"server_error","param":null,"code":null}}"#;
    let peer = peer([stream(&(chunk(r#"{"content":"Blue"}"#, "null") + failed + "\n\n"))]).await;
    let (text, end) = ask(&model(VENDOR_A, &peer)).await;
    let message = end.unwrap_err().to_string();
    assert_eq!(text, "Blue");
    assert_eq!(message, "provider `vendor-a`, model `default-model`: answered 500: The server had an error");
}
