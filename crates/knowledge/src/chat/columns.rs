//! The columns of a row, as a table is indexed: "name: Tungsten; boilingPoint: 5828; density: 19.25", or a line each.

use super::follow_up::last_part;
use super::question::Asked;
use super::source::Source;
use std::ops::Range;
use words::{Language, stem_set};

/// A row with fewer columns is shown whole.
const WIDE: usize = 5;

/// How a question begins, and what the columns are called that it asks for.
const CALLED: &[(&str, &[&str])] = &[
    ("when ", &["date", "day", "month", "year", "time"]),
    ("where ", &["place", "city", "town", "country", "location", "address"]),
    (
        "how many people ",
        &["population", "inhabitants", "people", "persons", "passengers", "pax", "seats", "capacity"],
    ),
    ("how large ", &["area", "size", "surface"]),
    ("how big ", &["area", "size", "surface"]),
    ("how heavy ", &["weight", "mass"]),
    ("how tall ", &["height", "elevation", "altitude"]),
    ("how high ", &["height", "elevation", "altitude"]),
    ("how fast ", &["speed", "rate"]),
    ("how old ", &["age", "born"]),
    ("wann ", &["datum", "tag", "monat", "jahr", "zeit"]),
    ("wo ", &["ort", "stadt", "land", "adresse"]),
];
/// More than a word that a name shares with the question.
const IS_CALLED: usize = 2;
/// The value of a setting has no more words.
const MOST_WORDS: usize = 3;

/// Returns where the columns of a wide row are that a question asks for, those by which it names the row, and the first
/// one if that has a name. Empty if the whole row is to be shown.
pub fn asked_columns(asked: &Asked, source: &Source, row: &Range<usize>) -> Vec<Range<usize>> {
    let columns = columns(&source.text, row);
    if columns.len() < WIDE {
        return Vec::new();
    }
    let language = source.language();
    let terms = asked.terms(&asked.text, &[language]);
    let count = |text: &str| {
        let stems = stem_set(text, language);
        terms.iter().filter(|term| term.is_in(&stems)).count()
    };
    let counts: Vec<(usize, usize)> = columns
        .iter()
        .map(|column| {
            let (name, value) = source.text[column.clone()].split_once(": ").unwrap_or_default();
            let name = spaced(name);
            (count(&name) + if is_called(asked, &name) { IS_CALLED } else { 0 }, count(value))
        })
        .collect();
    // "boiling point" is "boilingPoint" rather than "meltingPoint".
    let most = counts.iter().filter(|(_, value)| *value == 0).map(|(name, _)| *name).max().unwrap_or(0);
    let is_named = counts.iter().any(|(_, value)| *value > 0);
    if most == 0 || !is_named {
        return Vec::new();
    }
    let first = source.text[columns[0].clone()].split_once(": ").map_or("", |(_, value)| value);
    let has_key = first.contains(char::is_alphabetic);
    let is_shown = |at: usize| counts[at].1 > 0 || counts[at].0 == most || at == 0 && has_key;
    (0..columns.len()).filter(|at| is_shown(*at)).map(|at| columns[at].clone()).collect()
}

/// Returns whether a column's name says that it has what the question begins with: "year" for "when".
fn is_called(asked: &Asked, name: &str) -> bool {
    let lower = name.to_lowercase();
    called(asked)
        .is_some_and(|(_, names)| lower.split(|c: char| !c.is_alphabetic()).any(|word| names.contains(&word)))
}

fn called(asked: &Asked) -> Option<&'static (&'static str, &'static [&'static str])> {
    let question = last_part(&asked.text).to_lowercase();
    CALLED.iter().find(|(start, _)| question.starts_with(start))
}

/// Returns whether a row of an English table, or a setting, has none of the words for the property that is asked for.
pub fn lacks_property(asked: &Asked, source: &Source, row: &Range<usize>) -> bool {
    // A date may be in any column, an area only in one that is called so.
    let is_called_so = called(asked).is_some_and(|(start, _)| start.starts_with("how "));
    let columns = columns(&source.text, row);
    let is_table = columns.len() >= WIDE && source.language() == Language::English;
    if is_called_so && (is_table || is_setting(&source.text[row.clone()])) {
        let terms = asked.terms(last_part(&asked.text), &[Language::English]);
        let is_asked = |column: &Range<usize>| {
            let name = source.text[column.clone()].split_once(": ").map_or("", |(name, _)| name);
            let stems = stem_set(&spaced(name), Language::English);
            is_called(asked, &spaced(name)) || terms.iter().any(|term| term.is_in(&stems))
        };
        return !columns.iter().any(is_asked);
    }
    if is_called_so || asked.property.len() < 2 || !is_table {
        return false;
    }
    let text = format!("{} {}", source.above().join(" "), spaced(&source.text));
    let stems = stem_set(&text, Language::English);
    !asked.property.iter().any(|stem| stems.contains(stem))
}

