//! Splits a text into parts that can be quoted alone: sentences, rows of tables, entries of lists, pieces of code.
//!
//! What introduces a part (a sentence that ends with a colon, the comment above a line of code, the keys above an
//! indented line) is its lead: it is judged and shown with the part.

mod blocks;

use blocks::{Block, blocks};
use std::ops::Range;

/// The most bytes that are quoted.
const LONGEST: usize = 1200;
/// A longer title is a sentence without a full stop.
const LONGEST_TITLE: usize = 8;
/// A whole list is quoted if it has at most so many entries.
const MOST_ENTRIES: usize = 12;
/// Code with more lines is split.
const MOST_CODE_LINES: usize = 8;
/// In bytes and in lines.
const LONGEST_RECORD: usize = 500;
const MOST_IN_RECORD: usize = 10;
const MOST_LEADS: usize = 2;
/// In bytes. An answer below its question is one part up to this length; a longer entry of a list is split.
const LONGEST_ANSWER: usize = 600;
const LONGEST_ENTRY: usize = 400;
/// In bytes. What a list of terms explains is no longer.
const LONGEST_TERM: usize = 40;

/// In words.
const LONGEST_QUESTION: usize = 20;
/// How a question begins that the paragraph below it answers.
const QUESTION: &str = "Q: ";
/// No title has these.
const CODE_SIGNS: [char; 8] = ['=', ';', '{', '}', '$', '|', '\\', '`'];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    pub range: Range<usize>,
    /// What introduces it, from the outermost.
    pub leads: Vec<Range<usize>>,
    pub form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Sentence,
    /// A sentence below a title, which is not shown.
    Titled,
    /// A row of a table, an entry of a list, a setting.
    Entry,
    /// All entries of a list.
    List,
    /// Settings that belong together, a line each.
    Record,
    Code,
}

impl Unit {
    fn new(range: Range<usize>, leads: Vec<Range<usize>>, form: Form) -> Self {
        Self { range, leads, form }
    }

    /// Returns whether another part is one of this one.
    pub fn contains(&self, other: &Self) -> bool {
        self.range.start <= other.range.start && other.range.end <= self.range.end
    }

    /// Returns whether another part is shown with this one, in it or as what introduces it.
    pub fn shows(&self, other: &Self) -> bool {
        let mut shown = self.leads.iter().filter(|_| self.form != Form::Titled).chain([&self.range]);
        shown.any(|range| range.start < other.range.end && other.range.start < range.end)
    }
}

