//! JSON, JSON Lines and YAML in JSON's style as readable lines in the order of the file. Keys become headings near the top
//! and dotted paths further down. A short entry of a list is one line, like a row of a table; a long one is a section below
//! its name.

use std::fmt::{self, Write};

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::plain;
use crate::ExtractError;
use crate::document::Builder;

pub(super) fn read(text: &str, builder: &mut Builder) -> Result<(), ExtractError> {
    match parse(text).or_else(|| parse_yaml(text)) {
        Some(values) => {
            if let [value] = &values[..] {
                return section(value, 1, builder);
            }
            values.iter().try_for_each(|value| record(value, 1, builder))
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

fn parse_yaml(text: &str) -> Option<Vec<Json>> {
    if !has_flow_entries(text) {
        return None;
    }
    // Norway's "NO" is no boolean.
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options).ok().map(|value| vec![value])
}

/// Returns whether a YAML file is a list of entries in JSON's style: "- { name: Bhutan, region: Asia }".
pub(crate) fn has_flow_entries(text: &str) -> bool {
    let is_entry = |line: &&str| !line.is_empty() && !line.starts_with('#') && !line.starts_with("---");
    text.lines().find(is_entry).is_some_and(|first| first.starts_with("- {"))
}

/// Below this level, keys become parts of a path.
const HEADING_LEVELS: u8 = 3;
/// In bytes.
const LONGEST_ROW: usize = 400;
const LONGEST_NAME: usize = 80;
/// The keys whose value names an entry.
const NAMES: [&str; 3] = ["name", "title", "label"];

fn section(value: &Json, level: u8, builder: &mut Builder) -> Result<(), ExtractError> {
    match value {
        Json::Scalar(text) => builder.prose(text),
        Json::List(items) => items.iter().try_for_each(|item| record(item, level, builder)),
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

fn record(value: &Json, level: u8, builder: &mut Builder) -> Result<(), ExtractError> {
    let mut text = String::new();
    lines("", value, &mut text, builder);
    if text.len() <= LONGEST_ROW {
        return builder.lines(&text.trim_end().replace('\n', "; "));
    }
    // Each of the passages that it becomes has its name.
    if let Some(name) = value.name() {
        builder.heading(level, name)?;
    }
    builder.lines(&text)?;
    builder.leave(level)
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

    fn name(&self) -> Option<&str> {
        let Self::Map(entries) = self else { return None };
        let own = entries.iter().find(|(key, _)| NAMES.contains(&key.to_lowercase().as_str()));
        let own = own.and_then(|(_, value)| value.first_scalar());
        own.filter(|name| name.len() <= LONGEST_NAME)
            .or_else(|| entries.iter().find_map(|(_, value)| value.name()))
    }

    fn first_scalar(&self) -> Option<&str> {
        match self {
            Self::Scalar(text) => Some(text),
            Self::List(items) => items.first()?.first_scalar(),
            Self::Map(entries) => entries.first()?.1.first_scalar(),
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ReadJson.deserialize(deserializer)
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
    fn a_long_entry_is_below_its_name() {
        let words = "word ".repeat(100);
        let long = format!("country.name: Bhutan\nnote: {}", words.trim_end());
        check(
            &format!(r#"[{{"country": {{"name": "Bhutan"}}, "note": "{words}"}}, {{"name": "Norway"}}]"#),
            &[("Bhutan", &long), ("", "name: Norway")],
        );
    }

    #[test]
    fn yaml_in_the_style_of_json_is_read_as_such() {
        check(
            "# Countries\n---\n- { name: { common: Bhutan }, capital: [Thimphu], since: null }\n- { cca2: NO, landlocked: false }\n",
            &[("", "name.common: Bhutan; capital: Thimphu"), ("", "cca2: NO; landlocked: false")],
        );
        check("- { a: 1,, }", &[("", "- { a: 1,, }")]);
    }

    #[test]
    fn what_is_broken_or_too_deep_is_read_as_text() {
        check("{\"a\": 1,, }", &[("", "{\"a\": 1,, }")]);
        let deep = format!("{}\"word\"{}", "[".repeat(100_000), "]".repeat(100_000));
        let mut builder = Builder::new(Kind::Json, &Limits::default());
        read(&deep, &mut builder).unwrap();
        assert_eq!(builder.finish().unwrap().blocks.len(), 1);
        let deep = format!("- {}word{}", "{ a: ".repeat(100_000), " }".repeat(100_000));
        assert!(parse_yaml(&deep).is_none());
        let each =
            |level: u32| format!("- {{ a: &a{level} [{}] }}\n", format!("*a{}, ", level - 1).repeat(9));
        let bomb: String = (1..=9).map(each).collect();
        assert!(parse_yaml(&format!("- {{ a: &a0 [word] }}\n{bomb}")).is_none());
    }
}
