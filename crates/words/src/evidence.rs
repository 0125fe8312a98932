//! The language of a text, told by its letters and by its commonest words.

use crate::language::Language;
use crate::split::{Piece, for_each_piece};
use crate::stop_words::stop_word;
use std::collections::HashSet;

/// In bytes: more of a text is not looked at.
const MOST: usize = 4 << 10;
/// What a stop word counts, shared between the languages that have it.
const WHOLE: u64 = 60;
/// One word of so many must be a stop word. Prose has far more of them; names and tables have one by chance.
const LEAST_SHARE: u64 = 20;
/// So many different ones must be there: "car insurance" is not French because of "car".
const LEAST_WORDS: usize = 2;
/// Letters of a formula may be stop words of another language.
const SURE_WORDS: usize = 4;
/// Another language must have more evidence than English by so much: names of things abroad are frequent in English.
const CLEARLY: (u64, u64) = (3, 2);
/// A text without spaces has at least one word in so many letters.
const LETTERS_OF_A_WORD: u64 = 3;
/// One letter of so many is a kana in Japanese. In Chinese there is none.
const LEAST_KANA: u64 = 20;

/// What a word counts that has a letter of its language alone.
const LETTER: u64 = WHOLE / 2;

impl Language {
    /// Returns the language of a text; none if its words do not tell.
    pub fn of(text: &str) -> Option<Self> {
        Self::with_evidence(text, LEAST_WORDS)
    }

    /// Returns the language of a text if its words leave no doubt.
    pub fn surely_of(text: &str) -> Option<Self> {
        Self::with_evidence(text, SURE_WORDS)
    }

    fn with_evidence(text: &str, least_words: usize) -> Option<Self> {
        let mut evidence = Evidence::default();
        evidence.add(&text[..text.floor_char_boundary(MOST)]);
        evidence.language(least_words)
    }
}

/// What parts of a text say about its language.
#[derive(Default)]
pub struct Evidence {
    words: u64,
    /// The different stop words, by their numbers.
    seen: HashSet<usize>,
    /// By language: how many different stop words there are, and what all of them count together.
    stop_words: [usize; Language::COUNT],
    scores: [u64; Language::COUNT],
    ideographs: u64,
    kana: u64,
    hangul: u64,
}

impl Evidence {
    /// Looks at a part of the text.
    pub fn add(&mut self, text: &str) {
        for_each_piece(text, |piece| match piece {
            Piece::Word(word) => self.add_word(word),
            Piece::Ideographs(run) => {
                for letter in run.chars() {
                    match letter {
                        '\u{3040}'..='\u{30FF}' => self.kana += 1,
                        '\u{AC00}'..='\u{D7AF}' => self.hangul += 1,
                        _ => self.ideographs += 1,
                    }
                }
            }
        });
    }

    fn add_word(&mut self, word: &str) {
        if word.starts_with(|letter: char| letter.is_ascii_digit()) {
            return;
        }
        self.words += 1;
        if let Some(found) = stop_word(word) {
            let share = WHOLE / u64::from(found.languages.count_ones());
            // A letter alone may be a column of a table or of a formula.
            let is_new = word.len() > 1 && self.seen.insert(found.number);
            for language in Language::all().iter().filter(|language| found.languages & language.bit() != 0) {
                self.stop_words[*language as usize] += usize::from(is_new);
                self.scores[*language as usize] += share;
            }
        }
        if !word.is_ascii()
            && let Some(language) = word.chars().find_map(language_of_letter)
        {
            self.scores[language as usize] += LETTER;
        }
    }

    /// Returns the language of the text if it has at least so many of the language's stop words; none if it has not, or if
    /// they do not tell.
    pub fn language(&self, least_words: usize) -> Option<Language> {
        let letters = self.ideographs + self.kana + self.hangul;
        if letters / LETTERS_OF_A_WORD > self.words {
            return Some(if self.hangul > self.ideographs + self.kana {
                Language::Korean
            } else if self.kana * LEAST_KANA > letters {
                Language::Japanese
            } else {
                Language::Chinese
            });
        }
        let best = *Language::all().iter().max_by_key(|language| self.scores[**language as usize])?;
        let most = self.scores[best as usize];
        let is_alone = self.scores.iter().filter(|score| **score == most).count() == 1;
        let is_prose = most * LEAST_SHARE >= self.words * WHOLE;
        let english = self.scores[Language::English as usize];
        let is_clear = best == Language::English || most * CLEARLY.1 >= english * CLEARLY.0;
        let is_told = self.stop_words[best as usize] >= least_words;
        (is_alone && is_prose && is_clear && is_told).then_some(best)
    }
}

