//! Tools, JSON by a schema and pictures: the exact bodies that each vendor gets, and the calls that are read.

mod anthropic;
mod google;

use crate::peer::{Answer, Peer, error, stream};
use crate::{chat, openai, providers_at};
use futures_util::StreamExt;
use llm::{
    Cause, Chat, ChatError, Connection, Format, Function, Kind, Message, Model, Picture, Piece, Schema,
    ServedModel, ToolCall, ToolChoice, Tools, VENDOR_A, VENDOR_B, VENDOR_C,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::time::Duration;

/// Not in the order of the alphabet, which has to stay.
const WEATHER: &str =
    r#"{"type":"object","properties":{"thought":{"type":"string"},"city":{"type":"string"}}}"#;
const REPORT: &str = r#"{"type":"object","properties":{"why":{"type":"string"},"answer":{"type":"number"}}}"#;

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

fn tools(choice: ToolChoice, parallel: Option<bool>) -> Option<Tools> {
    let weather = Function {
        name: "weather".to_owned(),
        description: Some("Of a city.".to_owned()),
        parameters: Some(raw(WEATHER)),
        strict: Some(true),
    };
    let time = Function { name: "time".to_owned(), description: None, parameters: None, strict: None };
    Some(Tools { functions: vec![weather, time], choice, parallel })
}

fn by_schema() -> Format {
    let name = "report".to_owned();
    Format::Schema(Schema { name, description: None, schema: raw(REPORT), strict: Some(true) })
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() }
}

fn result(id: &str, text: &str) -> Message {
    Message { result_of: Some(id.to_owned()), ..Message::user(text) }
}

fn picture() -> Picture {
    Picture { media_type: "image/png".to_owned(), bytes: b"\x89PNG".as_slice().into() }
}

