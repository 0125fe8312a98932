//! What is wrong with a field of a request, in the words of this project rather than in those of serde.

use crate::error::ApiError;

/// A field that cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub struct FieldFault {
    /// Where it is, such as `messages[0].role`; none if the request as a whole is wrong.
    pub field: Option<String>,
    pub message: String,
}

impl FieldFault {
    /// Makes a fault of an error of serde's. `text_of` returns the text of a parameter in a query string.
    pub(super) fn of<'a>(path: &str, cause: &str, text_of: impl Fn(&str) -> Option<&'a str>) -> Self {
        let path = (path != ".").then_some(path);
        if let Some(name) = between(cause, "missing field `", "`") {
            let field = path.map_or(name.to_owned(), |path| format!("{path}.{name}"));
            return Self { message: format!("`{field}` is missing"), field: Some(field) };
        }
        let Some(path) = path else { return Self { field: None, message: cause.to_owned() } };
        Self { field: Some(path.to_owned()), message: describe(path, cause, text_of(path)) }
    }
}

impl From<FieldFault> for ApiError {
    fn from(fault: FieldFault) -> Self {
        Self::invalid(fault.message)
    }
}

fn describe(path: &str, cause: &str, text: Option<&str>) -> String {
    let variant = cause.strip_prefix("unknown variant `").and_then(|rest| rest.split_once("`, expected "));
    if let Some((given, accepted)) = variant {
        let accepted = accepted.trim_start_matches("one of ").replace('`', "").replace(" or ", ", ");
        return format!("unknown `{path}` `{given}`: one of {accepted}");
    }
    let is_wrong = cause.starts_with("invalid type: ") || cause.starts_with("invalid value: ");
    let expected = cause.rsplit_once(", expected ").filter(|_| is_wrong);
    match (expected, text) {
        // In a query string all values are texts, so that its bounds say enough about a number.
        (Some((_, expected)), Some(text)) => {
            format!("`{path}` is `{text}`: expected {}", expected.trim_start_matches("a whole number from "))
        }
        (Some((_, expected)), None) => format!("`{path}` is not {}", in_terms_of_json(expected)),
        // A type that checks itself continues the sentence: "is longer than 9 characters".
        (None, _) if ["is ", "has ", "names "].iter().any(|verb| cause.starts_with(verb)) => {
            format!("`{path}` {cause}")
        }
        (None, Some(text)) => format!("`{path}` is `{text}`: {cause}"),
        (None, None) => format!("`{path}`: {cause}"),
    }
}

fn in_terms_of_json(expected: &str) -> &str {
    match expected {
        "a sequence" => "an array",
        "a map" => "an object",
        "string or map" => "a string",
        "f32" | "f64" => "a number",
        "i64" | "u64" | "u32" | "usize" => "a whole number",
        _ if expected.starts_with("struct ") => "an object",
        _ => expected,
    }
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.strip_prefix(before)?.strip_suffix(after)
}

#[cfg(test)]
mod tests {
    use crate::fields::{Text, Whole};
    use crate::request::{from_fields, from_query};
    use serde::Deserialize;
    use serde_json::{Value, json};

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Order {
        Newest,
        Oldest,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "only read")]
    struct Inner {
        name: String,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "only read")]
    struct Body {
        query: String,
        order: Option<Order>,
        limit: Option<Whole<1, 100>>,
        list: Option<Vec<Inner>>,
        text: Option<Text>,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "only read")]
    struct Parameters {
        order: Option<Order>,
        after: Option<String>,
        #[serde(default = "five")]
        limit: Whole<1, 100>,
    }

    fn five() -> Whole<1, 100> {
        Whole(5)
    }

    #[test]
    fn a_fault_names_the_field_and_what_is_accepted() {
        let with = |name: &str, value: Value| {
            let mut body = json!({ "query": "x" });
            body[name] = value;
            body
        };
        for (body, field, message) in [
            (json!({}), "query", "`query` is missing"),
            (with("query", json!(7)), "query", "`query` is not a string"),
            (with("order", json!("best")), "order", "unknown `order` `best`: one of newest, oldest"),
            (with("order", json!(1)), "order", "`order` is not a string"),
            (with("limit", json!(0)), "limit", "`limit` is not a whole number from 1 to 100"),
            (with("limit", json!(2.5)), "limit", "`limit` is not a whole number from 1 to 100"),
            (with("list", json!({})), "list", "`list` is not an array"),
            (with("list", json!(["x"])), "list[0]", "`list[0]` is not an object"),
            (with("list", json!([{ "name": "x" }, {}])), "list[1].name", "`list[1].name` is missing"),
            (with("text", json!("")), "text", "`text` is empty"),
            (with("text", json!("a\0b")), "text", "`text` has a NUL character"),
        ] {
            let fault = from_fields::<Body, _>(body).unwrap_err();
            assert_eq!((fault.field.as_deref(), fault.message.as_str()), (Some(field), message));
        }
    }

    #[test]
    fn a_fault_of_a_parameter_repeats_its_text() {
        for (query, message) in [
            ("limit=0", "`limit` is `0`: expected 1 to 100"),
            ("limit=many", "`limit` is `many`: expected 1 to 100"),
            ("limit=", "`limit` is ``: expected 1 to 100"),
            ("order=best", "unknown `order` `best`: one of newest, oldest"),
        ] {
            assert_eq!(from_query::<Parameters>(query).unwrap_err().message(), message);
        }
        let parameters: Parameters = from_query("order=&after=&limit=7").unwrap();
        assert_eq!((parameters.order.is_none(), parameters.after, parameters.limit), (true, None, Whole(7)));
    }
}
