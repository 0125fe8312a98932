//! Shows an extent as Markdown, with the words that answer emphasised.

use crate::extent::{Extent, FENCE, Form, cells, is_entry};
use std::ops::Range;

/// Of a wider row, only the first column is shown, and those that answer or that the question names.
const MAX_COLUMNS: usize = 6;
const EMPHASIS: &str = "**";
const MARKS: [char; 4] = ['-', '*', '•', '–'];

pub fn markdown(question: &str, text: &str, extent: &Extent, places: &[Range<usize>]) -> String {
    let lead = extent.lead.clone().map(|lead| one_line(&text[lead])).unwrap_or_default();
    let own = extent.range.clone();
    match extent.form {
        // Only in a list are the next best places answers beside the best.
        Form::Prose | Form::Entry => {
            join(&lead, " ", &emphasised(text, &own, &places[..places.len().min(1)]))
        }
        Form::List => {
            let entries = entries(text, &own).into_iter().map(|entry| listed(text, &entry, places));
            join(&lead, "\n", &entries.collect::<Vec<String>>().join("\n"))
        }
        Form::Rows => join(&lead, "\n\n", &table(question, text, extent, places)),
        Form::Code => {
            let lines = text[own].lines().filter(|line| !line.trim_start().starts_with(FENCE));
            join(&lead, "\n", &format!("{FENCE}\n{}\n{FENCE}", lines.collect::<Vec<&str>>().join("\n")))
        }
    }
}

/// Returns the ranges of the entries of a list, with the lines that they go on in.
fn entries(text: &str, list: &Range<usize>) -> Vec<Range<usize>> {
    let mut entries: Vec<Range<usize>> = Vec::new();
    let mut at = list.start;
    for line in text[list.clone()].split_inclusive('\n') {
        let range = at + line.len() - line.trim_start().len()..at + line.trim_end().len();
        at += line.len();
        match entries.last_mut() {
            _ if line.trim().is_empty() => {}
            Some(last) if !is_entry(line.trim()) => last.end = range.end,
            _ => entries.push(range),
        }
    }
    entries
}

/// Returns an entry of a list, with a mark if it has no number.
fn listed(text: &str, entry: &Range<usize>, places: &[Range<usize>]) -> String {
    let shown = emphasised(text, entry, places);
    let is_numbered = text[entry.clone()].starts_with(|c: char| c.is_ascii_digit() || c == '(');
    if is_numbered { shown } else { format!("- {shown}") }
}

/// Returns rows as a table; rows without names for their cells as they are.
fn table(question: &str, text: &str, extent: &Extent, places: &[Range<usize>]) -> String {
    let own = &text[extent.range.clone()];
    let rows: Option<Vec<Vec<(&str, &str)>>> = own.lines().map(|line| cells(line.trim())).collect();
    let Some(rows) = rows.filter(|rows| rows.iter().all(|row| names(row) == names(&rows[0]))) else {
        return own.lines().map(|line| format!("- {}", one_line(line))).collect::<Vec<_>>().join("\n");
    };
    let offset = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
    let answers = |value: &str, places: &[Range<usize>]| {
        let range = offset(value)..offset(value) + value.len();
        places.iter().any(|place| place.start < range.end && range.start < place.end)
    };
    let best = &places[..places.len().min(1)];
    let asked = words(question);
    let is_asked = |cell: &str| {
        let own = words(cell);
        !own.is_empty() && own.iter().all(|word| asked.contains(word))
    };
    let is_shown = |column: usize| {
        let has = |row: &Vec<(&str, &str)>| {
            answers(row[column].1, places) || is_asked(row[column].1) || is_asked(row[column].0)
        };
        rows[0].len() <= MAX_COLUMNS || column == 0 || rows.iter().any(has)
    };
    let columns: Vec<usize> = (0..rows[0].len()).filter(|column| is_shown(*column)).collect();
    let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let value = |value: &str| {
        let shown = value.replace('|', "\\|");
        if answers(value, best) && !shown.is_empty() { format!("{EMPHASIS}{shown}{EMPHASIS}") } else { shown }
    };
    let header = line(columns.iter().map(|column| rows[0][*column].0.replace('|', "\\|")).collect());
    let rule = format!("|{}", "---|".repeat(columns.len()));
    let body = rows.iter().map(|row| line(columns.iter().map(|column| value(row[*column].1)).collect()));
    [header, rule].into_iter().chain(body).collect::<Vec<String>>().join("\n")
}

