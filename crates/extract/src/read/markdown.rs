//! Markdown: headings, text without markup, and lists, tables and code as lines.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, MetadataBlockKind, Options, Parser, Tag, TagEnd};

use super::html;
use super::table::Table;
use crate::document::Builder;
use crate::fence::fenced;
use crate::{ExtractError, clean};

/// Deeper indentation tells little, and a hostile file can nest thousands of lists.
const DEEPEST: usize = 8;

pub(super) fn read(text: &str, builder: &mut Builder) -> Result<(), ExtractError> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let mut reader = Reader::default();
    for event in Parser::new_ext(text, options) {
        reader.event(event, builder)?;
    }
    reader.flush(builder)
}

#[derive(Default)]
struct Reader {
    text: String,
    /// The open lists; for a numbered one the number of the next item.
    lists: Vec<Option<u64>>,
    /// Whether the next text of a list starts a line of its own, below that of its item.
    starts_line: bool,
    table: Option<(Table, Vec<String>)>,
    /// Language and text of the open piece of code.
    code: Option<(String, String)>,
    /// The open block of HTML.
    html: Option<String>,
    metadata: bool,
    seen_heading: bool,
}

impl Reader {
    fn event(&mut self, event: Event, builder: &mut Builder) -> Result<(), ExtractError> {
        match event {
            Event::Start(tag) => self.start(tag, builder)?,
            Event::End(tag) => self.end(tag, builder)?,
            Event::Text(text) if self.metadata => front_matter(&text, builder),
            Event::Text(text) | Event::Code(text) => self.push(&text),
            Event::SoftBreak | Event::HardBreak => self.text.push(' '),
            Event::TaskListMarker(done) => self.push(if done { "[x] " } else { "[ ] " }),
            Event::Html(html) if self.html.is_some() => {
                self.html.as_mut().into_iter().for_each(|open| open.push_str(&html))
            }
            Event::Html(html) | Event::InlineHtml(html) if is_break(&html) => self.text.push(' '),
            _ => {}
        }
        Ok(())
    }

    fn push(&mut self, text: &str) {
        if let Some((_, code)) = &mut self.code {
            return code.push_str(text);
        }
        if std::mem::take(&mut self.starts_line) && !self.lists.is_empty() {
            self.text.push('\n');
            self.text.push_str(&"  ".repeat(self.lists.len().min(DEEPEST)));
        }
        self.text.push_str(text);
    }

