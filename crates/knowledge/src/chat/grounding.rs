//! Checks what a small model writes against the sentences that it was shown. A sentence passes if one of them supports it
//! ([`is_supported`]; words of the question need no support) and if it says something that the question does not.

use super::citations::cited;
use super::sentence::Sentence;
use super::source::Source;
use std::collections::HashSet;
use words::{is_supported, stem_set, stems};

struct Shown {
    source: usize,
    /// Stems in order.
    words: Vec<String>,
}

pub struct Grounding {
    question: HashSet<String>,
    shown: Vec<Shown>,
    /// Goes before the first sentence that passes.
    opening: &'static str,
    held: String,
    said: HashSet<String>,
}

impl Grounding {
    pub fn new(question: &str, sources: &[Source], shown: &[&Sentence], opening: &'static str) -> Self {
        let words =
            |sentence: &&Sentence| Shown { source: sentence.source, words: stems(sentence.text(sources)) };
        Self {
            question: stem_set(question),
            shown: shown.iter().map(words).collect(),
            opening,
            held: String::new(),
            said: HashSet::new(),
        }
    }

    /// Takes the next piece of the answer; returns the sentences that are complete and pass.
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let mut passed = String::new();
        loop {
            let sentences = words::sentences(&self.held);
            // More of the last sentence may follow.
            let [first, second, ..] = sentences.as_slice() else { return passed };
            let sentence = self.held[first.clone()].to_owned();
            self.held.drain(..second.start);
            passed += &self.check(&sentence);
        }
    }

    /// Checks the rest of the answer, unless it was cut off in the middle of a sentence.
    pub fn finish(mut self, cut_off: bool) -> String {
        let rest = std::mem::take(&mut self.held);
        if cut_off { String::new() } else { self.check(rest.trim()) }
    }

    fn check(&mut self, sentence: &str) -> String {
        let Some(source) = self.source_of(sentence) else { return String::new() };
        if !self.said.insert(sentence.to_owned()) {
            return String::new();
        }
        let before = if self.said.len() == 1 { self.opening } else { " " };
        if cited(sentence).contains(&(source + 1)) {
            return format!("{before}{sentence}");
        }
        let end = sentence.trim_end_matches(['.', '!', '?']);
        format!("{before}{end} [{}]{}", source + 1, &sentence[end.len()..])
    }

    fn source_of(&self, sentence: &str) -> Option<usize> {
        // Citations that the model wrote are not words of the sentence.
        let bare: String =
            sentence.split('[').map(|part| part.split_once(']').map_or(part, |(_, rest)| rest)).collect();
        let words = stems(&bare);
        let says_something = words.iter().any(|word| !self.question.contains(word));
        // A sentence that only repeats one of the document adds nothing to its quotation.
        let supports =
            |shown: &&Shown| words != shown.words && is_supported(&words, &shown.words, &self.question);
        let supporting = self.shown.iter().find(supports);
        supporting.filter(|_| says_something).map(|shown| shown.source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUESTION: &str = "How many verified tokens does the gateway remember at most?";
    const SENTENCE: &str = "It remembers 4,096 tokens at most (1 KiB each) until their expiry.";

    /// Checks that the same passes however the answer is split into pieces.
    fn check(answer: &str, cut_off: bool, expected: &str) {
        let sources = Source::of_texts(["Other.", SENTENCE]);
        let sentence = Sentence::of(1, 0..SENTENCE.len());
        for size in [1, 7, 1000] {
            let mut grounding = Grounding::new(QUESTION, &sources, &[&sentence], "In short: ");
            let letters: Vec<char> = answer.chars().collect();
            let mut passed = String::new();
            for piece in letters.chunks(size) {
                passed += &grounding.push(&piece.iter().collect::<String>());
            }
            passed += &grounding.finish(cut_off);
            assert_eq!(passed, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn a_supported_sentence_passes_with_its_citation() {
        check(
            "The gateway remembers 4,096 tokens.",
            false,
            "In short: The gateway remembers 4,096 tokens [2].",
        );
        check(
            "The gateway remembers 4,096 tokens at most [2].",
            false,
            "In short: The gateway remembers 4,096 tokens at most [2].",
        );
    }

    #[test]
    fn an_unsupported_sentence_is_left_out() {
        check("The gateway remembers 1 verified tokens.", false, "");
        check("The gateway remembers 1.", false, "");
        check("The gateway remembers 5,000 tokens.", false, "");
        check("It is a gateway for Kubernetes.", false, "");
        check(SENTENCE, false, "");
        check("The gateway remembers verified tokens.", false, "");
        check(
            "Nonsense follows. The gateway remembers 4,096 tokens. More nonsense.",
            false,
            "In short: The gateway remembers 4,096 tokens [2].",
        );
    }

    #[test]
    fn neither_repetitions_nor_broken_sentences_pass() {
        let once = "In short: The gateway remembers 4,096 tokens [2].";
        check("The gateway remembers 4,096 tokens. The gateway remembers 4,096 tokens.", false, once);
        check("The gateway remembers 4,096 tokens. The gateway remembers until their", true, once);
    }
}
