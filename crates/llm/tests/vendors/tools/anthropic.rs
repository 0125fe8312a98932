//! Tools, a schema and a picture as Anthropic documents them.

use super::{REPORT, WEATHER, answer, by_schema, call, conversation, events, model, peer, refusal, tools};
use llm::{Cause, Format, ToolChoice, VENDOR_B};
use serde_json::{Value, json};

#[tokio::test]
async fn anthropic_gets_blocks_and_its_calls_are_read() {
    let called = [
        json!({ "type": "message_start", "message": {} }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "Well." } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "content_block_start", "index": 1,
            "content_block": { "type": "tool_use", "id": "toolu_1", "name": "weather", "input": {} } }),
        json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "input_json_delta", "partial_json": "" } }),
        json!({ "type": "content_block_delta", "index": 1,
            "delta": { "type": "input_json_delta", "partial_json": "{\"city\": \"Be" } }),
        json!({ "type": "content_block_delta", "index": 1,
            "delta": { "type": "input_json_delta", "partial_json": "rn\"}" } }),
        json!({ "type": "content_block_stop", "index": 1 }),
        json!({ "type": "content_block_start", "index": 2,
            "content_block": { "type": "tool_use", "id": "toolu_2", "name": "time", "input": {} } }),
        json!({ "type": "content_block_stop", "index": 2 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }),
        json!({ "type": "message_stop" }),
    ];
    let orphan = json!({ "type": "content_block_delta", "index": 5,
        "delta": { "type": "input_json_delta", "partial_json": "{}" } });
    let peer = peer([events(&called), events(&[json!({ "type": "message_stop" })]), events(&[orphan])]).await;
    let model = model(VENDOR_B, &peer);
    let asked = conversation(tools(ToolChoice::Auto, Some(false)), by_schema());
    let (text, calls) = answer(&model, asked).await.unwrap();
    let expected = [call("toolu_1", "weather", r#"{"city": "Bern"}"#), call("toolu_2", "time", "{}")];
    assert_eq!((text.as_str(), &calls[..]), ("Well.", &expected[..]));
    let source = json!({ "type": "base64", "media_type": "image/png", "data": "iVBORw==" });
    let messages = json!([
        { "role": "user", "content": [
            { "type": "image", "source": source },
            { "type": "text", "text": "Where is this?" },
        ] },
        { "role": "assistant", "content": [
            { "type": "text", "text": "Let me see." },
            { "type": "tool_use", "id": "call_1", "name": "weather", "input": { "city": "Bern" } },
            { "type": "tool_use", "id": "call_2", "name": "time", "input": {} },
        ] },
        { "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "call_1", "content": "rain" },
            { "type": "tool_result", "tool_use_id": "call_2", "content": "" },
            { "type": "text", "text": "And now?" },
        ] },
    ]);
    let described = json!([
        { "name": "weather", "description": "Of a city.",
            "input_schema": serde_json::from_str::<Value>(WEATHER).unwrap(), "strict": true },
        { "name": "time", "input_schema": { "type": "object" } },
    ]);
    let format = json!({ "type": "json_schema", "schema": serde_json::from_str::<Value>(REPORT).unwrap() });
    let expected = json!({
        "model": "default-model", "system": "Be brief.", "messages": messages, "max_tokens": 256,
        "temperature": 0.25, "thinking": { "type": "disabled" }, "stream": true, "tools": described,
        "tool_choice": { "type": "auto", "disable_parallel_tool_use": true }, "output_config": { "format": format },
    });
    assert_eq!(peer.bodies()[0], expected);
    let named = ToolChoice::Named("time".to_owned());
    answer(&model, conversation(tools(named, None), Format::Text)).await.unwrap();
    assert_eq!(peer.bodies()[1]["tool_choice"], json!({ "type": "tool", "name": "time" }));
    let broken = answer(&model, conversation(tools(ToolChoice::None, None), Format::Text)).await;
    assert!(matches!(broken.unwrap_err().cause, Cause::Broken(said) if said.contains("no call")));
    assert_eq!(peer.bodies()[2]["tool_choice"], json!({ "type": "none" }));
    let message = refusal(&model, conversation(None, Format::Json)).await;
    assert!(message.contains("`json_schema`"), "{message}");
}
