//! Splits a line of text into words, with the form of each and what separates it from the one before.

use ::words::{Language, is_stop_word};

use crate::code::{address, is_identifier, manual_section};
use crate::layout::{Opens, Part};
use crate::lexicon::{WordClasses, classes};

pub struct Word<'a> {
    /// As written, without a possessive ending.
    pub text: &'a str,
    pub lower: String,
    pub shape: Shape,
    pub classes: WordClasses,
    /// What is between the word before and this one.
    pub gap: Gap,
    pub possessive: bool,
    /// Whether a full stop follows: "J." is an initial, "A" may be an article.
    pub dotted: bool,
    /// Counted from the start of the line.
    pub sentence: u32,
    /// Whether it is a function word of the language of its line.
    pub is_stop: bool,
    /// Whether it refers to the manual page of a program, as in "rsync(1)".
    pub is_program: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Lower,
    Capital,
    /// Two or more letters, all capitals.
    Upper,
    /// One capital letter, or several with full stops ("J", "U.S.A").
    Initial,
    Number,
    /// Letters with digits, full stops or capitals inside ("P-204", "Node.js", "GraphQL").
    Code,
    /// What stands for something in a program ("max_age", "innerWidth", "console.log").
    Identifier,
    /// A script without capitals.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    Sentence,
    /// The start of a cell of a table.
    Cell,
    Colon,
    Space,
    Comma,
    Open,
    Close,
    Quote,
    Other,
}

/// Longer ones are not words but encoded data, or a script without spaces.
const LONGEST_WORD: usize = 64;

impl Word<'_> {
    pub fn is_capitalized(&self) -> bool {
        matches!(self.shape, Shape::Capital | Shape::Upper | Shape::Initial)
    }

    pub fn is_article(&self) -> bool {
        self.classes.any(WordClasses::ARTICLE) && !self.dotted
    }

    /// Returns whether it is a function word. The list of English is longer than that of `words`.
    pub fn is_stop_in(&self, language: Language) -> bool {
        match language {
            Language::English => self.classes.any(WordClasses::ENGLISH),
            language => is_stop_word(&self.lower, language),
        }
    }

    pub fn starts_sentence(&self) -> bool {
        self.gap == Gap::Sentence
    }
}

pub fn words(line: &str) -> Vec<Word<'_>> {
    words_of(&[Part::sentence(line)])
}

/// Returns the words of parts that follow one another.
pub fn words_of<'a>(parts: &[Part<'a>]) -> Vec<Word<'a>> {
    let bytes: usize = parts.iter().map(|part| part.text.len()).sum();
    let mut words = Words {
        found: Vec::with_capacity(bytes / 6),
        between: Gap::Sentence,
        breaks: false,
        after_option: false,
    };
    for part in parts {
        words.open(part.opens);
        words.add(part.text);
    }
    words.found
}

struct Words<'a> {
    found: Vec<Word<'a>>,
    /// What is before the next word besides the signs beside it.
    between: Gap,
    /// Whether the next word is in another sentence than the last one.
    breaks: bool,
    /// Whether an option is before the next word, which in capitals stands for its value: "--until DATE".
    after_option: bool,
}

impl<'a> Words<'a> {
    fn open(&mut self, opens: Opens) {
        self.between = match opens {
            Opens::Sentence => Gap::Sentence,
            Opens::Row | Opens::Cell => Gap::Cell,
            Opens::Line => Gap::Space,
        };
        self.breaks |= matches!(opens, Opens::Sentence | Opens::Row);
    }

    fn add(&mut self, line: &'a str) {
        let mut end = 0;
        while let Some((from, to)) = next_word(line, end) {
            let beside = gap(&line[end..from], self.found.last().filter(|_| end > 0));
            let gap = match (self.between, beside) {
                (Gap::Sentence, _) => Gap::Sentence,
                (between, Gap::Space) => between,
                _ => beside,
            };
            self.breaks |= gap == Gap::Sentence;
            let gap = if end > 0 && line[end..from].trim() == ":" { Gap::Colon } else { gap };
            let address = address(line, end, from);
            end = address.unwrap_or(to);
            if address.is_some() || to - from > LONGEST_WORD {
                self.after_option = line[..from].ends_with('-');
                self.between = if gap == Gap::Sentence { gap } else { Gap::Other };
                continue;
            }
            self.between = Gap::Space;
            self.after_option &= beside == Gap::Space;
            self.push(&line[from..to], &line[to..], gap);
        }
    }

