//! Reads TeX as a stream of text, commands and formulas, without comments and braces.

pub(super) enum Token<'t> {
    Text(&'t str),
    Command(&'t str),
    /// With its signs.
    Formula(&'t str),
    /// An empty line.
    Paragraph,
}

pub(super) struct Scan<'t> {
    rest: &'t str,
}

impl<'t> Scan<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { rest: text }
    }

    pub fn rest(&self) -> &'t str {
        self.rest
    }

    pub fn next(&mut self) -> Option<Token<'t>> {
        let first = self.rest.chars().next()?;
        match first {
            '\\' => Some(Token::Command(self.command())),
            '%' => {
                self.skip_comment();
                Some(Token::Text(""))
            }
            // Between two arguments of an unknown command.
            '}' if self.rest.starts_with("}{") => Some(self.replaced(1, " ")),
            '{' | '}' => {
                self.rest = &self.rest[1..];
                Some(Token::Text(""))
            }
            '~' | '&' => Some(self.replaced(1, " ")),
            '$' => Some(Token::Formula(self.formula())),
            '`' if self.rest.starts_with("``") => Some(self.replaced(2, "“")),
            '\'' if self.rest.starts_with("''") => Some(self.replaced(2, "”")),
            '-' if self.rest.starts_with("---") => Some(self.replaced(3, "—")),
            '-' if self.rest.starts_with("--") => Some(self.replaced(2, "–")),
            '\n' => Some(self.line_end()),
            _ => Some(Token::Text(self.text())),
        }
    }

    fn replaced(&mut self, length: usize, by: &'static str) -> Token<'t> {
        self.rest = &self.rest[length..];
        Token::Text(by)
    }

    fn text(&mut self) -> &'t str {
        let first = self.rest.chars().next().map_or(0, char::len_utf8);
        let special = ['\\', '%', '{', '}', '~', '&', '$', '`', '\'', '-', '\n'];
        let end = self.rest[first..].find(special).map_or(self.rest.len(), |end| first + end);
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        text
    }

    fn line_end(&mut self) -> Token<'t> {
        let trimmed = self.rest.trim_start();
        let skipped = &self.rest[..self.rest.len() - trimmed.len()];
        self.rest = trimmed;
        if skipped.matches('\n').count() > 1 { Token::Paragraph } else { Token::Text(" ") }
    }

    /// Skips to the end of the line, and the space before the next, as TeX does. An empty line still ends a paragraph.
    fn skip_comment(&mut self) {
        let end = self.rest.find('\n').unwrap_or(self.rest.len());
        let rest = &self.rest[end..];
        let next = rest.strip_prefix('\n').unwrap_or(rest);
        self.rest = if next.trim_start_matches([' ', '\t', '\r']).starts_with('\n') {
            rest
        } else {
            next.trim_start_matches([' ', '\t'])
        };
    }

    /// Returns the name of a command: letters and a star, or one sign.
    fn command(&mut self) -> &'t str {
        let after = &self.rest[1..];
        let letters = after.find(|c: char| !c.is_ascii_alphabetic() && c != '@').unwrap_or(after.len());
        let end = match letters {
            0 => after.chars().next().map_or(0, char::len_utf8),
            letters => letters + usize::from(after[letters..].starts_with('*')),
        };
        let (name, rest) = after.split_at(end);
        self.rest = rest;
        name
    }

    /// Returns a formula with its signs, up to the end of the paragraph if it has no end.
    fn formula(&mut self) -> &'t str {
        let sign = if self.rest.starts_with("$$") { "$$" } else { "$" };
        let inside = &self.rest[sign.len()..];
        let near = &inside[..inside.floor_char_boundary(LONGEST_ARGUMENT)];
        let limit = near.find("\n\n").unwrap_or(near.len());
        let mut end = None;
        let mut from = 0;
        while let Some(at) = inside[from..limit].find(sign).map(|at| from + at) {
            if !inside[..at].ends_with('\\') {
                end = Some(at);
                break;
            }
            from = at + sign.len();
        }
        let end = end.map_or(sign.len(), |end| sign.len() + end + sign.len());
        let (formula, rest) = self.rest.split_at(end);
        self.rest = rest;
        formula
    }

    /// Returns the argument that follows, without its braces.
    pub fn argument(&mut self) -> Option<&'t str> {
        let rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
        let inside = rest.strip_prefix('{')?;
        let (argument, rest) = closed(inside, '{', '}')?;
        self.rest = rest;
        Some(argument)
    }

    /// Returns the optional argument that follows, without its brackets.
    pub fn option(&mut self) -> Option<&'t str> {
        let inside = self.rest.strip_prefix('[')?;
        let (option, rest) = closed(inside, '[', ']')?;
        self.rest = rest;
        Some(option)
    }

    pub fn skip_arguments(&mut self, number: usize) {
        self.option();
        for _ in 0..number {
            self.argument();
            self.option();
        }
    }

    /// Skips the name, the parameters and the text of a command that is defined.
    pub fn skip_definition(&mut self) {
        if self.argument().is_none() && self.rest.starts_with('\\') {
            self.command();
        }
        while self.option().is_some() {}
        let parameters = self.rest.find(['{', '\n']).unwrap_or(0);
        self.rest = &self.rest[parameters..];
        self.argument();
    }

    /// Returns the text of `\verb+…+`.
    pub fn verbatim(&mut self) -> &'t str {
        let Some(mark) = self.rest.chars().next() else { return "" };
        let inside = &self.rest[mark.len_utf8()..];
        let Some(end) = inside.find([mark, '\n']).filter(|end| inside[*end..].starts_with(mark)) else {
            return "";
        };
        self.rest = &inside[end + mark.len_utf8()..];
        &inside[..end]
    }

    /// Returns everything to the end of the environment.
    pub fn environment(&mut self, name: &str) -> &'t str {
        let end = format!("\\end{{{name}}}");
        match self.rest.split_once(&end) {
            Some((inside, rest)) => {
                self.rest = rest;
                inside
            }
            None => std::mem::take(&mut self.rest),
        }
    }

    /// Leaves out the options of an unknown command. Without an argument, a command such as `\gretl` stands for a word.
    pub fn after_unknown(&mut self, name: &str, text: &mut String) {
        let has_option = self.option().is_some();
        let is_empty = self.rest.starts_with("{}") && !self.rest.starts_with("{}{");
        let has_argument = self.rest.starts_with('{') && !is_empty;
        let is_word = name.len() > 1 && name.bytes().all(|b| b.is_ascii_alphabetic());
        if !has_option && !has_argument && is_word {
            text.push_str(name);
        }
    }
}

/// Splits after the bracket that closes an argument.
fn closed(inside: &str, open: char, close: char) -> Option<(&str, &str)> {
    let (mut depth, mut escaped) = (0_usize, false);
    for (at, c) in inside.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == close && depth == 0 => return Some((&inside[..at], &inside[at + 1..])),
            _ if c == close => depth -= 1,
            _ if c == open => depth += 1,
            _ => {}
        }
        if at > LONGEST_ARGUMENT {
            return None;
        }
    }
    None
}

/// A longer argument is a brace that was never closed.
const LONGEST_ARGUMENT: usize = 4000;

pub(super) fn without_comments(text: &str) -> String {
    let is_comment = |line: &str, at: usize| !line[..at].ends_with('\\');
    let lines = text.lines().map(|line| {
        let end =
            line.match_indices('%').map(|(at, _)| at).find(|at| is_comment(line, *at)).unwrap_or(line.len());
        &line[..end]
    });
    lines.collect::<Vec<_>>().join("\n")
}
