//! The macros of `mdoc`, which say what a word is: `.Op Fl a Ar file` is "[-a file]".

use super::Page;
use crate::ExtractError;

/// Macros that stand at the start of a line only.
const BLOCKS: [&str; 17] =
    ["Dd", "Dt", "Os", "Sh", "Ss", "Pp", "Bl", "El", "It", "Bd", "Ed", "D1", "Dl", "Nd", "Bk", "Ek", "Rs"];

/// Macros around or before words, which may stand anywhere in a line.
const INLINE: [&str; 55] = [
    "Ad", "An", "Ao", "Ac", "Ap", "Aq", "Ar", "Bo", "Bc", "Bq", "Bro", "Brc", "Brq", "Bx", "Cd", "Cm", "Do",
    "Dc", "Dq", "Dv", "Em", "Er", "Ev", "Fa", "Fl", "Fn", "Ft", "Fx", "Ic", "In", "Lb", "Li", "Lk", "Ms",
    "Mt", "Nm", "No", "Ns", "Oo", "Oc", "Op", "Pa", "Pf", "Po", "Pc", "Pq", "Ql", "Qq", "So", "Sc", "Sq",
    "Sx", "Sy", "Va", "Xr",
];

pub(super) fn is_macro(name: &str) -> bool {
    BLOCKS.contains(&name)
        || INLINE.contains(&name)
        || matches!(name, "Tn" | "Ux" | "Vt" | "Ta" | "Re" | "Fo" | "Fc")
}

impl Page<'_, '_> {
    pub(super) fn mdoc(&mut self, name: &str, arguments: &[String]) -> Result<(), ExtractError> {
        let first = || arguments.first().map(String::as_str).unwrap_or_default();
        match name {
            "Dt" => {
                self.writer.title(first(), arguments.get(1).map(String::as_str).unwrap_or_default());
                Ok(())
            }
            "Sh" => self.writer.heading(1, &arguments.join(" ")),
            "Ss" => self.writer.heading(2, &arguments.join(" ")),
            "Pp" => self.writer.paragraph(true),
            "Bl" => self.writer.indent(),
            "El" => {
                self.writer.outdent()?;
                self.writer.paragraph(false)
            }
            "It" => {
                let term = self.inline(arguments);
                self.writer.item(if term.is_empty() { "•" } else { &term })
            }
            "Bd" => match first() {
                "-literal" | "-unfilled" => self.writer.start_code(),
                _ => self.writer.paragraph(true),
            },
            "Ed" => {
                self.writer.end_code()?;
                self.writer.paragraph(true)
            }
            "D1" | "Dl" => {
                let code = self.inline(arguments);
                self.writer.start_code()?;
                self.writer.text_line(&code)?;
                self.writer.end_code()
            }
            "Nd" => self.writer.text_line(&format!("- {}", arguments.join(" "))),
            "Dd" | "Os" | "Bk" | "Ek" | "Rs" | "Re" => Ok(()),
            "Nm" if self.name.is_empty() => {
                self.name = first().to_owned();
                self.inline_line("Nm", arguments)
            }
            name => self.inline_line(name, arguments),
        }
    }

    fn inline_line(&mut self, name: &str, arguments: &[String]) -> Result<(), ExtractError> {
        let words: Vec<String> = std::iter::once(name.to_owned()).chain(arguments.iter().cloned()).collect();
        let text = self.inline(&words);
        self.writer.text_line(&text)
    }

    /// Returns the words of a line with what its macros add to them.
    fn inline(&self, words: &[String]) -> String {
        let mut line = Line::default();
        let mut at = 0;
        while let Some(word) = words.get(at) {
            at += 1;
            let next = words.get(at).map(String::as_str);
            let is_alone = next.is_none_or(|next| INLINE.contains(&next) || is_closing(next));
            match word.as_str() {
                "Nm" if is_alone => line.word(&self.name),
                "Ar" if is_alone => line.word("file ..."),
                "Fl" if is_alone => line.word("-"),
                "Fl" => line.prefix("-"),
                "Xr" | "Fn" => {
                    let inside = words.get(at + 1).filter(|inside| !is_closing(inside));
                    line.word(&format!(
                        "{}({})",
                        next.unwrap_or_default(),
                        inside.map_or("", String::as_str)
                    ));
                    at += 1 + usize::from(inside.is_some());
                }
                "In" => line.prefix("#include "),
                "Ns" => line.glue = true,
                "Ap" => line.prefix_glued("'"),
                "Pf" => {
                    line.prefix(next.unwrap_or_default());
                    at += 1;
                }
                "Ux" => line.word("UNIX"),
                "Op" | "Oo" => line.open("[", "]", word == "Op"),
                "Bq" | "Bo" => line.open("[", "]", word == "Bq"),
                "Pq" | "Po" => line.open("(", ")", word == "Pq"),
                "Aq" | "Ao" => line.open("<", ">", word == "Aq"),
                "Brq" | "Bro" => line.open("{", "}", word == "Brq"),
                "Dq" | "Do" | "Qq" => line.open("“", "”", word != "Do"),
                "Sq" | "So" | "Ql" => line.open("‘", "’", word != "So"),
                "Oc" | "Bc" => line.close("]"),
                "Pc" => line.close(")"),
                "Ac" => line.close(">"),
                "Brc" => line.close("}"),
                "Dc" => line.close("”"),
                "Sc" => line.close("’"),
                _ if is_macro(word) => {}
                _ if is_closing(word) => line.close_with(word),
                "(" | "[" => line.prefix(word),
                _ => line.word(word),
            }
        }
        line.finish()
    }
}

fn is_closing(word: &str) -> bool {
    matches!(word, "." | "," | ":" | ";" | ")" | "]" | "?" | "!")
}

/// A line while its words are put together.
#[derive(Default)]
struct Line {
    text: String,
    /// Whether the next word follows without a space.
    glue: bool,
    /// What closes at the end of the line, before its punctuation.
    open: Vec<&'static str>,
    punctuation: String,
}

impl Line {
    fn word(&mut self, word: &str) {
        self.prefix(word);
        self.glue = false;
    }

    fn prefix(&mut self, word: &str) {
        let punctuation = std::mem::take(&mut self.punctuation);
        self.text.push_str(&punctuation);
        if !self.text.is_empty() && !self.glue {
            self.text.push(' ');
        }
        self.text.push_str(word);
        self.glue = true;
    }

    fn prefix_glued(&mut self, word: &str) {
        self.glue = true;
        self.prefix(word);
    }

    fn open(&mut self, open: &'static str, close: &'static str, closes_with_line: bool) {
        self.prefix(open);
        if closes_with_line {
            self.open.push(close);
        }
    }

    fn close(&mut self, close: &str) {
        self.text.push_str(close);
        self.glue = false;
    }

    /// Keeps punctuation until it is known whether it ends the line: then it stands behind what closes there.
    fn close_with(&mut self, sign: &str) {
        self.punctuation.push_str(sign);
        self.glue = false;
    }

    fn finish(mut self) -> String {
        while let Some(close) = self.open.pop() {
            self.text.push_str(close);
        }
        self.text + &self.punctuation
    }
}