    fn push(&mut self, written: &'a str, after: &str, gap: Gap) {
        let sentence = self.found.last().map_or(0, |last| last.sentence + u32::from(self.breaks));
        self.breaks = false;
        let dotted = after.starts_with('.');
        let mut word = Word { dotted, ..word(written, gap, sentence) };
        match manual_section(after).filter(|_| word.text.starts_with(char::is_lowercase)) {
            Some('1' | '6' | '8') => word.is_program = true,
            Some(_) => word.shape = Shape::Identifier,
            None if self.after_option && word.shape == Shape::Upper => word.shape = Shape::Identifier,
            None => {}
        }
        self.after_option = false;
        // "Print the table" after "--verbose:", but not "Berg" after "Owner:".
        if let Some(before) = self.found.last_mut().filter(|before| before.gap == Gap::Colon) {
            before.gap =
                if word.shape == Shape::Lower && gap == Gap::Space { Gap::Sentence } else { Gap::Other };
        }
        self.found.push(word);
    }
}

fn word(written: &str, gap: Gap, sentence: u32) -> Word<'_> {
    let bare = ["'s", "’s", "'S", "’S"].iter().find_map(|ending| written.strip_suffix(ending));
    let text = bare.unwrap_or(written).trim_end_matches(['\'', '’']);
    let lower = text.to_lowercase();
    let classes = classes(&lower);
    Word {
        text,
        lower,
        shape: shape(text),
        classes,
        gap,
        possessive: bare.is_some(),
        dotted: false,
        sentence,
        is_stop: false,
        is_program: false,
    }
}

/// Returns the start and end of the next word at or after `from`.
fn next_word(line: &str, from: usize) -> Option<(usize, usize)> {
    let rest = &line[from..];
    let start = from + rest.find(|c: char| is_inside(c) || c == '&')?;
    if line[start..].starts_with('&') {
        return Some((start, start + 1));
    }
    let mut end = start;
    let mut chars = line[start..].char_indices().peekable();
    while let Some((offset, c)) = chars.next() {
        let next = chars.peek().map(|&(_, next)| next);
        let so_far = &line[start..start + offset];
        let links_on = |next: char| is_inside(next) && links(so_far, c, next);
        if !(is_inside(c) || next.is_some_and(links_on)) {
            break;
        }
        end = start + offset + c.len_utf8();
    }
    Some((start, end))
}

fn is_inside(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || ('\u{300}'..='\u{36f}').contains(&c)
}

/// Returns whether `c` between two letters or digits joins them into one word.
fn links(so_far: &str, c: char, next: char) -> bool {
    let last_part = so_far.rsplit('.').next().unwrap_or(so_far);
    match c {
        '-' | '\u{2010}' | '\u{2011}' | '\'' | '’' => true,
        // "U.S.A", "3.5", "db.small"; not the full stop between two sentences without a space.
        '.' => last_part.chars().count() == 1 || !next.is_uppercase(),
        _ => false,
    }
}

fn gap(between: &str, before: Option<&Word<'_>>) -> Gap {
    let trimmed = between.trim();
    if between.contains('\n') {
        return Gap::Sentence;
    }
    if trimmed.is_empty() || trimmed == "-" {
        return Gap::Space;
    }
    if trimmed.contains(['.', '!', '?', '。', '！', '？', '•']) {
        let abbreviates = trimmed == "." && before.is_some_and(is_abbreviation);
        return if abbreviates { Gap::Space } else { Gap::Sentence };
    }
    let kinds = [
        (Gap::Open, &['(', '['][..]),
        (Gap::Close, &[')', ']']),
        (Gap::Quote, &['"', '“', '”', '«', '»', '„']),
    ];
    let found = kinds.iter().find(|(_, signs)| trimmed.contains(*signs));
    match found {
        Some((gap, _)) => *gap,
        None if trimmed == "," => Gap::Comma,
        None => Gap::Other,
    }
}

