//! Tells languages apart by their commonest words.

/// The commonest words of a language that the others do not share.
#[rustfmt::skip]
const LANGUAGES: [(&str, &[&str]); 6] = [
    ("English", &[
        "the", "of", "and", "is", "to", "what", "how", "which", "does", "are", "it", "when", "who", "why", "where",
        "can", "you", "that", "for", "with", "this", "from", "do", "was", "has",
    ]),
    ("German", &[
        "der", "die", "das", "und", "ist", "ein", "eine", "wie", "wer", "welche", "welcher", "welches", "wird", "mit",
        "nicht", "von", "zu", "auf", "den", "dem", "ich", "warum", "wann", "wo", "für", "sind", "im", "kann", "wurde",
        "hat", "um", "viel", "welchem", "einem", "einer", "einen", "des", "sich", "werden", "man", "wenn", "oder",
    ]),
    ("French", &[
        "le", "la", "les", "des", "et", "est", "une", "quel", "quelle", "comment", "pourquoi", "qui", "dans", "pour",
        "avec", "du", "au", "ce", "quand", "combien", "sont", "je", "vous",
    ]),
    ("Spanish", &[
        "el", "los", "las", "y", "es", "una", "cómo", "qué", "cuál", "por", "para", "con", "del", "cuándo", "quién",
        "dónde", "cuántos", "son", "se", "como",
    ]),
    ("Italian", &[
        "il", "gli", "di", "è", "una", "come", "che", "quale", "perché", "per", "con", "della", "quando", "chi",
        "dove", "quanti", "sono", "del", "nel",
    ]),
    ("Dutch", &[
        "het", "een", "en", "van", "hoe", "wat", "welke", "waarom", "wanneer", "wie", "waar", "met", "voor", "niet",
        "zijn", "kan", "ik", "dat",
    ]),
];
/// In bytes: more of a text is not looked at.
const MOST: usize = 2 << 10;
/// At least one word of so many is one of the commonest.
const LEAST_SHARE: usize = 20;

/// Returns whether a word is one of the commonest of a language, in lower case.
pub fn is_common(language: &str, word: &str) -> bool {
    LANGUAGES.iter().any(|(name, words)| *name == language && words.contains(&word))
}

/// Returns the language of a text; none if its words do not tell.
pub fn of(text: &str) -> Option<&'static str> {
    let text = text[..text.floor_char_boundary(MOST)].to_lowercase();
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    let count = |known: &[&str]| words.iter().filter(|word| known.contains(word)).count();
    let counts = LANGUAGES.iter().map(|(name, known)| (count(known), *name));
    let mut counts: Vec<(usize, &str)> = counts.collect();
    counts.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let [(most, name), (second, _), ..] = counts.as_slice() else { return None };
    // Prose has far more of them. Names and tables have one by chance.
    let is_prose = most * LEAST_SHARE >= words.len();
    (most > second && is_prose).then_some(*name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_known_by_short_questions() {
        let check = |text: &str, expected| assert_eq!(of(text), expected, "{text}");
        check("How often is the seal replaced?", Some("English"));
        check("Wer hat das Debian-Projekt gegründet, und in welchem Jahr?", Some("German"));
        check("Um wie viel Prozent wird ein Text kleiner?", Some("German"));
        check("Comment installer le serveur ?", Some("French"));
        check("¿Cómo se instala el servidor?", Some("Spanish"));
        check("P-204", None);
        let table =
            (0..9).map(|row| format!("rank: {row}; athlete: Usain Bolt; country: Jamaica; time: 9.7{row}; "));
        check(&format!("athlete: Son Wei; {}", table.collect::<String>()), None);
    }
}