/// Returns the parts of a text, in order.
pub fn units(text: &str) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    let mut lead: Option<(Range<usize>, bool)> = None;
    let mut parents: Vec<(usize, Range<usize>)> = Vec::new();
    let blocks = blocks(text);
    let mut at = 0;
    while at < blocks.len() {
        let block = &blocks[at];
        let next = blocks.get(at + 1);
        at += 1;
        match block {
            // The answer to a question may be a word.
            Block::Text(range)
                if is_short(&text[range.clone()])
                    && lead.as_ref().is_some_and(|(lead, _)| asks(&text[lead.clone()])) =>
            {
                let leads = lead.iter().map(|(range, _)| range.clone()).collect();
                units.push(Unit::new(range.clone(), leads, Form::Titled));
            }
            Block::Text(range) if is_title(&text[range.clone()]) => {
                match next {
                    Some(_) => lead = Some((range.clone(), true)),
                    None => units.push(Unit::new(range.clone(), Vec::new(), Form::Sentence)),
                }
                continue;
            }
            // The question that the paragraph below it answers.
            Block::Text(range) if asks(&text[range.clone()]) && next.is_some() => {
                lead = Some((range.clone(), true));
                continue;
            }
            // A term that the list below it explains.
            Block::Text(range)
                if is_short(&text[range.clone()]) && matches!(next, Some(Block::Entry { .. })) =>
            {
                lead = Some((range.clone(), true));
                continue;
            }
            Block::Text(range) if is_short(&text[range.clone()]) => {
                let leads = lead.iter().map(|(range, _)| range.clone()).collect();
                units.push(Unit::new(range.clone(), leads, Form::Code));
            }
            Block::Text(range) => {
                match lead.take() {
                    Some((question, _)) if asks(&text[question.clone()]) && range.len() <= LONGEST_ANSWER => {
                        units.push(Unit::new(range.clone(), vec![question], Form::Titled));
                    }
                    rest => add_sentences(text, range, rest.as_ref(), &mut units),
                }
                // What ends with a colon introduces what follows, and so does what stands before a list.
                if next.is_some_and(|next| introduces(text, range, next))
                    && let Some(last) = units.pop()
                {
                    lead = Some((last.range, false));
                } else if matches!(next, Some(Block::Entry { .. })) && !is_heading(text, &blocks, at) {
                    lead = units.last().map(|last| (last.range.clone(), true));
                }
                continue;
            }
            Block::Comment(range) => {
                match next {
                    Some(_) => lead = Some((range.clone(), false)),
                    None => units.push(Unit::new(range.clone(), Vec::new(), Form::Code)),
                }
                continue;
            }
            Block::Entry { range } if is_heading(text, &blocks, at - 1) => {
                let leads = lead.take().filter(|(_, is_title)| !is_title).map(|(lead, _)| lead);
                units.push(Unit::new(range.clone(), leads.into_iter().collect(), Form::Entry));
                lead = Some((range.clone(), true));
                continue;
            }
            Block::Entry { .. } => {
                let first = at - 1;
                let mut last = first;
                while let Some(Block::Entry { .. }) = blocks.get(last + 1) {
                    last += 1;
                }
                let leads = lead.iter().map(|(range, _)| range.clone()).collect();
                if last > first && last - first < MOST_ENTRIES {
                    let all = block.range().start..blocks[last].range().end;
                    units.push(Unit::new(all, leads, Form::List));
                }
                for block in &blocks[first..=last] {
                    add_entry(text, block.range(), lead.as_ref().map(|(range, _)| range), &mut units);
                }
                at = last + 1;
            }
            Block::Row { indent: 0, .. } if parents.is_empty() && record_end(text, &blocks, at - 1) > at => {
                let end = record_end(text, &blocks, at - 1);
                let range = block.range().start..blocks[end - 1].range().end;
                let leads = lead.iter().map(|(range, _)| range.clone()).collect();
                units.push(Unit::new(range, leads, Form::Record));
                at = end;
                if matches!(blocks.get(at), Some(Block::Row { .. })) {
                    continue;
                }
            }
            Block::Row { range, indent, .. } => {
                parents.retain(|(outer, _)| outer < indent);
                let mut leads: Vec<Range<usize>> = parents.iter().map(|(_, range)| range.clone()).collect();
                leads.drain(..leads.len().saturating_sub(MOST_LEADS));
                if leads.is_empty() {
                    leads.extend(
                        lead.iter().filter(|(_, is_title)| !is_title).map(|(range, _)| range.clone()),
                    );
                }
                if text[range.clone()].trim_end().ends_with(':') && next.is_some() {
                    parents.push((*indent, range.clone()));
                } else {
                    units.push(Unit::new(range.clone(), leads, Form::Entry));
                }
                // The next row has the same lead.
                if matches!(next, Some(Block::Row { .. })) {
                    continue;
                }
                if text[range.clone()].ends_with(':') {
                    (parents, lead) = (Vec::new(), Some((range.clone(), false)));
                    continue;
                }
            }
            Block::Code(range) => {
                let leads: Vec<Range<usize>> = lead.iter().map(|(range, _)| range.clone()).collect();
                let pieces = code_pieces(text, range).into_iter();
                units.extend(pieces.map(|piece| Unit::new(piece, leads.clone(), Form::Code)));
            }
        }
        parents.clear();
        lead = None;
    }
    units.into_iter().flat_map(|unit| pieces(text, unit)).collect()
}

/// Returns whether the entry at a place is the heading of a section: "2. Limits", alone above a paragraph.
fn is_heading(text: &str, blocks: &[Block], at: usize) -> bool {
    let own = &text[blocks[at].range()];
    let title = own.split_once(' ').map_or("", |(_, title)| title);
    own.starts_with(|c: char| c.is_ascii_digit())
        && is_title(title)
        && matches!(blocks.get(at + 1), Some(Block::Text(_)))
        && (at == 0 || !matches!(blocks[at - 1], Block::Entry { .. }))
}

/// Returns the index after the last row of the record that begins with this row.
fn record_end(text: &str, blocks: &[Block], first: usize) -> usize {
    let mut end = first;
    let mut bytes = 0;
    while let Some(Block::Row { range, indent: 0, after_blank }) = blocks.get(end) {
        let own = &text[range.clone()];
        bytes += own.len();
        let is_setting =
            !blocks::has_columns(own) && !own.contains("; ") && !own.contains(" | ") && !own.ends_with(':');
        if *after_blank && end > first || !is_setting || bytes > LONGEST_RECORD {
            break;
        }
        end += 1;
    }
    // What goes on is a table or a file of settings, not a record.
    let goes_on = matches!(blocks.get(end), Some(Block::Row { after_blank: false, .. }));
    if goes_on || end - first > MOST_IN_RECORD { first + 1 } else { end.max(first + 1) }
}

/// Adds the sentences of a paragraph. One about "it" is joined with the one before.
fn add_sentences(
    text: &str,
    range: &Range<usize>,
    lead: Option<&(Range<usize>, bool)>,
    units: &mut Vec<Unit>,
) {
    let leads: Vec<Range<usize>> = lead.iter().map(|(range, _)| range.clone()).collect();
    let form = match lead {
        None => Form::Sentence,
        Some((_, true)) => Form::Titled,
        Some((_, false)) => Form::Entry,
    };
    for sentence in words::sentences(&text[range.clone()]) {
        let sentence = range.start + sentence.start..range.start + sentence.end;
        match units.last_mut() {
            Some(last) if refers_back(&text[sentence.clone()]) && last.range.start >= range.start => {
                last.range.end = sentence.end;
            }
            _ => units.push(Unit::new(sentence, leads.clone(), form)),
        }
    }
}