fn is_abbreviation(word: &Word<'_>) -> bool {
    const ABBREVIATIONS: [&str; 14] =
        ["st", "jr", "sr", "no", "vol", "fig", "vs", "etc", "gen", "col", "capt", "lt", "mt", "ft"];
    word.shape == Shape::Initial && word.lower != "i"
        || word.classes.any(WordClasses::HONORIFIC) && word.lower.len() < 5
        || word.is_capitalized() && ABBREVIATIONS.contains(&word.lower.as_str())
}

fn shape(text: &str) -> Shape {
    if is_identifier(text) {
        return Shape::Identifier;
    }
    let (mut upper, mut lower, mut digits, mut odd) = (0, 0, 0, false);
    let mut inner_capital = false;
    let mut before = ' ';
    for c in text.chars() {
        upper += usize::from(c.is_uppercase());
        lower += usize::from(c.is_lowercase());
        digits += usize::from(c.is_numeric());
        odd |= c == '.' && before.is_lowercase();
        inner_capital |= c.is_uppercase() && before.is_lowercase();
        before = c;
    }
    let starts_capital = text.chars().next().is_some_and(char::is_uppercase);
    // "McGee" and "MacLeod" are names; "GraphQL" and "camelCase" are not.
    let is_scottish = starts_capital && upper == 2 && (text.starts_with("Mc") || text.starts_with("Mac"));
    let starts_with_digit = text.starts_with(|c: char| c.is_numeric());
    if upper + lower == 0 || starts_with_digit && upper == 0 && !odd {
        // "1914", "18th", "43-year-old".
        return if digits > 0 { Shape::Number } else { Shape::Other };
    }
    if odd || digits > 0 || inner_capital && !is_scottish {
        return Shape::Code;
    }
    match (upper, lower) {
        (0, _) => Shape::Lower,
        (1, 0) => Shape::Initial,
        (_, 0) if text.contains('.') => Shape::Initial,
        (_, 0) => Shape::Upper,
        _ if starts_capital => Shape::Capital,
        _ => Shape::Lower,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let shown: Vec<String> =
            words(text).iter().map(|word| format!("{}/{}", word.text, word.sentence)).collect();
        assert_eq!(shown.join(" "), expected);
    }

    #[test]
    fn words_and_sentences() {
        check("Dr. J. Berg left. He died.", "Dr/0 J/0 Berg/0 left/0 He/1 died/1");
        check("Boso( died 875) was", "Boso/0 died/0 875/0 was/0");
        check("the pump's seal, Jones' seal", "the/0 pump/0 seal/0 Jones/0 seal/0");
        check("U.S.A. and db.small at 3.5 bar.End", "U.S.A/0 and/0 db.small/0 at/0 3.5/0 bar/0 End/1");
        check("one\n\ntwo\n- three\nfour", "one/0 two/1 three/2 four/3");
        check("東京。大阪", "東京/0 大阪/1");
        check(
            "in /etc/hosts, see https://a.b/c. Call main() or rsync(1)",
            "in/0 see/0 Call/1 main/1 or/1 rsync/1 1/1",
        );
        check("", "");
    }

    #[test]
    fn shapes() {
        let cases = [
            ("pump", Shape::Lower),
            ("Pump", Shape::Capital),
            ("McGee", Shape::Capital),
            ("BLC", Shape::Upper),
            ("J", Shape::Initial),
            ("1950", Shape::Number),
            ("43-year-old", Shape::Number),
            ("P-204", Shape::Code),
            ("max_age", Shape::Identifier),
            ("DEB_", Shape::Identifier),
            ("innerWidth", Shape::Identifier),
            ("console.log", Shape::Identifier),
            ("Perth_and_Kinross", Shape::Capital),
            ("Node.js", Shape::Code),
            ("iPhone", Shape::Code),
            ("GraphQL", Shape::Code),
            ("日本", Shape::Other),
        ];
        for (text, expected) in cases {
            assert_eq!(shape(text), expected, "{text}");
        }
    }
}
