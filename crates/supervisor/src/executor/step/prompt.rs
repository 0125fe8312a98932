//! The messages to an agent's model, cut to fit its context window.

use crate::knowledge::Passage;
use crate::records::Artifact;
use crate::workflow::{Agent, Output};
use llm::{Message, Model};

/// Tokens that a chat template adds around the messages.
const TEMPLATE_TOKENS: usize = 64;
const SHORTENED: &str = "[shortened here]";
const JSON_RULE: &str = "\nAnswer with one JSON value and nothing else: no text before or after it.";

/// What an agent reads.
pub struct PromptContext {
    /// The project's name.
    pub name: String,
    /// The space that the project is in.
    pub space: Option<String>,
    pub product_seed: String,
    pub inputs: Vec<Artifact>,
    pub passages: Vec<Passage>,
    /// The rejected text, and the feedback to it.
    pub feedback: Option<(String, String)>,
}

/// Returns the messages to the model: the agent's prompt as the system message, and everything that others have written
/// in the user message.
pub fn messages(agent: &Agent, context: &PromptContext, model: &Model) -> Vec<Message> {
    let rule = if agent.output == Output::Json { JSON_RULE } else { "" };
    let system = format!("{}{rule}", agent.prompt.trim_end());
    let sections = sections(context);
    let taken = model.tokens(&system) + agent.max_tokens + TEMPLATE_TOKENS;
    let budget = model.window().saturating_sub(taken);
    let user = fit(sections, budget, |text| model.tokens(text));
    vec![Message::system(system), Message::user(user)]
}

/// A heading, and a text that may be shortened.
type Section = (String, String);

fn sections(context: &PromptContext) -> Vec<Section> {
    let mut sections =
        vec![(format!("# Project: {}", one_line(&context.name)), context.product_seed.clone())];
    if let Some((rejected, feedback)) = &context.feedback {
        sections.push(("# The last version, which was rejected".to_owned(), rejected.clone()));
        let feedback = if feedback.trim().is_empty() { "None was given." } else { feedback };
        sections.push(("# Feedback: change this".to_owned(), feedback.to_owned()));
    }
    let inputs = context.inputs.iter();
    sections.extend(inputs.map(|input| (format!("# Material from {}", input.agent), input.content.clone())));
    if !context.passages.is_empty() {
        let passages: Vec<String> = context
            .passages
            .iter()
            .map(|passage| format!("From \"{}\":\n{}", one_line(&passage.title), passage.text.trim()))
            .collect();
        sections.push(("# Passages from the documents".to_owned(), passages.join("\n\n")));
    }
    sections
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// Joins the sections. If they do not fit, each gets an equal share of the tokens, and what short sections do not need goes
/// to the long ones.
fn fit(sections: Vec<Section>, budget: usize, tokens: impl Fn(&str) -> usize) -> String {
    let sizes: Vec<usize> = sections.iter().map(|(heading, text)| tokens(heading) + tokens(text)).collect();
    let share = fair_share(&sizes, budget);
    let fitted = sections.into_iter().zip(sizes).map(|((heading, text), size)| {
        let left = share.saturating_sub(tokens(&heading) + tokens(SHORTENED));
        let text = if size > share { shorten(&text, left, &tokens) } else { text };
        format!("{heading}\n\n{}", text.trim())
    });
    fitted.collect::<Vec<String>>().join("\n\n")
}

/// Returns the most tokens that each section may have, so that all together have at most `budget`.
fn fair_share(sizes: &[usize], budget: usize) -> usize {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable();
    let mut left = budget;
    for (index, size) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - index);
        if *size > share {
            return share;
        }
        left -= size;
    }
    usize::MAX
}

/// Returns the beginning of a text, up to the end of a line, with at most `share` tokens.
fn shorten(text: &str, share: usize, tokens: &impl Fn(&str) -> usize) -> String {
    let mut kept = text;
    loop {
        let size = tokens(kept);
        if size <= share {
            return format!("{}\n{SHORTENED}", kept.trim_end());
        }
        // A little less than the share of the bytes: the beginning may have more tokens than the rest.
        let mut end = kept.len() * share / (size + 1);
        while !kept.is_char_boundary(end) {
            end -= 1;
        }
        kept = kept[..end].rsplit_once('\n').map_or(&kept[..end], |(kept, _)| kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> usize {
        text.split_whitespace().count()
    }

    fn section(name: &str, lines: usize) -> Section {
        (name.to_owned(), (0..lines).map(|line| format!("{name} {line}\n")).collect())
    }

    #[test]
    fn what_fits_is_left_as_it_is() {
        let fitted = fit(vec![section("a", 2), section("b", 1)], 100, words);
        assert_eq!(fitted, "a\n\na 0\na 1\n\nb\n\nb 0");
    }

    #[test]
    fn the_long_ones_are_shortened_and_the_short_ones_are_not() {
        let fitted = fit(vec![section("a", 200), section("b", 3), section("c", 200)], 120, words);
        assert!(fitted.contains("b 0\nb 1\nb 2"), "{fitted}");
        assert_eq!(fitted.matches("[shortened here]").count(), 2);
        assert!((80..=120).contains(&words(&fitted)), "{}", words(&fitted));
    }

    #[test]
    fn a_window_that_is_far_too_small_still_gives_a_message() {
        let fitted = fit(vec![section("a", 200), section("b", 200)], 0, words);
        assert!(words(&fitted) < 20, "{fitted}");
    }
}
