//! Source code: blocks of whole lines. A block starts at an unindented line with a word after a blank one.

use crate::ExtractError;
use crate::document::Builder;

pub(super) fn read(text: &str, builder: &mut Builder) -> Result<(), ExtractError> {
    let mut start = 0;
    let mut position = 0;
    let mut after_blank = false;
    for line in text.split_inclusive('\n') {
        // The end of a comment, such as `"""`, belongs to the block before it.
        let at_margin = line.starts_with(|c: char| !c.is_whitespace() && !matches!(c, '}' | ')' | ']'))
            && line.contains(char::is_alphanumeric);
        if after_blank && at_margin {
            builder.lines(&text[start..position])?;
            start = position;
        }
        after_blank = line.trim().is_empty();
        position += line.len();
    }
    builder.lines(&text[start..])
}

#[cfg(test)]
mod tests {
    use crate::{Limits, extract};

    #[test]
    fn the_end_of_a_comment_stays_with_its_text() {
        let code = "\"\"\"Counts sheep.\n\nSlowly.\n\n\"\"\"\n\nimport os\n";
        let document = extract("sheep.py", code.as_bytes(), &Limits::default()).unwrap();
        let texts: Vec<&str> = document.blocks.iter().map(|block| block.text.as_str()).collect();
        assert_eq!(texts, ["\"\"\"Counts sheep.", "Slowly.\n\n\"\"\"", "import os"]);
    }
}
