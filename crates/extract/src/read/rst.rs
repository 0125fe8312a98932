//! reStructuredText: headings by their underlines, code, and text without roles, targets and comments.

use super::plain;
use crate::ExtractError;
use crate::document::Builder;

/// Directives whose blocks are no text of the document.
#[rustfmt::skip]
const DROPPED: [&str; 13] = [
    "image", "include", "toctree", "highlight", "index", "contents", "raw", "math", "currentmodule", "module",
    "default-domain", "meta", "literalinclude",
];
const CODE: [&str; 8] =
    ["code", "code-block", "sourcecode", "parsed-literal", "prompt", "doctest", "ipython", "productionlist"];

pub(super) fn read(text: &str, builder: &mut Builder) -> Result<(), ExtractError> {
    let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.dedup_by(|line, before| line.is_empty() && before.is_empty());
    let mut reader = Reader::default();
    reader.read(&lines, 0, builder)?;
    reader.flush(builder)
}

#[derive(Default)]
struct Reader {
    /// Paragraphs that were not added yet.
    text: String,
    /// How headings are underlined, the highest level first, and whether there is a line above them, too.
    levels: Vec<(char, bool)>,
}

/// Deeper blocks are left out: a hostile file can nest thousands of them.
const DEEPEST: usize = 16;

impl Reader {
    fn read(&mut self, lines: &[&str], depth: usize, builder: &mut Builder) -> Result<(), ExtractError> {
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            let rest = &lines[at..];
            if let Some((title, level, taken)) = heading(rest).filter(|_| depth == 0 && is_start(lines, at)) {
                self.flush(builder)?;
                self.heading(title, level, builder)?;
                at += taken;
            } else if line.trim_start().starts_with(".. ") {
                let end = at + 1 + block(&rest[1..], indent(line));
                self.directive(&lines[at..end], depth, builder)?;
                at = end;
            } else if let Some(before) = line.strip_suffix("::") {
                // "Do this::" stands above code.
                let end = at + 1 + block(&rest[1..], indent(line) + mark(line));
                let before = before.trim_end();
                if !before.is_empty() {
                    self.text.push_str(&format!("{}:\n", before.trim_end_matches(':')));
                }
                self.code("", &lines[at + 1..end], builder)?;
                at = end;
            } else {
                // An empty comment, a target, and what is for the program alone.
                let is_dropped = *line == ".." || line.starts_with("__ ") || line.starts_with(":orphan:");
                self.text.push_str(if is_dropped { "" } else { line });
                self.text.push('\n');
                at += 1;
            }
        }
        Ok(())
    }

    fn heading(
        &mut self,
        title: &str,
        level: (char, bool),
        builder: &mut Builder,
    ) -> Result<(), ExtractError> {
        let known = self.levels.iter().position(|known| *known == level);
        let depth = known.unwrap_or_else(|| {
            self.levels.push(level);
            self.levels.len() - 1
        });
        let title = inline(title.trim());
        if known.is_none() && depth == 0 {
            builder.title(&title);
        }
        builder.heading(depth.min(5) as u8 + 1, &title)
    }

    /// Reads ".. note:: text" with the block below it, a comment or a target.
    fn directive(&mut self, lines: &[&str], depth: usize, builder: &mut Builder) -> Result<(), ExtractError> {
        let head = lines[0].trim_start_matches(['.', ' ']);
        if let Some((_, note)) = head.strip_prefix('[').and_then(|head| head.split_once("] ")) {
            self.text.push_str(&format!("\n{note}\n"));
            return self.inner(&lines[1..], depth, builder);
        }
        let Some((name, rest)) = head.split_once("::") else { return Ok(()) };
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.' | '+');
        if head.starts_with('_') || !name.chars().all(is_name) || DROPPED.contains(&name) {
            return Ok(());
        }
        let is_option = |line: &&&str| {
            let name = line.trim_start().strip_prefix(':').and_then(|line| line.split_once(':'));
            name.is_some_and(|(name, value)| !name.is_empty() && (value.is_empty() || value.starts_with(' ')))
        };
        let options = lines[1..].iter().take_while(is_option).count();
        let block = &lines[1 + options..];
        if CODE.contains(&name) {
            return self.code(rest.trim(), block, builder);
        }
        let rest = match name {
            "figure" => String::new(),
            "deprecated" | "versionadded" | "versionchanged" => format!("{name} {}", rest.trim()),
            _ => rest.trim().to_owned(),
        };
        // The first sentence may go on in the block.
        let is_open = options == 0 && block.first().is_some_and(|line| !line.is_empty());
        self.text.push_str(&format!("\n{rest}\n"));
        if rest.is_empty() || !is_open {
            self.text.push('\n');
        }
        self.inner(block, depth, builder)
    }

    /// Reads the block of a directive.
    fn inner(&mut self, lines: &[&str], depth: usize, builder: &mut Builder) -> Result<(), ExtractError> {
        if depth < DEEPEST {
            self.read(&outdented(lines), depth + 1, builder)?;
        }
        self.text.push('\n');
        Ok(())
    }

    fn code(&mut self, language: &str, lines: &[&str], builder: &mut Builder) -> Result<(), ExtractError> {
        self.flush(builder)?;
        let code = outdented(lines).join("\n");
        let code = code.trim_matches('\n');
        if code.is_empty() { Ok(()) } else { builder.code(language, code) }
    }

    fn flush(&mut self, builder: &mut Builder) -> Result<(), ExtractError> {
        let text = std::mem::take(&mut self.text);
        if text.trim().is_empty() { Ok(()) } else { plain::read_body(&inline(&text), builder) }
    }
}

