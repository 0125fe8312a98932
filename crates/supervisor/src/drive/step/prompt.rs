//! What an agent is told, fitted to what its model can read.

use super::knowledge::Passage;
use crate::records::Artifact;
use crate::workflow::{Agent, Output};
use llm::{Message, Model};

/// For what a chat template adds around the messages.
const TEMPLATE_TOKENS: usize = 64;
const SHORTENED: &str = "[shortened here]";
const JSON_RULE: &str = "\nAnswer with one JSON value and nothing else: no text before or after it.";

pub struct Material {
    /// Of the project.
    pub name: String,
    pub product_seed: String,
    pub inputs: Vec<Artifact>,
    pub passages: Vec<Passage>,
    /// The rejected text, and what a person said to it.
    pub feedback: Option<(String, String)>,
}

/// The role goes before everything else; what others have written is material in the user's message.
pub fn messages(agent: &Agent, material: &Material, model: &Model) -> Vec<Message> {
    let rule = if agent.output == Output::Json { JSON_RULE } else { "" };
    let system = format!("{}{rule}", agent.prompt.trim_end());
    let sections = sections(material);
    let taken = model.tokens(&system) + agent.max_tokens + TEMPLATE_TOKENS;
    let budget = model.window().saturating_sub(taken);
    let user = fit(sections, budget, |text| model.tokens(text));
    vec![Message::system(system), Message::user(user)]
}

/// A heading, and the text that may be shortened.
type Section = (String, String);

fn sections(material: &Material) -> Vec<Section> {
    let mut sections =
        vec![(format!("# Project: {}", one_line(&material.name)), material.product_seed.clone())];
    if let Some((rejected, feedback)) = &material.feedback {
        sections.push(("# The last version, which was rejected".to_owned(), rejected.clone()));
        let feedback = if feedback.trim().is_empty() { "None was given." } else { feedback };
        sections.push(("# Feedback: change this".to_owned(), feedback.to_owned()));
    }
    let inputs = material.inputs.iter();
    sections.extend(inputs.map(|input| (format!("# Material from {}", input.agent), input.content.clone())));
    if !material.passages.is_empty() {
        let passages: Vec<String> = material
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

/// All of them where they fit. Else each gets an equal share, and what the short ones leave goes to the long ones.
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

/// The most that each may have, so that all together have at most `budget`.
fn fair_share(sizes: &[usize], budget: usize) -> usize {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable();
    let mut left = budget;
    for (place, size) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - place);
        if *size > share {
            return share;
        }
        left -= size;
    }
    usize::MAX
}

/// The beginning of a text, up to the end of a line, with at most `share` tokens.
fn shorten(text: &str, share: usize, tokens: &impl Fn(&str) -> usize) -> String {
    let mut kept = text;
    loop {
        let size = tokens(kept);
        if size <= share {
            return format!("{}\n{SHORTENED}", kept.trim_end());
        }
        // Less than its share of the bytes: the beginning may have more tokens than the rest.
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
