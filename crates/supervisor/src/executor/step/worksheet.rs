//! Worksheets: what an agent writes if its model is too small to write a document. A worksheet has what is known of the
//! project, and the sections that the agent's prompt asks for. The model writes one sentence for each section. It is kept
//! if every word of it is supported by what is known; otherwise the section stays a question to the reader.
//!
//! Given the whole prompt, such a model repeats a line without end, and most of what it adds is untrue
//! (docs/decisions/0011).

use super::answer::{Failure, ProgressReporter, StepOutput, read_answer, step_output};
use super::prompt::PromptContext;
use crate::workflow::{Agent, Output};
use llm::{Chat, Message, Model, Usage};
use std::collections::HashSet;
use words::{is_supported, stem_set, stems};

const LINE_TOKENS: usize = 48;
const TEMPERATURES: [f32; 2] = [0.2, 0.6];
const FEWEST_WORDS: usize = 4;
const MOST_WORDS: usize = 45;
/// The share of common words above which a sentence repeats another one.
const TOO_ALIKE: f64 = 0.7;

/// Examples for the model: a product, a section, and its sentence.
const EXAMPLES: [[&str; 3]; 3] = [
    [
        "A recipe app for home cooks. Cooks save recipes on the phone and read them in the kitchen.",
        "Users: each kind of user and what they know",
        "Home cooks who want their recipes at hand while they cook.",
    ],
    [
        "A timetable app for bus passengers. Passengers see how late the bus is.",
        "Risks: what could go wrong, and how it would be noticed",
        "The times are out of date, and passengers miss their bus.",
    ],
    [
        "A command-line tool that makes photos smaller. It makes photos smaller than one megabyte.",
        "Decisions: what was decided and why",
        "The smaller photo is written to a new file, so that no photo is lost.",
    ],
];

