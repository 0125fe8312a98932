//! How a server is reached: what the settings or an administrator say about it.

use super::{Anthropic, ApiKey, BaseUrl, Google, Ollama, OpenAi, Protocol, VendorSettings};
use crate::Skill;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The most tokens that are expected of a model if its server does not say: of a vendor's, and of one on a server of one's
/// own. Ollama and LM Studio begin with a small window, and cut off what exceeds it without a word.
const VENDORS_WINDOW: usize = 128_000;
const OWN_WINDOW: usize = 4096;

/// The protocol of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// OpenAI's chat completions, which most servers have.
    OpenAi,
    Anthropic,
    Google,
    Ollama,
}

/// A model that a server has. What the server does not say is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServedModel {
    pub name: String,
    /// Most tokens of the question and the answer together.
    pub window: Option<usize>,
    pub parameters: Option<u64>,
    /// Whether it takes pictures.
    pub pictures: Option<bool>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// What requests call it by.
    pub name: String,
    pub kind: Kind,
    pub base_url: BaseUrl,
    /// None if the server asks for none.
    pub api_key: Option<ApiKey>,
    /// The first answers if a request names none.
    pub models: Vec<ServedModel>,
}

impl Kind {
    const ALL: [Self; 4] = [Self::OpenAi, Self::Anthropic, Self::Google, Self::Ollama];

    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Google => "google",
            Self::Ollama => "ollama",
        }
    }

    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    pub(super) fn protocol(self) -> Box<dyn Protocol> {
        match self {
            Self::OpenAi => Box::new(OpenAi),
            Self::Anthropic => Box::new(Anthropic),
            Self::Google => Box::new(Google),
            Self::Ollama => Box::new(Ollama),
        }
    }
}

impl Connection {
    pub(crate) fn of_settings(name: &str, kind: Kind, settings: VendorSettings) -> Self {
        let VendorSettings { api_key, base_url, model, window } = settings;
        let models = vec![ServedModel { name: model, window: Some(window), ..ServedModel::default() }];
        Self { name: name.to_owned(), kind, base_url, api_key: Some(api_key), models }
    }

    pub(super) fn first_model(&self) -> &str {
        self.models.first().map_or("", |model| &model.name)
    }

    fn listed(&self, model: &str) -> Option<&ServedModel> {
        self.models.iter().find(|listed| listed.name == model)
    }

    /// Returns the window of a model; of one that is not listed, that of the first.
    pub(super) fn window_of(&self, model: &str) -> usize {
        let listed = self.listed(model).or(self.models.first());
        listed.and_then(|listed| listed.window).unwrap_or(match self.base_url.is_local() {
            true => OWN_WINDOW,
            false => VENDORS_WINDOW,
        })
    }

    /// Returns what a model is good for. One whose size nobody says is taken for a large one.
    pub(super) fn skill_of(&self, model: &str) -> Skill {
        let told = self.listed(model).and_then(|listed| listed.parameters);
        told.or_else(|| size_in(model)).map_or(Skill::Answers, Skill::of_parameters)
    }

    /// Returns whether a model is known to take no pictures.
    pub(super) fn is_blind(&self, model: &str) -> bool {
        self.listed(model).and_then(|listed| listed.pictures) == Some(false)
    }
}

impl ServedModel {
    /// Reads a list of models: each is an object with its name, and perhaps its window at one of these places.
    pub(super) fn all(list: &Value, array: &str, name: &str, windows: &[&str]) -> Option<Vec<Self>> {
        let read = |model: &Value| {
            let at = |pointers: &[&str]| pointers.iter().find_map(|pointer| model.pointer(pointer).cloned());
            let window = at(windows).and_then(|window| window.as_u64());
            // llama.cpp has a number, Ollama `8.2B`.
            let parameters = at(&["/meta/n_params", "/details/parameter_size"]);
            // OpenRouter has a list, Mistral a field of its own.
            let takes = at(&["/architecture/input_modalities", "/capabilities/vision"]);
            Some(Self {
                name: model.get(name)?.as_str()?.to_owned(),
                window: window.map(|window| window as usize),
                parameters: parameters.and_then(|size| size.as_u64().or_else(|| size_in(size.as_str()?))),
                pictures: takes.and_then(|takes| match takes {
                    Value::Array(kinds) => Some(kinds.iter().any(|kind| kind == "image")),
                    takes => takes.as_bool(),
                }),
            })
        };
        Some(list.get(array)?.as_array()?.iter().filter_map(read).collect())
    }
}

