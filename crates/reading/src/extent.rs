//! What of a passage is shown around a place: the sentences, the row, the entry, the whole list or the code that it is in.

use std::ops::Range;
use words::sentences;

/// In characters. A shorter line was not wrapped: what follows begins anew.
const FULL_LINE: usize = 50;
/// In bytes. Of a longer list or piece of code, only the entries or lines of the place are shown.
const MAX_BLOCK_BYTES: usize = 1200;
/// Of a longer entry, only the sentences of the place are shown.
const MAX_ENTRY_BYTES: usize = 400;
pub const FENCE: &str = "```";

/// A part of a passage that can be understood alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    pub range: Range<usize>,
    /// The sentence that introduces it, if that ends with a colon.
    pub lead: Option<Range<usize>>,
    pub form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Prose,
    /// One entry of a list.
    Entry,
    /// Several entries of a list.
    List,
    /// Rows of a table.
    Rows,
    Code,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Blank,
    Text,
    /// The first line of an entry.
    Entry,
    Row,
    Code,
}

#[derive(Clone, Debug)]
struct Line {
    range: Range<usize>,
    kind: Kind,
}

impl Extent {
    /// Returns whether it is a short line that does not end as a sentence.
    pub fn is_title(&self, text: &str) -> bool {
        let own = &text[self.range.clone()];
        self.form == Form::Prose
            && own.chars().count() < FULL_LINE
            && !own.ends_with(['.', '!', '?', '…', '。', '！', '？'])
    }

    /// Returns whether another one is, in part, the same, or belongs to the same list, rows or code.
    pub fn touches(&self, other: &Self) -> bool {
        let overlaps =
            |one: &Range<usize>, other: &Range<usize>| one.start < other.end && other.start < one.end;
        let leads_to =
            |one: &Self, other: &Self| one.lead.as_ref().is_some_and(|lead| overlaps(lead, &other.range));
        let is_listed = |form| matches!(form, Form::Entry | Form::List);
        overlaps(&self.range, &other.range)
            || leads_to(self, other)
            || leads_to(other, self)
            || is_listed(self.form) && is_listed(other.form) && self.lead.is_some() && self.lead == other.lead
    }

    /// Takes in another one that it touches.
    pub fn join(&mut self, text: &str, other: &Self) {
        if self
            .lead
            .as_ref()
            .is_some_and(|lead| lead.end >= other.range.end && lead.start <= other.range.start)
        {
            return;
        }
        let start = self.range.start.min(other.range.start);
        let end = self.range.end.max(other.range.end);
        if self.form != other.form || start < self.range.start || end > self.range.end {
            *self = extent(text, &(start..end));
        }
    }
}

/// Returns what is shown around a place.
pub fn extent(text: &str, place: &Range<usize>) -> Extent {
    let lines = lines(text);
    let overlaps =
        |line: &&Line| line.range.start < place.end.max(place.start + 1) && place.start < line.range.end;
    let inside = || lines.iter().enumerate().filter(|(_, line)| overlaps(line) && line.kind != Kind::Blank);
    let (Some((first, _)), Some((last, _))) = (inside().next(), inside().next_back()) else {
        return Extent { range: place.clone(), lead: None, form: Form::Prose };
    };
    match lines[first].kind {
        Kind::Row => rows(text, &lines, first, last),
        Kind::Code => code(text, &lines, first, last),
        _ => match entry_of(&lines, first) {
            Some(first) => entries(text, &lines, first, last, place),
            None => prose(text, &lines, first, last, place),
        },
    }
}

/// Returns the first sentence of a text that has at most so many bytes; headings, rows and lists are left out.
pub fn first_sentence(text: &str, max_bytes: usize) -> Option<Range<usize>> {
    let lines = lines(text);
    let is_prose = |at: &usize| lines[*at].kind == Kind::Text && entry_of(&lines, *at).is_none();
    let ends = |range: &Range<usize>| text[range.clone()].ends_with(['.', '!', '。', '！', '"', '”', ')']);
    let mut paragraphs = (0..lines.len()).filter(is_prose).map(|at| paragraph(text, &lines, at));
    paragraphs
        .find_map(|own| ranges(text, &own).into_iter().find(|range| ends(range) && range.len() <= max_bytes))
}

