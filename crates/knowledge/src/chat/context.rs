//! Builds the prompt and fits it to the model's window: instructions and question whole, then as many sources as fit, the
//! best first and cut at the ends of sentences, then goals and earlier conversation with what is left.

use super::source::Source;
use llm::{Message, Model};

/// Tokens that templates and our own words around the parts take.
const AROUND: usize = 64;
/// Tokens that templates put around a turn.
const TURN: usize = 8;
/// In bytes; hardly any text has longer tokens on average.
const LONGEST_TOKEN: usize = 12;
/// A source of which fewer tokens than this fit is left out.
const SHORTEST_SOURCE: usize = 24;

pub struct PromptParts<'a> {
    /// What the model is told to do.
    pub system: &'a str,
    /// What the last line calls what is asked.
    pub asked: &'a str,
    pub question: &'a str,
    /// Connections of what the question names.
    pub connections: &'a [String],
    pub goals: &'a str,
    pub history: &'a str,
    /// Tokens kept for the answer, and for pictures.
    pub kept: usize,
}

pub struct Context {
    pub messages: Vec<Message>,
    /// The sources that fit, in order.
    pub sources: Vec<Source>,
}

#[derive(Debug, thiserror::Error)]
#[error(
    "the question and its instructions have {tokens} tokens, and with sources this model has room for {most}"
)]
pub struct TooLong {
    tokens: usize,
    most: usize,
}

/// Builds the prompt.
pub fn build(model: &Model, parts: &PromptParts<'_>, sources: Vec<Source>) -> Result<Context, TooLong> {
    let system = parts.system.trim();
    let most = model.window().saturating_sub(parts.kept);
    let fixed = tokens(model, system, most) + tokens(model, parts.question, most) + AROUND;
    let room = most.checked_sub(fixed).filter(|room| *room >= SHORTEST_SOURCE);
    let mut room = room.ok_or(TooLong { tokens: fixed, most })?;

    let mut quoted = String::new();
    let mut shown = Vec::new();
    for source in sources {
        let head = head(shown.len() + 1, &source);
        let (body, space) = (harmless(&source.text), room.saturating_sub(model.tokens(&head)));
        let least = if shown.is_empty() { 1 } else { SHORTEST_SOURCE };
        let kept = cut(model, &body, space, least)
            .or_else(|| shown.is_empty().then(|| beginning(model, &body, space)));
        // After a source that was cut, nothing less important is added.
        room = if kept.as_ref() == Some(&body) { space.saturating_sub(model.tokens(&body)) } else { 0 };
        let Some(kept) = kept else { break };
        quoted.push_str(&format!("{head}{kept}\n"));
        shown.push(source);
    }
    let mut user = if shown.is_empty() { String::new() } else { format!("Sources:\n{quoted}") };
    let connections = harmless(&parts.connections.join("; "));
    for (title, text) in [("Connections", connections.as_str()), ("My goals", parts.goals.trim())] {
        let text = cut(model, text, room, 1);
        add(model, &mut user, &mut room, title, text);
    }
    let history = last(model, parts.history.trim(), room);
    add(model, &mut user, &mut room, "Earlier conversation", history);
    user.push_str(&format!("\n{}: {}", parts.asked, parts.question));
    Ok(Context { messages: vec![Message::system(system), Message::user(user)], sources: shown })
}

/// Builds the prompt of a conversation without sources, with as many of its last turns as fit.
pub fn conversation(
    model: &Model,
    system: &str,
    history: &str,
    question: &str,
    kept: usize,
) -> Result<Vec<Message>, TooLong> {
    let most = model.window().saturating_sub(kept);
    let fixed = tokens(model, system, most) + tokens(model, question, most) + AROUND;
    let mut room = most.checked_sub(fixed).ok_or(TooLong { tokens: fixed, most })?;
    let mut messages = vec![Message::user(question)];
    for turn in turns(history).into_iter().rev() {
        let Some(left) = room.checked_sub(tokens(model, &turn.text, room) + TURN) else { break };
        room = left;
        messages.push(turn);
    }
    messages.push(Message::system(system.trim()));
    messages.reverse();
    Ok(messages)
}

