//! Worksheets: what an agent leaves if its model is too small to write a document. A worksheet has what is known of the
//! project, and the sections that the agent's prompt asks for, each as a question to the reader.
//!
//! The model is not asked. Given the whole prompt, it repeats a line without end; given one section at a time, nearly
//! all that it adds is not supported by what is known (docs/decisions/0011).

use super::answer::{Failure, ProgressReporter, StepOutput, step_output};
use super::prompt::PromptContext;
use crate::workflow::{Agent, Output};
use llm::{Model, Usage};

/// Writes the worksheet of an agent. Fails if the model is missing, since a missing model may be a large one.
pub fn write(
    agent: &Agent,
    context: &PromptContext,
    model: &Model,
    progress: &ProgressReporter<'_>,
) -> Result<StepOutput, Failure> {
    model.check()?;
    let known = known_sentences(context);
    let sheet = worksheet(model.model(), &known, context.feedback.as_ref(), &sections(&agent.prompt));
    let sheet = if agent.output == Output::Code { commented(&sheet) } else { sheet };
    progress.show(&sheet);
    step_output(agent, model, &sheet, Usage::default())
}

/// A section of the document.
#[derive(Debug, PartialEq)]
struct Section {
    heading: String,
    /// What the prompt asks for in this section.
    question: String,
}

/// Returns the sections that a prompt asks for: its second-level headings, with the text below each.
fn sections(prompt: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for line in prompt.lines().map(str::trim) {
        match (line.strip_prefix("## "), sections.last_mut()) {
            (Some(heading), _) => {
                sections.push(Section { heading: heading.trim().to_owned(), question: String::new() });
            }
            (None, Some(section)) if !line.is_empty() => {
                let space = if section.question.is_empty() { "" } else { " " };
                section.question.push_str(space);
                section.question.push_str(line);
            }
            _ => {}
        }
    }
    sections
}

/// Returns what is known of the project: the sentences of its seed, and the first sentence of each passage.
fn known_sentences(context: &PromptContext) -> Vec<String> {
    let seed = sentences(&context.product_seed).into_iter();
    let found = context.passages.iter().flat_map(|passage| {
        let first = sentences(&passage.text).into_iter().next();
        first.map(|sentence| format!("{sentence} (from \"{}\")", passage.title))
    });
    seed.chain(found).collect()
}

/// Returns the sentences of a text, each on one line.
fn sentences(text: &str) -> Vec<String> {
    let line = text.split_whitespace().collect::<Vec<&str>>().join(" ");
    words::sentences(&line).into_iter().map(|range| line[range].to_owned()).collect()
}

fn worksheet(
    model: &str,
    known: &[String],
    feedback: Option<&(String, String)>,
    sections: &[Section],
) -> String {
    std::iter::once(heading(model, known, feedback)).chain(sections.iter().map(paragraph)).collect()
}

/// Returns what a worksheet begins with: what is known.
fn heading(model: &str, known: &[String], feedback: Option<&(String, String)>) -> String {
    let mut text = format!(
        "> A worksheet: `{model}` is too small a model to write this document. Give the agent a larger one, or answer \
         the questions yourself.\n\n## What is known\n\n"
    );
    known.iter().for_each(|sentence| text.push_str(&format!("- {sentence}\n")));
    if let Some((_, feedback)) = feedback {
        text.push_str(&format!("\n## Feedback to work in\n\n{}\n", feedback.trim()));
    }
    text
}

/// Returns a section of a worksheet: its question.
fn paragraph(section: &Section) -> String {
    format!("\n## {}\n\n*To be answered:* {}\n", section.heading, section.question)
}

/// Turns the text into comments of the form that most languages have.
fn commented(text: &str) -> String {
    text.lines().map(|line| format!("# {line}").trim_end().to_owned() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sections_are_those_of_the_prompt() {
        let found = sections("You are.\n\nRules:\n- x\n\n## One\nFirst.\nMore.\n\n## Two\nSecond?\n");
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].heading.as_str(), found[0].question.as_str()), ("One", "First. More."));
        assert_eq!(sections("Answer with code only."), []);
    }

    #[test]
    fn a_worksheet_has_what_is_known_and_the_open_questions() {
        let section = Section { heading: "Risks".into(), question: "What could go wrong?".into() };
        let feedback = (String::new(), "Name the mites.".to_owned());
        let known = sentences("An app that keeps a diary\nof each hive. It works without a network.");
        let text = worksheet("tiny", &known, Some(&feedback), &[section]);
        let listed = "- An app that keeps a diary of each hive.\n- It works without a network.\n";
        assert!(text.contains("`tiny`"), "{text}");
        assert!(text.contains(&format!("## What is known\n\n{listed}")), "{text}");
        assert!(text.contains("## Feedback to work in\n\nName the mites.\n"), "{text}");
        assert!(text.ends_with("## Risks\n\n*To be answered:* What could go wrong?\n"), "{text}");
        assert_eq!(commented("a\n\nb\n"), "# a\n#\n# b\n");
    }
}
