//! A completion, whole or in chunks, with the sources of the answer as `citations`.

use super::fault::Fault;
use super::names;
use crate::chat::{Answer, Source, Spoken};
use crate::http::chat::collect;
use axum::Json;
use axum::response::{IntoResponse, Response};
use base::Random;
use futures_util::stream::{self, StreamExt};
use kit::sse;
use llm::{ChatError, Usage};
use serde_json::{Value, json};

/// What every part of a completion says.
pub struct Completion {
    id: String,
    created: i64,
    model: String,
    citations: Vec<Value>,
}

impl Completion {
    pub fn new(answer: &Answer, retrieves: bool, random: &Random, created: i64) -> Self {
        Self {
            id: format!("chatcmpl-{}", random.hex::<12>()),
            created,
            model: names::answered(retrieves, answer.provider, &answer.model),
            citations: Source::numbered(&answer.sources),
        }
    }

    pub async fn whole(self, answer: Answer) -> Result<Response, Fault> {
        let (text, usage) = collect(answer).await?;
        let message = json!({ "role": "assistant", "content": text, "refusal": null });
        let choice = json!({
            "index": 0,
            "message": message,
            "finish_reason": finish_reason(usage),
            "logprobs": null,
        });
        let body = json!({
            "id": self.id,
            "object": "chat.completion",
            "created": self.created,
            "model": self.model,
            "choices": [choice],
            "usage": shown(usage),
            "citations": self.citations,
        });
        Ok(Json(body).into_response())
    }

    pub fn stream(self, answer: Answer, with_usage: bool) -> Response {
        let first = self.chunk(json!({ "role": "assistant", "content": "" }), None, with_usage);
        let rest = answer.spoken.flat_map(move |spoken| stream::iter(self.chunks(spoken, with_usage)));
        sse::respond_data(stream::once(async move { first.to_string() }).chain(rest))
    }

    fn chunks(&self, spoken: Result<Spoken, ChatError>, with_usage: bool) -> Vec<String> {
        match spoken {
            Ok(Spoken::Text(text)) => {
                vec![self.chunk(json!({ "content": text }), None, with_usage).to_string()]
            }
            Ok(Spoken::End(usage)) => {
                let mut last = self.chunk(json!({}), Some(finish_reason(usage)), with_usage);
                last["citations"] = self.citations.clone().into();
                let mut lines = vec![last.to_string()];
                if with_usage {
                    let mut used = self.chunk(json!({}), None, true);
                    used["choices"] = json!([]);
                    used["usage"] = shown(usage);
                    lines.push(used.to_string());
                }
                lines.push("[DONE]".to_owned());
                lines
            }
            // No `[DONE]`: the answer is not.
            Err(error) => vec![Fault::from(error).to_json().to_string()],
        }
    }

    /// Where usage comes last, the chunks before it say that it is still to come.
    fn chunk(&self, delta: Value, finish_reason: Option<&str>, with_usage: bool) -> Value {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": null });
        let mut chunk = json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": [choice],
        });
        if with_usage {
            chunk["usage"] = Value::Null;
        }
        chunk
    }
}

fn finish_reason(usage: Usage) -> &'static str {
    if usage.cut_off { "length" } else { "stop" }
}

fn shown(usage: Usage) -> Value {
    json!({
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
    })
}
