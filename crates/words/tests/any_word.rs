//! No stemmer fails at a word, whatever its letters are: words come from files of strangers.

use words::{Language, for_each_stem, terms};

/// Letters that stemmers look for, of each script.
#[rustfmt::skip]
const LETTERS: [&str; 7] = [
    "aeiouysnrtlmdcgkhbpfvwxzjqaeio",
    "aeiouàâäáãåæçèéêëìíîïñòóôõöøœùúûüýßğışăâîșțőűłžčěńśsnrtlmdk'",
    "аеёиоуыэюяйьъвлмнстшщхцчгкпрдзжбфіїєґ",
    "ابتثجحخدذرزسشصضطظعغفقكلمنهويةىءئؤأإآًٌٍَُِّْ",
    "அஆஇஈஉஊஎஏஐஒஓகஙசஞடணதநபமயரலவழளறன்ாிீுூெேைொோௌ",
    "αβγδεζηθικλμνξοπρστυφχψωςάέήίόύώϊϋΐΰ",
    "東京タワーガ서울한국水泵的a1é",
];

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % limit
    }
}

#[test]
fn every_word_has_a_stem_in_every_language() {
    let rounds = 300;
    let mut random = Random(1);
    for letters in LETTERS.map(|letters| letters.chars().collect::<Vec<char>>()) {
        for _ in 0..rounds {
            let length = 1 + random.below(14);
            let word: String = (0..length).map(|_| letters[random.below(letters.len())]).collect();
            for language in Language::all() {
                for_each_stem(&word, *language, |stem| assert!(!stem.is_empty(), "{language:?} {word}"));
            }
            assert!(terms(&word, None, Language::all()).iter().all(|term| !term.stems().is_empty()));
        }
    }
}
