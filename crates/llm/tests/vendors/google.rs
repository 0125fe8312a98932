//! vendor-c against what Google documents of `models.streamGenerateContent`.

use crate::peer::{Answer, Peer, Request, error, stream};
use crate::{KEY, ask, failure, hold, in_turns, model, providers_at, schema};
use llm::{Cause, Usage, VENDOR_C};
use serde::Deserialize;
use std::time::Duration;

fn chunk(candidate: &str) -> String {
    let usage = r#""usageMetadata":{"promptTokenCount":30,"candidatesTokenCount":4,"thoughtsTokenCount":2,"totalTokenCount":36,"promptTokensDetails":[{"modality":"TEXT","tokenCount":30}]}"#;
    format!(
        r#"data: {{"candidates":[{{{candidate},"index":0}}],{usage},"modelVersion":"m","responseId":"r"}}"#
    ) + "\n\n"
}

fn text(text: &str) -> String {
    chunk(&format!(r#""content":{{"parts":[{{"text":"{text}"}}],"role":"model"}}"#))
}

fn last(text: &str, reason: &str) -> String {
    chunk(&format!(r#""content":{{"parts":[{{"text":"{text}"}}],"role":"model"}},"finishReason":"{reason}""#))
}

fn normal() -> String {
    let thought = chunk(r#""content":{"parts":[{"text":"Hm.","thought":true}],"role":"model"}"#);
    thought + &text("Blau") + &last(" [1].", "STOP")
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Body {
    contents: Vec<Content>,
    system_instruction: Option<Content>,
    generation_config: Option<GenerationConfig>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    role: Option<String>,
    parts: Vec<Part>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct GenerationConfig {
    max_output_tokens: Option<i32>,
    temperature: Option<f64>,
    stop_sequences: Option<Vec<String>>,
    seed: Option<i32>,
}

fn check(request: &Request) -> Result<(), String> {
    let path = "/v1beta/models/default-model:streamGenerateContent?alt=sse";
    hold(request.method == "POST" && request.path == path, &format!("wrong path `{}`", request.path))?;
    hold(request.header("x-goog-api-key")? == KEY, "wrong key")?;
    hold(request.header("authorization").is_err(), "a key too many")?;
    hold(request.header("content-type")? == "application/json", "wrong type")?;
    let body: Body = schema(&request.body)?;
    let system = body.system_instruction.ok_or("no system instruction")?;
    hold(system.parts.len() == 1 && system.parts[0].text == "Be brief.\n\nCite.", "wrong system text")?;
    let config = body.generation_config.ok_or("no configuration")?;
    hold(config.max_output_tokens == Some(256), "wrong limit")?;
    hold(config.temperature.is_none_or(|value| (value - 0.25).abs() < 1e-9), "wrong temperature")?;
    hold(config.stop_sequences.is_none_or(|stop| stop == ["\nUser:", "\n\n"]), "wrong stops")?;
    hold(config.seed.is_none_or(|seed| seed >= 0), "wrong seed")?;
    hold(
        body.contents.iter().all(|one| one.parts.iter().all(|part| !part.text.is_empty())),
        "an empty text",
    )?;
    in_turns(&body.contents.iter().map(|one| one.role.as_deref().unwrap_or("")).collect::<Vec<_>>(), "model")
}

async fn peer(answers: impl IntoIterator<Item = Answer>) -> Peer {
    Peer::start(check, answers).await
}

#[tokio::test]
async fn an_answer_streams_to_its_end_with_usage() {
    let peer = peer([stream(&normal()), stream(&normal().replace('\n', "\r\n")).in_single_bytes()]).await;
    let model = model(VENDOR_C, &peer);
    for _ in 0..2 {
        let (text, usage) = ask(&model).await;
        assert_eq!(text, "Blau [1].");
        assert_eq!(usage.unwrap(), Usage { input_tokens: 30, output_tokens: 6, cut_off: false });
    }
}

#[tokio::test]
async fn an_answer_at_its_limit_says_so() {
    let peer = peer([stream(&last("Bl", "MAX_TOKENS"))]).await;
    let (text, usage) = ask(&model(VENDOR_C, &peer)).await;
    assert_eq!((text.as_str(), usage.unwrap().cut_off), ("Bl", true));
}

#[tokio::test]
async fn a_blocked_question_or_answer_is_an_error() {
    let blocked = "data: {\"promptFeedback\":{\"blockReason\":\"PROHIBITED_CONTENT\"},\"usageMetadata\":{\"promptTokenCount\":5,\"totalTokenCount\":5},\"modelVersion\":\"m\"}\n\n";
    let unsafe_answer = text("Well") + &chunk(r#""finishReason":"SAFETY""#);
    let peer = peer([stream(blocked), stream(&unsafe_answer)]).await;
    let model = model(VENDOR_C, &peer);
    assert!(matches!(failure(&model).await, Cause::Declined(said) if said.contains("PROHIBITED_CONTENT")));
    assert!(matches!(failure(&model).await, Cause::Declined(said) if said.contains("SAFETY")));
}

#[tokio::test]
async fn an_end_without_a_reason_is_a_break() {
    let peer = peer([stream(&text("Bl"))]).await;
    assert!(matches!(failure(&model(VENDOR_C, &peer)).await, Cause::Broken(_)));
}

#[tokio::test]
async fn the_delay_in_the_body_is_kept_and_an_error_in_the_stream_told() {
    let exhausted = r#"{"error":{"code":429,"message":"Quota exceeded","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"57s"}]}}"#;
    let failed = "data: {\"error\":{\"code\":503,\"message\":\"The model is overloaded.\",\"status\":\"UNAVAILABLE\"}}\n\n";
    let peer = peer([error(429, exhausted), stream(&(text("Bl") + failed))]).await;
    let model = model(VENDOR_C, &peer);
    let expected = Some(Duration::from_secs(57));
    assert!(
        matches!(failure(&model).await, Cause::Refused { status: 429, retry_after, .. } if retry_after == expected)
    );
    assert!(matches!(failure(&model).await, Cause::Refused { status: 503, .. }));
}

#[tokio::test]
async fn a_models_name_cannot_leave_its_place_in_the_address() {
    let check = |request: &Request| {
        let expected = "/v1beta/models/x%2F..%2F..%2Fy%3Fkey=1:streamGenerateContent?alt=sse";
        hold(request.path == expected, &request.path)
    };
    let peer = Peer::start(check, [stream(&normal())]).await;
    let providers = providers_at(VENDOR_C, &peer.url(), Duration::from_secs(5));
    let model = providers.pick("gemini", Some("models/x/../../y?key=1")).unwrap();
    assert_eq!(ask(&model).await.0, "Blau [1].");
}
