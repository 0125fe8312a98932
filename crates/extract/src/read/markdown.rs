//! Markdown: headings, text without markup, and lists, tables and code as lines.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, MetadataBlockKind, Options, Parser, Tag, TagEnd};

use super::table::Table;
use crate::ExtractError;
use crate::document::Builder;

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
    table: Option<(Table, Vec<String>)>,
    metadata: bool,
    seen_heading: bool,
}

impl Reader {
    fn event(&mut self, event: Event, builder: &mut Builder) -> Result<(), ExtractError> {
        match event {
            Event::Start(tag) => self.start(tag, builder)?,
            Event::End(tag) => self.end(tag, builder)?,
            Event::Text(text) if self.metadata => front_matter(&text, builder),
            Event::Text(text) | Event::Code(text) => self.text.push_str(&text),
            Event::SoftBreak | Event::HardBreak => self.text.push(' '),
            Event::TaskListMarker(done) => self.text.push_str(if done { "[x] " } else { "[ ] " }),
            Event::Html(html) | Event::InlineHtml(html) if is_break(&html) => self.text.push(' '),
            _ => {}
        }
        Ok(())
    }

    fn start(&mut self, tag: Tag, builder: &mut Builder) -> Result<(), ExtractError> {
        match tag {
            Tag::Heading { .. } | Tag::CodeBlock(_) => self.flush(builder)?,
            Tag::Paragraph if self.lists.is_empty() => self.flush(builder)?,
            Tag::Paragraph if !self.text.ends_with([' ', '\n']) => self.text.push(' '),
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
            Tag::MetadataBlock(MetadataBlockKind::YamlStyle) => self.metadata = true,
            _ => {}
        }
        if let Tag::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented) = tag
            && !self.lists.is_empty()
        {
            self.text.push('\n');
        }
        Ok(())
    }

    fn end(&mut self, tag: TagEnd, builder: &mut Builder) -> Result<(), ExtractError> {
        match tag {
            TagEnd::Heading(level) => self.heading(level, builder),
            TagEnd::Paragraph if self.lists.is_empty() => self.flush(builder),
            TagEnd::CodeBlock if self.lists.is_empty() => builder.lines(&std::mem::take(&mut self.text)),
            TagEnd::List(_) => {
                self.lists.pop();
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
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        // Deeper indentation tells little, and a hostile file can nest thousands of lists.
        let depth = self.lists.len().saturating_sub(1).min(8);
        self.text.push_str(&"  ".repeat(depth));
        match self.lists.last_mut() {
            Some(Some(number)) => {
                self.text.push_str(&format!("{number}. "));
                *number = number.saturating_add(1);
            }
            _ => self.text.push_str("- "),
        }
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
            ("Pumps > Parts", "fn a() {\n    b\n}"),
            ("", "Empty"),
        ];
        assert_eq!(found, expected.map(|(path, text)| (path.to_owned(), text)));
    }
}
