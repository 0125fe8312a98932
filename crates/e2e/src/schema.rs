//! Holds every answer that a test receives against the OpenAPI document of the service that gave it: undocumented
//! statuses, types of content and fields are failures.

use crate::program::binary;
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex};

pub const SERVICES: [&str; 5] = ["gateway", "knowledge", "supervisor", "portal", "leads"];
const CHECKED: [&str; 5] = SERVICES;
/// Served beside what the document describes.
const BESIDE: [&str; 3] = ["/openapi.json", "/docs", "/metrics"];

/// Where the gateway forwards to, by default: prefix, the setting that says otherwise, service.
const ROUTES: [(&str, &str, &str); 3] = [
    ("/build", "BUILD_SERVICE_URL", "supervisor"),
    ("/kv", "KV_SERVICE_URL", "portal"),
    ("/core", "CORE_SERVICE_URL", "knowledge"),
];

static LISTENERS: LazyLock<Mutex<HashMap<u16, String>>> = LazyLock::new(Mutex::default);
/// The services behind a gateway, by its port and the prefix.
static TARGETS: LazyLock<Mutex<HashMap<(u16, &str), &str>>> = LazyLock::new(Mutex::default);
static DOCUMENTS: LazyLock<Mutex<HashMap<String, Arc<Value>>>> = LazyLock::new(Mutex::default);

/// Remembers which service listens where. A port may be another's later.
pub fn register(address: SocketAddr, service: &str) {
    LISTENERS.lock().unwrap().insert(address.port(), service.to_owned());
}

/// Forgets a service that ends.
pub fn forget(address: SocketAddr) {
    LISTENERS.lock().unwrap().remove(&address.port());
}

/// Remembers which of our services are behind a gateway: those of its process, unless a setting names other targets.
pub fn register_targets(gateway: SocketAddr, runs: impl Fn(&str) -> bool, is_set: impl Fn(&str) -> bool) {
    let mut targets = TARGETS.lock().unwrap();
    targets.retain(|(port, _), _| *port != gateway.port());
    for (prefix, _, service) in
        ROUTES.iter().filter(|(_, setting, service)| runs(service) && !is_set(setting))
    {
        targets.insert((gateway.port(), prefix), service);
    }
}

/// The OpenAPI document of a service, as the program prints it.
pub fn document(service: &str) -> Arc<Value> {
    let mut documents = DOCUMENTS.lock().unwrap();
    let load = || {
        let output = Command::new(binary()).args(["openapi", service]).output().expect("the program starts");
        let document: Value = serde_json::from_slice(&output.stdout).expect("the document is JSON");
        check_references(&document, &document);
        Arc::new(document)
    };
    documents.entry(service.to_owned()).or_insert_with(load).clone()
}

/// An answer, as far as a document speaks of it.
pub struct Answer<'a> {
    pub method: &'a str,
    pub url: &'a reqwest::Url,
    pub status: u16,
    pub content_type: &'a str,
    pub body: &'a str,
}

/// Panics if the document of the service does not have this answer. Answers of other servers pass.
pub fn check(answer: &Answer) {
    let Some((service, path)) = locate(answer.url, || is_gateway_error(answer)) else { return };
    if let Err(fault) = compare(&document(&service), answer, path) {
        let Answer { method, url, status, body, .. } = answer;
        panic!("{service} does not document this answer: {fault}\n{method} {url}: {status}\n{body}");
    }
}

/// Panics if the document of the service does not have this event in a stream. Events of other servers pass.
pub fn check_event(url: &reqwest::Url, name: &str, data: &Value) {
    let Some((service, path)) = locate(url, || false) else { return };
    if let Err(fault) = compare_event(&document(&service), path, name, data) {
        panic!("{service} does not document this event: {fault}\n{url}: {name}\n{data}");
    }
}