/// Returns the sentences that the place is in.
fn prose(text: &str, lines: &[Line], first: usize, last: usize, place: &Range<usize>) -> Extent {
    let begin = paragraph(text, lines, first);
    let end = paragraph(text, lines, last);
    let range = touched(text, &(begin.start..end.end.max(begin.end)), place);
    Extent { lead: lead(text, lines, range.start), range, form: Form::Prose }
}

/// Returns the sentences of a range that a place is in.
fn touched(text: &str, range: &Range<usize>, place: &Range<usize>) -> Range<usize> {
    let all = ranges(text, range).into_iter();
    let touched = all.filter(|own| own.start < place.end.max(place.start + 1) && place.start < own.end);
    touched.reduce(|one, other| one.start..other.end).unwrap_or(range.clone())
}

/// Returns an entry, or the whole list if the place is in several.
fn entries(text: &str, lines: &[Line], first: usize, last: usize, place: &Range<usize>) -> Extent {
    let whole = first..=last;
    let several = lines[whole].iter().filter(|line| line.kind == Kind::Entry).count() > 1;
    let is_of_list = |at: usize| lines[at].kind == Kind::Blank || entry_of(lines, at).is_some();
    let mut begin = first;
    let mut end = last;
    while several && begin > 0 && is_of_list(begin - 1) {
        begin -= 1;
    }
    while end + 1 < lines.len() && (several && is_of_list(end + 1) || is_continued(lines, end + 1)) {
        end += 1;
    }
    let whole = trimmed(text, lines[begin].range.start..lines[end].range.end);
    let range = match several && whole.len() > MAX_BLOCK_BYTES {
        true => trimmed(text, lines[first].range.start..lines[last].range.end),
        false => whole,
    };
    if !several && range.len() > MAX_ENTRY_BYTES {
        return Extent { lead: None, range: touched(text, &range, place), form: Form::Prose };
    }
    let form = if several { Form::List } else { Form::Entry };
    Extent { lead: lead(text, lines, range.start).or_else(|| list_lead(text, lines, first)), range, form }
}

fn rows(text: &str, lines: &[Line], first: usize, last: usize) -> Extent {
    let last = (first..=last).take_while(|at| lines[*at].kind == Kind::Row).last().unwrap_or(first);
    let range = trimmed(text, lines[first].range.start..lines[last].range.end);
    Extent { range, lead: list_lead(text, lines, first), form: Form::Rows }
}

/// Returns the whole code, or the lines of the place with the comments above them.
fn code(text: &str, lines: &[Line], first: usize, last: usize) -> Extent {
    let is_code = |at: usize| lines[at].kind == Kind::Code;
    let last = (first..=last).rfind(|at| is_code(*at)).unwrap_or(first);
    let begin = (0..=first).rev().take_while(|at| is_code(*at)).last().unwrap_or(first);
    let end = (last..lines.len()).take_while(|at| is_code(*at)).last().unwrap_or(last);
    let whole = lines[begin].range.start..lines[end].range.end;
    if whole.len() <= MAX_BLOCK_BYTES {
        return Extent { lead: lead(text, lines, whole.start), range: whole, form: Form::Code };
    }
    let is_comment =
        |at: &usize| text[lines[*at].range.clone()].trim_start().starts_with(['#', '/', '-', '%', ';']);
    let begin = (begin..first).rev().take_while(is_comment).last().unwrap_or(first);
    Extent { range: lines[begin].range.start..lines[last].range.end, lead: None, form: Form::Code }
}

