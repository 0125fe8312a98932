//! An example of each body in an OpenAPI document, put together from the examples of its fields.

use serde_json::{Map, Value};

/// Objects within objects that are shown; deeper, a schema may refer to itself.
const DEEPEST: usize = 8;

/// Adds an example to every body that has none.
pub fn add(document: &mut Value) {
    let components = document.get("components").cloned().unwrap_or_default();
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    let items = paths.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut);
    for operation in items.flat_map(Map::values_mut).filter_map(Value::as_object_mut) {
        if let Some(body) = operation.get_mut("requestBody") {
            add_to_contents(body, &components);
        }
        let responses = operation.get_mut("responses").and_then(Value::as_object_mut);
        for response in responses.into_iter().flat_map(Map::values_mut) {
            add_to_contents(response, &components);
        }
    }
}

fn add_to_contents(body: &mut Value, components: &Value) {
    let contents = body.get_mut("content").and_then(Value::as_object_mut);
    for (kind, content) in contents.into_iter().flatten() {
        let Some(content) = content.as_object_mut().filter(|_| kind.ends_with("json")) else { continue };
        if content.contains_key("example") || content.contains_key("examples") {
            continue;
        }
        let schema = content.get("schema").cloned().unwrap_or_default();
        content.insert("example".to_owned(), example(&schema, components, DEEPEST));
    }
}

/// The schema's own example, or one made of its parts.
fn example(schema: &Value, components: &Value, depth: usize) -> Value {
    let reference = schema.get("$ref").and_then(Value::as_str);
    if let Some(place) = reference.and_then(|text| text.strip_prefix("#/components")) {
        return components.pointer(place).map_or(Value::Null, |schema| example(schema, components, depth));
    }
    let first = |name: &str| schema.get(name).and_then(Value::as_array).and_then(|values| values.first());
    let own = schema.get("example").or_else(|| first("examples")).or_else(|| schema.get("const"));
    if let Some(own) = own.or_else(|| schema.get("default")).or_else(|| first("enum")) {
        return own.clone();
    }
    if depth == 0 {
        return Value::Null;
    }
    for choice in ["oneOf", "anyOf"] {
        let choices = schema.get(choice).and_then(Value::as_array).into_iter().flatten();
        if let Some(choice) = choices.into_iter().find(|choice| choice.get("type") != Some(&"null".into())) {
            return example(choice, components, depth - 1);
        }
    }
    if let Some(parts) = schema.get("allOf").and_then(Value::as_array) {
        let parts = parts.iter().map(|part| example(part, components, depth - 1));
        let fields = parts.filter_map(|part| part.as_object().cloned()).flatten();
        return Value::Object(fields.collect());
    }
    of_type(schema, components, depth)
}

fn of_type(schema: &Value, components: &Value, depth: usize) -> Value {
    match type_of(schema) {
        "object" => {
            let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
            let fields = fields.map(|(name, schema)| (name.clone(), example(schema, components, depth - 1)));
            Value::Object(fields.collect())
        }
        "array" => {
            let items = schema.get("items").map(|items| example(items, components, depth - 1));
            Value::Array(items.into_iter().collect())
        }
        "string" => match schema.get("format").and_then(Value::as_str) {
            Some("date-time") => "2026-11-16T09:30:00.000Z".into(),
            _ => "text".into(),
        },
        "integer" => schema.get("minimum").cloned().unwrap_or_else(|| 1.into()),
        "number" => 0.5.into(),
        "boolean" => true.into(),
        _ => Value::Null,
    }
}

/// Of a type that may also be null, the other one.
fn type_of(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(name)) => name,
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).find(|name| *name != "null").unwrap_or_default()
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_body_is_made_of_the_examples_of_its_fields() {
        let mut document = json!({
            "paths": { "/x": { "post": {
                "requestBody": { "content": { "application/json": { "schema": { "$ref": "#/components/schemas/X" } } } },
                "responses": { "200": { "content": { "text/event-stream": {}, "application/json": { "schema": {
                    "type": "array", "items": { "type": ["integer", "null"] } } } } } }
            } } },
            "components": { "schemas": { "X": { "type": "object", "properties": {
                "name": { "type": "string", "example": "Ada" },
                "kind": { "type": "string", "enum": ["a", "b"] },
                "self": { "oneOf": [{ "type": "null" }, { "$ref": "#/components/schemas/X" }] },
            } } } },
        });
        add(&mut document);
        let content = &document["paths"]["/x"]["post"];
        let example = &content["requestBody"]["content"]["application/json"]["example"];
        assert_eq!((&example["name"], &example["kind"]), (&json!("Ada"), &json!("a")));
        assert_eq!(example["self"]["self"]["name"], "Ada");
        let contents = &content["responses"]["200"]["content"];
        assert_eq!(contents["application/json"]["example"], json!([1]));
        assert!(contents["text/event-stream"].get("example").is_none());
    }
}
