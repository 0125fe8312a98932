//! Plain text: paragraphs between blank lines, with wrapped lines joined and the lines of lists and verse kept.

use crate::ExtractError;
use crate::clean;
use crate::document::Builder;

pub(super) fn read(text: &str, builder: &mut Builder) -> Result<(), ExtractError> {
    let mut paragraph: Vec<&str> = Vec::new();
    for line in text.split(['\n', '\u{c}']).map(|line| line.trim_end_matches('\r')) {
        if !line.trim().is_empty() {
            paragraph.push(line);
        } else {
            emit(&paragraph, builder)?;
            paragraph.clear();
        }
    }
    emit(&paragraph, builder)
}

fn emit(paragraph: &[&str], builder: &mut Builder) -> Result<(), ExtractError> {
    match paragraph {
        [] => Ok(()),
        [line] => builder.prose(line),
        lines if is_wrapped(lines) => builder.prose(&clean::unwrap(lines.iter().copied())),
        lines => builder.lines(&lines.join("\n")),
    }
}

/// Returns whether prose was wrapped at a width: nearly all lines but the last are almost as long as the longest.
fn is_wrapped(lines: &[&str]) -> bool {
    let lengths: Vec<usize> = lines.iter().map(|line| line.chars().count()).collect();
    let longest = lengths.iter().copied().max().unwrap_or(0);
    let (_, but_last) = lengths.split_last().unwrap_or((&0, &[]));
    let full = but_last.iter().filter(|length| **length * 10 >= longest * 7).count();
    let marked = lines.iter().skip(1).filter(|line| is_list_item(line)).count();
    longest >= 40 && full * 10 >= but_last.len() * 8 && marked * 4 < lines.len()
}

fn is_list_item(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with(['-', '*', '•', '|', '>', '+'])
        || line.split_once(['.', ')']).is_some_and(|(number, _)| number.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Form, Kind, Limits};

    #[test]
    fn wrapped_prose_is_joined_and_lists_are_kept() -> Result<(), ExtractError> {
        let mut builder = Builder::new(Kind::Text, &Limits::default());
        let text = "The impeller turns at a constant speed of three thousand\r\nrevolutions, whatever the \
                    load is, because the gov-\r\nernor holds it.\r\n\r\n- oil\r\n- water\r\n \r\nEnd.";
        read(text, &mut builder)?;
        let blocks = builder.finish()?.blocks;
        let found: Vec<(&str, Form)> = blocks.iter().map(|block| (block.text.as_str(), block.form)).collect();
        let prose = "The impeller turns at a constant speed of three thousand revolutions, whatever the load is, \
                     because the governor holds it.";
        assert_eq!(found, [(prose, Form::Prose), ("- oil\n- water", Form::Lines), ("End.", Form::Prose)]);
        assert_eq!(blocks[1].offset, prose.len() + 2);
        Ok(())
    }
}