/// Returns the line before a place if it introduces it: its last sentence, which ends with a colon.
fn lead(text: &str, lines: &[Line], start: usize) -> Option<Range<usize>> {
    let before = lines.iter().rposition(|line| line.range.end <= start && line.kind != Kind::Blank)?;
    let line = &lines[before];
    let introduces =
        matches!(line.kind, Kind::Text | Kind::Entry) && text[line.range.clone()].trim_end().ends_with(':');
    introduces.then(|| ranges(text, &paragraph(text, lines, before)).pop()).flatten()
}

/// Returns what introduces the list that an entry is in.
fn list_lead(text: &str, lines: &[Line], at: usize) -> Option<Range<usize>> {
    let is_of_list =
        |at: &usize| matches!(lines[*at].kind, Kind::Blank | Kind::Row) || entry_of(lines, *at).is_some();
    let begin = (0..at).rev().take_while(is_of_list).last().unwrap_or(at);
    lead(text, lines, lines[begin].range.start)
}

/// Returns the lines that a line of text was wrapped into.
fn paragraph(text: &str, lines: &[Line], at: usize) -> Range<usize> {
    let is_text = |at: usize| lines.get(at).is_some_and(|line| line.kind == Kind::Text);
    let goes_on = |at: usize| {
        let line = text[lines[at].range.clone()].trim_end();
        let next = &text[lines[at + 1].range.clone()];
        let is_full = line.chars().count() >= FULL_LINE;
        is_full || next.trim_start().starts_with(char::is_lowercase)
    };
    let (mut first, mut last) = (at, at);
    while first > 0 && is_text(first - 1) && goes_on(first - 1) {
        first -= 1;
    }
    while is_text(last + 1) && goes_on(last) {
        last += 1;
    }
    trimmed(text, lines[first].range.start..lines[last].range.end)
}

fn ranges(text: &str, range: &Range<usize>) -> Vec<Range<usize>> {
    let shift = |own: Range<usize>| range.start + own.start..range.start + own.end;
    sentences(&text[range.clone()]).into_iter().map(shift).collect()
}

/// Returns the index of the first line of the entry that a line is in.
fn entry_of(lines: &[Line], at: usize) -> Option<usize> {
    let first = (0..=at).rev().find(|at| lines[*at].kind != Kind::Text)?;
    (lines[first].kind == Kind::Entry).then_some(first)
}

fn is_continued(lines: &[Line], at: usize) -> bool {
    lines[at].kind == Kind::Text && entry_of(lines, at).is_some()
}

fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let own = &text[range.clone()];
    let start = range.start + own.len() - own.trim_start().len();
    start..start + own.trim().len()
}

fn lines(text: &str) -> Vec<Line> {
    let (mut start, mut fenced) = (0, false);
    let line = |whole: &str| {
        let range = start..start + whole.trim_end().len();
        start += whole.len();
        let line = whole.trim();
        let is_fence = line.starts_with(FENCE);
        let kind = if fenced || is_fence { Kind::Code } else { kind(line) };
        fenced ^= is_fence;
        Line { range, kind }
    };
    text.split_inclusive('\n').map(line).collect()
}

fn kind(line: &str) -> Kind {
    if line.is_empty() {
        Kind::Blank
    } else if is_entry(line) {
        Kind::Entry
    } else if cells(line).is_some() || line.contains('\t') || line.contains(" | ") || line.contains("   ") {
        Kind::Row
    } else {
        Kind::Text
    }
}

/// Returns whether a line begins with the mark of a list or its number.
pub fn is_entry(line: &str) -> bool {
    let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
    let number = first.trim_start_matches('(').strip_suffix(['.', ')']);
    let is_number = number.is_some_and(|number| {
        (1..=2).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
    });
    !rest.trim().is_empty() && (matches!(first, "-" | "*" | "•" | "–") || is_number)
}

