//! The operations of a service, as its OpenAPI document has them.

use reqwest::Method;
use serde_json::{Value, json};

/// An operation of a document.
pub struct Operation {
    pub method: Method,
    pub path: String,
    pub parameters: Vec<(String, String)>,
    pub body: Option<String>,
    pub is_public: bool,
}

pub fn operations(service: &str) -> Vec<Operation> {
    let document = e2e::schema::document(service);
    let mut found = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let Ok(method) = Method::from_bytes(method.to_uppercase().as_bytes()) else { continue };
            if !["GET", "POST", "PUT", "PATCH", "DELETE"].contains(&method.as_str()) {
                continue;
            }
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let content = operation["requestBody"]["content"].as_object();
            let security = operation.get("security").or(document.get("security"));
            let is_public = security.and_then(Value::as_array).is_none_or(|ways| ways.contains(&json!({})));
            found.push(Operation {
                method,
                path: path.clone(),
                parameters: parameters.map(|one| (text(&one["name"]), text(&one["in"]))).collect(),
                body: content.and_then(|content| content.keys().next().cloned()),
                is_public,
            });
        }
    }
    found
}
