//! Judges an answer by the rules of `bench/answers/README.md`: it has the facts, it cites a source that has them, and at
//! most one sentence of it belongs to something else.

use knowledge::{cited, uncited};
use serde::Deserialize;

/// A question, and what a right answer to it has.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Asked {
    pub question: String,
    pub kind: Option<String>,
    pub split: String,
    pub history: Vec<Turn>,
    pub document: Option<String>,
    /// Documents that are all needed.
    pub documents: Vec<String>,
    /// One of these must be in the answer and in a source that it cites. Without any, the right answer is a refusal.
    pub facts: Vec<String>,
    /// One of each of these must be in the answer.
    and_facts: Vec<Vec<String>>,
    /// So many of these must have a string in the answer.
    points: Vec<Vec<String>>,
    need: usize,
    /// A sentence that belongs to the answer has one of these.
    relevant: Vec<String>,
}

#[derive(Deserialize)]
pub struct Turn {
    pub role: String,
    pub content: String,
}

/// A source that was given to the answer.
pub struct Given {
    pub document: String,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Right,
    /// The facts are there, with sentences that do not belong to them.
    Wordy,
    /// A source has the facts, the answer does not.
    Wrong,
    /// No source has the facts.
    Unfound,
    /// There was an answer, and it was refused.
    Refused,
}

impl Verdict {
    pub fn name(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Wordy => "wordy",
            Self::Wrong => "WRONG",
            Self::Unfound => "unfound",
            Self::Refused => "refused",
        }
    }
}

impl Asked {
    /// Returns whether the documents answer it.
    pub fn is_answerable(&self) -> bool {
        !self.facts.is_empty()
    }

    pub fn kind(&self) -> &str {
        self.kind.as_deref().unwrap_or(if self.is_answerable() { "answer" } else { "foreign" })
    }

    pub fn judge(&self, answer: &str, sources: &[Given]) -> Verdict {
        let numbers = cited(answer);
        let cited: Vec<&Given> =
            numbers.into_iter().filter_map(|number| sources.get(number.checked_sub(1)?)).collect();
        if !self.is_answerable() {
            return if cited.is_empty() { Verdict::Right } else { Verdict::Wrong };
        }
        let is_right = self.has_facts(answer) && self.is_cited(&cited);
        match is_right {
            true if self.strangers(answer) > 1 => Verdict::Wordy,
            true => Verdict::Right,
            false if cited.is_empty() => Verdict::Refused,
            false if sources.iter().any(|source| has_any(&source.text, &self.facts)) => Verdict::Wrong,
            false => Verdict::Unfound,
        }
    }

    fn has_facts(&self, answer: &str) -> bool {
        let points = self.points.iter().filter(|point| has_any(answer, point)).count();
        has_any(answer, &self.facts)
            && self.and_facts.iter().all(|facts| has_any(answer, facts))
            && points >= self.need
    }

    fn is_cited(&self, cited: &[&Given]) -> bool {
        if !self.documents.is_empty() {
            return self.documents.iter().all(|name| cited.iter().any(|source| source.document == *name));
        }
        if !self.points.is_empty() {
            return cited.iter().all(|source| Some(&source.document) == self.document.as_ref());
        }
        cited.iter().any(|source| has_any(&source.text, &self.facts))
    }

    /// Counts the sentences, rows and list items that have nothing to do with the answer.
    fn strangers(&self, answer: &str) -> usize {
        if self.relevant.is_empty() {
            return 0;
        }
        let lines = answer.lines().filter(|line| !line.trim_start().starts_with(['#', '`']));
        let lines: Vec<String> = lines.map(uncited).collect();
        let parts =
            lines.iter().flat_map(|line| words::sentences(line).into_iter().map(move |range| &line[range]));
        let belongs = |part: &str| {
            let more = self.and_facts.iter().chain(&self.points).flatten();
            has_any(part, &self.facts)
                || has_any(part, &self.relevant)
                || more.into_iter().any(|fact| has(part, fact))
        };
        let is_heading = |part: &str| part.trim_end().ends_with(':');
        let said = parts.filter(|part| part.contains(char::is_alphabetic) && !is_heading(part));
        said.filter(|part| !belongs(part)).count()
    }
}

fn has_any(text: &str, facts: &[String]) -> bool {
    facts.iter().any(|fact| has(text, fact))
}

/// Returns whether a text has a fact. One that starts with a letter or digit must be at the start of a word; after one
/// that ends with a digit, neither a digit nor decimals follow.
fn has(text: &str, fact: &str) -> bool {
    let (text, fact) = (plain(text), plain(fact));
    text.match_indices(&fact).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let mut after = text[at + fact.len()..].chars();
        let starts = !fact.starts_with(char::is_alphanumeric) || !before.is_some_and(char::is_alphanumeric);
        let goes_on = match after.next() {
            Some('.' | ',') => after.next().is_some_and(|next| next.is_ascii_digit()),
            Some(next) => next.is_ascii_digit(),
            None => false,
        };
        starts && !(fact.ends_with(|c: char| c.is_ascii_digit()) && goes_on)
    })
}

/// Removes what may be written in several ways.
fn plain(text: &str) -> String {
    let text = text.to_lowercase().replace(['`', '*'], "");
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(texts: &[&str]) -> Vec<Given> {
        let given = |text: &&str| Given { document: "a.txt".to_owned(), text: (*text).to_owned() };
        texts.iter().map(given).collect()
    }

    fn asked(facts: &[&str], relevant: &[&str]) -> Asked {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Asked { facts: owned(facts), relevant: owned(relevant), ..Asked::default() }
    }

    #[test]
    fn a_right_answer_has_the_fact_and_cites_a_source_that_has_it() {
        let asked = asked(&["7 days"], &[]);
        let sources = given(&["It rains.", "Valid for `7`\ndays."]);
        let check = |answer: &str, expected| assert_eq!(asked.judge(answer, &sources), expected, "{answer}");
        check("It is valid for 7  days [2].", Verdict::Right);
        check("It is valid for 7 days [1].", Verdict::Wrong);
        check("It is valid for 7 days.", Verdict::Refused);
        check("It is valid for a week [2].", Verdict::Wrong);
        check("It is valid for 7 days [0] [9].", Verdict::Refused);
    }

    #[test]
    fn facts_are_whole_words_and_numbers() {
        let check =
            |text: &str, fact: &str, expected| assert_eq!(has(text, fact), expected, "{fact} in {text}");
        check("the port 80.", "port", true);
        check("support", "port", false);
        check("ports", "port", true);
        check("up to 250 m", "25", false);
        check("25.5 degrees", "25", false);
        check("it has 25.", "25", true);
        check("25, or more", "25", true);
    }

    #[test]
    fn one_sentence_may_be_about_something_else() {
        let asked = asked(&["7 days"], &["token"]);
        let sources = given(&["7 days"]);
        let check = |answer: &str, expected| assert_eq!(asked.judge(answer, &sources), expected, "{answer}");
        check("7 days [1]. It rains. A token is signed.", Verdict::Right);
        check("7 days [1]. It rains. It snows.", Verdict::Wordy);
        check("Key points:\n7 days [1]\n\n---\nIt rains.", Verdict::Right);
    }

    #[test]
    fn what_the_documents_do_not_answer_is_refused() {
        let asked = asked(&[], &[]);
        assert_eq!(asked.judge("The documents do not say.", &given(&["It rains."])), Verdict::Right);
        assert_eq!(asked.judge("It rains [1].", &given(&["It rains."])), Verdict::Wrong);
    }
}
