//! Query parameters and body fields that a service does not know. Clients may send them, so they are no error: the
//! answer names them in `X-Unknown-Fields`, and the log does at debug.
//!
//! What a service knows comes from its OpenAPI document ([`KnownFields`]). [`crate::serve::AxumHandler`] compares the query
//! string, puts an [`UnknownFields`] into the request for the readers of bodies, and adds the header to the answer.

mod known;

use known::Operation;
pub use known::{KnownFields, Names};

use http::{Extensions, HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

pub static X_UNKNOWN_FIELDS: HeaderName = HeaderName::from_static("x-unknown-fields");

/// Names that the header has at most, and bytes of each.
const MOST_NAMES: usize = 20;
const LONGEST_NAME: usize = 80;
/// Stands for what was left out.
const MORE: &str = "...";

/// What was found to be unknown while one request was read.
#[derive(Clone)]
pub struct UnknownFields {
    operation: Arc<Operation>,
    found: Arc<Mutex<BTreeSet<String>>>,
}

impl UnknownFields {
    fn new(operation: Arc<Operation>) -> Self {
        Self { operation, found: Arc::default() }
    }

    /// Notes the unknown fields of a JSON body, if the request has such a list.
    pub fn of_body(extensions: &Extensions, body: &Map<String, Value>) {
        if let Some(unknown) = extensions.get::<Self>() {
            unknown.compare(body, &unknown.operation.body, "");
        }
    }

    /// Notes a field of a form, unless the operation has it.
    pub fn form_field(&self, name: &str) {
        if !self.operation.body.has(name) {
            self.note(name);
        }
    }

    /// Notes the fields of an object that `known` does not have. Objects within are compared too, those in lists are not.
    pub fn compare(&self, fields: &Map<String, Value>, known: &Names, path: &str) {
        for (name, value) in fields {
            if !known.has(name) {
                self.note(&format!("{path}{name}"));
            } else if let (Some(known), Value::Object(fields)) = (known.within(name), value) {
                self.compare(fields, known, &format!("{path}{name}."));
            }
        }
    }

    pub fn note(&self, name: &str) {
        if name.is_empty() {
            return;
        }
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.insert(printable(name));
        // One more than is shown, to know that there are more.
        if found.len() > MOST_NAMES + 1 {
            found.pop_last();
        }
    }

    /// Adds the header to an answer, if anything was unknown.
    pub fn mark(&self, headers: &mut HeaderMap) {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if found.is_empty() {
            return;
        }
        let mut names: Vec<&str> = found.iter().map(String::as_str).take(MOST_NAMES).collect();
        names.extend((found.len() > MOST_NAMES).then_some(MORE));
        let names = names.join(", ");
        let operation = &self.operation.name;
        tracing::debug!(%operation, %names, "a request has unknown fields");
        if let Ok(value) = HeaderValue::from_str(&names) {
            headers.insert(&X_UNKNOWN_FIELDS, value);
        }
    }
}

/// In visible ASCII; what else there is, and what separates names, is percent-encoded.
fn printable(name: &str) -> String {
    let mut shown = String::new();
    for byte in name.bytes() {
        match byte {
            b'!'..=b'~' if !matches!(byte, b',' | b'%') => shown.push(char::from(byte)),
            _ => shown.push_str(&format!("%{byte:02X}")),
        }
        if shown.len() > LONGEST_NAME {
            shown.truncate(LONGEST_NAME);
            shown.push_str(MORE);
            break;
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{Method, Uri};
    use serde_json::json;

    const DOCUMENT: &str = r##"{
        "paths": {
            "/chat": {
                "parameters": [{ "name": "shared", "in": "query" }],
                "post": {
                    "parameters": [{ "name": "x-key", "in": "header" }, { "$ref": "#/components/parameters/Page" }],
                    "requestBody": { "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Chat" } } } }
                }
            },
            "/things/{id}": { "get": {} },
            "/things/{id}/open": { "get": {} },
            "/things/all": { "get": { "parameters": [{ "name": "limit", "in": "query" }] } }
        },
        "components": {
            "parameters": { "Page": { "name": "page", "in": "query" } },
            "schemas": {
                "Chat": { "type": "object", "properties": {
                    "query": { "type": "string" },
                    "config": { "type": "object", "properties": { "model": {} } },
                    "free": { "type": "object" },
                    "open": { "type": "object", "properties": {}, "additionalProperties": { "type": "string" } },
                    "list": { "type": "array", "items": { "type": "object", "properties": {} } }
                } }
            }
        }
    }"##;

    fn unknown_of(method: Method, uri: &str, body: &Value) -> Option<String> {
        let known = KnownFields::of_openapi(&serde_json::from_str(DOCUMENT).unwrap());
        let unknown = known.of_request(&method, &uri.parse::<Uri>().unwrap())?;
        let mut extensions = Extensions::new();
        extensions.insert(unknown.clone());
        if let Value::Object(body) = body {
            UnknownFields::of_body(&extensions, body);
        }
        let mut headers = HeaderMap::new();
        unknown.mark(&mut headers);
        Some(
            headers
                .get(&X_UNKNOWN_FIELDS)
                .map(|value| value.to_str().unwrap().to_owned())
                .unwrap_or_default(),
        )
    }

    #[test]
    fn names_that_the_document_does_not_have_are_found_in_query_and_body() {
        let body = json!({
            "query": "x", "qeury": 1, "config": { "model": "m", "modle": "m" }, "free": { "a": 1 }, "open": { "b": 1 },
            "list": [{ "c": 1 }],
        });
        let unknown = unknown_of(Method::POST, "/chat?page=1&shared=2&x-key=3&pgae=4&pgae=5", &body);
        assert_eq!(unknown.as_deref(), Some("config.modle, pgae, qeury, x-key"));
        assert_eq!(unknown_of(Method::POST, "/chat?page=1", &json!({ "query": "x" })).as_deref(), Some(""));
    }

    #[test]
    fn a_path_is_found_by_its_template_and_a_fixed_one_first() {
        assert_eq!(unknown_of(Method::GET, "/things/all?limit=1", &Value::Null).as_deref(), Some(""));
        assert_eq!(unknown_of(Method::HEAD, "/things/all?limit=1", &Value::Null).as_deref(), Some(""));
        assert_eq!(unknown_of(Method::GET, "/things/7?limit=1", &Value::Null).as_deref(), Some("limit"));
        assert_eq!(unknown_of(Method::GET, "/things/7/open?limit=1", &Value::Null).as_deref(), Some("limit"));
        assert_eq!(unknown_of(Method::DELETE, "/things/7?limit=1", &Value::Null), None);
        assert_eq!(unknown_of(Method::GET, "/other?limit=1", &Value::Null), None);
    }

    #[test]
    fn the_header_is_short_and_plain_whatever_the_names_are() {
        let strange = json!({ "a,b%\r\nSet-Cookie: c=d": 1, "ü": 1, "": 1 });
        let unknown = unknown_of(Method::POST, "/chat", &strange).unwrap();
        assert_eq!(unknown, "%C3%BC, a%2Cb%25%0D%0ASet-Cookie:%20c=d");
        let many: Map<String, Value> =
            (0..5000).map(|n| (format!("{n:04}{}", "ü".repeat(500)), Value::Null)).collect();
        let unknown = unknown_of(Method::POST, "/chat", &Value::Object(many)).unwrap();
        assert!(
            unknown.len() < 2000 && unknown.starts_with("0000%C3%BC") && unknown.ends_with("..., ..."),
            "{unknown}"
        );
    }
}