/// Splits a conversation, whose lines say who speaks. What comes before the first of them is the user's.
fn turns(history: &str) -> Vec<Message> {
    let mut turns: Vec<Message> = Vec::new();
    for line in history.lines() {
        let new = match (line.strip_prefix("User: "), line.strip_prefix("Assistant: ")) {
            (Some(text), _) => Some(Message::user(text)),
            (_, Some(text)) => Some(Message::assistant(text)),
            _ if turns.is_empty() => Some(Message::user(line)),
            _ => None,
        };
        match (new, turns.last_mut()) {
            (Some(turn), _) => turns.push(turn),
            (None, Some(last)) => last.text.push_str(&format!("\n{line}")),
            (None, None) => {}
        }
    }
    turns
}

fn add(model: &Model, user: &mut String, room: &mut usize, title: &str, text: Option<String>) {
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        let block = format!("\n{title}:\n{text}\n");
        *room = room.saturating_sub(model.tokens(&block));
        user.push_str(&block);
    }
}

fn head(number: usize, source: &Source) -> String {
    let above = harmless(&source.above().join(" > "));
    if above.is_empty() { format!("[{number}] ") } else { format!("[{number}] ({above}) ") }
}

/// Joins the lines of a text, so that no line of a document looks like a part of the prompt.
fn harmless(text: &str) -> String {
    // Every character that breaks a line is white space.
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// Counts tokens. A text that is far too long is estimated instead.
fn tokens(model: &Model, text: &str, most: usize) -> usize {
    if text.len() > most * LONGEST_TOKEN {
        (text.len() / LONGEST_TOKEN).max(most + 1)
    } else {
        model.tokens(text)
    }
}

/// Returns as many whole sentences as fit; none if that is less than `least` tokens.
fn cut(model: &Model, text: &str, room: usize, least: usize) -> Option<String> {
    if tokens(model, text, room) <= room {
        return Some(text.to_owned());
    }
    let whole = text;
    let text = &whole[..whole.floor_char_boundary(room * LONGEST_TOKEN)];
    let mut end = 0;
    let mut used = 0;
    for range in words::sentences(text) {
        used += model.tokens(&text[end..range.end]);
        // A sentence that reaches the end of the part may continue behind it.
        if used > room || (range.end == text.len() && text.len() < whole.len()) {
            break;
        }
        end = range.end;
    }
    (model.tokens(&text[..end]) >= least).then(|| text[..end].to_owned())
}

/// Returns as many words of an endless sentence as fit.
fn beginning(model: &Model, text: &str, room: usize) -> String {
    let mut end = text.len().min(room * LONGEST_TOKEN);
    while end > 0 {
        let kept = &text[..text.floor_char_boundary(end)];
        let kept = kept.rsplit_once(' ').map_or(kept, |(kept, _)| kept);
        if model.tokens(kept) <= room {
            return kept.to_owned();
        }
        end = end * 3 / 4;
    }
    String::new()
}

/// Returns the last whole sentences that fit: in a conversation, the end matters most.
fn last(model: &Model, text: &str, room: usize) -> Option<String> {
    if tokens(model, text, room) <= room {
        return Some(text.to_owned());
    }
    let whole = text;
    let text = &whole[whole.ceil_char_boundary(whole.len().saturating_sub(room * LONGEST_TOKEN))..];
    let mut start = text.len();
    let mut used = 0;
    for range in words::sentences(text).into_iter().rev() {
        used += model.tokens(&text[range.start..start]);
        if used > room || (range.start == 0 && text.len() < whole.len()) {
            break;
        }
        start = range.start;
    }
    (start < text.len()).then(|| text[start..].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm::{Chat, ChatModel, Reply};
    use std::sync::Arc;

    /// Every word is a token.
    struct Words(usize);

    impl ChatModel for Words {
        fn provider(&self) -> &'static str {
            "test"
        }

        fn model(&self) -> &str {
            "words"
        }

        fn window(&self) -> usize {
            self.0
        }

        fn tokens(&self, text: &str) -> usize {
            text.split_whitespace().count()
        }

        fn chat(&self, _: Chat) -> Reply {
            Box::pin(futures_util::stream::empty())
        }
    }

    const ANSWER: usize = 50;

    fn built(window: usize, sources: usize) -> Result<Context, TooLong> {
        let sentence = "One two three four five six seven eight nine ten. ";
        let texts = (1..=sources).map(|n| format!("Source{n}. {}", sentence.repeat(6)));
        let parts = PromptParts {
            system: "Answer.\nUse only the sources.",
            asked: "Question",
            question: "Which is it?",
            connections: &[],
            goals: "Goal one is this. Goal two is that.",
            history: "User: the first thing was said. Assistant: the last thing was said.",
            kept: ANSWER,
        };
        let model = Model::new(Arc::new(Words(window)));
        build(&model, &parts, Source::of_texts(texts))
    }

    #[test]
    fn everything_is_there_where_there_is_room() {
        let context = built(1000, 3).unwrap();
        let [system, user] = context.messages.as_slice() else { panic!("two messages") };
        assert!(system.text.starts_with("Answer.\n"));
        assert_eq!(context.sources.len(), 3);
        let parts =
            ["[1] Source1.", "[2] Source2.", "[3] Source3.", "Goal two", "the first thing", "the last thing"];
        let places: Vec<usize> = parts.iter().map(|part| user.text.find(part).expect(part)).collect();
        assert!(places.is_sorted(), "{}", user.text);
        assert!(user.text.ends_with("\n\nQuestion: Which is it?"));
    }

    #[test]
    fn whatever_the_window_the_prompt_fits_and_is_cut_at_sentences() {
        let smallest = (0..2000).find(|window| built(*window, 3).is_ok()).unwrap();
        let mut sources_before = 0;
        for window in smallest..smallest + 400 {
            let context = built(window, 3).unwrap();
            let words = context.messages.iter().map(|message| message.text.split_whitespace().count());
            assert!(words.sum::<usize>() + ANSWER <= window, "{window}");
            let user = &context.messages[1].text;
            // Goals and conversation go before a source does.
            let whole = user.matches(" nine ten.").count() == 18;
            assert!(whole || !user.contains("Earlier conversation"), "{window}: {user}");
            let sources = user.lines().filter(|line| line.starts_with('['));
            assert!(sources.clone().all(|line| line.ends_with('.')), "{window}: {user}");
            assert_eq!(sources.count(), context.sources.len());
            assert!(context.sources.len() >= sources_before, "{window} {sources_before}: {user}");
            sources_before = context.sources.len();
        }
        assert_eq!(sources_before, 3);
        let error = built(smallest - 1, 3).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("tokens"), "{error}");
    }

    #[test]
    fn a_conversation_has_its_last_turns_as_they_were_said() {
        let model = Model::new(Arc::new(Words(240)));
        let history = "Before all.\nUser: Write a poem.\nAssistant: Roses\nare red.\nUser: Longer.";
        let said = |window_history: &str| {
            let messages = conversation(&model, "Be kind.", window_history, "In German", 100).unwrap();
            messages.into_iter().map(|message| message.text).collect::<Vec<String>>()
        };
        let all = ["Be kind.", "Before all.", "Write a poem.", "Roses\nare red.", "Longer.", "In German"];
        assert_eq!(said(history), all);
        let long = format!("User: {}\nAssistant: Yes.", "word ".repeat(60));
        assert_eq!(said(&long), ["Be kind.", "Yes.", "In German"]);
        assert_eq!(said(""), ["Be kind.", "In German"]);
        assert!(conversation(&model, "Be kind.", "", &"word ".repeat(90), 100).is_err());
    }

    #[test]
    fn a_sentence_without_end_is_cut_all_the_same() {
        let model = Model::new(Arc::new(Words(1000)));
        let endless = "word ".repeat(5000);
        assert_eq!(cut(&model, &endless, 100, 1), None);
        let kept = beginning(&model, &endless, 100);
        assert!((50..=100).contains(&kept.split(' ').count()), "{}", kept.len());
        assert_eq!(beginning(&model, &endless, 0), "");
    }

    #[test]
    fn of_a_long_conversation_the_end_is_kept() {
        let model = Model::new(Arc::new(Words(1000)));
        let text = "First was this. Then came that. Last of all is here.";
        assert_eq!(last(&model, text, 8).unwrap(), "Then came that. Last of all is here.");
        assert_eq!(last(&model, text, 7).unwrap(), "Last of all is here.");
        assert_eq!(last(&model, text, 2), None);
        assert_eq!(last(&model, text, 100).unwrap(), text);
    }
}
