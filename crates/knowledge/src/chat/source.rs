//! A source: a passage that is put before the model, and that the answer may cite.

use crate::search::Found;
use serde_json::{Map, Value, json};

/// More than this would not fit into any window.
const MOST_SOURCES: usize = 100;
const MOST_HEADINGS: usize = 8;
/// In bytes.
const LONGEST_TITLE: usize = 200;

#[derive(Clone, Debug)]
pub struct Source {
    pub text: String,
    pub title: String,
    /// What the document's headings above the passage say.
    pub headings: Vec<String>,
    /// The source as answers show it.
    pub shown: Map<String, Value>,
}

impl Source {
    pub fn found(found: &Found) -> Self {
        Self {
            text: found.chunk.text.clone(),
            title: found.chunk.document_title.clone(),
            headings: found.chunk.headings.clone(),
            shown: object(found.to_json()),
        }
    }

    /// What the search gave it.
    pub fn score(&self) -> f32 {
        self.shown.get("score").and_then(Value::as_f64).unwrap_or_default() as f32
    }

    /// Sources that a request brings along, kept as they are. Fails with what is wrong about them.
    pub fn given(value: &Value) -> Result<Vec<Self>, String> {
        let list = value.as_array().ok_or("`sources` is not an array")?;
        if list.len() > MOST_SOURCES {
            return Err(format!("`sources` has {} entries: at most {MOST_SOURCES}", list.len()));
        }
        list.iter().enumerate().map(|(index, value)| one(index, value)).collect()
    }

    /// As answers show them, with the numbers that they are cited by.
    pub fn numbered(sources: &[Self]) -> Vec<Value> {
        let number = |(place, source): (usize, &Self)| {
            let mut shown = source.shown.clone();
            shown.insert("number".to_owned(), (place + 1).into());
            Value::Object(shown)
        };
        sources.iter().enumerate().map(number).collect()
    }
}

fn one(index: usize, value: &Value) -> Result<Source, String> {
    let name = |field: &str| format!("sources[{index}]{field}");
    let object = value.as_object().ok_or_else(|| format!("`{}` is not an object", name("")))?;
    let text = object.get("text").and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    let text = text.ok_or_else(|| format!("`{}` is missing: a string that is not empty", name(".text")))?;
    let mut shown = object.clone();
    match object.get("id") {
        None | Some(Value::Null) => drop(shown.insert("id".to_owned(), (index + 1).to_string().into())),
        Some(Value::String(_)) => {}
        Some(_) => return Err(format!("`{}` is not a string", name(".id"))),
    }
    let metadata = match object.get("metadata") {
        None | Some(Value::Null) => {
            shown.insert("metadata".to_owned(), json!({}));
            &Map::new()
        }
        Some(Value::Object(metadata)) => metadata,
        Some(_) => return Err(format!("`{}` is not an object", name(".metadata"))),
    };
    let headings = metadata.get("headings").and_then(Value::as_array).into_iter().flatten();
    Ok(Source {
        text: text.to_owned(),
        title: short(metadata.get("documentTitle").and_then(Value::as_str).unwrap_or_default()),
        headings: headings.filter_map(Value::as_str).take(MOST_HEADINGS).map(short).collect(),
        shown,
    })
}

/// A title of more is none.
fn short(title: &str) -> String {
    title[..title.floor_char_boundary(LONGEST_TITLE)].to_owned()
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