/// Writes the worksheet of an agent.
pub async fn write(
    agent: &Agent,
    context: &PromptContext,
    model: &Model,
    tried: u32,
    progress: &mut ProgressReporter<'_>,
) -> Result<StepOutput, Failure> {
    let known = known_sentences(context);
    let sections = sections(&agent.prompt);
    let (mut done, mut total) = (Vec::new(), Usage::default());
    let number = sections.len();
    let written = |text: String| if agent.output == Output::Code { commented(&text) } else { text };
    progress.show(&written(heading(model.model(), &known, context.feedback.as_ref())));
    for section in sections {
        let mut line = None;
        for (seed, temperature) in (tried * 10..).zip(TEMPERATURES) {
            let chat = Chat {
                messages: messages(&context.product_seed, &section),
                max_tokens: LINE_TOKENS,
                temperature,
                stop: vec!["\n".to_owned()],
                seed: u64::from(seed),
                urgent: false,
                tries: 1,
            };
            let (text, usage) = read_answer(model, chat, None).await?;
            total.input_tokens += usage.input_tokens;
            total.output_tokens += usage.output_tokens;
            line = supported_sentence(&text, &known, &done);
            if line.is_some() {
                break;
            }
        }
        progress.show(&written(paragraph(&section, line.as_deref())));
        done.push((section, line));
        progress.report((done.len() * 100 / number) as i64).await;
    }
    let sheet = worksheet(model.model(), &known, context.feedback.as_ref(), &done);
    step_output(agent, model, &written(sheet), total)
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

/// Returns the messages that ask for a section: the examples, each with its answer, and the question.
fn messages(seed: &str, section: &Section) -> Vec<Message> {
    let mut messages = Vec::new();
    for [product, section, answer] in EXAMPLES {
        messages.extend([Message::user(format!("{product}\n{section}")), Message::assistant(answer)]);
    }
    let question = section.question.split(['.', '?', ':']).next().unwrap_or_default();
    messages.push(Message::user(format!("{}\n{}: {question}", sentences(seed).join(" "), section.heading)));
    messages
}

/// Returns the whole sentence of an answer, if it says only what is known and no other section says it.
fn supported_sentence(answer: &str, known: &[String], done: &[(Section, Option<String>)]) -> Option<String> {
    let line = answer.lines().find(|line| !line.trim().is_empty())?;
    let line = line.trim().trim_matches(['"', '*', '#', '-', ' ']);
    let line = line[..=line.rfind(['.', '?', '!'])?].trim();
    let said = stems(line);
    let mut earlier = done.iter().filter_map(|(_, line)| line.as_ref());
    let holds_up = (FEWEST_WORDS..=MOST_WORDS).contains(&line.split_whitespace().count())
        && !said.is_empty()
        && is_supported(&said, &stems(&known.join(" ")), &HashSet::new())
        && (!denies(line) || denies(&known.join(" ")))
        && !earlier.any(|other| alike(&stem_set(line), &stem_set(other)) > TOO_ALIKE)
        && !is_circular(&said)
        && !has_loop(line);
    holds_up.then(|| line.to_owned())
}

fn denies(text: &str) -> bool {
    let mut words = text.split_whitespace().map(str::to_lowercase);
    words.any(|word| {
        ["not", "no", "never", "nobody", "nothing"].contains(&word.as_str()) || word.contains("n't")
    })
}

fn worksheet(
    model: &str,
    known: &[String],
    feedback: Option<&(String, String)>,
    done: &[(Section, Option<String>)],
) -> String {
    let paragraphs = done.iter().map(|(section, line)| paragraph(section, line.as_deref()));
    std::iter::once(heading(model, known, feedback)).chain(paragraphs).collect()
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

/// Returns a section of a worksheet: the model's sentence, if it was kept, and the question.
fn paragraph(section: &Section, line: Option<&str>) -> String {
    let line = line.map_or(String::new(), |line| format!("{line}\n\n"));
    format!("\n## {}\n\n{line}*To be answered:* {}\n", section.heading, section.question)
}

/// Turns the text into comments of the form that most languages have.
fn commented(text: &str) -> String {
    text.lines().map(|line| format!("# {line}").trim_end().to_owned() + "\n").collect()
}

/// Returns whether a sentence ends with the word that it began with: "the hive is where bees keep the hive".
fn is_circular(stems: &[String]) -> bool {
    stems.len() > 1 && stems.first() == stems.last()
}

/// Returns whether three words in a row come twice.
fn has_loop(line: &str) -> bool {
    let words: Vec<String> = line.split_whitespace().map(str::to_lowercase).collect();
    let mut seen = HashSet::new();
    !words.windows(3).all(|three| seen.insert(three))
}

/// Returns the share of the shorter one's words that both have.
fn alike(one: &HashSet<String>, other: &HashSet<String>) -> f64 {
    let fewer = one.len().min(other.len()).max(1);
    one.intersection(other).count() as f64 / fewer as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section() -> Section {
        Section { heading: "Risks".into(), question: "What could go wrong?".into() }
    }

    #[test]
    fn the_sections_are_those_of_the_prompt() {
        let found = sections("You are.\n\nRules:\n- x\n\n## One\nFirst.\nMore.\n\n## Two\nSecond?\n");
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].heading.as_str(), found[0].question.as_str()), ("One", "First. More."));
        assert_eq!(sections("Answer with code only."), []);
    }

    #[test]
    fn a_sentence_is_kept_if_it_is_whole_and_supported_by_what_is_known() {
        let known =
            sentences("An app for beekeepers that keeps a diary of each hive. It works without a network.");
        assert_eq!(known.len(), 2);
        let done = [(section(), Some("The hives are kept.".to_owned()))];
        let keep = |answer: &str| supported_sentence(answer, &known, &done);
        assert_eq!(
            keep("- The diary works without a network. And th").unwrap(),
            "The diary works without a network."
        );
        for bad in [
            "",
            "The diary",
            "A diary.",
            "The bees are happy, and the hive is happy.",
            "The hive is lost without a network.",
            "The app works, but not without a network.",
            "The hive is what beekeepers keep for the hives.",
            "The diary and the hive and the diary and the hive works.",
        ] {
            assert_eq!(keep(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_worksheet_has_what_is_known_and_the_open_questions() {
        let done = [(section(), None), (section(), Some("The hive is lost.".to_owned()))];
        let feedback = (String::new(), "Name the mites.".to_owned());
        let text = worksheet("tiny", &["A diary.".to_owned()], Some(&feedback), &done);
        assert!(text.contains("`tiny`") && text.contains("## What is known\n\n- A diary.\n"), "{text}");
        assert!(text.contains("## Feedback to work in\n\nName the mites.\n"), "{text}");
        assert!(text.contains("## Risks\n\n*To be answered:* What could go wrong?\n"), "{text}");
        assert!(
            text.ends_with("## Risks\n\nThe hive is lost.\n\n*To be answered:* What could go wrong?\n"),
            "{text}"
        );
        assert_eq!(commented("a\n\nb\n"), "# a\n#\n# b\n");
    }
}