/// Compares an event with the schema of the stream, if that describes events by their names.
fn compare_event(document: &Value, path: &str, name: &str, data: &Value) -> Result<(), String> {
    let item = find_path(document, path).and_then(Value::as_object);
    let operations = item.into_iter().flatten().map(|(_, operation)| operation);
    let place = "/responses/200/content/text~1event-stream/schema";
    let Some(schema) = operations.into_iter().find_map(|operation| operation.pointer(place)) else {
        return Err(format!("no stream of events at `{path}`"));
    };
    let choices = list(resolve(document, schema), "oneOf");
    let is_named =
        |choice: &&Value| choice.pointer("/properties/event/enum/0").is_some_and(|own| own == name);
    match choices.iter().find(is_named) {
        Some(choice) => validate(document, &choice["properties"]["data"], data, "data"),
        None if choices.is_empty() => Ok(()),
        None => Err(format!("no event `{name}`")),
    }
}

/// Returns the service that gives the answer at an address, and the path there, if its answers are checked. Behind the
/// gateway it is the target's, unless the gateway answers itself.
fn locate(url: &reqwest::Url, is_of_gateway: impl Fn() -> bool) -> Option<(String, &str)> {
    let (port, path) = (url.port()?, url.path());
    let service = LISTENERS.lock().unwrap().get(&port).cloned()?;
    let (service, path) = match find_target(port, path) {
        Some((target, rest)) if service == "gateway" && !is_of_gateway() => (target.to_owned(), rest),
        _ => (service, path),
    };
    CHECKED.contains(&service.as_str()).then_some((service, path))
}

/// Whether the gateway itself says this.
fn is_gateway_error(answer: &Answer) -> bool {
    let document = document("gateway");
    let body = serde_json::from_str(answer.body);
    body.is_ok_and(|body| {
        validate(&document, &document["components"]["schemas"]["Error"], &body, "body").is_ok()
    })
}

/// The service of ours that the gateway forwards this path to, and the path there.
fn find_target(port: u16, path: &str) -> Option<(&'static str, &str)> {
    let targets = TARGETS.lock().unwrap();
    ROUTES.iter().find_map(|(prefix, _, _)| {
        let service = targets.get(&(port, *prefix))?;
        path.strip_prefix(prefix).filter(|rest| rest.starts_with('/')).map(|rest| (*service, rest))
    })
}

fn compare(document: &Value, answer: &Answer, path: &str) -> Result<(), String> {
    if BESIDE.iter().any(|beside| path.starts_with(beside)) {
        return Ok(());
    }
    let Some(item) = find_path(document, path) else {
        return if answer.status == 404 { Ok(()) } else { Err(format!("no path `{path}`")) };
    };
    // With `default`, a path has any answer at all: that of another server.
    let operations = item.as_object().into_iter().flat_map(Map::values);
    if operations.into_iter().any(|operation| !operation["responses"]["default"].is_null()) {
        return Ok(());
    }
    let method = if answer.method == "HEAD" { "get".to_owned() } else { answer.method.to_lowercase() };
    let Some(operation) = item.get(&method) else {
        return if [404, 405].contains(&answer.status) { Ok(()) } else { Err(format!("no method {method}")) };
    };
    let response = &operation["responses"][answer.status.to_string()];
    if response.is_null() {
        return Err(format!("no status {}", answer.status));
    }
    if answer.body.is_empty() {
        return Ok(());
    }
    let essence = answer.content_type.split(';').next().unwrap_or_default().trim();
    let Some(content) = response["content"].get(essence) else {
        return Err(format!("no content of type `{essence}`"));
    };
    if essence != "application/json" {
        return Ok(());
    }
    let body: Value = serde_json::from_str(answer.body).map_err(|error| error.to_string())?;
    validate(document, &content["schema"], &body, "body")
}

