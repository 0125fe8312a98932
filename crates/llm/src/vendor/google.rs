//! Google's generateContent, the protocol of vendor-c. Answers are read in `answer`.

mod answer;

use super::question::{CallResult, Question, SentCall, Turn, base64, unreadable_call};
use super::refusal::RefusedFields;
use super::{ApiKey, BaseUrl, Protocol, Reader, ServedModel};
use crate::{Chat, Format, Function, Picture, ToolChoice, Tools};
use answer::Generation;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

const KEY: HeaderName = HeaderName::from_static("x-goog-api-key");

pub struct Google;

impl Protocol for Google {
    fn url(&self, base: &BaseUrl, model: &str) -> Url {
        let method = format!("{}:streamGenerateContent", model.strip_prefix("models/").unwrap_or(model));
        let mut url = base.join(["v1beta", "models", &method]);
        url.set_query(Some("alt=sse"));
        url
    }

    /// The vendor would accept the key in the address too, but addresses appear in logs.
    fn headers(&self, key: Option<&ApiKey>) -> HeaderMap {
        key.and_then(|key| key.header("")).map(|value| (KEY, value)).into_iter().collect()
    }

    fn dispensable(&self) -> &'static [&'static str] {
        &["temperature", "seed"]
    }

    fn lacks(&self, chat: &Chat) -> Option<String> {
        if chat.tools.as_ref().is_some_and(|tools| tools.parallel == Some(false)) {
            return Some(
                "it cannot be kept from several calls at once: leave `parallel_tool_calls` out".to_owned(),
            );
        }
        let results = chat.messages.iter().filter_map(|message| message.result_of.as_ref());
        let calls = || chat.messages.iter().flat_map(|message| &message.calls);
        let orphan = results.into_iter().find(|id| calls().all(|call| call.id != **id));
        match orphan {
            Some(id) => Some(format!("there is no call `{id}`, whose result a message is")),
            None => unreadable_call(chat),
        }
    }

    fn body(&self, question: &Question, refused: &RefusedFields) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(&Body {
            system_instruction: question
                .system
                .as_deref()
                .map(|text| Content { role: None, parts: vec![Part::text(text)] }),
            contents: question.turns.iter().map(Content::from).collect(),
            generation_config: GenerationConfig {
                max_output_tokens: question.max_tokens,
                temperature: refused.unless("temperature", question.temperature),
                stop_sequences: question.stop.as_deref(),
                seed: refused.unless("seed", question.seed),
                response_mime_type: match question.format {
                    Format::Text => None,
                    Format::Json | Format::Schema(_) => Some("application/json"),
                },
                response_json_schema: match &question.format {
                    Format::Schema(schema) => Some(&schema.schema),
                    Format::Text | Format::Json => None,
                },
            },
            tools: question.tools.iter().map(ToolList::from).collect(),
            tool_config: question.tools.as_ref().map(ToolConfig::from),
        })
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::<Generation>::default()
    }

    fn models_url(&self, base: &BaseUrl) -> Url {
        let mut url = base.join(["v1beta", "models"]);
        url.set_query(Some("pageSize=1000"));
        url
    }

    fn models(&self, list: &Value) -> Option<Vec<ServedModel>> {
        let mut models = ServedModel::all(list, "models", "name", &["/inputTokenLimit"])?;
        for model in &mut models {
            model.name = model.name.trim_start_matches("models/").to_owned();
        }
        Some(models)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Content<'a>>,
    contents: Vec<Content<'a>>,
    generation_config: GenerationConfig<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolList<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig<'a>>,
}

#[derive(Serialize)]
struct Content<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    parts: Vec<Part<'a>>,
}

/// One of these, and the signature with a call.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inline_data: Option<InlineData<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<FunctionCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_response: Option<FunctionResponse<'a>>,
    /// Newer models refuse calls that come back without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InlineData<'a> {
    mime_type: &'a str,
    data: String,
}

#[derive(Serialize)]
struct FunctionCall<'a> {
    id: &'a str,
    name: &'a str,
    args: Map<String, Value>,
}

#[derive(Serialize)]
struct FunctionResponse<'a> {
    id: &'a str,
    name: &'a str,
    response: Output<'a>,
}

#[derive(Serialize)]
struct Output<'a> {
    output: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolList<'a> {
    function_declarations: Vec<Declaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    /// Beside it there is `parameters`, which knows a part of JSON Schema only.
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters_json_schema: Option<&'a RawValue>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig<'a> {
    function_calling_config: CallingConfig<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallingConfig<'a> {
    mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed_function_names: Option<[&'a str; 1]>,
}

impl<'a> From<&'a Turn> for Content<'a> {
    fn from(turn: &'a Turn) -> Self {
        let text = Some(turn.text.as_str()).filter(|text| !text.is_empty());
        let parts = turn.results.iter().map(Part::from);
        let parts = parts.chain(turn.pictures.iter().map(Part::from));
        let parts = parts.chain(text.map(Part::text)).chain(turn.calls.iter().map(Part::from));
        Self { role: Some(if turn.assistant { "model" } else { "user" }), parts: parts.collect() }
    }
}

impl<'a> Part<'a> {
    fn text(text: &'a str) -> Self {
        Self { text: Some(text), ..Self::default() }
    }
}

impl<'a> From<&'a Picture> for Part<'a> {
    fn from(picture: &'a Picture) -> Self {
        let inline_data = InlineData { mime_type: &picture.media_type, data: base64(picture) };
        Self { inline_data: Some(inline_data), ..Self::default() }
    }
}

impl<'a> From<&'a CallResult> for Part<'a> {
    fn from(result: &'a CallResult) -> Self {
        let CallResult { call_id, name, text } = result;
        let response = FunctionResponse { id: call_id, name, response: Output { output: text } };
        Self { function_response: Some(response), ..Self::default() }
    }
}

impl<'a> From<&'a SentCall> for Part<'a> {
    fn from(call: &'a SentCall) -> Self {
        let args = call.input().unwrap_or_default();
        let function_call = Some(FunctionCall { id: &call.id, name: &call.name, args });
        Self { function_call, thought_signature: call.signature.as_deref(), ..Self::default() }
    }
}

impl<'a> From<&'a Tools> for ToolList<'a> {
    fn from(tools: &'a Tools) -> Self {
        let declaration = |function: &'a Function| Declaration {
            name: &function.name,
            description: function.description.as_deref(),
            parameters_json_schema: function.parameters.as_deref(),
        };
        Self { function_declarations: tools.functions.iter().map(declaration).collect() }
    }
}

impl<'a> From<&'a Tools> for ToolConfig<'a> {
    fn from(tools: &'a Tools) -> Self {
        let is_strict = tools.functions.iter().any(|function| function.strict == Some(true));
        let (mode, named) = match &tools.choice {
            // Of its modes without an obligation to call, only this one keeps to the schemas.
            ToolChoice::Auto if is_strict => ("VALIDATED", None),
            ToolChoice::Auto => ("AUTO", None),
            ToolChoice::None => ("NONE", None),
            ToolChoice::Required => ("ANY", None),
            ToolChoice::Named(name) => ("ANY", Some([name.as_str()])),
        };
        Self { function_calling_config: CallingConfig { mode, allowed_function_names: named } }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig<'a> {
    max_output_tokens: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_sequences: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_json_schema: Option<&'a RawValue>,
}
