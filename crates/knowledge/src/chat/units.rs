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

    pub fn overlaps(&self, other: &Self) -> bool {
        self.range.start < other.range.end && other.range.start < self.range.end
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
            Block::Text(range) if is_title(&text[range.clone()]) => {
                match next {
                    Some(_) => lead = Some((range.clone(), true)),
                    None => units.push(Unit::new(range.clone(), Vec::new(), Form::Sentence)),
                }
                continue;
            }
            // The question that the paragraph below it answers.
            Block::Text(range) if text[range.clone()].starts_with("Q: ") && next.is_some() => {
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
                let rest = lead.take();
                add_sentences(text, range, rest.as_ref(), &mut units);
                // What ends with a colon introduces what follows, and so does what stands before a list.
                let is_lead = text[range.clone()].trim_end().ends_with(':') && next.is_some();
                if is_lead && let Some(last) = units.pop() {
                    lead = Some((last.range, false));
                } else if matches!(next, Some(Block::Entry { .. })) {
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
                    let leads = lead.iter().map(|(range, _)| range.clone()).collect();
                    units.push(Unit::new(block.range(), leads, Form::Entry));
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

/// Returns the index after the last row of the record that begins with this row.
fn record_end(text: &str, blocks: &[Block], first: usize) -> usize {
    let mut end = first;
    let mut bytes = 0;
    while let Some(Block::Row { range, indent: 0, after_blank }) = blocks.get(end) {
        let own = &text[range.clone()];
        bytes += own.len();
        let is_setting = !blocks::has_columns(own) && !own.contains("; ") && !own.ends_with(':');
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

pub fn is_title(text: &str) -> bool {
    is_short(text) && text.trim().starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit())
}

/// Returns whether a line is too short for a sentence, and does not end as one.
fn is_short(text: &str) -> bool {
    let text = text.trim();
    text.split_whitespace().count() <= LONGEST_TITLE && !text.ends_with(['.', ':', ';', ',', '!', '?', '…'])
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
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let shown = |unit: &Unit| {
            let leads: Vec<&str> = unit.leads.iter().map(|lead| text[lead.clone()].trim()).collect();
            let text = text[unit.range.clone()].trim();
            if leads.is_empty() { text.to_owned() } else { format!("{} > {text}", leads.join(" > ")) }
        };
        let found: Vec<String> = units(text).iter().map(shown).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn sentences_are_separate_unless_they_refer_to_the_one_before() {
        check("The pump is blue. Seals are grey.", &["The pump is blue.", "Seals are grey."]);
        check("The pump is blue. It was built in Turin.", &["The pump is blue. It was built in Turin."]);
        check("Avifile is off. It's because gcc fails.", &["Avifile is off. It's because gcc fails."]);
        check("", &[]);
    }

    #[test]
    fn a_title_belongs_to_the_paragraph_below_it() {
        check("Seals\nReplace them every year.", &["Seals > Replace them every year."]);
        check("One\n\nTwo\n\nReplace it.", &["Two > Replace it."]);
        check("Chapter 11", &["Chapter 11"]);
        check("Q: It fails. Why?\n\nA: Use -o.", &["Q: It fails. Why? > A: Use -o."]);
    }

    #[test]
    fn rows_are_parts_but_broken_lines_are_not() {
        let table = "variable: IDLE_TIMEOUT; default: 75s; meaning: How long it may stay open\n\
            variable: JWT_TTL; default: 1h; meaning: How long a token is valid";
        check(table, &table.lines().collect::<Vec<_>>());
        let commands = "stoa serve           everything in one process, as it is\nstoa check           reach all of them";
        check(commands, &commands.lines().collect::<Vec<_>>());
        let broken =
            "A paragraph that was written with lines of some eighty letters\nis one sentence all the same.";
        check(broken, &[broken]);
        let apart =
            "- Shutdown on Finish will shut down the computer at the end of\n\nconversion, on most systems.";
        check(apart, &[apart]);
    }

    #[test]
    fn what_introduces_a_list_a_command_or_a_line_of_code_is_its_lead() {
        check(
            "Snek is small. Our machine has:\n\n- 32kB of Flash\n- 2kB of RAM\n\nI like it.",
            &[
                "Snek is small.",
                "Our machine has: > - 32kB of Flash\n- 2kB of RAM",
                "Our machine has: > - 32kB of Flash",
                "Our machine has: > - 2kB of RAM",
                "I like it.",
            ],
        );
        check(
            "Test it with:\n\nupsmon -c fsd\n\nThen wait.",
            &["Test it with: > upsmon -c fsd", "Then wait."],
        );
        check(
            "y = 0\n\n# delay between moves\n\nmove_delay = 0.0250\n\n# columns\n\nx = 4",
            &["y = 0", "# delay between moves > move_delay = 0.0250", "# columns > x = 4"],
        );
    }

    #[test]
    fn an_indented_setting_has_the_keys_above_it() {
        check(
            "engine:\n  default: CFM56\n  options:\n    A320-232: V2527\ndrag: 4",
            &["engine: > default: CFM56", "engine: > options: > A320-232: V2527", "drag: 4"],
        );
    }

    #[test]
    fn the_lines_of_a_record_are_one_part() {
        check(
            "code: AMD\nname: Dram\n\ncode: ANG\nname: Guilder",
            &["code: AMD\nname: Dram", "code: ANG\nname: Guilder"],
        );
    }

    #[test]
    fn fenced_code_is_one_part() {
        check("Run this:\n```sh\nmake\nmake test\n```", &["Run this: > ```sh\nmake\nmake test\n```"]);
    }

    #[test]
    fn pictures_are_known_by_their_lines() {
        assert!(is_drawing("strict framing,             request id,"));
        assert!(is_drawing("a ─ b"));
        assert!(!is_drawing("stoa completions SHELL     completions for bash, zsh, fish"));
    }

    #[test]
    fn an_endless_sentence_is_split_between_words() {
        let endless = "wörter ohne ende ".repeat(1000);
        let found = units(&endless);
        assert!(found.len() > 10 && found.iter().all(|unit| unit.range.len() <= LONGEST));
        assert_eq!(
            found.iter().map(|unit| &endless[unit.range.clone()]).collect::<String>(),
            endless.trim_end()
        );
        for blank in ["", "\u{a0}", "\u{3000}", " "] {
            let text = format!("ö{blank}").repeat(5000);
            let found = units(&text);
            assert!(
                found
                    .iter()
                    .all(|unit| unit.range.len() <= LONGEST && text.get(unit.range.clone()).is_some())
            );
        }
    }
}
