//! Readers of an entry's fields: each takes one value of JSON or YAML, checks it, and says what would be right.

use crate::values::{
    LONGEST_ICON, LONGEST_LINE, LONGEST_SLUG, LONGEST_TEXT, is_address, is_icon, is_line, is_slug,
};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};
use serde_json::Value;
use std::fmt::Display;

/// Lines in a list.
const MOST_LINES: usize = 100;
/// Bytes of a team's name, which is a part of its key.
const LONGEST_TEAM: usize = 500;
/// The year 9999.
const LATEST: i64 = 253_402_300_799_999;

/// Reads one line, which may be empty.
pub fn line<'de, D: Deserializer<'de>>(value: D) -> Result<String, D::Error> {
    let expected = format_args!("a line of at most {LONGEST_LINE} characters");
    read(value, expected, |value| trimmed(&value).filter(|text| is_line(text)))
}

/// Reads one line that is not empty.
pub fn title<'de, D: Deserializer<'de>>(value: D) -> Result<String, D::Error> {
    let expected = format_args!("a line of 1 to {LONGEST_LINE} characters");
    read(value, expected, |value| trimmed(&value).filter(|text| is_line(text) && !text.is_empty()))
}

/// Reads the name of a team.
pub fn team_name<'de, D: Deserializer<'de>>(value: D) -> Result<String, D::Error> {
    let expected = format_args!("a line of 1 to {LONGEST_TEAM} bytes");
    let fits = |text: &String| is_line(text) && (1..=LONGEST_TEAM).contains(&text.len());
    read(value, expected, |value| trimmed(&value).filter(fits))
}

/// Reads a text of any number of lines.
pub fn text<'de, D: Deserializer<'de>>(value: D) -> Result<String, D::Error> {
    let expected = format_args!("a text of at most {LONGEST_TEXT} characters");
    let fits = |text: &str| text.chars().count() <= LONGEST_TEXT && !text.contains('\0');
    read(value, expected, |value| value.as_str().filter(|text| fits(text)).map(str::to_owned))
}

/// Reads a web address or a path of this installation.
pub fn link<'de, D: Deserializer<'de>>(value: D) -> Result<String, D::Error> {
    read(value, LINK, |value| trimmed(&value).filter(|text| is_address(text)))
}

/// Reads what [`link`] reads, or an empty text.
pub fn optional_link<'de, D: Deserializer<'de>>(value: D) -> Result<String, D::Error> {
    read(value, LINK, |value| trimmed(&value).filter(|text| text.is_empty() || is_address(text)))
}

const LINK: &str = "a web address (http:// or https://) or a path such as /core/";

/// Reads the name of a picture, or an address that a browser loads it from.
pub fn icon<'de, D: Deserializer<'de>>(value: D) -> Result<String, D::Error> {
    let expected = format_args!("a name of at most {LONGEST_ICON} characters or an https:// address");
    read(value, expected, |value| trimmed(&value).filter(|text| is_icon(text)))
}

/// Reads a slug. An empty one is to be made from the title.
pub fn slug<'de, D: Deserializer<'de>>(value: D) -> Result<String, D::Error> {
    let expected = format_args!("1 to {LONGEST_SLUG} of a-z 0-9 -");
    read(value, expected, |value| trimmed(&value).filter(|text| text.is_empty() || is_slug(text)))
}

/// Reads a list of lines.
pub fn lines<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<String>, D::Error> {
    let expected = format_args!("a list of at most {MOST_LINES} lines");
    read(value, expected, |value| all_lines(&value).filter(|lines| lines.len() <= MOST_LINES))
}

/// Reads the ids of what a team owns.
pub fn ids<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<String>, D::Error> {
    read(value, "a list of ids", |value| all_lines(&value))
}

pub fn flag<'de, D: Deserializer<'de>>(value: D) -> Result<bool, D::Error> {
    read(value, "true or false", |value| value.as_bool())
}

pub fn percent<'de, D: Deserializer<'de>>(value: D) -> Result<f64, D::Error> {
    let fits = |number: &f64| (0.0..=100.0).contains(number);
    read(value, "a number from 0 to 100", |value| value.as_f64().filter(fits))
}

/// Reads a time; null stands for none.
pub fn time<'de, D: Deserializer<'de>>(value: D) -> Result<Option<i64>, D::Error> {
    read(value, "a time in milliseconds since 1970", |value| match value {
        Value::Null => Some(None),
        value => value.as_i64().filter(|time| (0..=LATEST).contains(time)).map(Some),
    })
}

/// Writes a whole number without a fraction.
pub fn write_number<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    match number.fract() == 0.0 {
        true => serializer.serialize_i64(*number as i64),
        false => serializer.serialize_f64(*number),
    }
}

/// Reads a value and checks it. The error says what is expected.
pub fn read<'de, D: Deserializer<'de>, T>(
    value: D,
    expected: impl Display,
    check: impl FnOnce(Value) -> Option<T>,
) -> Result<T, D::Error> {
    let checked = check(Value::deserialize(value)?);
    checked.ok_or_else(|| D::Error::custom(format_args!("is not {expected}")))
}

fn trimmed(value: &Value) -> Option<String> {
    value.as_str().map(|text| text.trim().to_owned())
}

fn all_lines(value: &Value) -> Option<Vec<String>> {
    let line = |value: &Value| trimmed(value).filter(|text| is_line(text));
    value.as_array()?.iter().map(line).collect()
}