/// Returns the item of the path that fits, one with a name before one with a parameter. A parameter at the end may have
/// slashes if nothing else fits, and `{rest}` may be empty.
pub fn find_path<'a>(document: &'a Value, path: &str) -> Option<&'a Value> {
    let given: Vec<&str> = path.split('/').collect();
    let is_parameter = |part: &&str| part.starts_with('{');
    let key = |template: &str| {
        let parts: Vec<&str> = template.split('/').collect();
        if template.strip_suffix("/{rest}") == Some(path) {
            return Some((true, 1));
        }
        let fits = given.len() >= parts.len()
            && parts.iter().zip(&given).all(|(part, given)| part == given || is_parameter(part));
        let has_slashes = given.len() > parts.len();
        let fits = fits && (!has_slashes || parts.last().is_some_and(is_parameter));
        fits.then(|| (has_slashes, parts.iter().filter(|part| is_parameter(part)).count()))
    };
    let paths = document["paths"].as_object()?.iter();
    let fitting = paths.filter_map(|(template, item)| Some((key(template)?, item)));
    fitting.min_by_key(|(key, _)| *key).map(|(_, item)| item)
}

/// Checks a value against a schema. An object has no fields but those that the schema names.
pub fn validate(document: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    check_parts(document, schema, value, at)?;
    let known = known_fields(document, schema);
    if let (Some(fields), Some(known)) = (value.as_object(), known)
        && let Some(unknown) = fields.keys().find(|name| !known.contains(*name))
    {
        return Err(format!("{at} has a field `{unknown}` that is not documented"));
    }
    Ok(())
}

/// All but that there are no other fields.
fn check_parts(document: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let schema = resolve(document, schema);
    for part in list(schema, "allOf") {
        check_parts(document, part, value, at)?;
    }
    for choices in
        ["oneOf", "anyOf"].map(|name| list(schema, name)).into_iter().filter(|list| !list.is_empty())
    {
        let faults: Vec<String> =
            choices.iter().filter_map(|choice| validate(document, choice, value, at).err()).collect();
        if faults.len() == choices.len() {
            return Err(faults.join("; or "));
        }
    }
    check_type(schema, value, at)?;
    if let Some(values) = schema.get("enum").and_then(Value::as_array)
        && !values.contains(value)
    {
        return Err(format!("{at} is {value}, not one of {values:?}"));
    }
    let number = |name: &str| schema.get(name).and_then(Value::as_f64);
    if let Some(given) = value.as_f64()
        && (number("minimum").is_some_and(|least| given < least)
            || number("maximum").is_some_and(|most| given > most))
    {
        return Err(format!("{at} is {given}, out of its bounds"));
    }
    if let Some(items) = schema.get("items") {
        for (place, item) in value.as_array().into_iter().flatten().enumerate() {
            validate(document, items, item, &format!("{at}[{place}]"))?;
        }
    }
    let empty = Map::new();
    check_fields(document, schema, value.as_object().unwrap_or(&empty), at, value.is_object())
}

fn check_fields(
    document: &Value,
    schema: &Value,
    fields: &Map<String, Value>,
    at: &str,
    is_object: bool,
) -> Result<(), String> {
    let missing = |name: &&Value| name.as_str().is_some_and(|name| !fields.contains_key(name));
    if let Some(name) = list(schema, "required").iter().find(missing).filter(|_| is_object) {
        return Err(format!("{at} has no {name}"));
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    let additional = schema.get("additionalProperties").filter(|additional| additional.is_object());
    for (name, value) in fields {
        let schema = properties.and_then(|properties| properties.get(name)).or(additional);
        if let Some(schema) = schema {
            validate(document, schema, value, &format!("{at}.{name}"))?;
        }
    }
    Ok(())
}

fn check_type(schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let types = match schema.get("type") {
        Some(Value::String(one)) => vec![one.as_str()],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => return Ok(()),
    };
    let fits = |name: &&str| match *name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        _ => false,
    };
    match types.iter().any(fits) {
        true => Ok(()),
        false => Err(format!("{at} is {value}, not {types:?}")),
    }
}

