//! The stems of a text's words: in lower case, without accents and without stop words.
//!
//! Chinese, Japanese and Korean words have no spaces between them: each pair of neighbouring letters stands for one.

use crate::language::Language;
use crate::split::{Piece, for_each_piece, is_ideograph};
use crate::stop_words::is_stop_word;
use rust_stemmers::Stemmer;
use std::borrow::Cow;
use std::collections::HashSet;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{canonical_combining_class, is_combining_mark};

/// Returns the stems of a text in order.
pub fn stems(text: &str, language: Language) -> Vec<String> {
    let mut stems = Vec::new();
    for_each_stem(text, language, |stem| stems.push(stem.to_owned()));
    stems
}

/// Returns the distinct stems of a text.
pub fn stem_set(text: &str, language: Language) -> HashSet<String> {
    let mut stems = HashSet::new();
    for_each_stem(text, language, |stem| {
        stems.insert(stem.to_owned());
    });
    stems
}

/// Calls `found` with each stem of the text, in order.
pub fn for_each_stem(text: &str, language: Language, mut found: impl FnMut(&str)) {
    for_each_piece(text, |piece| match piece {
        Piece::Word(word) => {
            if let Some(stem) = stem(word, language) {
                found(&stem);
            }
        }
        Piece::Ideographs(run) => pairs(run).for_each(&mut found),
    });
}

/// Calls `found` with each ideograph of a text in NFKC, as [`for_each_stem`] has the words.
pub fn for_each_ideograph(text: &str, mut found: impl FnMut(&str)) {
    for_each_piece(text, |piece| {
        if let Piece::Ideographs(run) = piece {
            ideographs(run).for_each(|(_, letter)| found(letter));
        }
    });
}

/// Returns each ideograph of a text with its byte offset. [`for_each_stem`] has only those that stand alone.
pub fn ideographs(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let letters = text.char_indices().filter(|(_, letter)| is_ideograph(*letter));
    letters.map(|(start, letter)| (start, &text[start..start + letter.len_utf8()]))
}

/// A word of a question, as its stems in several languages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Term(Vec<String>);

impl Term {
    /// Returns its distinct stems, at least one.
    pub fn stems(&self) -> &[String] {
        &self.0
    }

    /// Returns whether one of its stems is among these.
    pub fn is_in(&self, stems: &HashSet<String>) -> bool {
        self.0.iter().any(|stem| stems.contains(stem))
    }

    fn add(&mut self, stem: Cow<'_, str>) {
        if !self.0.iter().any(|known| *known == stem) {
            self.0.push(stem.into_owned());
        }
    }
}

/// Returns the words of a question in order, to be compared with texts in these languages. Few words do not always tell in
/// which language a question is, so each is stemmed in all of them, and in the question's own if that is known.
pub fn terms(question: &str, own: Option<Language>, languages: &[Language]) -> Vec<Term> {
    let mut terms = Vec::new();
    for_each_piece(question, |piece| match piece {
        Piece::Word(word) => {
            // "die" is a word like any other for an English stemmer.
            if own.is_some_and(|own| is_stop_word(word, own)) {
                return;
            }
            let mut term = Term(Vec::new());
            let others = languages.iter().copied().filter(|language| Some(*language) != own);
            others.chain(own).filter_map(|language| stem(word, language)).for_each(|stem| term.add(stem));
            if !term.0.is_empty() {
                terms.push(term);
            }
        }
        Piece::Ideographs(run) => pairs(run).for_each(|pair| terms.push(Term(vec![pair.to_owned()]))),
    });
    terms
}

/// Returns the stem of a word in lower case; none if it is a stop word.
fn stem(word: &str, language: Language) -> Option<Cow<'_, str>> {
    // Texts in other scripts have English words in them.
    let language = if word.is_ascii() && !language.is_latin() { Language::English } else { language };
    // The English stemmer knows no accents, others need them.
    if language == Language::English && !word.is_ascii() {
        let word = folded(word);
        return (!is_stop_word(&word, language)).then(|| stemmed(&word, language).into_owned().into());
    }
    if is_stop_word(word, language) {
        return None;
    }
    let stem = stemmed(word, language);
    Some(if stem.is_ascii() { stem } else { folded(&stem).into() })
}

fn stemmed(word: &str, language: Language) -> Cow<'_, str> {
    let stem = language.stemmer().map(|algorithm| Stemmer::create(algorithm).stem(word));
    // Some stemmers leave nothing of a short word.
    stem.filter(|stem| !stem.is_empty()).unwrap_or(Cow::Borrowed(word))
}