/// No model that talks is smaller.
const MIN_PARAMETERS: f64 = 1e7;

/// Returns the number of parameters that a name has: `qwen3:8b`, `Qwen2.5-Coder-1.5B-Instruct`. Of experts, the number before
/// them counts too: `8x7b`.
fn size_in(name: &str) -> Option<u64> {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric() && c != '.');
    words.into_iter().find_map(|word| {
        let unit = word.chars().last()?.to_ascii_lowercase();
        let scale = match unit {
            'b' => 1e9,
            'm' => 1e6,
            _ => return None,
        };
        let sizes = word[..word.len() - 1].split('x').map(|size| size.parse::<f64>().ok());
        let product = sizes.into_iter().try_fold(scale, |product, size| Some(product * size?))?;
        // `1m` is a context.
        (product >= MIN_PARAMETERS).then_some(product as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_what_the_server_says_or_what_is_usual_there() {
        let model =
            |name: &str, window| ServedModel { name: name.to_owned(), window, ..ServedModel::default() };
        let connection = |url: &str, models| Connection {
            name: "c".to_owned(),
            kind: Kind::OpenAi,
            base_url: url.parse().unwrap(),
            api_key: None,
            models,
        };
        let told = connection("https://api.example.org/v1", vec![model("a", Some(9000)), model("b", None)]);
        assert_eq!(
            [told.window_of("a"), told.window_of("b"), told.window_of("other")],
            [9000, 128_000, 9000]
        );
        assert_eq!(told.first_model(), "a");
        for url in [
            "http://127.0.0.1:1234/v1",
            "http://[::1]",
            "http://localhost:8080",
            "http://192.168.1.4:8000/v1",
        ] {
            assert_eq!(connection(url, Vec::new()).window_of("any"), 4096, "{url}");
        }
    }

    #[test]
    fn lists_are_read_as_far_as_they_are_lists_of_models() {
        let list = serde_json::json!({"data": [{"id": "a", "context_window": 8192}, {"id": 7}, {"id": "b"}]});
        let models = ServedModel::all(&list, "data", "id", &["/max_model_len", "/context_window"]).unwrap();
        let found: Vec<_> = models.iter().map(|model| (model.name.as_str(), model.window)).collect();
        assert_eq!(found, [("a", Some(8192)), ("b", None)]);
        assert_eq!(ServedModel::all(&serde_json::json!({"data": "no"}), "data", "id", &[]), None);
    }

    #[test]
    fn the_size_of_a_model_is_what_the_server_says_or_its_name() {
        for (name, size) in [
            ("qwen3:8b", Some(8_000_000_000)),
            ("Qwen2.5-Coder-1.5B-Instruct.Q4_K_M", Some(1_500_000_000)),
            ("SmolLM2-135M-Instruct", Some(135_000_000)),
            ("mixtral:8x7b-instruct", Some(56_000_000_000)),
            ("gpt-6-luna", None),
            ("b", None),
            ("0b", None),
            ("qwen-turbo-1m", None),
        ] {
            assert_eq!(size_in(name), size, "{name}");
        }
        let list = serde_json::json!({"models": [
            {"name": "small", "details": {"parameter_size": "1.5B"}},
            {"name": "told", "meta": {"n_params": 1_543_714_304_u64}, "capabilities": {"vision": false}},
            {"name": "sees", "architecture": {"input_modalities": ["text", "image"]}},
        ]});
        let models = ServedModel::all(&list, "models", "name", &[]).unwrap();
        let connection = Connection {
            name: "c".to_owned(),
            kind: Kind::Ollama,
            base_url: "http://localhost:11434".parse().unwrap(),
            api_key: None,
            models,
        };
        let skills = ["small", "told", "sees", "another-7b"].map(|model| connection.skill_of(model));
        assert_eq!(skills, [Skill::Writes, Skill::Writes, Skill::Answers, Skill::Answers]);
        assert_eq!(["small", "told", "sees"].map(|model| connection.is_blind(model)), [false, true, false]);
    }
}
