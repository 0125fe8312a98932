//! The document that every reader produces: blocks with the headings above them, the page and the offset.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Excess, ExtractError, Limits};
use crate::{clean, fence};

/// The kind of a file, by its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    Text,
    Markdown,
    /// reStructuredText.
    Rst,
    Html,
    Pdf,
    Docx,
    Pptx,
    Xlsx,
    Odt,
    Ods,
    Odp,
    Rtf,
    /// Office files from before 2007.
    Doc,
    Xls,
    Ppt,
    Csv,
    Json,
    Epub,
    Eml,
    Code,
    Notebook,
    ManPage,
    Tex,
    Log,
    Subtitles,
    /// A photograph or a scan, whose text is recognised.
    Picture,
    /// Files packed into one, which are read one by one.
    Archive,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "text file",
            Self::Markdown => "Markdown file",
            Self::Rst => "reStructuredText file",
            Self::Html => "HTML page",
            Self::Pdf => "PDF",
            Self::Docx => "DOCX document",
            Self::Pptx => "PPTX presentation",
            Self::Xlsx => "XLSX workbook",
            Self::Odt => "ODT document",
            Self::Ods => "ODS spreadsheet",
            Self::Odp => "ODP presentation",
            Self::Rtf => "RTF document",
            Self::Doc => "DOC document",
            Self::Xls => "XLS workbook",
            Self::Ppt => "PPT presentation",
            Self::Csv => "CSV table",
            Self::Json => "JSON file",
            Self::Epub => "EPUB book",
            Self::Eml => "EML message",
            Self::Code => "source file",
            Self::Notebook => "notebook",
            Self::ManPage => "manual page",
            Self::Tex => "TeX document",
            Self::Log => "log file",
            Self::Subtitles => "subtitle file",
            Self::Picture => "picture",
            Self::Archive => "archive",
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    pub kind: Kind,
    /// The title in the document itself, if it has one.
    pub title: Option<String>,
    pub author: Option<String>,
    pub blocks: Vec<Block>,
}

/// A paragraph, a list, a table or a piece of code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    pub text: String,
    /// From the outermost to the nearest.
    pub headings: Vec<String>,
    /// From 1: the page of a PDF, the slide of a presentation.
    pub page: Option<u32>,
    /// In characters of `Document::text`.
    pub offset: usize,
    pub form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Form {
    /// Running text without line breaks: may be split between sentences.
    Prose,
    /// A list, a table, a log or code. Split between its units: a line with the deeper indented lines below it, or
    /// code between two fences.
    Lines,
}

/// Separates two blocks of a document's text.
const SEPARATOR: &str = "\n\n";

impl Document {
    /// Returns the whole text, which the offsets of the blocks refer to.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.blocks.iter().map(|block| block.text.as_str()).collect();
        texts.join(SEPARATOR)
    }
}

/// A longer "heading" is a paragraph in large type.
const LONGEST_HEADING: usize = 200;
/// Each block costs far more memory than a character. Twenty characters in each are few.
const MAX_BLOCKS: usize = 1_000_000;
/// Most headings above a block. A deeper heading replaces the last.
const MOST_HEADINGS: usize = 8;

/// Builds a document from headings and blocks in reading order, and checks the limit of characters.
pub(crate) struct Builder {
    document: Document,
    path: Vec<(u8, String)>,
    page: Option<u32>,
    /// Whether the last heading has no text yet.
    bare_heading: bool,
    characters: usize,
    /// Characters of the headings that blocks carry.
    carried: usize,
    limit: usize,
}

impl Builder {
    pub fn new(kind: Kind, limits: &Limits) -> Self {
        let document = Document { kind, title: None, author: None, blocks: Vec::new() };
        let limit = limits.characters;
        Self { document, path: Vec::new(), page: None, bare_heading: false, characters: 0, carried: 0, limit }
    }

    /// Sets the title, unless one is set already.
    pub fn title(&mut self, title: &str) {
        keep_first(&mut self.document.title, title);
    }

    pub fn author(&mut self, author: &str) {
        keep_first(&mut self.document.author, author);
    }