/// Returns whether a line is the first of its paragraph.
fn is_start(lines: &[&str], at: usize) -> bool {
    let before = at.checked_sub(1).map_or("", |before| lines[before]);
    before.is_empty() || before.starts_with("..") || sign(before).is_some()
}

/// Returns the title that a text begins with, its signs, and how many lines it takes.
fn heading<'t>(lines: &[&'t str]) -> Option<(&'t str, (char, bool), usize)> {
    let width = |line: &str| line.trim().chars().count();
    match lines {
        [above, title, below, ..]
            if above == below && !title.trim().is_empty() && width(title) <= width(above) =>
        {
            Some((*title, (sign(above)?, true), 3))
        }
        [title, below, ..]
            if !title.is_empty() && !title.starts_with(' ') && width(title) <= width(below) =>
        {
            sign(title).is_none().then_some(())?;
            Some((*title, (sign(below)?, false), 2))
        }
        _ => None,
    }
}

/// Returns the sign that a line consists of.
fn sign(line: &str) -> Option<char> {
    let first = line.chars().next().filter(char::is_ascii_punctuation)?;
    (line.len() >= 2 && line.chars().all(|c| c == first)).then_some(first)
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Returns the length of the mark that an entry of a list begins with, and of the blank after it.
fn mark(line: &str) -> usize {
    let first = line.trim_start().split(' ').next().unwrap_or_default();
    let number = first.trim_end_matches(['.', ')']);
    let is_number = number != first && (number == "#" || number.bytes().all(|byte| byte.is_ascii_digit()));
    if matches!(first, "-" | "*" | "+") || is_number { first.len() + 1 } else { 0 }
}

/// Counts the lines of the block that a text begins with: those that are indented more than this.
fn block(lines: &[&str], outer: usize) -> usize {
    let inside = lines.iter().take_while(|line| line.is_empty() || indent(line) > outer).count();
    let blank = lines[..inside].iter().rev().take_while(|line| line.is_empty()).count();
    inside - blank
}

/// Removes the indentation that all lines have.
fn outdented<'t>(lines: &[&'t str]) -> Vec<&'t str> {
    let least = lines.iter().filter(|line| !line.is_empty()).map(|line| indent(line)).min().unwrap_or(0);
    lines.iter().map(|line| line.get(least..).unwrap_or_default()).collect()
}

/// Returns a text without roles and the targets of links: ":ref:`the limits <limits>`" is "the limits".
fn inline(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('`') {
        let (before, marked) = rest.split_at(start);
        let mark = if marked.starts_with("``") { "``" } else { "`" };
        let inside = &marked[mark.len()..];
        let Some(end) = inside.find(mark).filter(|end| !inside[..*end].contains("\n\n")) else {
            plain.push_str(&without_stars(before));
            plain.push_str(mark);
            rest = inside;
            continue;
        };
        let (own, after) = (&inside[..end], &inside[end + mark.len()..]);
        match mark {
            "``" => plain.push_str(&format!("{}`{own}`", without_stars(before))),
            _ => {
                plain.push_str(&without_stars(without_role(before)));
                let link = own.strip_suffix('>').and_then(|own| own.rsplit_once('<'));
                let shown = link.map_or(own, |(shown, _)| shown.trim_end());
                plain.push_str(if shown.is_empty() { own } else { shown.trim_start_matches(['~', '!']) });
            }
        }
        rest = if mark == "`" { after.trim_start_matches('_') } else { after };
    }
    plain.push_str(&without_stars(rest));
    plain
}

