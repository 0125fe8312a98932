//! Parses JSON from clients, with limited nesting.

use serde::de::DeserializeOwned;

pub const MAX_NESTING: usize = 64;
/// The largest JSON body, unless an operation has its own limit.
pub const MAX_BODY: usize = 1024 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum JsonFault {
    #[error("the body is nested deeper than {MAX_NESTING} levels")]
    TooDeep,
    #[error("the body is empty: JSON is due")]
    Empty,
    #[error("the body is not the JSON that is due: {0}")]
    Invalid(#[from] serde_json::Error),
}

pub fn parse<T: DeserializeOwned>(text: &[u8]) -> Result<T, JsonFault> {
    if text.iter().all(u8::is_ascii_whitespace) {
        return Err(JsonFault::Empty);
    }
    if nesting(text) > MAX_NESTING {
        return Err(JsonFault::TooDeep);
    }
    Ok(serde_json::from_slice(text)?)
}

fn nesting(text: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0usize, 0, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn nesting_stops_at_64() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse::<Value>(nested(64).as_bytes()).is_ok());
        assert!(matches!(parse::<Value>(nested(65).as_bytes()), Err(JsonFault::TooDeep)));
    }

    #[test]
    fn brackets_in_strings_do_not_count() {
        let text = format!(r#"{{"a": "\"{}"}}"#, "[".repeat(100));
        assert!(parse::<Value>(text.as_bytes()).is_ok());
    }

    #[test]
    fn what_is_not_json_says_where() {
        let fault = parse::<Value>(b"{\"a\": }").unwrap_err().to_string();
        assert!(fault.contains("line 1 column 7"), "{fault}");
    }
}
