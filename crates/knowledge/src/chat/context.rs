//! What is put before the model, fitted to its window: instructions and question whole, then as many sources as have
//! room, best first and cut at the ends of sentences, then goals and earlier conversation with what is left.

use super::evidence::Sentence;
use super::source::Source;
use llm::{Message, Model};

const GROUNDING: &str = include_str!("../../prompts/grounding.md");
/// What templates and our own words around the parts take.
const AROUND: usize = 64;
/// A source of which less than this has room is left out.
const SHORTEST_SOURCE: usize = 24;

pub struct Parts<'a> {
    /// The agent's task, or the caller's own words in its place.
    pub task: &'a str,
    pub question: &'a str,
    /// How what the question names is connected.
    pub connections: &'a [String],
    pub goals: &'a str,
    pub history: &'a str,
    /// Tokens kept for the answer.
    pub answer: usize,
}

pub struct Context {
    pub messages: Vec<Message>,
    /// Those that had room, in order.
    pub sources: Vec<Source>,
}

#[derive(Debug, thiserror::Error)]
#[error("`query` and `systemPrompt` have {tokens} tokens, and this model has room for {most}")]
pub struct TooLong {
    tokens: usize,
    most: usize,
}

/// With `chosen` sentences, only these of the sources are put before the model.
pub fn build(
    model: &Model,
    parts: &Parts<'_>,
    sources: Vec<Source>,
    chosen: Option<&[&Sentence]>,
) -> Result<Context, TooLong> {
    let system = format!("{}\n{}", parts.task.trim(), GROUNDING.trim());
    let fixed = model.tokens(&system) + model.tokens(parts.question) + AROUND;
    let most = model.window().saturating_sub(parts.answer);
    let mut room = most.checked_sub(fixed).ok_or(TooLong { tokens: fixed, most })?;

    let mut quoted = String::new();
    let mut shown = Vec::new();
    for (place, source) in sources.into_iter().enumerate() {
        let head = head(shown.len() + 1, &source);
        let body = match chosen {
            Some(chosen) => match picked(&source, place, chosen) {
                Some(body) => body,
                // Numbered all the same: the answer may cite it.
                None => {
                    shown.push(source);
                    continue;
                }
            },
            None => source.text.clone(),
        };
        let Some(body) = cut(model, &harmless(&body), room.saturating_sub(model.tokens(&head))) else {
            break;
        };
        let entry = format!("{head}{body}\n");
        room = room.saturating_sub(model.tokens(&entry));
        quoted.push_str(&entry);
        shown.push(source);
    }
    let mut user = format!("Sources:\n{quoted}");
    let connections = harmless(&parts.connections.join("; "));
    for (title, text) in [("Connections", connections.as_str()), ("My goals", parts.goals.trim())] {
        let text = cut(model, text, room);
        add(model, &mut user, &mut room, title, text);
    }
    let history = last(model, parts.history.trim(), room);
    add(model, &mut user, &mut room, "Earlier conversation", history);
    user.push_str(&format!("\nQuestion: {}", parts.question));
    Ok(Context { messages: vec![Message::system(system), Message::user(user)], sources: shown })
}

fn add(model: &Model, user: &mut String, room: &mut usize, title: &str, text: Option<String>) {
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        let block = format!("\n{title}:\n{text}\n");
        *room = room.saturating_sub(model.tokens(&block));
        user.push_str(&block);
    }
}

fn head(number: usize, source: &Source) -> String {
    let mut above = source.headings.clone();
    if !source.title.is_empty() && above.first() != Some(&source.title) {
        above.insert(0, source.title.clone());
    }
    let above = harmless(&above.join(" > "));
    if above.is_empty() { format!("[{number}] ") } else { format!("[{number}] ({above}) ") }
}

/// The chosen sentences of a source, in its order.
fn picked(source: &Source, place: usize, chosen: &[&Sentence]) -> Option<String> {
    let own = chosen.iter().filter(|sentence| sentence.source == place);
    let texts: Vec<&str> = own.map(|sentence| &source.text[sentence.range.clone()]).collect();
    (!texts.is_empty()).then(|| texts.join(" "))
}

/// What a document says cannot look like a part of the prompt: no line of it begins like one of ours.
fn harmless(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join(" ")
}

/// As many whole sentences as have room; none where too little of them has.
fn cut(model: &Model, text: &str, room: usize) -> Option<String> {
    if model.tokens(text) <= room {
        return Some(text.to_owned());
    }
    let mut end = 0;
    let mut used = 0;
    for range in extract::sentences(text) {
        used += model.tokens(&text[end..range.end]);
        if used > room {
            break;
        }
        end = range.end;
    }
    (model.tokens(&text[..end]) >= SHORTEST_SOURCE).then(|| text[..end].to_owned())
}

/// The last whole sentences that have room: of a conversation, what was said last counts most.
fn last(model: &Model, text: &str, room: usize) -> Option<String> {
    if model.tokens(text) <= room {
        return Some(text.to_owned());
    }
    let mut start = text.len();
    let mut used = 0;
    for range in extract::sentences(text).into_iter().rev() {
        used += model.tokens(&text[range.start..start]);
        if used > room {
            break;
        }
        start = range.start;
    }
    (start < text.len()).then(|| text[start..].to_owned())
}
