//! Code in a document's text stands between fences, as in Markdown, so that it can be recognised later.

/// A fence without a language.
pub(crate) const FENCE: &str = "```";

/// Returns cleaned code between fences. The fences are longer than any in the code.
pub(crate) fn fenced(language: &str, code: &str) -> String {
    let longest =
        code.lines().filter_map(length).max().map_or(FENCE.len(), |inner| FENCE.len().max(inner + 1));
    let fence = "`".repeat(longest.min(LONGEST));
    let language: String =
        language.chars().take_while(|c| c.is_alphanumeric() || "+-#_.".contains(*c)).collect();
    format!("{fence}{language}\n{code}\n{fence}")
}

/// A longer fence is decoration.
const LONGEST: usize = 16;

/// Returns the number of backticks with which a line begins, if it is a fence.
pub(crate) fn length(line: &str) -> Option<usize> {
    let line = line.trim_start();
    let after = line.trim_start_matches('`');
    let length = line.len() - after.len();
    (length >= FENCE.len() && !after.contains('`')).then_some(length)
}

/// Returns whether a line closes a fence of this length.
pub(crate) fn closes(line: &str, length_of_open: usize) -> bool {
    length(line).is_some_and(|length| length >= length_of_open) && line.trim().chars().all(|c| c == '`')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_are_longer_than_those_inside() {
        assert_eq!(fenced("sh", "ls"), "```sh\nls\n```");
        assert_eq!(fenced("a b`", "```\nls\n```"), "````a\n```\nls\n```\n````");
        assert_eq!((length("  ```rust"), length("``x"), length("```a``` b")), (Some(3), None, None));
        assert!(closes("```", 3) && !closes("```rust", 3) && !closes("```", 4));
    }
}
