//! RTF: text in the code pages of its fonts, headings and code by style, lists, tables, and notes after their
//! paragraph. Pictures, fields' instructions, heads and feet are left out.

mod charset;
mod group;
mod names;
mod tokens;

use super::table::Table;
use crate::document::Builder;
use crate::{ExtractError, clean};
use charset::{Charset, of_code_page};
use group::{Destination, Group, destination, written};
use names::{Fonts, Styles, outline_level};
use tokens::{Token, Tokens};

pub(super) fn read(bytes: &[u8], builder: &mut Builder) -> Result<(), ExtractError> {
    let mut tokens = Tokens::new(bytes);
    let mut reader = Reader::new(builder);
    while let Some(token) = tokens.next() {
        if let Token::Word("bin", Some(count)) = token {
            tokens.skip_bytes(usize::try_from(count).unwrap_or(0));
        } else {
            reader.token(token)?;
        }
    }
    reader.finish()
}

/// Deeper groups are left out. Programs nest a dozen.
const DEEPEST: usize = 1000;

struct Reader<'b> {
    builder: &'b mut Builder,
    /// The states of the groups around the current one.
    outer: Vec<Group>,
    /// How many groups deeper than `DEEPEST` are open.
    too_deep: usize,
    group: Group,
    /// Whether the group has just begun, and whether it may be passed over.
    is_first: bool,
    is_optional: bool,
    charset: Charset,
    fonts: Fonts,
    styles: Styles,
    /// Bytes of text that are not decoded yet. Some characters have two.
    bytes: Vec<u8>,
    /// The first half of a character outside the first plane.
    half: Option<u16>,
    /// Characters to pass over, after the Unicode character that they repeat.
    repeats: usize,
    paragraph: String,
    note: String,
    notes: Vec<String>,
    mark: String,
    heads: String,
    list: String,
    code: String,
    table: Table,
    row: Vec<String>,
    cell: String,
}

impl<'b> Reader<'b> {
    fn new(builder: &'b mut Builder) -> Self {
        Self {
            builder,
            outer: Vec::new(),
            too_deep: 0,
            group: Group::new(),
            is_first: false,
            is_optional: false,
            charset: of_code_page(1252),
            fonts: Fonts::default(),
            styles: Styles::default(),
            bytes: Vec::new(),
            half: None,
            repeats: 0,
            paragraph: String::new(),
            note: String::new(),
            notes: Vec::new(),
            mark: String::new(),
            heads: String::new(),
            list: String::new(),
            code: String::new(),
            table: Table::default(),
            row: Vec::new(),
            cell: String::new(),
        }
    }

    fn token(&mut self, token: Token) -> Result<(), ExtractError> {
        if self.too_deep > 0 && !matches!(token, Token::Open | Token::Close) {
            return Ok(());
        }
        match token {
            Token::Open => self.open(),
            Token::Close => self.close(),
            Token::Byte(_) if self.repeats > 0 => self.repeats -= 1,
            Token::Byte(byte) => {
                self.is_first = false;
                self.bytes.push(byte);
            }
            Token::Symbol(b'*') if self.is_first => self.is_optional = true,
            Token::Symbol(_) if self.repeats > 0 => self.repeats -= 1,
            Token::Symbol(sign) => {
                self.is_first = false;
                match sign {
                    b'~' => self.text(" "),
                    b'_' => self.text("-"),
                    b'\\' | b'{' | b'}' => self.bytes.push(sign),
                    _ => {}
                }
            }
            Token::Word("u", number) => self.unicode(number.unwrap_or(0)),
            Token::Word(_, _) if self.repeats > 0 => self.repeats -= 1,
            Token::Word(word, number) => self.word(word, number)?,
        }
        Ok(())
    }

    fn open(&mut self) {
        self.decode();
        self.repeats = 0;
        if self.outer.len() >= DEEPEST {
            self.too_deep += 1;
            return;
        }
        self.outer.push(self.group);
        (self.is_first, self.is_optional) = (true, false);
    }

