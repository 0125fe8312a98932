//! Tools, a schema and a picture as Google documents them.

use super::{
    REPORT, WEATHER, answer, by_schema, call, conversation, events, model, peer, refusal, result, tools,
};
use llm::{Format, Message, ToolChoice, VENDOR_C};
use serde_json::{Value, json};

#[tokio::test]
async fn google_gets_parts_and_its_calls_come_back_signed() {
    let called = [
        json!({ "candidates": [{ "content": { "parts": [
            { "text": "Well." },
            { "functionCall": { "name": "weather", "args": { "city": "Bern" } }, "thoughtSignature": "c2ln+/==" },
            { "functionCall": { "id": "own", "name": "time" } },
        ] } }] }),
        json!({ "candidates": [{ "finishReason": "STOP" }] }),
    ];
    let peer = peer([events(&called), events(&called), events(&called)]).await;
    let model = model(VENDOR_C, &peer);
    let asked = || conversation(tools(ToolChoice::Auto, None), by_schema());
    let (text, calls) = answer(&model, asked()).await.unwrap();
    assert_eq!((text.as_str(), calls.len()), ("Well.", 2));
    let (id, signature) = calls[0].id.split_once('~').unwrap();
    assert!(id.starts_with("call_") && signature == "c2ln+/==", "{calls:?}");
    assert_eq!((calls[0].name.as_str(), calls[0].arguments.as_str()), ("weather", r#"{"city":"Bern"}"#));
    assert_eq!(calls[1], call("own", "time", "{}"));
    let contents = json!([
        { "role": "user", "parts": [
            { "inlineData": { "mimeType": "image/png", "data": "iVBORw==" } },
            { "text": "Where is this?" },
        ] },
        { "role": "model", "parts": [
            { "text": "Let me see." },
            { "functionCall": { "id": "call_1", "name": "weather", "args": { "city": "Bern" } } },
            { "functionCall": { "id": "call_2", "name": "time", "args": {} }, "thoughtSignature": "c2ln+/==" },
        ] },
        { "role": "user", "parts": [
            { "functionResponse": { "id": "call_1", "name": "weather", "response": { "output": "rain" } } },
            { "functionResponse": { "id": "call_2", "name": "time", "response": { "output": "" } } },
            { "text": "And now?" },
        ] },
    ]);
    let described = json!([{ "functionDeclarations": [
        { "name": "weather", "description": "Of a city.",
            "parametersJsonSchema": serde_json::from_str::<Value>(WEATHER).unwrap() },
        { "name": "time" },
    ] }]);
    let expected = json!({
        "systemInstruction": { "parts": [{ "text": "Be brief." }] }, "contents": contents,
        "generationConfig": { "maxOutputTokens": 256, "temperature": 0.25, "seed": 7,
            "responseMimeType": "application/json",
            "responseJsonSchema": serde_json::from_str::<Value>(REPORT).unwrap() },
        "tools": described, "toolConfig": { "functionCallingConfig": { "mode": "VALIDATED" } },
    });
    assert_eq!(peer.bodies()[0], expected);
    let named = ToolChoice::Named("time".to_owned());
    answer(&model, conversation(tools(named, None), Format::Json)).await.unwrap();
    let body = peer.bodies().remove(1);
    let mode = json!({ "mode": "ANY", "allowedFunctionNames": ["time"] });
    assert_eq!(body["toolConfig"]["functionCallingConfig"], mode);
    assert_eq!(body["generationConfig"]["responseMimeType"], "application/json");
    assert_eq!(body["generationConfig"].get("responseJsonSchema"), None);
    // Those calls and their results are sent back as they came.
    let mut next = asked();
    next.messages.push(Message { calls: calls.clone(), ..Message::assistant("") });
    next.messages.push(result(&calls[0].id, "sun"));
    answer(&model, next).await.unwrap();
    let contents = peer.bodies()[2]["contents"].clone();
    assert_eq!(contents[3]["parts"][0]["thoughtSignature"], "c2ln+/==", "{contents}");
    assert_eq!(contents[3]["parts"][0]["functionCall"]["id"], id);
    assert_eq!(contents[4]["parts"][0]["functionResponse"]["id"], id);

    let alone = refusal(&model, conversation(tools(ToolChoice::Auto, Some(false)), Format::Text)).await;
    assert!(alone.contains("`parallel_tool_calls`"), "{alone}");
    let mut orphan = asked();
    orphan.messages.push(result("call_9", "x"));
    assert!(refusal(&model, orphan).await.contains("`call_9`"));
}
