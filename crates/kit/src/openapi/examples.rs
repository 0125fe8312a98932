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
            add_to_contents(body, |schema| request(schema, &components));
        }
        let responses = operation.get_mut("responses").and_then(Value::as_object_mut);
        for (status, response) in responses.into_iter().flatten() {
            let description =
                response.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
            add_to_contents(response, |schema| {
                let mut example = example(schema, &components, DEEPEST);
                if status.as_str() >= "400" {
                    describe_error(&mut example, &description);
                }
                example
            });
        }
    }
}

fn add_to_contents(body: &mut Value, example: impl Fn(&Value) -> Value) {
    let contents = body.get_mut("content").and_then(Value::as_object_mut);
    for (kind, content) in contents.into_iter().flatten() {
        let Some(content) = content.as_object_mut().filter(|_| kind.ends_with("json")) else { continue };
        if content.contains_key("example") || content.contains_key("examples") {
            continue;
        }
        let example = example(content.get("schema").unwrap_or(&Value::Null));
        content.insert("example".to_owned(), example);
    }
}

/// The example of a request: what it must have, and optional fields that have an example of their own. All optional fields
/// together may contradict each other.
fn request(schema: &Value, components: &Value) -> Value {
    let mut request = example(schema, components, DEEPEST);
    let schema = resolved(schema, components);
    let required = schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if let (Some(fields), Some(properties)) = (request.as_object_mut(), schema.get("properties")) {
        let has_own = |name: &str| properties.get(name).is_some_and(|field| field.get("example").is_some());
        fields.retain(|name, _| required.contains(&name.as_str().into()) || has_own(name));
    }
    request
}

/// Puts the code and the meaning of an error, which its description has, into its example.
fn describe_error(example: &mut Value, description: &str) {
    let Some((codes, meaning)) = description.split_once(": ") else { return };
    let Some(fields) = example.as_object_mut().filter(|fields| fields.contains_key("code")) else { return };
    fields.insert("code".to_owned(), codes.split('`').nth(1).unwrap_or_default().into());
    fields.insert("error".to_owned(), meaning.into());
}

fn resolved<'a>(schema: &'a Value, components: &'a Value) -> &'a Value {
    let reference = schema.get("$ref").and_then(Value::as_str);
    let place = reference.and_then(|text| text.strip_prefix("#/components"));
    place.map_or(schema, |place| components.pointer(place).unwrap_or(&Value::Null))
}

/// The schema's own example, or one made of its parts.
fn example(schema: &Value, components: &Value, depth: usize) -> Value {
    let schema = resolved(schema, components);
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
                "responses": { "409": { "description": "`CONFLICT`: it is there.", "content": { "application/json": {
                    "schema": { "type": "object", "properties": { "code": { "type": "string" } } } } } }, "200": { "content": { "text/event-stream": {}, "application/json": { "schema": {
                    "type": "array", "items": { "type": ["integer", "null"] } } } } } }
            } } },
            "components": { "schemas": { "X": { "type": "object", "required": ["kind", "self"], "properties": {
                "note": { "type": "string" },
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
        assert_eq!(example.get("note"), None, "which is optional");
        let error = &content["responses"]["409"]["content"]["application/json"]["example"];
        assert_eq!(*error, json!({ "code": "CONFLICT", "error": "it is there." }));
        let contents = &content["responses"]["200"]["content"];
        assert_eq!(contents["application/json"]["example"], json!([1]));
        assert!(contents["text/event-stream"].get("example").is_none());
    }
}