    fn close(&mut self) {
        self.decode();
        self.repeats = 0;
        self.is_first = false;
        if self.too_deep > 0 {
            self.too_deep -= 1;
            return;
        }
        let Some(outer) = self.outer.pop() else { return };
        let inner = std::mem::replace(&mut self.group, outer);
        if inner.destination == outer.destination {
            return;
        }
        match inner.destination {
            Destination::Title => self.builder.title(&std::mem::take(&mut self.heads)),
            Destination::Author => self.builder.author(&std::mem::take(&mut self.heads)),
            Destination::Note => self.notes.push(std::mem::take(&mut self.note)),
            _ => {}
        }
    }

    fn word(&mut self, word: &str, number: Option<i32>) -> Result<(), ExtractError> {
        let is_first = std::mem::take(&mut self.is_first);
        let is_optional = std::mem::take(&mut self.is_optional);
        if let Some(text) = written(word) {
            self.text(text);
            return Ok(());
        }
        self.decode();
        let value = number.unwrap_or(1);
        if is_first || is_optional {
            match destination(word) {
                // What stands inside something left out is left out too, except for title and author.
                Some(found) if self.group.destination != Destination::Nowhere || is_metadata(found) => {
                    self.group.destination = found;
                    return Ok(());
                }
                None if is_optional => {
                    self.group.destination = Destination::Nowhere;
                    return Ok(());
                }
                _ => {}
            }
        }
        match self.group.destination {
            Destination::Fonts => self.fonts.word(word, value),
            Destination::Styles => self.styles.word(word, value),
            Destination::Nowhere => return Ok(()),
            _ => {}
        }
        self.property(word, number, value);
        match word {
            "par" | "sect" | "page" | "column" => self.end_paragraph(),
            "cell" => {
                self.end_cell_text();
                self.row.push(std::mem::take(&mut self.cell));
                Ok(())
            }
            "nestcell" => {
                self.end_cell_text();
                Ok(())
            }
            "row" => {
                self.table.row(std::mem::take(&mut self.row));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Changes the state of the group.
    fn property(&mut self, word: &str, number: Option<i32>, value: i32) {
        let group = &mut self.group;
        let is_on = number != Some(0);
        match word {
            "ansicpg" => self.charset = of_code_page(value),
            "mac" => self.charset = of_code_page(10_000),
            "f" => group.font = value,
            "uc" => group.repeats = usize::try_from(value).unwrap_or(1).min(100),
            "v" => group.is_hidden = is_on,
            "deleted" => group.is_deleted = is_on,
            "plain" => (group.is_hidden, group.is_deleted) = (false, false),
            "pard" => group.begin_paragraph(),
            "intbl" => group.is_in_table = true,
            "s" => group.style = value,
            "outlinelevel" => group.outline_level = outline_level(value),
            "ilvl" => group.indent = usize::try_from(value).unwrap_or(0).min(8),
            _ => {}
        }
    }

    fn unicode(&mut self, number: i32) {
        self.decode();
        self.is_first = false;
        self.repeats = self.group.repeats;
        // Numbers above 32767 are written as negative ones.
        let unit = number as u16;
        let units: Vec<u16> = self.half.take().into_iter().chain([unit]).collect();
        if (0xd800..0xdc00).contains(&unit) {
            self.half = Some(unit);
            return;
        }
        // Signs of fonts are given with their byte.
        let text: String = char::decode_utf16(units).map(|c| c.unwrap_or('\u{fffd}')).collect();
        self.put(&text);
    }

    /// Adds text that is no byte of the file.
    fn text(&mut self, text: &str) {
        self.decode();
        self.put(text);
    }

    /// Adds the bytes so far as text, which their font gives a meaning.
    fn decode(&mut self) {
        if self.bytes.is_empty() {
            return;
        }
        let bytes = std::mem::take(&mut self.bytes);
        let charset = self.fonts.charset(self.group.font).unwrap_or(self.charset);
        self.put(&charset.decode(&bytes));
    }

    fn put(&mut self, text: &str) {
        if !self.group.is_shown() {
            return;
        }
        match self.group.destination {
            Destination::Body => self.paragraph.push_str(text),
            Destination::Note => self.note.push_str(text),
            Destination::Mark => self.mark.push_str(text),
            Destination::Title | Destination::Author => self.heads.push_str(text),
            Destination::Styles => self.styles.text(text),
            Destination::Fonts | Destination::Nowhere => {}
        }
    }

    fn end_cell_text(&mut self) {
        self.cell.push_str(&std::mem::take(&mut self.mark));
        self.cell.push_str(&std::mem::take(&mut self.paragraph));
        self.cell.push(' ');
    }

    fn end_paragraph(&mut self) -> Result<(), ExtractError> {
        if self.group.destination == Destination::Note {
            self.note.push(' ');
            return Ok(());
        }
        if self.group.is_in_table {
            self.end_cell_text();
            return Ok(());
        }
        let text = std::mem::take(&mut self.paragraph);
        let mark = std::mem::take(&mut self.mark);
        let style = self.styles.get(self.group.style);
        if text.trim().is_empty() || style.is_contents {
            if style.is_code && !self.code.is_empty() {
                self.code.push('\n');
            }
            return Ok(());
        }
        self.flush_table()?;
        match self.group.outline_level.or(style.level) {
            Some(level) => {
                self.flush()?;
                if level == 0 {
                    self.builder.title(&text);
                }
                self.builder.heading(level, &text)?;
            }
            None if !mark.trim().is_empty() => {
                self.flush_code()?;
                self.item(&mark, &text);
                return Ok(());
            }
            None if style.is_code => {
                self.flush_list()?;
                self.code.push_str(&text);
                self.code.push('\n');
                return Ok(());
            }
            None => {
                self.flush()?;
                self.builder.prose(&text)?;
            }
        }
        self.flush_notes()
    }

    fn item(&mut self, mark: &str, text: &str) {
        let mark = clean::prose(mark);
        let mark = if mark.contains(char::is_alphanumeric) { mark } else { "-".to_owned() };
        let indent = "  ".repeat(self.group.indent);
        self.list.push_str(&format!("{indent}{mark} {}\n", clean::prose(text)));
    }

    fn flush(&mut self) -> Result<(), ExtractError> {
        self.flush_list()?;
        self.flush_code()
    }

    fn flush_list(&mut self) -> Result<(), ExtractError> {
        self.builder.lines(&std::mem::take(&mut self.list))
    }

    fn flush_code(&mut self) -> Result<(), ExtractError> {
        self.builder.code("", &std::mem::take(&mut self.code))
    }

    fn flush_table(&mut self) -> Result<(), ExtractError> {
        let text = std::mem::take(&mut self.table).into_text();
        if text.is_empty() {
            return Ok(());
        }
        self.flush()?;
        self.builder.lines(&text)?;
        self.flush_notes()
    }

    fn flush_notes(&mut self) -> Result<(), ExtractError> {
        std::mem::take(&mut self.notes).iter().try_for_each(|note| self.builder.prose(note))
    }

    /// Ends what is open: a file may be cut off.
    fn finish(mut self) -> Result<(), ExtractError> {
        self.decode();
        let is_in_table = self.group.is_in_table || !self.row.is_empty();
        self.group = Group::new();
        if is_in_table {
            self.end_cell_text();
            self.row.push(std::mem::take(&mut self.cell));
            self.table.row(std::mem::take(&mut self.row));
        }
        self.notes.push(std::mem::take(&mut self.note));
        self.end_paragraph()?;
        self.flush_table()?;
        self.flush()?;
        self.flush_notes()
    }
}

fn is_metadata(destination: Destination) -> bool {
    matches!(destination, Destination::Title | Destination::Author)
}

#[cfg(test)]
mod tests;
