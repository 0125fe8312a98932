//! Turns a question into what is searched for: completed from the conversation, and split if it asks for two things.

use words::{Language, stem_set};

/// Words that stand for something that was said before.
#[rustfmt::skip]
const REFERRING: [&str; 31] = [
    "it", "its", "they", "them", "their", "this", "that", "these", "those", "there", "then", "he", "him", "his", "she",
    "her", "one", "ones", "other", "others", "same", "else", "such", "er", "sie", "es", "dort", "dann", "damit",
    "davon", "dazu",
];
/// A question with fewer words of its own than this continues the one before.
const FEW_WORDS: usize = 2;
/// Words that a second question in the same sentence starts with, after "and" and a preposition at most.
#[rustfmt::skip]
const ASKING: [&str; 15] = [
    "what", "which", "who", "whose", "when", "where", "why", "how", "was", "welche", "welcher", "wer", "wann", "wo",
    "wie",
];
/// "How much", "how long".
const MEASURING: [&str; 4] = ["much", "mani", "long", "often"];
const AND: [&str; 4] = [", and ", " and ", ", und ", " und "];
const COMPARING: [(&str, &str); 5] = [
    ("difference between ", " and "),
    ("differences between ", " and "),
    ("compare ", " with "),
    ("compare ", " and "),
    ("unterschied zwischen ", " und "),
];

/// Words with which a question ends that asks for the older or the newer of two things.
#[rustfmt::skip]
const IN_TIME: [&str; 9] = [
    "first", "earlier", "later", "older", "oldest", "newer", "newest", "zuerst", "älter",
];
const CHOOSING: [&str; 7] = ["which", "what", "who", "welche", "welcher", "welches", "wer"];
/// With these, the question is about something else than the two things.
const NOT_CHOOSING: [&str; 9] = ["should", "must", "can", "do", "does", "did", "if", "happens", "on"];
/// In words: "which of them was built first".
const LONGEST_CHOICE: usize = 6;

/// Returns the question with the one before it, if it refers to that.
pub fn complete(question: &str, history: &str) -> String {
    match last_question(history) {
        Some(before) if refers_back(question) => format!("{before} {question}"),
        _ => question.to_owned(),
    }
}

/// Returns what is to be answered one by one: the question, or its parts.
pub fn parts(question: &str) -> Vec<String> {
    if let Some((one, other)) = compared(question) {
        return vec![format!("What is {one}?"), format!("What is {other}?")];
    }
    if let Some(parts) = chosen(question) {
        return parts;
    }
    let Some((first, second)) = split(question) else { return vec![question.to_owned()] };
    // What the second part is about stands in the first.
    let second = match refers_back(second) {
        true => format!("{first}? {second}"),
        false => second.to_owned(),
    };
    vec![format!("{first}?"), second]
}

/// Returns the two things that a question compares.
fn compared(question: &str) -> Option<(&str, &str)> {
    let lower = question.to_lowercase();
    // Other letters may have another length in lower case.
    (lower.len() == question.len()).then_some(())?;
    COMPARING.iter().find_map(|(before, between)| {
        let start = lower.find(before)? + before.len();
        let middle = start + lower[start..].find(between)?;
        let one = question[start..middle].trim();
        let other = question[middle + between.len()..].trim_end_matches(['?', '.', '!', ' ']);
        (!one.is_empty() && !other.is_empty()).then_some((one, other))
    })
}

/// Returns what is asked about each of the two things of "which came first, one or the other?".
fn chosen(question: &str) -> Option<Vec<String>> {
    let (asked, things) = question.trim_end_matches(['?', ' ']).rsplit_once(", ")?;
    let (one, other) = things.split_once(" or ").or_else(|| things.split_once(" oder "))?;
    let words: Vec<String> = asked.split(' ').map(str::to_lowercase).collect();
    let is_in = |word: &String, words: &[&str]| words.contains(&word.as_str());
    let chooses = is_in(&words[0], &CHOOSING)
        && words.len() <= LONGEST_CHOICE
        && !words.iter().any(|word| is_in(word, &NOT_CHOOSING));
    chooses.then_some(())?;
    let asked = if words.last().is_some_and(|last| is_in(last, &IN_TIME)) { "When was" } else { asked };
    Some([one, other].iter().map(|thing| format!("{asked} {thing}?")).collect())
}