/// Adds an entry of a list, or its sentences if it is long. Each of those keeps the term that they explain.
fn add_entry(text: &str, range: Range<usize>, lead: Option<&Range<usize>>, units: &mut Vec<Unit>) {
    let leads: Vec<Range<usize>> = lead.cloned().into_iter().collect();
    if range.len() <= LONGEST_ENTRY {
        units.push(Unit::new(range, leads, Form::Entry));
        return;
    }
    let first = units.len();
    let term = text[range.clone()].find(": ").filter(|length| *length <= LONGEST_TERM);
    let term = term.map(|length| range.start..range.start + length + 1);
    add_sentences(text, &range, None, units);
    for (index, unit) in units[first..].iter_mut().enumerate() {
        unit.leads = leads.clone();
        unit.leads.extend(term.clone().filter(|_| index > 0));
        unit.form = Form::Entry;
    }
}

/// Returns whether a paragraph introduces the block after it.
fn introduces(text: &str, paragraph: &Range<usize>, next: &Block) -> bool {
    let ends = text[paragraph.clone()].trim_end();
    let is_left_open = ends.ends_with(char::is_alphanumeric);
    let is_command = match next {
        Block::Code(_) => true,
        Block::Text(range) => is_short(&text[range.clone()]) && !is_title(&text[range.clone()]),
        _ => false,
    };
    let is_list = matches!(next, Block::Entry { .. });
    ends.ends_with(':') || is_left_open && is_command || ends.ends_with(';') && is_list
}

/// Splits a long piece of fenced code before each comment.
fn code_pieces(text: &str, range: &Range<usize>) -> Vec<Range<usize>> {
    let code = &text[range.clone()];
    if code.lines().count() <= MOST_CODE_LINES || !code.starts_with("```") {
        return vec![range.clone()];
    }
    let mut pieces: Vec<Range<usize>> = Vec::new();
    let (mut at, mut after_comment) = (range.start, false);
    for line in code.split_inclusive('\n') {
        let own = at..at + line.trim_end().len();
        at += line.len();
        if line.starts_with("```") || line.trim().is_empty() {
            continue;
        }
        let is_comment = blocks::is_comment(line.trim_start());
        match pieces.last_mut() {
            Some(last) if after_comment || !is_comment => last.end = own.end,
            _ => pieces.push(own),
        }
        after_comment = is_comment;
    }
    pieces
}

/// Splits a part that is too long to be quoted, between words.
fn pieces(text: &str, unit: Unit) -> Vec<Unit> {
    let mut range = unit.range.clone();
    let mut pieces = Vec::new();
    let piece = |range| Unit { range, ..unit.clone() };
    while range.len() > LONGEST {
        if unit.form == Form::List {
            return pieces;
        }
        let end = text.floor_char_boundary(range.start + LONGEST);
        let kept = text[range.start..end].rsplit_once(char::is_whitespace);
        let kept = kept.map_or(end, |(kept, _)| range.start + kept.len());
        // A space at the very beginning would leave nothing.
        let end = if kept > range.start { kept } else { end };
        pieces.push(piece(range.start..end));
        range.start = end;
    }
    pieces.push(piece(range));
    pieces
}

/// Returns whether a paragraph is a question that the one below it answers.
fn asks(text: &str) -> bool {
    let is_short = text.split_whitespace().count() <= LONGEST_QUESTION;
    // A numbered one may begin with what it is about: "48 I like Fahrenheit. Where is it set?".
    let is_one = || text.starts_with(|c: char| c.is_ascii_digit()) || words::sentences(text).len() == 1;
    text.starts_with(QUESTION) || text.ends_with('?') && is_short && is_one()
}

pub fn is_title(text: &str) -> bool {
    is_short(text)
        && text.trim().starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit())
        && text.contains(char::is_alphabetic)
        && !text.contains(CODE_SIGNS)
}

/// Returns whether a line is too short for a sentence, and does not end as one.
fn is_short(text: &str) -> bool {
    let text = text.trim();
    let ends = ['.', ':', ';', ',', '!', '?', '…', '。', '：', '；', '，', '！', '？'];
    text.split_whitespace().count() <= LONGEST_TITLE && !text.ends_with(ends)
}

/// Returns whether it is a part of a drawing made of characters.
pub fn is_drawing(text: &str) -> bool {
    text.contains(|c: char| ('\u{2500}'..='\u{257f}').contains(&c))
        || blocks::has_columns(text) && text.ends_with(',')
}

/// Returns whether a sentence needs the one before to be understood.
fn refers_back(sentence: &str) -> bool {
    let first = sentence.split([' ', '\'', '’']).next().unwrap_or_default();
    ["It", "They", "He", "She", "This", "These", "Its", "Their", "That", "Those"].contains(&first)
}

#[cfg(test)]
mod tests;
