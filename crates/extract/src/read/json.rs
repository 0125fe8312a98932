//! JSON and JSON Lines as readable lines in the order of the file. Keys become headings near the top and dotted paths
//! further down. A short entry of a list is one line, like a row of a table.

use std::fmt::{self, Write};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::plain;
use crate::ExtractError;
use crate::document::Builder;

pub(super) fn read(text: &str, builder: &mut Builder) -> Result<(), ExtractError> {
    match parse(text) {
        Some(values) => {
            if let [value] = &values[..] {
                return section(value, 1, builder);
            }
            values.iter().try_for_each(|value| record(value, builder))
        }
        // Broken or too deeply nested JSON is still text that can be searched.
        None => plain::read(text, builder),
    }
}

enum Json {
    Scalar(String),
    List(Vec<Json>),
    Map(Vec<(String, Json)>),
}

/// Parses one value, or one per line.
fn parse(text: &str) -> Option<Vec<Json>> {
    let mut values = Vec::new();
    let mut stream = serde_json::Deserializer::from_str(text);
    loop {
        match ReadJson.deserialize(&mut stream) {
            Ok(value) => values.push(value),
            Err(error) if error.is_eof() && stream.end().is_ok() && !values.is_empty() => {
                return Some(values);
            }
            Err(_) => return None,
        }
        if stream.end().is_ok() {
            return Some(values);
        }
    }
}

/// Below this level, keys become parts of a path.
const HEADING_LEVELS: u8 = 3;
/// In bytes.
const LONGEST_ROW: usize = 400;

fn section(value: &Json, level: u8, builder: &mut Builder) -> Result<(), ExtractError> {
    match value {
        Json::Scalar(text) => builder.prose(text),
        Json::List(items) => items.iter().try_for_each(|item| record(item, builder)),
        Json::Map(entries) => {
            let (flat, deep): (Vec<_>, Vec<_>) =
                entries.iter().partition(|(_, value)| level > HEADING_LEVELS || is_flat(value));
            let mut text = String::new();
            for (key, value) in flat {
                lines(key, value, &mut text, builder);
            }
            builder.lines(&text)?;
            for (key, value) in deep {
                builder.heading(level, key)?;
                section(value, level + 1, builder)?;
            }
            builder.leave(level)
        }
    }
}

fn record(value: &Json, builder: &mut Builder) -> Result<(), ExtractError> {
    let mut text = String::new();
    lines("", value, &mut text, builder);
    if text.len() <= LONGEST_ROW {
        text = text.trim_end().replace('\n', "; ");
    }
    builder.lines(&text)
}

fn is_flat(value: &Json) -> bool {
    match value {
        Json::Scalar(_) => true,
        Json::List(items) => items.iter().all(|item| matches!(item, Json::Scalar(_))),
        Json::Map(_) => false,
    }
}

fn lines(path: &str, value: &Json, text: &mut String, builder: &Builder) {
    match value {
        _ if builder.is_full_with(text) => {}
        Json::Scalar(scalar) => line(path, scalar, text),
        Json::List(items) if is_flat(value) => {
            let scalars: Vec<&str> = items.iter().filter_map(Json::scalar).collect();
            line(path, &scalars.join(", "), text);
        }
        Json::List(items) => {
            for (index, item) in items.iter().enumerate() {
                lines(&format!("{path}[{}]", index + 1), item, text, builder);
            }
        }
        Json::Map(entries) => {
            for (key, value) in entries {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                lines(&path, value, text, builder);
            }
        }
    }
}

fn line(path: &str, value: &str, text: &mut String) {
    let value = crate::clean::prose(value);
    if value.is_empty() || is_encoded(&value) {
        return;
    }
    if !path.is_empty() {
        text.push_str(path);
        text.push_str(": ");
    }
    text.push_str(&value);
    text.push('\n');
}

/// A shorter one may be a key or a sum, which can be searched for.
const SHORTEST_ENCODED: usize = 256;

/// Returns whether a value is a picture or the like in base64, which is no text.
fn is_encoded(value: &str) -> bool {
    let data = value
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once("base64,"))
        .map_or(value, |(_, data)| data);
    let is_code = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'-' | b'_');
    data.len() >= SHORTEST_ENCODED && data.bytes().all(is_code)
}

impl Json {
    fn scalar(&self) -> Option<&str> {
        match self {
            Self::Scalar(text) => Some(text),
            _ => None,
        }
    }
}

/// serde_json's own `Value` sorts the keys.
struct ReadJson;

impl<'de> DeserializeSeed<'de> for ReadJson {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ReadJson {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Scalar(value.to_string()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Scalar(value.to_string()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Scalar(value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Json, E> {
        let mut text = String::new();
        let _ = write!(text, "{value}");
        Ok(Json::Scalar(text))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Scalar(value.to_owned()))
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Json::Scalar(String::new()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(ReadJson)? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key()? {
            entries.push((key, map.next_value_seed(ReadJson)?));
        }
        Ok(Json::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Limits};

    fn check(text: &str, expected: &[(&str, &str)]) {
        let mut builder = Builder::new(Kind::Json, &Limits::default());
        read(text, &mut builder).unwrap();
        let blocks = builder.finish().unwrap().blocks;
        let found: Vec<(String, &str)> =
            blocks.iter().map(|block| (block.headings.join(" > "), block.text.as_str())).collect();
        let expected: Vec<(String, &str)> =
            expected.iter().map(|(path, text)| (path.to_string(), *text)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn keys_become_headings_and_paths() {
        check(
            r#"{"name": "pump", "zeta": {"on": true, "parts": [{"id": 1, "at": {"x": 2.5}}, {"id": 2}]}, "tags": ["a", "b"]}"#,
            &[
                ("", "name: pump\ntags: a, b"),
                ("zeta", "on: true"),
                ("zeta > parts", "id: 1; at.x: 2.5"),
                ("zeta > parts", "id: 2"),
            ],
        );
    }

    #[test]
    fn pictures_in_base64_are_left_out() {
        let picture = "iVBORw0KGgo".repeat(100);
        check(
            &format!(
                r#"{{"name": "pump", "photo": "{picture}", "icon": "data:image/png;base64,{picture}"}}"#
            ),
            &[("", "name: pump")],
        );
    }

    #[test]
    fn each_line_of_json_lines_is_a_record() {
        check("{\"a\": 1, \"b\": {\"c\": 3}}\n{\"a\": 2}\n\n", &[("", "a: 1; b.c: 3"), ("", "a: 2")]);
    }

    #[test]
    fn what_is_broken_or_too_deep_is_read_as_text() {
        check("{\"a\": 1,, }", &[("", "{\"a\": 1,, }")]);
        let deep = format!("{}\"word\"{}", "[".repeat(100_000), "]".repeat(100_000));
        let mut builder = Builder::new(Kind::Json, &Limits::default());
        read(&deep, &mut builder).unwrap();
        assert_eq!(builder.finish().unwrap().blocks.len(), 1);
    }
}
