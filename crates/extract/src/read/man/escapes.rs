//! The escape sequences of roff: fonts and sizes are dropped, characters and strings are written out.

use std::collections::BTreeMap;

/// The strings that a page defines, by name.
pub(super) type Strings = BTreeMap<String, String>;

/// Returns a line as a reader sees it. A line that ends in `\c` ends in [`GLUE`].
pub(super) fn plain(line: &str, strings: &Strings) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('\\') {
        shown.push_str(&rest[..at]);
        rest = escape(&rest[at + 1..], strings, &mut shown);
    }
    shown.push_str(rest);
    shown.replace("``", "“").replace("''", "”")
}

/// Joins a line with the next one without a space.
pub(super) const GLUE: char = '\u{2060}';

/// Writes what the escape after a backslash stands for, and returns the rest of the line.
fn escape<'a>(rest: &'a str, strings: &Strings, shown: &mut String) -> &'a str {
    let Some(first) = rest.chars().next() else { return rest };
    let after = &rest[first.len_utf8()..];
    match first {
        '"' | '#' => "",
        'f' | 'F' | 'm' | 'M' | 'g' | 'k' | 'Y' => name(after).1,
        'n' => name(after.trim_start_matches(['+', '-'])).1,
        's' => size(after),
        '(' | '[' | 'C' => {
            let (found, rest) = if first == 'C' { quoted(after) } else { name(rest) };
            shown.push_str(&character(found));
            rest
        }
        '*' => {
            let (found, rest) = name(after);
            shown.push_str(strings.get(found).map_or_else(|| standard_string(found), String::as_str));
            rest
        }
        'h' | 'v' | 'w' | 'l' | 'L' | 'D' | 'b' | 'X' | 'x' | 'H' | 'S' | 'A' | 'B' | 'R' | 'N' | 'Z' => {
            let (_, rest) = quoted(after);
            if first == 'h' {
                shown.push(' ');
            }
            rest
        }
        'o' => {
            let (letters, rest) = quoted(after);
            shown.extend(letters.chars().next());
            rest
        }
        'c' => {
            shown.push(GLUE);
            after
        }
        'e' | '\\' | 'E' => push(shown, '\\', after),
        '-' => push(shown, '-', after),
        ' ' | '~' | '0' => push(shown, ' ', after),
        't' => push(shown, '\t', after),
        '&' | '%' | ':' | '/' | ',' | '|' | '^' | ')' | '{' | '}' | 'p' | 'd' | 'u' | 'r' | 'z' | 'a'
        | '!' | '?' => after,
        other => push(shown, other, after),
    }
}

fn push<'a>(shown: &mut String, c: char, rest: &'a str) -> &'a str {
    shown.push(c);
    rest
}

/// Reads a name of one character, of two after `(`, or in brackets.
fn name(text: &str) -> (&str, &str) {
    let split = |start: usize, length: usize| {
        let end = text[start..].char_indices().nth(length).map_or(text.len(), |(at, _)| start + at);
        (&text[start..end], &text[end..])
    };
    match text.chars().next() {
        Some('(') => split(1, 2),
        Some('[') => match text.find(']') {
            Some(end) => (&text[1..end], &text[end + 1..]),
            None => (&text[1..], ""),
        },
        Some(_) => split(0, 1),
        None => ("", ""),
    }
}

/// Reads an argument between two of the same signs.
fn quoted(text: &str) -> (&str, &str) {
    let Some(mark) = text.chars().next() else { return ("", "") };
    let inside = &text[mark.len_utf8()..];
    match inside.find(mark) {
        Some(end) => (&inside[..end], &inside[end + mark.len_utf8()..]),
        None => (inside, ""),
    }
}

/// Skips a size: `\s-2`, `\s10`, `\s(12`, `\s'+1'`, `\s[9]`.
fn size(text: &str) -> &str {
    let unsigned = text.trim_start_matches(['+', '-']);
    match unsigned.chars().next() {
        Some('(' | '[') => name(unsigned).1,
        Some('\'') => quoted(unsigned).1,
        Some(digit) if digit.is_ascii_digit() => {
            let two = unsigned.starts_with(['1', '2', '3'])
                && unsigned[1..].starts_with(|c: char| c.is_ascii_digit());
            &unsigned[if two { 2 } else { 1 }..]
        }
        _ => unsigned,
    }
}