/// Removes the stars around "**bold**" words. Those of a power stay.
fn without_stars(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("**") {
        let bold = after.split_once("**").filter(|(bold, _)| {
            !bold.is_empty() && !bold.starts_with(char::is_whitespace) && !bold.ends_with(char::is_whitespace)
        });
        plain.push_str(before);
        rest = match bold {
            Some((bold, after)) => {
                plain.push_str(bold);
                after
            }
            None => {
                plain.push_str("**");
                after
            }
        };
    }
    plain.push_str(rest);
    plain
}

/// Removes the role at the end of a text: "see :ref:".
fn without_role(before: &str) -> &str {
    let Some(bare) = before.strip_suffix(':') else { return before };
    let is_role = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '-' | '_');
    let bare = bare.trim_end_matches(is_role);
    if before[bare.len()..].starts_with(':') { bare } else { before }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Limits};

    fn check(text: &str, expected: &[(&str, &str)]) {
        let mut builder = Builder::new(Kind::Rst, &Limits::default());
        read(text, &mut builder).unwrap();
        let blocks = builder.finish().unwrap().blocks;
        let found: Vec<(String, &str)> =
            blocks.iter().map(|block| (block.headings.join(" > "), block.text.as_str())).collect();
        let expected: Vec<(String, &str)> =
            expected.iter().map(|(path, text)| ((*path).to_owned(), *text)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_signs_of_headings_tell_their_levels() {
        let long = "-".repeat(90);
        check(
            &format!(
                "====\nPump\n====\n\nIt is blue.\n\nUse\n####\n\nHow do I switch it on?\n{long}\n\nTurn it.\n\nEnd\n###\n\nStop."
            ),
            &[
                ("Pump", "It is blue."),
                ("Pump > Use > How do I switch it on?", "Turn it."),
                ("Pump > End", "Stop."),
            ],
        );
    }

    #[test]
    fn roles_targets_comments_and_options_are_left_out() {
        check(
            ".. _top:\n.. include:: all.inc\n.. a comment\n   of two lines\n\nSee :ref:`the limits <limits>`, :doc:`/start` and\n`Borg <https://b.org>`_ with ``-n`` and **care**.\n\n.. note:: Read this.\n   It matters.\n\n   - one\n   - two\n\n.. image:: a.png\n   :alt: a\n",
            &[
                ("", "See the limits, /start and Borg with `-n` and care."),
                ("", "Read this. It matters."),
                ("", "- one\n- two"),
            ],
        );
    }

    #[test]
    fn code_stays_whole() {
        check(
            "Do this::\n\n    borg init\n\n      --all\n\n.. code-block:: sh\n   :linenos:\n\n   ls `pwd`\n\nDone.",
            &[
                ("", "Do this:"),
                ("", "```\nborg init\n\n  --all\n```"),
                ("", "```sh\nls `pwd`\n```"),
                ("", "Done."),
            ],
        );
    }

    #[test]
    fn nothing_of_a_block_is_lost() {
        check(
            ".. note::\n\n   :class:`Pump` is old.\n\n.. code-block:: vim\n\n   :wq\n\n.. [1] It needs 3 bar.\n\n.. deprecated:: 3.2\n\nEnd of 2**8 and ``2**9`` and x ** y.",
            &[
                ("", "Pump is old."),
                ("", "```vim\n:wq\n```"),
                ("", "It needs 3 bar."),
                ("", "deprecated 3.2"),
                ("", "End of 2**8 and `2**9` and x ** y."),
            ],
        );
        check(
            "- Item one::\n\n      make\n\n  Then wait.\n\n  .. note:: Careful.\n\nEnd.",
            &[
                ("", "- Item one:"),
                ("", "```\nmake\n```"),
                ("", "Then wait."),
                ("", "Careful."),
                ("", "End."),
            ],
        );
    }

    #[test]
    fn tables_options_and_terms_keep_their_lines() {
        check("-a   All.\n-b   Both.", &[("", "-a   All.\n-b   Both.")]);
        check("term\n   Meaning.\nother\n   More.", &[("", "term\n   Meaning.\nother\n   More.")]);
        check("One sentence.  Another\none.", &[("", "One sentence. Another one.")]);
    }

    #[test]
    fn what_is_not_closed_is_text() {
        check("A ``b and *d\n\nE `f.", &[("", "A ``b and *d"), ("", "E `f.")]);
        let nested = (0..100).map(|depth| format!("{}.. note::\n\n", " ".repeat(depth))).collect::<String>();
        check(&format!("Begin.\n\n{nested}"), &[("", "Begin.")]);
    }
}
