//! vendor-b against what Anthropic documents of `POST /v1/messages`.

use crate::peer::{Answer, Peer, Request, error, stream};
use crate::{KEY, ask, failure, hold, in_turns, model, schema};
use llm::{Cause, Usage, VENDOR_B};
use serde::Deserialize;

const START: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"m","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"cache_creation_input_tokens":0,"cache_read_input_tokens":5,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: ping
data: {"type":"ping"}

"#;
const STOP: &str = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
const OVERLOADED: &str = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";

fn text(text: &str) -> String {
    let delta = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"…"}}"#;
    format!("event: content_block_delta\ndata: {}\n\n", delta.replace('…', text))
}

fn end(reason: &str) -> String {
    let block = "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n";
    let delta = r#"{"type":"message_delta","delta":{"stop_reason":"…","stop_sequence":null},"usage":{"output_tokens":15}}"#;
    format!("{block}event: message_delta\ndata: {}\n\n{STOP}", delta.replace('…', reason))
}

fn normal() -> String {
    let thought = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"Hm.\"}}\n\n";
    let added = "event: added_later\ndata: {\"type\":\"added_later\",\"x\":1}\n\n";
    [START, thought, &text("Hello"), added, &text("!"), &end("end_turn")].concat()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    model: String,
    max_tokens: u32,
    messages: Vec<Message>,
    system: Option<String>,
    temperature: Option<f64>,
    stop_sequences: Option<Vec<String>>,
    thinking: Option<Thinking>,
    stream: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    role: String,
    content: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, tag = "type", rename_all = "snake_case")]
enum Thinking {
    Disabled {},
}

fn check(request: &Request) -> Result<(), String> {
    hold(request.method == "POST" && request.path == "/v1/messages", "wrong method or path")?;
    hold(request.header("x-api-key")? == KEY, "wrong key")?;
    hold(request.header("authorization").is_err(), "a key too many")?;
    hold(request.header("anthropic-version")? == "2023-06-01", "wrong version")?;
    hold(request.header("content-type")? == "application/json", "wrong type")?;
    let body: Body = schema(&request.body)?;
    hold(!body.model.is_empty() && body.stream && body.max_tokens == 256, "no model, stream or limit")?;
    hold(body.system.as_deref() == Some("Be brief.\n\nCite."), "wrong system text")?;
    hold(body.temperature.is_none_or(|value| (value - 0.25).abs() < 1e-9), "wrong temperature")?;
    hold(body.stop_sequences.is_none_or(|stop| stop == ["\nUser:"]), "wrong stops")?;
    hold(matches!(body.thinking, None | Some(Thinking::Disabled {})), "it should not think")?;
    hold(body.messages.iter().all(|message| !message.content.trim().is_empty()), "an empty message")?;
    in_turns(&body.messages.iter().map(|message| message.role.as_str()).collect::<Vec<_>>(), "assistant")
}

async fn peer(answers: impl IntoIterator<Item = Answer>) -> Peer {
    Peer::start(check, answers).await
}

#[tokio::test]
async fn an_answer_streams_to_its_end_with_usage() {
    let peer = peer([stream(&normal()), stream(&normal().replace('\n', "\r\n")).in_single_bytes()]).await;
    let model = model(VENDOR_B, &peer);
    for _ in 0..2 {
        let (text, usage) = ask(&model).await;
        assert_eq!(text, "Hello!");
        assert_eq!(usage.unwrap(), Usage { input_tokens: 30, output_tokens: 15, cut_off: false });
    }
}

#[tokio::test]
async fn an_answer_at_its_limit_says_so() {
    let peer = peer([stream(&[START, &text("He"), &end("max_tokens")].concat())]).await;
    assert!(ask(&model(VENDOR_B, &peer)).await.1.unwrap().cut_off);
}

#[tokio::test]
async fn a_refusal_is_an_error() {
    let peer = peer([stream(&[START, &text("Well"), &end("refusal")].concat())]).await;
    assert!(matches!(failure(&model(VENDOR_B, &peer)).await, Cause::Declined(_)));
}

#[tokio::test]
async fn the_temperature_that_newer_models_refuse_is_left_out() {
    let refused = r#"{"type":"error","error":{"type":"invalid_request_error","message":"`temperature` is deprecated for this model."},"request_id":"req_1"}"#;
    let peer = peer([error(400, refused), stream(&normal()), stream(&normal())]).await;
    let model = model(VENDOR_B, &peer);
    assert_eq!((ask(&model).await.0, ask(&model).await.0), ("Hello!".to_owned(), "Hello!".to_owned()));
    let sent: Vec<bool> = peer.bodies().iter().map(|body| body.get("temperature").is_some()).collect();
    assert_eq!(sent, [true, false, false]);
}

#[tokio::test]
async fn overload_is_waited_out_before_the_first_word_only() {
    let overloaded =
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}"#;
    let early = [
        error(529, overloaded).header("retry-after", "0"),
        stream(&[START, OVERLOADED].concat()),
        stream(&normal()),
    ];
    let waited = peer(early).await;
    assert_eq!(ask(&model(VENDOR_B, &waited)).await.0, "Hello!");
    assert_eq!(waited.requests(), 3);

    let late = peer([stream(&[START, &text("Hel"), OVERLOADED].concat())]).await;
    let (said, end) = ask(&model(VENDOR_B, &late)).await;
    assert_eq!((said.as_str(), late.requests()), ("Hel", 1));
    assert!(
        matches!(end.unwrap_err().cause, Cause::Refused { status: 529, message, .. } if message == "Overloaded")
    );
}

#[tokio::test]
async fn an_end_without_its_last_event_is_a_break() {
    let unended = normal().replace(STOP, "");
    let peer = peer([stream(&unended)]).await;
    let (said, end) = ask(&model(VENDOR_B, &peer)).await;
    assert_eq!(said, "Hello!");
    assert!(matches!(end.unwrap_err().cause, Cause::Broken(_)));
}