fn standard_string(name: &str) -> &'static str {
    match name {
        "lq" | "Lq" => "“",
        "rq" | "Rq" => "”",
        "R" => "®",
        "Tm" => "™",
        "Aq" => "'",
        _ => "",
    }
}

/// Returns a special character by its name: `bu` is a bullet, `u00E9` an é, `:u` an ü.
fn character(name: &str) -> String {
    if let Some((_, c)) = CHARACTERS.iter().find(|(known, _)| *known == name) {
        return (*c).to_owned();
    }
    let code = name.strip_prefix('u').and_then(|code| u32::from_str_radix(code, 16).ok());
    if let Some(c) = code.and_then(char::from_u32) {
        return c.to_string();
    }
    let mut signs = name.chars();
    match (signs.next(), signs.next(), signs.next()) {
        (Some(accent), Some(letter), None) => accented(accent, letter).unwrap_or_default(),
        _ => String::new(),
    }
}

/// Returns a letter with its accent, which follows it in Unicode.
fn accented(accent: char, letter: char) -> Option<String> {
    const LETTERS: [(char, &str, &str); 6] = [
        ('\'', "aeiouyAEIOUYcnsz", "áéíóúýÁÉÍÓÚÝćńśź"),
        ('`', "aeiouAEIOU", "àèìòùÀÈÌÒÙ"),
        ('^', "aeiouAEIOU", "âêîôûÂÊÎÔÛ"),
        (':', "aeiouyAEIOU", "äëïöüÿÄËÏÖÜ"),
        ('~', "anoANO", "ãñõÃÑÕ"),
        (',', "cC", "çÇ"),
    ];
    let (_, plain, with) = LETTERS.iter().find(|(sign, ..)| *sign == accent)?;
    let at = plain.chars().position(|c| c == letter)?;
    with.chars().nth(at).map(String::from)
}

const CHARACTERS: [(&str, &str); 54] = [
    ("aq", "'"),
    ("dq", "\""),
    ("bu", "•"),
    ("ci", "○"),
    ("sq", "□"),
    ("em", "—"),
    ("en", "–"),
    ("hy", "-"),
    ("mi", "−"),
    ("pl", "+"),
    ("eq", "="),
    ("lq", "“"),
    ("rq", "”"),
    ("oq", "‘"),
    ("cq", "’"),
    ("Bq", "„"),
    ("Fo", "«"),
    ("Fc", "»"),
    ("fo", "‹"),
    ("fc", "›"),
    ("co", "©"),
    ("rg", "®"),
    ("tm", "™"),
    ("ti", "~"),
    ("ha", "^"),
    ("ga", "`"),
    ("aa", "´"),
    ("sl", "/"),
    ("ba", "|"),
    ("or", "|"),
    ("rs", "\\"),
    ("sh", "#"),
    ("at", "@"),
    ("Do", "$"),
    ("Eu", "€"),
    ("<=", "≤"),
    (">=", "≥"),
    ("!=", "≠"),
    ("mu", "×"),
    ("+-", "±"),
    ("de", "°"),
    ("->", "→"),
    ("<-", "←"),
    ("ss", "ß"),
    ("AE", "Æ"),
    ("ae", "æ"),
    ("o/", "ø"),
    ("O/", "Ø"),
    ("oa", "å"),
    ("lB", "["),
    ("rB", "]"),
    ("la", "⟨"),
    ("ra", "⟩"),
    ("dg", "†"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fonts_go_and_characters_stay() {
        let strings = Strings::from([("Ve".to_owned(), "1.2".to_owned())]);
        let cases = [
            (r"\fBgzip\fP [\fB\-S\fR\fI\ suffix\fP]", "gzip [-S suffix]"),
            (r"\f(CWls\f[R] \s-1NAME\s0 \s+2x\s10y", "ls NAME xy"),
            (r"z\&.B\&. \(bu \[u00E9] \[:u] \(co \e", "z.B. • é ü © \\"),
            (r"\*(Ve \*[Ve] \*(lqso\*(rq \n(.g", "1.2 1.2 “so” "),
            (r"\h'2m'wide \w'x'ok \o'ab'", " wide ok a"),
            (r#"text \" a comment"#, "text "),
            (r"``run this''", "“run this”"),
            (r"ends in a backslash \", "ends in a backslash "),
        ];
        for (line, expected) in cases {
            assert_eq!(plain(line, &strings), expected);
        }
    }
}