/// Returns a word without accents.
fn folded(word: &str) -> String {
    word.nfkd().filter(|letter| !is_accent(*letter)).collect()
}

/// Returns whether a mark changes a letter only a little. The vowel signs of Indian scripts are letters of their own.
fn is_accent(letter: char) -> bool {
    let is_letter = match canonical_combining_class(letter) {
        0 => letter.is_alphabetic(),
        class => (7..=9).contains(&class),
    };
    is_combining_mark(letter) && !is_letter
}

/// Returns each two neighbours of a run of ideographs, or the only one.
fn pairs(run: &str) -> impl Iterator<Item = &str> {
    let ends = run.char_indices().map(|(at, letter)| at + letter.len_utf8());
    let is_alone = run.chars().nth(1).is_none();
    run.char_indices().zip(ends.skip(if is_alone { 0 } else { 1 })).map(|((start, _), end)| &run[start..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::LONGEST;

    fn check(language: Language, text: &str, expected: &str) {
        assert_eq!(stems(text, language).join(" "), expected, "{text}");
    }

    #[test]
    fn words_become_stems_and_stop_words_are_left_out() {
        let check = |text, expected| check(Language::English, text, expected);
        check("The pumps were pumping; a pump's impeller", "pump pump pump impel");
        check("Müller's naïve ﬁles — don’t", "muller naiv file");
        check("Mu\u{308}ller 1\u{fe0f}\u{20e3} ＡＢＣ", "muller 1 abc");
        check("P-204 at 3.5 bar", "p 204 3 5 bar");
        check("Ελληνικά ДОМ", "ελληνικα дом");
        check("what is it? who was she", "");
        check("", "");
    }

    #[test]
    fn words_are_stemmed_by_their_language() {
        check(Language::German, "Die Häuser, das Haus, der Pumpen, eine Pumpe", "haus haus pump pump");
        check(Language::German, "größer, große Straße", "gross gross strass");
        check(Language::French, "les chevaux, un cheval, l'amitié, d’amitié", "cheval cheval amiti amiti");
        check(Language::Spanish, "las canciones y una canción", "cancion cancion");
        check(
            Language::Russian,
            "в домах и у дома стоял новый насос, новые насосы",
            "дом дом стоя нов насос нов насос",
        );
        check(Language::Italian, "le città e gli amici", "citt amic");
        check(Language::Swedish, "pumpar och pumpen", "pump pump");
        check(Language::Tamil, "த்ப்", "த்ப்");
        // Without a stemmer, words are folded.
        check(Language::Polish, "pompy i Łódź", "pompy łodz");
        check(Language::Greek, "η αντλία", "αντλια");
    }

    #[test]
    fn words_in_latin_letters_are_english_in_other_scripts() {
        check(Language::Russian, "the pumps насосы", "pump насос");
        check(Language::Chinese, "the pumps 水泵", "pump 水泵");
    }

    #[test]
    fn ideographs_are_taken_in_pairs() {
        let check = |text, expected| check(Language::English, text, expected);
        check("東京タワー tower", "東京 京タ タワ ワー tower");
        // Voiced and half-width kana, and composed Hangul.
        check("ガ｡ｶﾞ", "ガ ガ");
        check("서울", "서울");
        check("京。", "京");
        assert_eq!(ideographs("京。P水").collect::<Vec<_>>(), [(0, "京"), (7, "水")]);
    }

    fn check_terms(question: &str, languages: &[Language], expected: &[&[&str]]) {
        let terms = terms(question, Language::of(question), languages);
        assert_eq!(terms.iter().map(|term| term.stems()).collect::<Vec<_>>(), expected, "{question}");
    }

    #[test]
    fn a_question_is_stemmed_in_the_languages_of_the_texts_and_in_its_own() {
        let (english, german) = (Language::English, Language::German);
        check_terms("pumps", &[english], &[&["pump"]]);
        check_terms("Pumpen", &[english], &[&["pumpen"]]);
        check_terms("Pumpen", &[english, german], &[&["pumpen", "pump"]]);
        check_terms("Wo ist die Pumpe?", &[english], &[&["pump"]]);
        check_terms("Wo sind die Pumpen?", &[english], &[&["pumpen", "pump"]]);
        check_terms("Siemens P-204", &[german, english], &[&["siem", "siemen"], &["p"], &["204"]]);
    }

    #[test]
    fn a_very_long_run_is_split() {
        for_each_stem(&"x".repeat(1000), Language::English, |stem| assert!(stem.len() <= LONGEST));
    }
}