/// The names that an object of this schema may have; none if it may have any.
fn known_fields(document: &Value, schema: &Value) -> Option<BTreeSet<String>> {
    let schema = resolve(document, schema);
    let is_open =
        schema.get("additionalProperties").is_some_and(|additional| *additional != Value::Bool(false));
    let parts: Vec<&Value> = ["allOf", "oneOf", "anyOf"].iter().flat_map(|name| list(schema, name)).collect();
    let properties = schema.get("properties").and_then(Value::as_object);
    if is_open || (properties.is_none() && parts.is_empty()) {
        return None;
    }
    let mut known: BTreeSet<String> = properties.into_iter().flat_map(Map::keys).cloned().collect();
    for part in parts {
        let is_object = resolve(document, part).get("type").is_none_or(|name| name == "object");
        if is_object {
            known.extend(known_fields(document, part)?);
        }
    }
    Some(known)
}

fn resolve<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let place = schema.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix('#'));
    place.map_or(schema, |place| document.pointer(place).unwrap_or(&Value::Null))
}

fn list<'a>(schema: &'a Value, name: &str) -> &'a [Value] {
    schema.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn check_references(document: &Value, value: &Value) {
    match value {
        Value::Object(fields) => {
            if let Some(place) = fields.get("$ref").and_then(Value::as_str) {
                assert!(document.pointer(&place[1..]).is_some(), "{place} is not in the document");
            }
            fields.values().for_each(|value| check_references(document, value));
        }
        Value::Array(values) => values.iter().for_each(|value| check_references(document, value)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fault(schema: &Value, value: Value) -> String {
        let document = json!({ "components": { "schemas": { "Named": {
            "type": "object", "required": ["name"], "properties": { "name": { "type": "string" } } } } } });
        validate(&document, schema, &value, "body").err().unwrap_or_default()
    }

    #[test]
    fn a_path_behind_the_gateway_is_that_of_its_service() {
        let gateway = SocketAddr::from(([127, 0, 0, 1], 1));
        register_targets(gateway, |service| service != "knowledge", |setting| setting == "BUILD_SERVICE_URL");
        assert_eq!(find_target(1, "/kv/api/portal/goals"), Some(("portal", "/api/portal/goals")));
        for other in ["/kvx", "/build/api/projects", "/core/", "/auth/login"] {
            assert_eq!(find_target(1, other), None, "{other}");
        }
        let document = json!({ "paths": { "/kv/{rest}": { "get": 1 }, "/auth/login": { "post": 2 } } });
        for path in ["/kv", "/kv/", "/kv/a/b"] {
            assert_eq!(find_path(&document, path).map(|item| &item["get"]), Some(&json!(1)), "{path}");
        }
        assert!(find_path(&document, "/kvx").is_none());
    }

    #[test]
    fn what_a_schema_does_not_have_is_a_fault() {
        let named = json!({ "$ref": "#/components/schemas/Named" });
        assert_eq!(fault(&named, json!({ "name": "x" })), "");
        assert_eq!(fault(&named, json!({})), "body has no \"name\"");
        assert_eq!(fault(&named, json!({ "name": 1 })), "body.name is 1, not [\"string\"]");
        assert_eq!(
            fault(&named, json!({ "name": "x", "y": 1 })),
            "body has a field `y` that is not documented"
        );
        let list = json!({ "type": "array", "items": named });
        assert_eq!(fault(&list, json!([{ "name": "x" }, {}])), "body[1] has no \"name\"");
        let nullable = json!({ "oneOf": [named, { "type": "null" }] });
        assert_eq!(fault(&nullable, Value::Null), "");
        assert!(!fault(&nullable, json!({ "name": "x", "y": 1 })).is_empty());
        let flattened =
            json!({ "allOf": [named, { "type": "object", "properties": { "y": { "type": "integer" } } }] });
        assert_eq!(fault(&flattened, json!({ "name": "x", "y": 1 })), "");
        assert!(!fault(&flattened, json!({ "name": "x", "z": 1 })).is_empty());
        let open = json!({ "type": "object", "additionalProperties": { "type": "integer" } });
        assert_eq!(fault(&open, json!({ "any": 1 })), "");
        assert!(!fault(&open, json!({ "any": "x" })).is_empty());
    }
}