/// Returns a conversation with a picture, two calls and their results, and another question.
fn conversation(tools: Option<Tools>, format: Format) -> Chat {
    let calls = vec![call("call_1", "weather", r#"{"city": "Bern"}"#), call("call_2~c2ln+/==", "time", "")];
    let messages = vec![
        Message::system("Be brief."),
        Message { pictures: vec![picture()], ..Message::user("Where is this?") },
        Message { calls, ..Message::assistant("Let me see.") },
        result("call_1", "rain"),
        result("call_2~c2ln+/==", ""),
        Message::user("And now?"),
    ];
    Chat { messages, stop: Vec::new(), seed: 7, tools, format, ..chat() }
}

async fn peer(answers: impl IntoIterator<Item = Answer>) -> Peer {
    Peer::start(|_| Ok(()), answers).await
}

fn model(provider: &str, peer: &Peer) -> Model {
    providers_at(provider, &peer.url(), Duration::from_secs(5)).pick(provider, None).unwrap()
}

/// Returns the text and the calls, or why there is no whole answer.
async fn answer(model: &Model, chat: Chat) -> Result<(String, Vec<ToolCall>), ChatError> {
    let (mut text, mut calls) = (String::new(), Vec::new());
    let mut reply = model.chat(chat);
    while let Some(piece) = reply.next().await {
        match piece? {
            Piece::Text(piece) => text.push_str(&piece),
            Piece::Call(piece) => ToolCall::collect(&mut calls, piece),
            Piece::End(_) => return Ok((text, calls)),
        }
    }
    panic!("the stream ended without an end");
}

async fn refusal(model: &Model, chat: Chat) -> String {
    match answer(model, chat).await {
        Err(ChatError { cause: Cause::Lacks(message), .. }) => message,
        other => panic!("{other:?}"),
    }
}

fn events(events: &[Value]) -> Answer {
    stream(&events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>())
}

fn openai_calls(deltas: &[Value]) -> Answer {
    let chunks =
        deltas.iter().map(|delta| openai::chunk(&json!({ "tool_calls": delta }).to_string(), "null"));
    let chunks: String = chunks.collect();
    stream(&(chunks + &openai::chunk("{}", r#""tool_calls""#) + "data: [DONE]\n\n"))
}

#[tokio::test]
async fn openai_gets_everything_as_it_documents_it() {
    let peer = peer([stream(&openai::normal()), stream(&openai::normal())]).await;
    let model = model(VENDOR_A, &peer);
    let named = ToolChoice::Named("weather".to_owned());
    answer(&model, conversation(tools(named, Some(false)), by_schema())).await.unwrap();
    let body = peer.bodies().remove(0);
    let messages = json!([
        { "role": "system", "content": "Be brief." },
        { "role": "user", "content": [
            { "type": "image_url", "image_url": { "url": "data:image/png;base64,iVBORw==" } },
            { "type": "text", "text": "Where is this?" },
        ] },
        { "role": "assistant", "content": "Let me see.", "tool_calls": [
            { "id": "call_1", "type": "function",
                "function": { "name": "weather", "arguments": "{\"city\": \"Bern\"}" } },
            { "id": "call_2", "type": "function", "function": { "name": "time", "arguments": "" } },
        ] },
        { "role": "tool", "tool_call_id": "call_1", "content": "rain" },
        { "role": "tool", "tool_call_id": "call_2", "content": "" },
        { "role": "user", "content": "And now?" },
    ]);
    let described = json!([
        { "type": "function", "function": { "name": "weather", "description": "Of a city.",
            "parameters": serde_json::from_str::<Value>(WEATHER).unwrap(), "strict": true } },
        { "type": "function", "function": { "name": "time" } },
    ]);
    let schema = json!({ "type": "json_schema", "json_schema": {
        "name": "report", "schema": serde_json::from_str::<Value>(REPORT).unwrap(), "strict": true } });
    let expected = json!({
        "model": "default-model", "messages": messages, "max_tokens": 256, "temperature": 0.25, "seed": 7,
        "reasoning_effort": "none", "stream": true, "stream_options": { "include_usage": true },
        "tools": described, "tool_choice": { "type": "function", "function": { "name": "weather" } },
        "parallel_tool_calls": false, "response_format": schema,
    });
    assert_eq!(body, expected);
    answer(&model, conversation(None, Format::Json)).await.unwrap();
    let body = peer.bodies().remove(1);
    assert_eq!(body["response_format"], json!({ "type": "json_object" }));
    assert_eq!([&body["tools"], &body["tool_choice"], &body["parallel_tool_calls"]], [&Value::Null; 3]);
}

#[tokio::test]
async fn a_schema_keeps_the_order_of_its_fields() {
    let check = |request: &crate::peer::Request| {
        let text = String::from_utf8(request.bytes.clone()).unwrap();
        crate::hold(text.contains(WEATHER) && text.contains(REPORT), &text)
    };
    let answers = [
        stream(&openai::normal()),
        events(&[json!({ "type": "message_stop" })]),
        events(&[json!({ "candidates": [{ "finishReason": "STOP" }] })]),
    ];
    for (provider, normal) in [VENDOR_A, VENDOR_B, VENDOR_C].into_iter().zip(answers) {
        let peer = Peer::start(check, [normal]).await;
        let asked = conversation(tools(ToolChoice::Auto, None), by_schema());
        answer(&model(provider, &peer), asked).await.unwrap();
    }
}

#[tokio::test]
async fn calls_of_openais_protocol_are_read_as_servers_send_them() {
    let documented = [
        json!([{ "index": 0, "id": "call_a", "type": "function", "function": { "name": "weather", "arguments": "" } }]),
        json!([{ "index": 0, "function": { "arguments": "{\"city\":" } }]),
        json!([{ "index": 1, "id": "call_b", "type": "function", "function": { "name": "time", "arguments": "" } }]),
        json!([{ "index": 0, "function": { "arguments": "\"Bern\"}" } }]),
        json!([{ "index": 1, "function": { "arguments": "{}" } }]),
    ];
    let whole = [json!([
        { "id": "call_a", "function": { "name": "weather", "arguments": "{\"city\":\"Bern\"}" } },
        { "id": "call_b", "function": { "name": "time", "arguments": "{}" } },
    ])];
    let all_of_number_0 = [
        json!([{ "index": 0, "id": "call_a", "function": { "name": "weather", "arguments": "{\"city\":\"Bern\"}" } }]),
        json!([{ "index": 0, "id": "call_b", "function": { "name": "time", "arguments": "{}" } }]),
    ];
    let peer = peer(
        [&documented[..], &whole, &all_of_number_0].map(|deltas| openai_calls(deltas).in_single_bytes()),
    )
    .await;
    let model = model(VENDOR_A, &peer);
    for _ in 0..3 {
        let (text, calls) =
            answer(&model, conversation(tools(ToolChoice::Auto, None), Format::Text)).await.unwrap();
        let expected = [call("call_a", "weather", r#"{"city":"Bern"}"#), call("call_b", "time", "{}")];
        assert_eq!((text.as_str(), &calls[..]), ("", &expected[..]));
    }
}

#[tokio::test]
async fn a_call_without_an_id_gets_one() {
    let nameless = json!([{ "index": 0, "function": { "name": "time", "arguments": "{}" } }]);
    let peer = peer([openai_calls(&[nameless])]).await;
    let asked = conversation(tools(ToolChoice::Required, None), Format::Text);
    let (_, calls) = answer(&model(VENDOR_A, &peer), asked).await.unwrap();
    let digits = calls[0].id.strip_prefix("call_").expect("an id of our own");
    assert!(calls.len() == 1 && digits.len() == 24, "{calls:?}");
    assert_eq!(peer.bodies()[0]["tool_choice"], "required");
}

#[tokio::test]
async fn calls_that_are_broken_break_the_answer() {
    let many: Vec<Value> =
        (0..129).map(|index| json!([{ "index": index, "id": "", "function": { "name": "f" } }])).collect();
    let broken = [
        vec![json!([{ "index": 0, "function": { "arguments": "{}" } }])],
        vec![json!([{ "index": 0, "id": "a", "function": { "name": 7 } }])],
        many,
    ];
    let peer = peer(broken.iter().map(|deltas| openai_calls(deltas))).await;
    let model = model(VENDOR_A, &peer);
    for expected in ["without saying which", "invalid type", "more than 128"] {
        let asked = conversation(tools(ToolChoice::Auto, None), Format::Text);
        let cause = answer(&model, asked).await.unwrap_err().cause;
        assert!(matches!(&cause, Cause::Broken(said) if said.contains(expected)), "{expected}: {cause}");
    }
}

#[tokio::test]
async fn a_model_without_tools_calls_nothing() {
    let deltas = [json!([{ "index": 0, "id": "a", "function": { "name": "time", "arguments": "{}" } }])];
    let peer = peer([openai_calls(&deltas)]).await;
    let found = answer(&model(VENDOR_A, &peer), conversation(None, Format::Text)).await.unwrap();
    assert_eq!(found, (String::new(), Vec::new()));
}

#[tokio::test]
async fn a_refusal_of_tools_or_of_a_format_is_told_and_nothing_is_dropped() {
    for field in ["tools", "response_format"] {
        let refused = json!({ "error": { "message": format!("`{field}` is not supported with `seed`") } });
        let refused = || error(400, &refused.to_string());
        // The seed can be left out; the second refusal is final.
        let peer = peer([refused(), refused()]).await;
        let asked = conversation(tools(ToolChoice::Auto, None), by_schema());
        let cause = answer(&model(VENDOR_A, &peer), asked).await.unwrap_err().cause;
        assert!(
            matches!(&cause, Cause::Refused { status: 400, message, .. } if message.contains(field)),
            "{cause}"
        );
        let bodies = peer.bodies();
        assert_eq!(bodies.iter().map(|body| body.get("seed").is_some()).collect::<Vec<_>>(), [true, false]);
        assert!(bodies.iter().all(|body| body.get(field).is_some()), "{bodies:?}");
    }
}

#[tokio::test]
async fn what_a_model_is_known_to_lack_is_refused_before_anything_is_sent() {
    let peer = peer([]).await;
    let providers = providers_at(VENDOR_B, &peer.url(), Duration::from_secs(5));
    let unreadable = vec![call("call_1", "weather", "Bern")];
    let mut asked = conversation(None, Format::Text);
    asked.messages.push(Message { calls: unreadable, ..Message::assistant("") });
    for provider in [VENDOR_B, VENDOR_C] {
        let model = providers_at(provider, &peer.url(), Duration::from_secs(5)).pick(provider, None).unwrap();
        assert!(refusal(&model, asked.clone()).await.contains("`call_1`"));
    }
    let blind = ServedModel { name: "blind".to_owned(), pictures: Some(false), ..ServedModel::default() };
    let server = providers.server(Connection {
        name: "own".to_owned(),
        kind: Kind::Ollama,
        base_url: peer.url().parse().unwrap(),
        api_key: None,
        models: vec![blind],
    });
    let said = refusal(&server.model(None), conversation(None, Format::Text)).await;
    assert_eq!(said, "it takes no pictures");

    let edge = providers.edge();
    let plain = || Chat { tools: None, ..chat() };
    let with_picture = conversation(None, Format::Text);
    for (asked, lack) in [
        (with_picture, "takes no pictures"),
        (Chat { tools: tools(ToolChoice::Auto, None), ..plain() }, "calls no tools"),
        (Chat { format: Format::Json, ..plain() }, "writes no JSON"),
    ] {
        let said = refusal(edge, asked).await;
        assert!(said.contains(lack) && said.contains("connection"), "{said}");
    }
    assert!(edge.accepts(&plain()).is_ok());
    assert_eq!(peer.requests(), 0);
}
