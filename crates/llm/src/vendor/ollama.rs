//! Ollama: OpenAI's chat completions below `/v1`, and a list of models of its own.

use super::question::Question;
use super::refusal::RefusedFields;
use super::{ApiKey, BaseUrl, OpenAi, Protocol, Reader, ServedModel};
use reqwest::Url;
use reqwest::header::HeaderMap;
use serde_json::Value;

pub struct Ollama;

impl Protocol for Ollama {
    fn url(&self, base: &BaseUrl, _model: &str) -> Url {
        base.join(["v1", "chat", "completions"])
    }

    fn headers(&self, key: Option<&ApiKey>) -> HeaderMap {
        OpenAi.headers(key)
    }

    fn dispensable(&self) -> &'static [&'static str] {
        OpenAi.dispensable()
    }

    fn body(&self, question: &Question, refused: &RefusedFields) -> serde_json::Result<Vec<u8>> {
        OpenAi.body(question, refused)
    }

    fn reader(&self) -> Box<dyn Reader> {
        OpenAi.reader()
    }

    fn models_url(&self, base: &BaseUrl) -> Url {
        base.join(["api", "tags"])
    }

    fn models(&self, list: &Value) -> Option<Vec<ServedModel>> {
        ServedModel::all(list, "models", "name", &[])
    }
}
