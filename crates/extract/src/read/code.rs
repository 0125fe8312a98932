//! Source code: blocks of whole lines. A block starts at an unindented line after a blank one.

use crate::ExtractError;
use crate::document::Builder;

pub(super) fn read(text: &str, builder: &mut Builder) -> Result<(), ExtractError> {
    let mut start = 0;
    let mut position = 0;
    let mut after_blank = false;
    for line in text.split_inclusive('\n') {
        let at_margin = line.starts_with(|c: char| !c.is_whitespace() && !matches!(c, '}' | ')' | ']'));
        if after_blank && at_margin {
            builder.lines(&text[start..position])?;
            start = position;
        }
        after_blank = line.trim().is_empty();
        position += line.len();
    }
    builder.lines(&text[start..])
}