/// Returns the names and values of a row, if all its cells have names: "Year: 2001; League: 2".
pub fn cells(line: &str) -> Option<Vec<(&str, &str)>> {
    let cells: Option<Vec<(&str, &str)>> = line.split("; ").map(|cell| cell.split_once(": ")).collect();
    let is_name = |name: &str| !name.is_empty() && name.split(' ').count() <= 5 && !name.contains(['.', ',']);
    cells.filter(|cells| cells.len() > 1 && cells.iter().all(|(name, _)| is_name(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what is shown around the first place of a text, with its lead before it.
    fn shown<'a>(text: &'a str, place: &str) -> (Form, &'a str, &'a str) {
        let start = text.find(place).unwrap();
        let Extent { range, lead, form } = extent(text, &(start..start + place.len()));
        (form, lead.map_or("", |lead| &text[lead]), &text[range])
    }

    #[test]
    fn a_place_in_prose_is_shown_with_its_sentences() {
        let text = "Pumps\nThe pump is blue. It was made in Bergen, which lies in the west of Norway,\nby hand. It leaks.\n\nNew.";
        assert_eq!(shown(text, "blue"), (Form::Prose, "", "The pump is blue."));
        let made = "It was made in Bergen, which lies in the west of Norway,\nby hand.";
        assert_eq!(shown(text, "by hand"), (Form::Prose, "", made));
        assert_eq!(shown(text, "hand. It"), (Form::Prose, "", &text[24..text.find("\n\n").unwrap()]));
        assert_eq!(
            shown("Test it with:\n\nupsmon -c fsd", "upsmon"),
            (Form::Prose, "Test it with:", "upsmon -c fsd")
        );
        assert_eq!(shown("", "").2, "");
    }

    #[test]
    fn a_place_in_several_entries_is_shown_as_the_whole_list() {
        let text =
            "It can be set. You do it so:\n\n- Open it,\n  then wait.\n- Apply it.\n\n3. Close it.\n\nDone.";
        assert_eq!(shown(text, "wait"), (Form::Entry, "You do it so:", "- Open it,\n  then wait."));
        let list = "- Open it,\n  then wait.\n- Apply it.\n\n3. Close it.";
        assert_eq!(shown(text, "wait.\n- Apply"), (Form::List, "You do it so:", list));
        assert_eq!(shown(text, "Done"), (Form::Prose, "", "Done."));
    }

    #[test]
    fn a_place_in_a_row_or_in_code_is_shown_with_all_of_it() {
        let text = "Sizes:\nName: a; Size: 2\nName: b; Size: 3\n\n```\n# Stop\nrun -x\n```\nEnd";
        assert_eq!(shown(text, "3"), (Form::Rows, "Sizes:", "Name: b; Size: 3"));
        assert_eq!(shown(text, "-x"), (Form::Code, "", "```\n# Stop\nrun -x\n```"));
        let long = format!("```\n{}# Stop\nrun -x\n{}```", "a = 1\n".repeat(200), "b = 2\n".repeat(200));
        assert_eq!(shown(&long, "-x"), (Form::Code, "", "# Stop\nrun -x"));
    }

    #[test]
    fn a_summary_begins_with_a_sentence() {
        let text = "Pump manual\n\n- a\n\nThe pump that is blue was made in Bergen. It leaks.";
        let first = |bytes| first_sentence(text, bytes).map(|range| &text[range]);
        assert_eq!(first(100), Some("The pump that is blue was made in Bergen."));
        assert_eq!(first(20), Some("It leaks."));
        assert_eq!(first(3), None);
    }

    #[test]
    fn any_place_of_any_text_has_an_extent() {
        let text = "- ä\n```\nß | \n1. \n\u{3000}\nName: ; : x; \n   a   b\n\n```";
        for start in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
            for end in (start..=text.len()).filter(|at| text.is_char_boundary(*at)) {
                let found = extent(text, &(start..end));
                assert!(text.get(found.range.clone()).is_some(), "{start}..{end}: {found:?}");
            }
        }
    }
}