    fn start(&mut self, tag: Tag, builder: &mut Builder) -> Result<(), ExtractError> {
        match tag {
            Tag::Heading { .. } => self.flush(builder)?,
            Tag::CodeBlock(kind) => {
                if self.lists.is_empty() {
                    self.flush(builder)?;
                }
                let language = match &kind {
                    CodeBlockKind::Fenced(language) => language,
                    CodeBlockKind::Indented => "",
                };
                self.code = Some((language.to_owned(), String::new()));
            }
            Tag::Paragraph if self.lists.is_empty() => self.flush(builder)?,
            Tag::Paragraph => self.starts_line = !self.ends_with_mark(),
            Tag::List(number) => {
                if self.lists.is_empty() {
                    self.flush(builder)?;
                }
                self.lists.push(number);
            }
            Tag::Item => self.item(),
            Tag::Table(_) => {
                self.flush(builder)?;
                self.table = Some((Table::default(), Vec::new()));
            }
            Tag::HtmlBlock => self.html = Some(String::new()),
            Tag::MetadataBlock(MetadataBlockKind::YamlStyle) => self.metadata = true,
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, tag: TagEnd, builder: &mut Builder) -> Result<(), ExtractError> {
        match tag {
            TagEnd::Heading(level) => self.heading(level, builder),
            TagEnd::Paragraph if self.lists.is_empty() => self.flush(builder),
            TagEnd::CodeBlock => self.end_code(builder),
            TagEnd::HtmlBlock => self.end_html(builder),
            TagEnd::List(_) => {
                self.lists.pop();
                self.starts_line = true;
                if self.lists.is_empty() { builder.lines(&std::mem::take(&mut self.text)) } else { Ok(()) }
            }
            TagEnd::TableCell => {
                if let Some((_, row)) = &mut self.table {
                    row.push(std::mem::take(&mut self.text));
                }
                Ok(())
            }
            TagEnd::TableHead | TagEnd::TableRow => {
                if let Some((table, row)) = &mut self.table {
                    table.row(std::mem::take(row));
                }
                Ok(())
            }
            TagEnd::Table => self.table.take().map_or(Ok(()), |(table, _)| builder.lines(&table.into_text())),
            TagEnd::MetadataBlock(_) => {
                self.metadata = false;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn item(&mut self) {
        self.starts_line = false;
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        let depth = self.lists.len().saturating_sub(1).min(DEEPEST);
        self.text.push_str(&"  ".repeat(depth));
        match self.lists.last_mut() {
            Some(Some(number)) => {
                self.text.push_str(&format!("{number}. "));
                *number = number.saturating_add(1);
            }
            _ => self.text.push_str("- "),
        }
    }

    /// Returns whether the current item has no text yet.
    fn ends_with_mark(&self) -> bool {
        let line = self.text.rsplit('\n').next().unwrap_or_default();
        let mark = line.trim();
        line.ends_with(' ')
            && (mark == "-" || mark.strip_suffix('.').is_some_and(|number| number.parse::<u64>().is_ok()))
    }

    /// Puts code into the item that it belongs to, or adds it to the document.
    fn end_code(&mut self, builder: &mut Builder) -> Result<(), ExtractError> {
        let Some((language, code)) = self.code.take() else { return Ok(()) };
        if self.lists.is_empty() {
            return builder.code(&language, &code);
        }
        let indent = "  ".repeat(self.lists.len().min(DEEPEST));
        for line in fenced(&language, &clean::lines(&code)).lines() {
            self.text.push('\n');
            self.text.push_str(&indent);
            self.text.push_str(line);
        }
        self.starts_line = true;
        Ok(())
    }

    /// Reads a block of HTML inside the text, such as a table that Markdown cannot express.
    fn end_html(&mut self, builder: &mut Builder) -> Result<(), ExtractError> {
        let html = self.html.take().unwrap_or_default();
        if !self.lists.is_empty() {
            return Ok(());
        }
        self.flush(builder)?;
        html::read_fragment(&html, builder)
    }

    fn heading(&mut self, level: HeadingLevel, builder: &mut Builder) -> Result<(), ExtractError> {
        let text = std::mem::take(&mut self.text);
        if level == HeadingLevel::H1 && !std::mem::replace(&mut self.seen_heading, true) {
            builder.title(&text);
        }
        builder.heading(level as u8, &text)
    }

    fn flush(&mut self, builder: &mut Builder) -> Result<(), ExtractError> {
        let text = std::mem::take(&mut self.text);
        if self.lists.is_empty() { builder.prose(&text) } else { builder.lines(&text) }
    }
}

fn front_matter(text: &str, builder: &mut Builder) {
    for line in text.lines() {
        match line.split_once(':') {
            Some(("title", value)) => builder.title(value.trim().trim_matches(['"', '\''])),
            Some(("author", value)) => builder.author(value.trim().trim_matches(['"', '\''])),
            _ => {}
        }
    }
}

fn is_break(html: &str) -> bool {
    html.trim_start().to_ascii_lowercase().starts_with("<br")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Document, Kind, Limits};

    fn document(text: &str) -> Document {
        let mut builder = Builder::new(Kind::Markdown, &Limits::default());
        read(text, &mut builder).unwrap();
        builder.finish().unwrap()
    }

    #[test]
    fn structure_is_kept_and_marks_are_not() {
        let text = "---\nauthor: \"Ann\"\n---\n# Pumps\n\nThe *main* [pump](http://x)\nis `P-204`.\n\n\
                    ## Parts\n\n- oil\n  1. one\n  2. two\n- [x] water\n\n| Name | Speed |\n|---|---|\n| A | 3 |\n\n\
                    ```rust\nfn a() {\n    b\n}\n```\n# Empty\n";
        let document = document(text);
        assert_eq!(document.title.as_deref(), Some("Pumps"));
        assert_eq!(document.author.as_deref(), Some("Ann"));
        let found: Vec<(String, &str)> =
            document.blocks.iter().map(|block| (block.headings.join(" > "), block.text.as_str())).collect();
        let expected = [
            ("Pumps", "The main pump is P-204."),
            ("Pumps > Parts", "- oil\n  1. one\n  2. two\n- [x] water"),
            ("Pumps > Parts", "Name: A; Speed: 3"),
            ("Pumps > Parts", "```rust\nfn a() {\n    b\n}\n```"),
            ("", "Empty"),
        ];
        assert_eq!(found, expected.map(|(path, text)| (path.to_owned(), text)));
    }

    fn check(text: &str, expected: &[&str]) {
        let document = document(text);
        assert_eq!(document.blocks.iter().map(|block| block.text.as_str()).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn steps_keep_their_numbers_their_paragraphs_and_their_commands() {
        let text = "3. Stop the pump.\n\n   It takes a minute.\n\n   ```sh\n   pump stop\n     --now\n   ```\n\n   Wait.\n\n\
                    4. Open it.\n   - slowly\n\n     always\n5.\n       indented code\n";
        let expected = "3. Stop the pump.\n  It takes a minute.\n  ```sh\n  pump stop\n    --now\n  ```\n  Wait.\n\
                        4. Open it.\n  - slowly\n    always\n5.\n  ```\n  indented code\n  ```";
        check(text, &[expected]);
    }

    #[test]
    fn html_between_the_paragraphs_is_read() {
        check(
            "One.\n\n<table><tr><td>a</td><td>b</td></tr></table>\n\n<p>Two</p>\n",
            &["One.", "a | b", "Two"],
        );
    }
}