/// Returns whether a text is one setting, such as "idd.root: +9".
fn is_setting(text: &str) -> bool {
    let parts = text.trim().split_once(": ").filter(|(_, value)| !value.contains(['\n', ';']));
    parts.is_some_and(|(key, value)| !key.contains(' ') && value.split(' ').count() <= MOST_WORDS)
}

/// Splits a row. A value may have the separator in it.
fn columns(text: &str, row: &Range<usize>) -> Vec<Range<usize>> {
    let mut columns: Vec<Range<usize>> = Vec::new();
    let mut start = row.start;
    for piece in text[row.clone()].split_inclusive(['\n', ';']) {
        let cell = piece.trim_end_matches(['\n', ';']);
        let indent = cell.len() - cell.trim_start().len();
        let range = start + indent..start + cell.len();
        start += piece.len();
        match columns.last_mut() {
            _ if range.is_empty() => {}
            Some(last) if !piece.contains(": ") => last.end = range.end,
            _ => columns.push(range),
        }
    }
    columns
}

/// Returns the words of a name: "boiling Point" for "boilingPoint".
fn spaced(name: &str) -> String {
    let mut spaced = String::with_capacity(name.len() + 4);
    let mut before = ' ';
    for letter in name.chars() {
        if letter.is_uppercase() && before.is_lowercase() {
            spaced.push(' ');
        }
        spaced.push(if letter == '_' { ' ' } else { letter });
        before = letter;
    }
    spaced
}

#[cfg(test)]
mod tests {
    use super::*;

    const TUNGSTEN: &str = "number: 74; symbol: W; name: Tungsten; states: -2; 1; 6; meltingPoint: 3695; \
        boilingPoint: 5828; density: 19.25";

    fn shown(question: &str) -> Vec<&'static str> {
        let source = &Source::of_texts([TUNGSTEN])[0];
        let columns = asked_columns(&Asked::new(question), source, &(0..TUNGSTEN.len()));
        columns.into_iter().map(|column| &TUNGSTEN[column]).collect()
    }

    #[test]
    fn a_wide_row_is_shown_by_what_is_asked_and_named() {
        assert_eq!(shown("What is the boiling point of tungsten?"), ["name: Tungsten", "boilingPoint: 5828"]);
        assert_eq!(shown("Which states has tungsten?"), ["name: Tungsten", "states: -2; 1; 6"]);
    }

    #[test]
    fn when_asks_for_a_date_and_where_for_a_place() {
        let row = "meeting: 7; at.place: Lyon; start_year: 2012; month: April; notes: cold";
        let source = &Source::of_texts([row])[0];
        let shown = |question: &str| -> Vec<&str> {
            let columns = asked_columns(&Asked::new(question), source, &(0..row.len()));
            columns.into_iter().map(|column| &row[column]).collect()
        };
        assert_eq!(
            shown("When was the meeting in Lyon?"),
            ["at.place: Lyon", "start_year: 2012", "month: April"]
        );
        assert_eq!(shown("Where was the meeting in 2012?"), ["at.place: Lyon", "start_year: 2012"]);
    }

    #[test]
    fn without_a_column_or_without_a_name_a_row_is_shown_whole() {
        assert!(shown("How heavy is tungsten?").is_empty());
        assert!(shown("Which boiling point is the highest?").is_empty());
        assert!(shown("Which metal has the symbol W?").is_empty());
    }

    #[test]
    fn a_record_has_a_column_in_each_line_and_signs_alone_are_no_columns() {
        let split = |text: &'static str| -> Vec<&str> {
            columns(text, &(0..text.len())).into_iter().map(|column| &text[column]).collect()
        };
        assert_eq!(split("a: 1\n b: 2; 3\n\nc: ü;\n"), ["a: 1", "b: 2; 3", "c: ü"]);
        assert!(split("\n;\n").is_empty());
    }

    #[test]
    fn a_row_without_the_asked_property_is_known() {
        let source = &Source::of_texts([TUNGSTEN])[0];
        let lacks = |question: &str| lacks_property(&Asked::new(question), source, &(0..TUNGSTEN.len()));
        assert!(lacks("What is the thermal conductivity of tungsten?"));
        assert!(!lacks("What is the boiling point of tungsten?"));
        assert!(!lacks("What is the mass of tungsten?"));
        assert!(lacks("How heavy is tungsten?"));
        for (setting, lacks) in [
            ("idd.suffixes: 76", true),
            ("population: 3200000", false),
            ("Note: 76 people do live there.", false),
        ] {
            let source = &Source::of_texts([setting])[0];
            let asked = Asked::new("How many people live in Mongolia?");
            assert_eq!(lacks_property(&asked, source, &(0..setting.len())), lacks, "{setting}");
        }
        let tower = "City: Paris\nHeight: 330 m\nBuilt: 1889\nFloors: 3\nArchitect: Sauvestre";
        let source = &Source::of_texts([tower])[0];
        assert!(!lacks_property(&Asked::new("How high is the Eiffel Tower?"), source, &(0..tower.len())));
    }
}
