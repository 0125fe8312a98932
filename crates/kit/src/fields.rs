//! Reads the fields of a request's JSON object. Each error names its field.

use crate::error::ApiError;
use serde_json::{Map, Value};

/// Returns a field; null counts as absent.
pub fn given<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    fields.get(name).filter(|value| !value.is_null())
}

pub fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, ApiError> {
    let Some(value) = given(fields, name) else { return Ok(None) };
    match value.as_str() {
        None => Err(ApiError::invalid(format!("`{name}` is not a string"))),
        Some(text) if text.contains('\0') => Err(ApiError::invalid(format!("`{name}` has a NUL character"))),
        text => Ok(text),
    }
}

/// Returns a whole number from 1 to `most`; `shown` is the field's name in the error.
pub fn whole(
    fields: &Map<String, Value>,
    name: &str,
    shown: &str,
    most: usize,
) -> Result<Option<usize>, ApiError> {
    let Some(value) = given(fields, name) else { return Ok(None) };
    let number =
        value.as_f64().filter(|number| number.fract() == 0.0 && (1.0..=most as f64).contains(number));
    let wrong = || ApiError::invalid(format!("`{shown}` is not a whole number from 1 to {most}"));
    number.map(|number| Some(number as usize)).ok_or_else(wrong)
}
