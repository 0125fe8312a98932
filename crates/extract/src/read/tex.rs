//! TeX and LaTeX: sections as headings, text without commands, lists and tables as lines, listings as code. Formulas are
//! kept as they are written.

mod commands;
mod scan;
mod tabular;

use crate::document::Builder;
use crate::fence::fenced;
use crate::read::list::List;
use crate::{ExtractError, clean};
use commands::{Meaning, meaning};
use scan::{Scan, Token};

/// Returns whether a text is TeX: it has a document class, or sections and environments.
pub(crate) fn looks_like(head: &str) -> bool {
    let has = |command: &str| head.lines().any(|line| line.trim_start().starts_with(command));
    let parts =
        ["\\section{", "\\chapter{", "\\subsection{", "\\begin{", "\\usepackage", "\\label{", "\\item"];
    has("\\documentclass") || has("\\documentstyle") || parts.iter().filter(|part| has(part)).count() >= 3
}

pub(super) fn read(text: &str, builder: &mut Builder) -> Result<(), ExtractError> {
    let mut reader =
        Reader { scan: Scan::new(body(text, builder)), builder, text: String::new(), list: List::default() };
    while let Some(token) = reader.scan.next() {
        reader.token(token)?;
    }
    reader.end_list()
}

/// Returns the text between the start and the end of the document, if it has them. Sets title and author.
fn body<'t>(text: &'t str, builder: &mut Builder) -> &'t str {
    let Some((preamble, rest)) = text.split_once("\\begin{document}") else { return text };
    metadata(preamble, builder);
    metadata(&rest[..rest.floor_char_boundary(4096)], builder);
    rest.split_once("\\end{document}").map_or(rest, |(body, _)| body)
}

fn metadata(text: &str, builder: &mut Builder) {
    let argument = |command: &str| {
        let (_, after) = text.split_once(command)?;
        Some(commands::plain(Scan::new(after).argument()?))
    };
    builder.title(&argument("\\title").unwrap_or_default());
    builder.author(&argument("\\author").unwrap_or_default());
}

struct Reader<'t, 'b> {
    scan: Scan<'t>,
    builder: &'b mut Builder,
    /// The current paragraph.
    text: String,
    list: List,
}

impl<'t> Reader<'t, '_> {
    fn token(&mut self, token: Token<'t>) -> Result<(), ExtractError> {
        match token {
            Token::Text(text) => self.text.push_str(text),
            Token::Paragraph => self.end_paragraph()?,
            Token::Formula(formula) => self.text.push_str(formula),
            Token::Command(name) => self.command(name)?,
        }
        Ok(())
    }

    fn command(&mut self, name: &'t str) -> Result<(), ExtractError> {
        match meaning(name) {
            Meaning::Heading(level) => {
                self.scan.option();
                let title = commands::plain(self.scan.argument().unwrap_or_default());
                self.end_list()?;
                self.builder.heading(level, &title)?;
            }
            Meaning::Begin => {
                let name = self.scan.argument().unwrap_or_default();
                self.begin(name)?;
            }
            Meaning::End => {
                let name = self.scan.argument().unwrap_or_default();
                self.end(name)?;
            }
            Meaning::Item => {
                self.end_paragraph()?;
                match self.scan.option() {
                    Some(term) => self.list.term(&commands::plain(term)),
                    None => self.list.item(),
                }
            }
            Meaning::Verbatim => self.text.push_str(self.scan.verbatim()),
            Meaning::Aside => {
                let note = commands::plain(self.scan.argument().unwrap_or_default());
                self.text.push_str(&format!(" ({note})"));
            }
            Meaning::Link => {
                let address = self.scan.argument().unwrap_or_default();
                let text = commands::plain(self.scan.argument().unwrap_or_default());
                self.text.push_str(&format!("{text} <{address}>"));
            }
            Meaning::Reference => {
                let label = self.scan.argument().unwrap_or_default();
                self.text.push_str(&commands::reference(label));
            }
            Meaning::Skipped(arguments) => self.scan.skip_arguments(arguments),
            Meaning::Definition => self.scan.skip_definition(),
            Meaning::Paragraph => self.end_paragraph()?,
            Meaning::Written(text) => self.text.push_str(text),
            // The argument of an unknown command is text; the braces around it are no tokens.
            Meaning::Unknown => self.scan.after_unknown(name, &mut self.text),
        }
        Ok(())
    }

    fn begin(&mut self, name: &'t str) -> Result<(), ExtractError> {
        let base = name.trim_end_matches('*');
        if commands::is_code(base) {
            self.scan.option();
            return self.code(name);
        }
        match base {
            "itemize" | "description" | "list" | "trivlist" => self.start_list(None)?,
            "enumerate" => self.start_list(Some(1))?,
            "tabular" | "tabularx" | "longtable" | "tabulary" | "array" | "supertabular" => {
                let body = self.scan.environment(name);
                self.end_paragraph()?;
                let table = tabular::read(body);
                match self.list.is_open() {
                    true => table.lines().for_each(|line| self.list.paragraph(line)),
                    false => self.builder.lines(&table)?,
                }
            }
            "equation" | "align" | "eqnarray" | "displaymath" | "math" | "gather" | "multline" => {
                let formula = self.scan.environment(name);
                let formula = scan::without_comments(formula);
                self.text.push_str(&format!(" ${}$ ", clean::prose(&formula)));
            }
            "comment" | "tikzpicture" | "picture" | "filecontents" | "thebibliography" => {
                self.scan.environment(name);
            }
            _ => {
                self.end_paragraph()?;
                self.scan.option();
            }
        }
        Ok(())
    }

    fn start_list(&mut self, number: Option<u64>) -> Result<(), ExtractError> {
        match self.list.is_open() {
            true => self.end_paragraph()?,
            false => self.end_list()?,
        }
        self.scan.option();
        self.list.start(number);
        Ok(())
    }

    fn end(&mut self, name: &str) -> Result<(), ExtractError> {
        let is_list = matches!(name, "itemize" | "enumerate" | "description" | "list" | "trivlist");
        self.end_paragraph()?;
        if is_list && self.list.end() {
            self.end_list()?;
        }
        Ok(())
    }

    fn code(&mut self, name: &str) -> Result<(), ExtractError> {
        self.end_paragraph()?;
        let code = clean::lines(self.scan.environment(name));
        match self.list.is_open() {
            true => {
                self.list.code(&fenced("", &code));
                Ok(())
            }
            false => self.builder.code("", &code),
        }
    }

    fn end_paragraph(&mut self) -> Result<(), ExtractError> {
        let text = clean::prose(&std::mem::take(&mut self.text));
        match self.list.is_open() {
            _ if text.is_empty() => Ok(()),
            true => {
                self.list.paragraph(&text);
                Ok(())
            }
            false => self.builder.prose(&text),
        }
    }

    fn end_list(&mut self) -> Result<(), ExtractError> {
        self.end_paragraph()?;
        self.list.set_depth(0);
        self.builder.lines(&self.list.take_text())
    }
}

#[cfg(test)]
mod tests;
