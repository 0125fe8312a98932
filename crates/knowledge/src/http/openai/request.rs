//! The body of a chat completion. What it may ask for and we cannot do is refused, not ignored: tools, images,
//! several answers, JSON by a schema. Fields that we do not know are only named in the answer's header.

use super::fault::Fault;
use crate::http::chat::{MOST_ANSWER_TOKENS, refuse_long};
use crate::http::scope::document_ids;
use kit::fields::{given, text, whole};
use llm::{Message, Role, is_model_name};
use serde_json::{Map, Value};

/// OpenAI's own bound.
const MOST_STOPS: usize = 4;
const HIGHEST_TEMPERATURE: f64 = 2.0;

pub struct Asked {
    pub model: String,
    pub messages: Vec<Message>,
    pub temperature: Option<f32>,
    pub max_tokens: Option<usize>,
    pub stop: Vec<String>,
    pub seed: Option<u64>,
    /// Ours, as for `/api/chat`.
    pub document_ids: Vec<String>,
    pub streams: bool,
    /// Whether a stream ends with what was used.
    pub with_usage: bool,
}

/// The messages as the grounded chat takes them.
pub struct Conversation {
    pub question: String,
    pub instructions: Option<String>,
    pub history: String,
}

type Fields = Map<String, Value>;

impl Asked {
    pub fn read(fields: &Fields) -> Result<Self, Fault> {
        refuse_unsupported(fields)?;
        let model = text(fields, "model")?.filter(|model| !model.is_empty());
        let model =
            model.ok_or_else(|| Fault::of_field("model", "`model` is missing: the name of a model"))?;
        if !is_model_name(model) {
            return Err(Fault::of_field("model", "`model` is no name of a model"));
        }
        let options = given(fields, "stream_options").and_then(Value::as_object);
        Ok(Self {
            model: model.to_owned(),
            messages: messages(fields)?,
            temperature: temperature(fields)?,
            max_tokens: max_tokens(fields)?,
            stop: stop(fields)?,
            seed: seed(fields)?,
            document_ids: document_ids(fields)?,
            streams: flag(fields, "stream")?,
            with_usage: options.map(|options| flag(options, "include_usage")).transpose()?.unwrap_or(false),
        })
    }

    pub fn conversation(&self) -> Result<Conversation, Fault> {
        let is_question = |message: &Message| message.role == Role::User && !message.text.trim().is_empty();
        let last = self.messages.iter().rposition(is_question);
        let last = last.ok_or_else(|| {
            Fault::of_field("messages", "`messages` has no question: a message of role user with text")
        })?;
        let name = format!("messages[{last}]");
        let question = self.messages[last].text.trim();
        refuse_long(&name, question).map_err(|error| Fault::of_field(name.as_str(), error.message()))?;
        let instructions: Vec<&str> =
            self.messages.iter().filter(|one| one.role == Role::System).map(|one| one.text.trim()).collect();
        let instructions = instructions.join("\n\n");
        let turns = self.messages.iter().enumerate().filter(|(place, _)| *place != last);
        let said = turns.filter_map(|(_, message)| match message.role {
            Role::System => None,
            Role::User => Some(format!("User: {}", message.text.trim())),
            Role::Assistant => Some(format!("Assistant: {}", message.text.trim())),
        });
        Ok(Conversation {
            question: question.to_owned(),
            instructions: Some(instructions).filter(|text| !text.trim().is_empty()),
            history: said.collect::<Vec<String>>().join("\n"),
        })
    }
}

fn refuse_unsupported(fields: &Fields) -> Result<(), Fault> {
    if given(fields, "n").is_some_and(|n| n.as_f64() != Some(1.0)) {
        return Err(Fault::of_field("n", "`n` is not 1: one answer is given for each request"));
    }
    for name in ["tools", "functions"] {
        if given(fields, name).is_some_and(|tools| tools.as_array().is_none_or(|tools| !tools.is_empty())) {
            return Err(Fault::of_field(name, format!("`{name}` is not supported: leave it out")));
        }
    }
    let format = given(fields, "response_format").and_then(|format| format.get("type"));
    if format.is_some_and(|kind| kind != "text") {
        let message = "`response_format` is not supported: only the type `text`";
        return Err(Fault::of_field("response_format", message));
    }
    Ok(())
}