fn names<'a>(row: &[(&'a str, &str)]) -> Vec<&'a str> {
    row.iter().map(|(name, _)| *name).collect()
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// Returns a range in one line, with the places in it emphasised, unless they are nearly all of it.
fn emphasised(text: &str, range: &Range<usize>, places: &[Range<usize>]) -> String {
    let inside = |place: &Range<usize>| {
        let own =
            &text[place.start.max(range.start)..place.end.min(range.end).max(place.start.max(range.start))];
        let unmarked = own.trim_start().trim_start_matches(MARKS);
        // The mark of an entry stands apart; other signs belong to a word.
        let trimmed =
            if unmarked.starts_with(char::is_whitespace) { unmarked.trim_start() } else { own.trim_start() };
        let start = place.start.max(range.start) + own.len() - trimmed.len();
        start..start + trimmed.trim_end().len()
    };
    let all = one_line(&text[range.clone()]).len();
    let is_shown = |place: &Range<usize>| {
        // Within code, it would be shown as it is written.
        let in_code = text[range.start..place.start].matches('`').count() % 2 == 1;
        let has_signs = text[place.clone()].contains(['*', '`', '_', '[', ']', '(', ')', '\n']);
        let has_words = text[place.clone()].contains(char::is_alphanumeric);
        has_words && 3 * place.len() < 2 * all && !in_code && !has_signs
    };
    let mut inside: Vec<Range<usize>> = places.iter().map(inside).filter(is_shown).collect();
    inside.sort_by_key(|place| place.start);
    let mut marked = String::new();
    let mut at = range.start;
    for place in inside {
        if place.start > at || marked.is_empty() {
            marked += &format!("{}{EMPHASIS}{}{EMPHASIS}", &text[at..place.start], &text[place.clone()]);
            at = place.end;
        }
    }
    one_line(&(marked + &text[at..range.end]))
}

/// Returns a text in one line, without the mark of a list.
fn one_line(text: &str) -> String {
    let is_mark = |word: &&str| matches!(*word, "-" | "*" | "•" | "–" | "|");
    text.split_whitespace().skip_while(is_mark).collect::<Vec<&str>>().join(" ")
}

fn join(lead: &str, between: &str, text: &str) -> String {
    if lead.is_empty() { text.to_owned() } else { format!("{lead}{between}{text}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extent::extent;

    fn shown(text: &str, place: &str) -> String {
        let start = text.find(place).unwrap();
        let place = start..start + place.len();
        markdown("Which b?", text, &extent(text, &place), &[place])
    }

    #[test]
    fn the_words_that_answer_are_emphasised() {
        assert_eq!(shown("The pump\nis blue.", "blue"), "The pump is **blue**.");
        assert_eq!(shown("The pump is blue.", "pump is blue"), "The pump is blue.");
        assert_eq!(shown("Run:\n- set `x` to 1\n", "`x`"), "Run: set `x` to 1");
        assert_eq!(shown("- -f: the flags of all", "- -f"), "**-f**: the flags of all");
        let two = |one: Range<usize>, other| {
            let text = "It is blue, or red.";
            markdown("", text, &extent(text, &one), &[one, other])
        };
        assert_eq!(two(6..10, 15..18), "It is **blue**, or red.");
    }

    #[test]
    fn lists_rows_and_code_keep_their_form() {
        let list = "It has:\n- RAM, of\n  2 kB\n- ROM";
        assert_eq!(shown(list, "2 kB\n- ROM"), "It has:\n- RAM, of **2 kB**\n- ROM");
        let rows = "Name: a; Size: 2\nName: b; Size: 3";
        assert_eq!(shown(rows, "3"), "| Name | Size |\n|---|---|\n| b | **3** |");
        let wide = "A: 1; B: 2; C: 3; D: 4; E: 5; F: 6; G: 7";
        assert_eq!(shown(wide, "7"), "| A | B | G |\n|---|---|---|\n| 1 | 2 | **7** |");
        assert_eq!(shown("a | b\n1 | 2", "2"), "- 1 | 2");
        assert_eq!(shown("So:\n  ```sh\n  a\n  ```", "a\n"), "So:\n```\n  a\n```");
        assert_eq!(
            shown("Do:\n- 3 bolts\n  - slowly\n2. Open", "bolts\n  - slowly"),
            "Do:\n- 3 bolts\n- slowly\n2. Open"
        );
    }
}