/// Returns the language of a letter that tells it from those with which it shares many stop words.
fn language_of_letter(letter: char) -> Option<Language> {
    Some(match letter {
        'ъ' => Language::Bulgarian,
        'ě' | 'ř' | 'ů' => Language::Czech,
        'پ' | 'چ' | 'ژ' | 'گ' | 'ک' | 'ی' => Language::Persian,
        'ą' | 'ę' | 'ł' | 'ż' => Language::Polish,
        'ã' | 'õ' => Language::Portuguese,
        'ё' | 'ы' | 'э' => Language::Russian,
        'ñ' => Language::Spanish,
        'ğ' | 'ı' => Language::Turkish,
        'є' | 'і' | 'ї' | 'ґ' => Language::Ukrainian,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<Language>) {
        assert_eq!(Language::of(text), expected, "{text}");
    }

    #[test]
    fn a_formula_is_in_no_language_for_sure() {
        let settings = "cruise: range\nwing: t/c\nflaps: cf/c Sf/S";
        assert_eq!(Language::surely_of(settings), None);
        let stations = "518.0 | J | L | Varna | 43 04 N | 27 46 E | C | D | S | M | T | Y";
        assert_eq!(Language::surely_of(stations), None);
        let german = "Die Pumpe ist blau und steht im Keller.";
        assert_eq!(Language::surely_of(german), Some(Language::German));
    }

    #[test]
    fn languages_are_known_by_short_questions() {
        check("How often is the seal replaced?", Some(Language::English));
        check("Wer hat das Debian-Projekt gegründet, und in welchem Jahr?", Some(Language::German));
        check("Um wie viel Prozent wird ein Text kleiner?", Some(Language::German));
        check("Was ist P-204?", Some(Language::German));
        check("Comment installer le serveur ?", Some(Language::French));
        check("Quelle est la pression de la pompe ?", Some(Language::French));
        check("¿Cómo se instala el servidor?", Some(Language::Spanish));
        check("Quanti motori ha la pompa, e come si installa?", Some(Language::Italian));
        check("Hoe vaak wordt de pomp vervangen?", Some(Language::Dutch));
        check("Hur ofta byts tätningen på pumpen?", Some(Language::Swedish));
        check(
            "Pumppu pysähtyi, koska tiiviste oli kulunut eikä sitä ollut vaihdettu.",
            Some(Language::Finnish),
        );
        check("Hvorfor blev pumpen ikke skiftet efter ulykken?", Some(Language::Danish));
        check("Quantas vezes por ano é trocada a vedação da bomba?", Some(Language::Portuguese));
        check("Как часто и кем меняется уплотнение на этом насосе?", Some(Language::Russian));
        check("Як часто змінюють ущільнення насоса і хто це робить?", Some(Language::Ukrainian));
        check("水泵的密封多久更换一次？", Some(Language::Chinese));
        check("ポンプのシールはどのくらいの頻度で交換しますか。", Some(Language::Japanese));
        check("В больших домах на берегу стояли новые насосы.", Some(Language::Russian));
        check("펌프 씰은 얼마나 자주 교체합니까?", Some(Language::Korean));
        check("Πόσο συχνά αλλάζει η τσιμούχα της αντλίας;", Some(Language::Greek));
        check("كم مرة يتم استبدال ختم المضخة في السنة؟", Some(Language::Arabic));
    }

    #[test]
    fn what_has_no_sentences_has_no_language() {
        check("", None);
        check("P-204", None);
        check("car insurance", None);
        check("2021 2022", None);
        let table =
            (0..9).map(|row| format!("rank: {row}; athlete: Usain Bolt; country: Jamaica; time: 9.7{row}; "));
        check(&format!("athlete: Son Wei; {}", table.collect::<String>()), None);
    }

    #[test]
    fn a_few_words_of_another_language_do_not_decide() {
        check("\"Le Grand Bleu\" and \"La Haine\" are films of the nineties.", Some(Language::English));
        check("Der Befehl \"what is the time\" wird von der Uhr nicht verstanden.", Some(Language::German));
        check("请在终端中运行 cargo build --release 命令来构建项目", Some(Language::Chinese));
        check("The capital of Japan, 東京, is large.", Some(Language::English));
    }
}
