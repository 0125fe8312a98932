//! Cleans what people type: spaces, line breaks, email addresses, telephone numbers, names. Pure.

use crate::field_kind::FieldKind;
use base::split_email;

const LONGEST_VALUE: usize = 10_000;
/// Digits of an international number, without the plus.
const E164_DIGITS: std::ops::RangeInclusive<usize> = 8..=15;
/// Words that begin a family name of several words.
const PARTICLES: [&str; 19] = [
    "al", "bin", "da", "das", "de", "del", "della", "den", "der", "di", "dos", "du", "ibn", "la", "le",
    "ten", "van", "von", "zu",
];

/// Returns a value as it is stored; empty if nothing was typed. The error says what is wrong, without the field's name.
pub fn value(kind: FieldKind, text: &str, country_code: Option<&str>) -> Result<String, String> {
    if text.chars().count() > LONGEST_VALUE {
        return Err(format!("is too long: at most {LONGEST_VALUE} characters"));
    }
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    if text.chars().any(|sign| sign.is_control() && !matches!(sign, '\n' | '\t')) {
        return Err("has a control character".to_owned());
    }
    let text = text.trim();
    match kind {
        FieldKind::Long => Ok(text.to_owned()),
        FieldKind::Email => email(text),
        FieldKind::Phone => Ok(phone(&one_line(text), country_code)),
        FieldKind::Text | FieldKind::Name => Ok(one_line(text)),
    }
}

/// Joins lines: in a mail that is made of the value, a line break could begin a header.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

fn email(text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Ok(String::new());
    }
    let wrong = || "is not an email address: expected `name@example.org`".to_owned();
    let (_, domain) = split_email(text).ok_or_else(wrong)?;
    let has_labels = domain.contains('.') && domain.split('.').all(|label| !label.is_empty());
    let sound = has_labels && !text.contains(|sign: char| "<>(),;:\\\"[]".contains(sign));
    if sound { Ok(text.to_lowercase()) } else { Err(wrong()) }
}

/// Returns `+` and digits if the number can be made international, else the text as it was typed.
pub fn phone(text: &str, country_code: Option<&str>) -> String {
    // The zero in `+49 (0)30` is dialled only within the country.
    let plain = text.replace("(0)", "");
    let separators = [' ', '-', '.', '/', '(', ')', '\u{a0}', '\u{2011}', '\u{2013}'];
    let plain: String = plain.chars().filter(|sign| !separators.contains(sign)).collect();
    let international = plain.strip_prefix('+').or_else(|| plain.strip_prefix("00"));
    let digits = match (international, country_code) {
        (Some(digits), _) => digits.to_owned(),
        (None, Some(code)) => {
            // Italy dials the zero of its area codes also from abroad.
            let national = if code == "39" { &plain } else { plain.strip_prefix('0').unwrap_or(&plain) };
            format!("{code}{national}")
        }
        (None, None) => return text.to_owned(),
    };
    let sound = E164_DIGITS.contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && !digits.starts_with('0');
    if sound { format!("+{digits}") } else { text.to_owned() }
}

/// Splits a name into first and last name. The last is empty if there is only one word.
pub fn split_name(name: &str) -> (String, String) {
    if let Some((last, first)) = name.split_once(',') {
        return (first.trim().to_owned(), last.trim().to_owned());
    }
    let words: Vec<&str> = name.split_whitespace().collect();
    let Some(last_word) = words.len().checked_sub(1).filter(|last| *last > 0) else {
        return (name.trim().to_owned(), String::new());
    };
    let is_particle = |word: &str| PARTICLES.contains(&word.to_lowercase().as_str());
    let mut begin = last_word;
    while begin > 1 && is_particle(words[begin - 1]) {
        begin -= 1;
    }
    (words[..begin].join(" "), words[begin..].join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_trimmed_lower_case_and_plausible() {
        let clean = |text: &str| value(FieldKind::Email, text, None);
        assert_eq!(clean("  Ada@Example.ORG "), Ok("ada@example.org".to_owned()));
        assert_eq!(clean("o'neil+news@mail.example.co.uk"), Ok("o'neil+news@mail.example.co.uk".to_owned()));
        assert_eq!(clean("  "), Ok(String::new()));
        for text in [
            "ada",
            "ada@",
            "@example.org",
            "ada@example",
            "ada@example..org",
            "ada@@example.org",
            "a b@example.org",
            "ada@example.org\nBcc: eve@example.org",
            "ada@example.org, eve@example.org",
            "<ada@example.org>",
        ] {
            assert!(clean(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_become_international_where_that_can_be_known() {
        for (typed, country, kept) in [
            ("+49 (0)30 / 123-456.78", None, "+493012345678"),
            ("0049 30 12345678", None, "+493012345678"),
            ("030 12345678", Some("49"), "+493012345678"),
            ("(415) 555-2671", Some("1"), "+14155552671"),
            ("06 1234 5678", Some("39"), "+390612345678"),
            ("030 12345678", None, "030 12345678"),
            ("+12", None, "+12"),
            ("+1234567890123456", None, "+1234567890123456"),
            ("call me, ext. 7", Some("49"), "call me, ext. 7"),
            ("+0123456789", None, "+0123456789"),
        ] {
            assert_eq!(phone(typed, country), kept, "{typed}");
        }
    }

    #[test]
    fn names_split_before_the_family_name() {
        for (name, first, last) in [
            ("Ada Lovelace", "Ada", "Lovelace"),
            ("Lovelace, Ada", "Ada", "Lovelace"),
            ("Ludwig van Beethoven", "Ludwig", "van Beethoven"),
            ("Ursula von der Leyen", "Ursula", "von der Leyen"),
            ("John Ronald Tolkien", "John Ronald", "Tolkien"),
            ("Plato", "Plato", ""),
            ("Van Morrison", "Van", "Morrison"),
            ("", "", ""),
        ] {
            assert_eq!(split_name(name), (first.to_owned(), last.to_owned()), "{name}");
        }
    }

    #[test]
    fn line_breaks_stay_only_where_they_belong() {
        assert_eq!(value(FieldKind::Text, "Acme\r\nBcc: x\t y ", None), Ok("Acme Bcc: x y".to_owned()));
        assert_eq!(value(FieldKind::Long, " one\r\ntwo\rthree ", None), Ok("one\ntwo\nthree".to_owned()));
        assert!(value(FieldKind::Long, "a\0b", None).is_err());
        assert!(value(FieldKind::Text, "a\u{1b}[31m", None).is_err());
        assert!(value(FieldKind::Long, &"x".repeat(LONGEST_VALUE + 1), None).is_err());
    }
}
