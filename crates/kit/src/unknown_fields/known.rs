//! The names that a service knows, as its OpenAPI document has them.

use super::UnknownFields;
use http::{Method, Uri};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Objects within objects that are read; deeper, a document may refer to itself.
const DEEPEST: usize = 8;

/// The query parameters and body fields of every operation.
#[derive(Default)]
pub struct KnownFields(Vec<Arc<Operation>>);

pub(super) struct Operation {
    /// Method and path, as in the document.
    pub name: String,
    pub body: Names,
    method: String,
    path: Vec<String>,
    query: Vec<String>,
}

/// The names of an object's fields; any name if it is open.
#[derive(Debug, Default)]
pub struct Names {
    is_open: bool,
    fields: BTreeMap<String, Names>,
}

impl Names {
    pub fn has(&self, name: &str) -> bool {
        self.is_open || self.fields.contains_key(name)
    }

    /// The names of the object in a field; none if it may have any.
    pub fn within(&self, name: &str) -> Option<&Self> {
        self.fields.get(name).filter(|names| !names.is_open)
    }

    /// Of a JSON schema. What says nothing of its fields may have any.
    pub fn of_schema(schema: &Value) -> Self {
        Self::read(&Value::Null, schema, DEEPEST)
    }

    fn read(document: &Value, schema: &Value, depth: usize) -> Self {
        let schema = not_null(document, resolved(document, schema));
        let is_closed = matches!(schema.get("additionalProperties"), None | Some(Value::Bool(false)));
        match schema.get("properties").and_then(Value::as_object) {
            Some(fields) if is_closed && depth > 0 => {
                let within = |schema| Self::read(document, schema, depth - 1);
                let fields = fields.iter().map(|(name, schema)| (name.clone(), within(schema)));
                Self { is_open: false, fields: fields.collect() }
            }
            _ => Self { is_open: true, fields: BTreeMap::new() },
        }
    }
}

impl KnownFields {
    pub fn of_openapi(document: &Value) -> Self {
        let mut operations = Vec::new();
        for (path, item) in object(document, "paths") {
            let shared = parameters(document, item);
            let methods = item.as_object().into_iter().flatten();
            for (method, operation) in methods.filter(|(_, operation)| !is_handed_on(operation)) {
                let method = method.to_ascii_uppercase();
                operations.push(Arc::new(Operation {
                    name: format!("{method} {path}"),
                    method,
                    path: path.split('/').map(str::to_owned).collect(),
                    query: shared.iter().cloned().chain(parameters(document, operation)).collect(),
                    body: body(document, operation),
                }));
            }
        }
        // Of two paths that fit, the one with a name where the other has a parameter.
        operations.sort_by_key(|operation| operation.path.iter().filter(|part| is_parameter(part)).count());
        Self(operations)
    }

    /// What to note unknown fields of a request in, with those of its query. None for an operation that is not known.
    pub fn of_request(&self, method: &Method, uri: &Uri) -> Option<UnknownFields> {
        let method = if method == Method::HEAD { "GET" } else { method.as_str() };
        let fits = |operation: &&Arc<Operation>| operation.method == method && operation.fits(uri.path());
        let operation = self.0.iter().find(fits)?;
        let unknown = UnknownFields::new(operation.clone());
        for (name, _) in form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
            if !operation.query.iter().any(|known| *known == name) {
                unknown.note(&name);
            }
        }
        Some(unknown)
    }
}

impl Operation {
    fn fits(&self, path: &str) -> bool {
        let mut parts = path.split('/');
        let fits = |part: &String| parts.next().is_some_and(|given| is_parameter(part) || part == given);
        self.path.iter().all(fits) && parts.next().is_none()
    }
}

/// Tells whether another service answers: with `default`, an operation has any answer at all.
fn is_handed_on(operation: &Value) -> bool {
    operation.pointer("/responses/default").is_some()
}

fn is_parameter(part: &str) -> bool {
    part.starts_with('{')
}

/// The names of the query parameters.
fn parameters(document: &Value, of: &Value) -> Vec<String> {
    let all = of.get("parameters").and_then(Value::as_array).into_iter().flatten();
    let all = all.map(|parameter| resolved(document, parameter));
    let query = all.filter(|parameter| parameter.get("in").is_some_and(|place| place == "query"));
    query.filter_map(|parameter| parameter.get("name")?.as_str()).map(str::to_owned).collect()
}

/// A body is the same in all the types that it may come in.
fn body(document: &Value, operation: &Value) -> Names {
    let content = operation.pointer("/requestBody/content").and_then(Value::as_object);
    let schema = content.and_then(|content| content.values().next()?.get("schema"));
    schema.map(|schema| Names::read(document, schema, DEEPEST)).unwrap_or_default()
}

fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let reference = value.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix('#'));
    reference.and_then(|place| document.pointer(place)).unwrap_or(value)
}

/// Of a schema that may also be null, the other one.
fn not_null<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let choices = schema.get("oneOf").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut others = choices.iter().filter(|choice| choice.get("type") != Some(&"null".into()));
    match (others.next(), others.next()) {
        (Some(only), None) => resolved(document, only),
        _ => schema,
    }
}

fn object<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    value.get(name).and_then(Value::as_object).into_iter().flat_map(Map::iter)
}