    pub fn page(&mut self, page: u32) {
        self.page = Some(page);
    }

    /// Starts a section. Level 1 is the outermost. The first heading of an office document that has no title is its title.
    pub fn heading(&mut self, level: u8, text: &str) -> Result<(), ExtractError> {
        let text = clean::prose(text);
        if text.is_empty() {
            return Ok(());
        }
        if text.chars().count() > LONGEST_HEADING {
            return self.push(text, Form::Prose);
        }
        let is_office = matches!(self.document.kind, Kind::Docx | Kind::Odt | Kind::Rtf);
        if is_office && self.document.blocks.is_empty() && self.path.is_empty() {
            self.title(&text);
        }
        self.leave(level)?;
        if self.path.len() == MOST_HEADINGS {
            self.keep_bare_heading()?;
            self.path.truncate(MOST_HEADINGS - 1);
        }
        self.path.push((level, text));
        self.bare_heading = true;
        Ok(())
    }

    /// Ends the sections of this level and below.
    pub fn leave(&mut self, level: u8) -> Result<(), ExtractError> {
        if self.path.last().is_some_and(|(above, _)| *above >= level) {
            self.keep_bare_heading()?;
        }
        while self.path.last().is_some_and(|(above, _)| *above >= level) {
            self.path.pop();
        }
        Ok(())
    }

    pub fn prose(&mut self, text: &str) -> Result<(), ExtractError> {
        self.push(clean::prose(text), Form::Prose)
    }

    pub fn lines(&mut self, text: &str) -> Result<(), ExtractError> {
        self.push(clean::lines(text), Form::Lines)
    }

    /// Adds code between fences, as Markdown writes it.
    pub fn code(&mut self, language: &str, text: &str) -> Result<(), ExtractError> {
        let code = clean::lines(text);
        if code.is_empty() { Ok(()) } else { self.push(fence::fenced(language, &code), Form::Lines) }
    }

    pub fn finish(mut self) -> Result<Document, ExtractError> {
        self.keep_bare_heading()?;
        if self.document.blocks.is_empty() {
            return Err(ExtractError::NoText(self.document.kind));
        }
        Ok(self.document)
    }

    pub fn kind(&self) -> Kind {
        self.document.kind
    }

    /// Returns whether this text would exceed the limit, so that a reader can stop making it longer.
    pub fn is_full_with(&self, text: &str) -> bool {
        text.len() > (self.limit - self.characters).saturating_mul(4)
    }

    /// Makes a heading without text the text of its section, so that it is not lost.
    fn keep_bare_heading(&mut self) -> Result<(), ExtractError> {
        if !self.bare_heading {
            return Ok(());
        }
        match self.path.pop() {
            Some((_, text)) => self.push(text, Form::Prose),
            None => Ok(()),
        }
    }

    fn push(&mut self, text: String, form: Form) -> Result<(), ExtractError> {
        if !text.contains(char::is_alphanumeric) {
            return Ok(());
        }
        let offset = match self.characters {
            0 => 0,
            before => before + SEPARATOR.len(),
        };
        self.characters = offset + text.chars().count();
        if self.characters > self.limit {
            return Err(ExtractError::too_large(self.document.kind, Excess::Characters, self.limit));
        }
        let headings: Vec<String> = self.path.iter().map(|(_, heading)| heading.clone()).collect();
        self.carried += headings.iter().map(String::len).sum::<usize>();
        if self.carried > self.limit {
            return Err(ExtractError::too_large(self.document.kind, Excess::RepeatedHeadings, self.limit));
        }
        if self.document.blocks.len() == MAX_BLOCKS {
            return Err(ExtractError::too_large(self.document.kind, Excess::Paragraphs, MAX_BLOCKS));
        }
        self.document.blocks.push(Block { text, headings, page: self.page, offset, form });
        self.bare_heading = false;
        Ok(())
    }
}

fn keep_first(place: &mut Option<String>, value: &str) {
    let value = clean::prose(value);
    if place.is_none() && !value.is_empty() && value.chars().count() <= LONGEST_HEADING {
        *place = Some(value);
    }
}