fn split(question: &str) -> Option<(&str, &str)> {
    AND.iter().find_map(|and| {
        let (first, second) = question.split_once(and)?;
        let mut words = second.split(' ').take(2).map(str::to_lowercase);
        let asks = words.any(|word| ASKING.contains(&word.as_str()));
        // "And how much is recommended" is answered where the first part is.
        let is_whole = own_words(second) >= FEW_WORDS || has_referring(second);
        (asks && is_whole && own_words(first) >= FEW_WORDS).then_some((first, second))
    })
}

/// Returns the question at the end: before it, there may be the one that it continues.
pub fn last_part(question: &str) -> &str {
    // What follows may be a remark.
    let last = question.trim_end().rsplit_once("? ").filter(|(_, last)| last.ends_with('?'));
    last.map_or(question, |(_, last)| last)
}

/// Returns the answer before the question.
pub fn last_answer(history: &str) -> Option<&str> {
    history.rfind("Assistant: ").map(|at| &history[at..])
}

fn last_question(history: &str) -> Option<&str> {
    let questions = history.lines().filter_map(|line| line.strip_prefix("User: "));
    questions.map(str::trim).rfind(|question| !question.is_empty())
}

fn refers_back(question: &str) -> bool {
    let lower = question.to_lowercase();
    let continues =
        ["and ", "but ", "what about", "how about", "und "].iter().any(|start| lower.starts_with(start));
    continues || has_referring(&lower) || own_words(question) < FEW_WORDS
}

fn has_referring(question: &str) -> bool {
    let lower = question.to_lowercase();
    lower.split(|c: char| !c.is_alphanumeric()).any(|word| REFERRING.contains(&word))
}

/// Counts the words that say what a question is about.
fn own_words(question: &str) -> usize {
    let words = stem_set(question, Language::of(question).unwrap_or_default());
    words.iter().filter(|word| !MEASURING.contains(&word.as_str())).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HISTORY: &str =
        "User: What is the idle timeout?\nAssistant: How long a connection may stay open [1].";

    #[test]
    fn a_question_that_refers_back_has_the_one_before() {
        let check = |question: &str, expected: &str| assert_eq!(complete(question, HISTORY), expected);
        check("How do I change it?", "What is the idle timeout? How do I change it?");
        check("And the default?", "What is the idle timeout? And the default?");
        check("Why?", "What is the idle timeout? Why?");
        check("Which ports does the gateway open?", "Which ports does the gateway open?");
        assert_eq!(complete("How do I change it?", ""), "How do I change it?");
    }

    #[test]
    fn two_questions_in_one_are_answered_one_by_one() {
        assert_eq!(parts("Who wrote Alice?"), ["Who wrote Alice?"]);
        assert_eq!(parts("Which ports and paths does it use?"), ["Which ports and paths does it use?"]);
        assert_eq!(
            parts("How do I see what rsync would copy, and what do I write into the crontab?"),
            ["How do I see what rsync would copy?", "what do I write into the crontab?"]
        );
        assert_eq!(
            parts("When was Lenny released, and after which toy is it named?"),
            ["When was Lenny released?", "When was Lenny released? after which toy is it named?"]
        );
        assert_eq!(
            parts("What is the difference between a goal and an update?"),
            ["What is a goal?", "What is an update?"]
        );
        assert_eq!(
            parts("Which came first, the wheel or the axe?"),
            ["When was the wheel?", "When was the axe?"]
        );
        assert_eq!(
            parts("Which weighs more, a wheel or an axe?"),
            ["Which weighs more a wheel?", "Which weighs more an axe?"]
        );
        for one in [
            "How much memory does a pump need at least, and how much is recommended?",
            "If it fails, do I lose a file or two?",
            "How do I install it on Debian, Ubuntu or Fedora?",
            "What should I check first, the oil or the seal?",
            "What happens if it fails, is damaged or leaks?",
            "Was it built in 2019, 2020 or 2021?",
        ] {
            assert_eq!(parts(one), [one]);
        }
        assert_eq!(last_part("Is it blue? Is it old?"), "Is it old?");
        assert_eq!(last_part("Is it blue? I need a blue one."), "Is it blue? I need a blue one.");
    }
}