fn messages(fields: &Fields) -> Result<Vec<Message>, Fault> {
    let list = given(fields, "messages").and_then(Value::as_array).filter(|list| !list.is_empty());
    let list = list.ok_or_else(|| {
        Fault::of_field("messages", "`messages` is missing: an array of at least one message")
    })?;
    list.iter().enumerate().map(|(place, value)| message(place, value)).collect()
}

fn message(place: usize, value: &Value) -> Result<Message, Fault> {
    let name = format!("messages[{place}]");
    let wrong = |field: &str, what: &str| {
        let shown = format!("{name}{field}");
        Fault::of_field(shown.as_str(), format!("`{shown}` {what}"))
    };
    let object = value.as_object().ok_or_else(|| wrong("", "is not an object"))?;
    let role = match object.get("role").and_then(Value::as_str) {
        Some("system" | "developer") => Role::System,
        // What a tool said is news to the model, as a question is.
        Some("user" | "tool" | "function") => Role::User,
        Some("assistant") => Role::Assistant,
        _ => return Err(wrong(".role", "is not one of system, developer, user, assistant, tool")),
    };
    let text = match object.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().enumerate().map(|(index, part)| {
                let shown = format!(".content[{index}]");
                part_text(part).map_err(|what| wrong(&shown, &what))
            });
            texts.collect::<Result<Vec<&str>, Fault>>()?.join("\n")
        }
        // An assistant that only called tools has said nothing.
        None | Some(Value::Null) if role == Role::Assistant => String::new(),
        _ => return Err(wrong(".content", "is missing: a string, or an array of text parts")),
    };
    Ok(Message { role, text })
}

fn part_text(part: &Value) -> Result<&str, String> {
    let kind = part.get("type").and_then(Value::as_str).unwrap_or("nothing");
    let field = match kind {
        "text" | "refusal" => part.get(if kind == "text" { "text" } else { "refusal" }),
        other => return Err(format!("is of type `{other}`: only parts of type `text` are read")),
    };
    field.and_then(Value::as_str).ok_or_else(|| "has no text".to_owned())
}

/// Up to 2, as OpenAI's models take it; ours are at their boldest at 1.
fn temperature(fields: &Fields) -> Result<Option<f32>, Fault> {
    let Some(value) = given(fields, "temperature") else { return Ok(None) };
    let number = value.as_f64().filter(|number| (0.0..=HIGHEST_TEMPERATURE).contains(number));
    let wrong = || Fault::of_field("temperature", "`temperature` is not a number from 0 to 2");
    number.map(|number| Some(number.min(1.0) as f32)).ok_or_else(wrong)
}

/// The newer name first.
fn max_tokens(fields: &Fields) -> Result<Option<usize>, Fault> {
    for name in ["max_completion_tokens", "max_tokens"] {
        let number = whole(fields, name, name, MOST_ANSWER_TOKENS);
        if let Some(number) = number.map_err(|error| Fault::of_field(name, error.message()))? {
            return Ok(Some(number));
        }
    }
    Ok(None)
}

fn stop(fields: &Fields) -> Result<Vec<String>, Fault> {
    let stops = match given(fields, "stop") {
        None => return Ok(Vec::new()),
        Some(Value::String(one)) => Some(vec![one.clone()]),
        Some(Value::Array(list)) => list.iter().map(|one| one.as_str().map(str::to_owned)).collect(),
        Some(_) => None,
    };
    let fits = |stops: &Vec<String>| stops.len() <= MOST_STOPS && stops.iter().all(|stop| !stop.is_empty());
    stops.filter(fits).ok_or_else(|| {
        Fault::of_field("stop", "`stop` is not a string or an array of at most 4, none of them empty")
    })
}

fn seed(fields: &Fields) -> Result<Option<u64>, Fault> {
    let Some(value) = given(fields, "seed") else { return Ok(None) };
    let number = value.as_u64().or_else(|| value.as_i64().map(i64::cast_unsigned));
    number.map(Some).ok_or_else(|| Fault::of_field("seed", "`seed` is not a whole number"))
}

fn flag(fields: &Fields, name: &'static str) -> Result<bool, Fault> {
    let Some(value) = given(fields, name) else { return Ok(false) };
    value.as_bool().ok_or_else(|| Fault::of_field(name, format!("`{name}` is not true or false")))
}
