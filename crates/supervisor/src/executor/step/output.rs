//! Makes an artifact of a model's answer, in the form of its type.

use crate::workflow::Output;
use serde::de::IgnoredAny;

const FENCE: &str = "```";

/// Returns the artifact, and a warning about it for the log; or why the answer cannot be used.
pub fn artifact(output: Output, answer: &str, cut_off: bool) -> Result<(String, Option<String>), String> {
    let text = answer.replace('\0', "");
    let text = text.trim();
    if text.is_empty() {
        return Err("the model's answer is empty".to_owned());
    }
    let note = cut_off.then(|| "its answer reached `max_tokens` and is cut off there".to_owned());
    match output {
        Output::Markdown if cut_off => Ok((up_to_a_sentence(text).to_owned(), note)),
        Output::Markdown => Ok((text.to_owned(), note)),
        Output::Code => Ok((unfenced(text).to_owned(), note)),
        Output::Json if cut_off => {
            Err("the model's answer reached `max_tokens` and is not whole JSON".to_owned())
        }
        Output::Json => {
            let json = unfenced(text);
            let parsed = kit::json::parse::<IgnoredAny>(json.as_bytes());
            parsed.map_err(|fault| format!("the model's answer is not JSON: {fault}"))?;
            Ok((json.to_owned(), note))
        }
    }
}

/// Returns the content of a fenced block, if the text has exactly one; otherwise the text.
fn unfenced(text: &str) -> &str {
    let Some((_, after)) = text.split_once(FENCE) else { return text };
    let Some((inside, after)) = after.split_once(FENCE) else { return text };
    if after.contains(FENCE) {
        return text;
    }
    // The rest of the fence's line is the language.
    inside.split_once('\n').map_or(text, |(_, inside)| inside.trim_end())
}

/// Cuts off a last sentence without an end, unless that would remove half of the text.
fn up_to_a_sentence(text: &str) -> &str {
    let ends = text.rmatch_indices(['.', '!', '?', '\n', '|']).map(|(start, found)| start + found.len());
    let mut ends = ends.filter(|end| *end > text.len() / 2);
    ends.next().map_or(text, |end| text[..end].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_fenced_block_is_taken_out_of_its_fence_and_several_are_left() {
        let code = |text| artifact(Output::Code, text, false).unwrap().0;
        assert_eq!(code("Here:\n```rust\nfn main() {}\n```\nDone."), "fn main() {}");
        assert_eq!(code("fn main() {}\n"), "fn main() {}");
        assert_eq!(code("```\na\n```\n```\nb\n```"), "```\na\n```\n```\nb\n```");
        assert_eq!(code("```\nno end"), "```\nno end");
    }

    #[test]
    fn json_has_to_be_json() {
        let json = |text| artifact(Output::Json, text, false);
        assert_eq!(json("```json\n{\"a\": 1}\n```").unwrap().0, "{\"a\": 1}");
        assert!(json("Sure! {\"a\": 1}").unwrap_err().contains("not JSON"));
        assert!(artifact(Output::Json, "{}", true).is_err());
    }

    #[test]
    fn an_answer_that_was_cut_off_ends_with_a_sentence_and_says_so() {
        let (text, note) = artifact(Output::Markdown, "# A\n\nOne is. Two is. Three i", true).unwrap();
        assert_eq!(text, "# A\n\nOne is. Two is.");
        assert!(note.unwrap().contains("max_tokens"));
        assert_eq!(artifact(Output::Markdown, "a.b c d e f g h i", true).unwrap().0, "a.b c d e f g h i");
        assert!(artifact(Output::Markdown, " \n\0 ", false).is_err());
    }
}
