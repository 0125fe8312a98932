//! Manual pages in roff, with the macros `man` or `mdoc`, also with tables: sections as headings, options as items of a
//! list with their description beside them, examples as code.

mod escapes;
mod lines;
mod mdoc;
mod request;
mod tbl;
mod writer;

use crate::ExtractError;
use crate::document::Builder;
use escapes::{Strings, plain};
use lines::Lines;
use request::{Request, arguments};
use writer::Writer;

/// Returns whether a text is a manual page: its first line is a request, and it has a title or a section. A long comment
/// may stand above them; then the name decides.
pub(crate) fn looks_like(extension: &str, head: &str) -> bool {
    let is_named = extension == "man" || extension.starts_with(|c: char| matches!(c, '1'..='9'));
    let is_comment = |line: &&str| {
        let line = line.trim_start_matches(['.', '\'', ' ']);
        line.starts_with("\\\"") || line.is_empty()
    };
    let mut lines = head.lines().filter(|line| !is_comment(line)).take(200);
    let is_title =
        |line: &str| [".TH ", ".Dd ", ".Dt ", ".SH ", ".Sh "].iter().any(|title| line.starts_with(title));
    match lines.next() {
        Some(first) => first.starts_with(['.', '\'']) && (is_title(first) || lines.any(is_title)),
        None => is_named,
    }
}

pub(super) fn read(text: &str, builder: &mut Builder) -> Result<(), ExtractError> {
    let mut page = Page {
        lines: Lines::new(text),
        strings: Strings::new(),
        writer: Writer::new(builder),
        name: String::new(),
    };
    while let Some(line) = page.lines.next() {
        page.line(line)?;
    }
    page.writer.finish()
}

struct Page<'t, 'b> {
    lines: Lines<'t>,
    strings: Strings,
    writer: Writer<'b>,
    /// What `.Nm` stands for.
    name: String,
}

impl<'t> Page<'t, '_> {
    fn line(&mut self, line: &'t str) -> Result<(), ExtractError> {
        let Some(request) = Request::parse(line) else {
            let text = plain(line, &self.strings);
            return self.writer.text_line(&text);
        };
        match request.name {
            "" | "\\\"" => Ok(()),
            "ds" | "as" => {
                self.define(request.rest);
                Ok(())
            }
            "ig" | "de" | "de1" | "am" => {
                let (rest, _comment) = request.rest.split_once("\\\"").unwrap_or((request.rest, ""));
                // A definition has its own name before that of its end.
                let names = usize::from(request.name != "ig");
                let end = rest.split_whitespace().nth(names).unwrap_or("");
                self.lines.skip_to(if end.is_empty() { "." } else { end });
                Ok(())
            }
            "if" | "ie" => self.condition(request.rest, request.name == "ie"),
            "el" => match self.lines.take_else() {
                true => self.body(request.rest),
                false => {
                    self.lines.skip_body(request.rest);
                    Ok(())
                }
            },
            "TS" => {
                let table = tbl::read(&mut self.lines, &self.strings);
                self.writer.lines(&table)
            }
            "EQ" => {
                self.lines.skip_to("EN");
                Ok(())
            }
            name => {
                let arguments = arguments(request.rest, &self.strings);
                match mdoc::is_macro(name) {
                    true => self.mdoc(name, &arguments),
                    false => self.man(name, &arguments),
                }
            }
        }
    }

    fn define(&mut self, rest: &str) {
        let (name, value) = rest.trim_start().split_once(' ').unwrap_or((rest.trim(), ""));
        let value = value.trim_start();
        let value = plain(value.strip_prefix('"').unwrap_or(value), &self.strings);
        if self.strings.len() < 1000 && value.len() < 200 {
            self.strings.insert(name.to_owned(), value);
        }
    }

    /// Pages are read as a terminal shows them: `n` holds, and so does the question for groff.
    fn condition(&mut self, rest: &'t str, has_else: bool) -> Result<(), ExtractError> {
        let rest = rest.trim_start();
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (condition, body) = rest.split_at(end);
        let (condition, body) = match condition.find("\\{") {
            Some(at) => rest.split_at(at),
            None => (condition, body),
        };
        let holds = matches!(condition, "n" | "!t" | "\\n(.g" | "\\n[.g]");
        if has_else {
            self.lines.expect_else(!holds);
        }
        match holds {
            true => self.body(body),
            false => {
                self.lines.skip_body(body);
                Ok(())
            }
        }
    }

    /// Reads what follows a condition on its line. The lines of a body in braces are read as usual.
    fn body(&mut self, body: &'t str) -> Result<(), ExtractError> {
        let body = body.trim_start();
        let body = body.strip_prefix("\\{").unwrap_or(body).trim_start_matches('\\').trim();
        if body.is_empty() || !self.lines.enter() {
            return Ok(());
        }
        let read = self.line(body);
        self.lines.leave();
        read
    }

    fn man(&mut self, name: &str, arguments: &[String]) -> Result<(), ExtractError> {
        let text = || arguments.join(" ");
        match name {
            "TH" => {
                let title = arguments.first().map(String::as_str).unwrap_or_default();
                self.writer.title(title, arguments.get(1).map(String::as_str).unwrap_or_default());
                Ok(())
            }
            "SH" => self.writer.heading(1, &text()),
            "SS" => self.writer.heading(2, &text()),
            "PP" | "P" | "LP" | "HP" | "sp" | "Sp" => self.writer.paragraph(name == "sp" || name == "Sp"),
            "br" => self.writer.line_break(),
            "TP" | "TQ" => self.writer.expect_term(name == "TQ"),
            "IP" => self.writer.item(arguments.first().map(String::as_str).unwrap_or_default()),
            "RS" => self.writer.indent(),
            "RE" => self.writer.outdent(),
            "nf" | "EX" | "Vb" => self.writer.start_code(),
            "fi" | "EE" | "Ve" => self.writer.end_code(),
            "B" | "I" | "SM" | "SB" | "R" if !arguments.is_empty() => self.writer.text_line(&text()),
            "BR" | "RB" | "BI" | "IB" | "RI" | "IR" => self.writer.text_line(&arguments.concat()),
            "UR" | "MT" => {
                self.writer.link = text();
                Ok(())
            }
            "UE" | "ME" => {
                let link = std::mem::take(&mut self.writer.link);
                self.writer.text_line(&format!("<{link}>{}", text()))
            }
            "SY" => {
                self.writer.paragraph(false)?;
                self.writer.text_line(&text())
            }
            "OP" => self.writer.text_line(&format!("[{}]", text())),
            "YS" => self.writer.paragraph(false),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
