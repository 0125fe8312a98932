//! Answers of a mail server, as a flat list of tokens: however deep its brackets are, nothing calls itself.

use std::ops::Range;

/// The most tokens of an answer, and of all answers to one command. The longest lists numbers of mails.
pub(super) const MOST_TOKENS: usize = 1_500_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Open,
    Close,
    /// A number, a name or `NIL`.
    Atom(String),
    /// Quoted, or sent as a literal.
    Text(Vec<u8>),
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    pub tokens: Vec<Token>,
}

impl Token {
    pub fn is_atom(&self, name: &str) -> bool {
        matches!(self, Token::Atom(atom) if atom.eq_ignore_ascii_case(name))
    }

    pub fn number(&self) -> Option<u32> {
        match self {
            Token::Atom(atom) => atom.parse().ok(),
            _ => None,
        }
    }

    /// Returns the text of an atom too: servers send either where a name is wanted.
    pub fn text(&self) -> Option<String> {
        match self {
            Token::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
            Token::Atom(atom) if !self.is_atom("NIL") => Some(atom.clone()),
            _ => None,
        }
    }
}

impl Answer {
    /// Adds the tokens of a line, or of the part of one before or after a literal.
    pub fn add_line(&mut self, mut line: &[u8]) -> Result<(), &'static str> {
        while let Some((first, rest)) = line.split_first() {
            let (token, after) = match first {
                b' ' => {
                    line = rest;
                    continue;
                }
                b'(' => (Token::Open, rest),
                b')' => (Token::Close, rest),
                b'"' => quoted(rest)?,
                _ => atom(line),
            };
            self.add(token)?;
            line = after;
        }
        Ok(())
    }

    pub fn add(&mut self, token: Token) -> Result<(), &'static str> {
        if self.tokens.len() == MOST_TOKENS {
            return Err("its answer is too long");
        }
        self.tokens.push(token);
        Ok(())
    }

    /// Returns the values of an answer such as `* 7 FETCH (UID 9 BODY[] "…")`, each with its name.
    pub fn fetched(&self) -> Vec<(&str, &[Token])> {
        let [_, _, name, Token::Open, ..] = self.tokens.as_slice() else { return Vec::new() };
        let (mut values, mut at) = (Vec::new(), 4);
        if !name.is_atom("FETCH") {
            return values;
        }
        while let Some(Token::Atom(name)) = self.tokens.get(at) {
            let value = value_at(&self.tokens, at + 1);
            at = value.end.max(at + 1);
            values.push((name.as_str(), &self.tokens[value]));
        }
        values
    }
}

/// Returns where a value is: one token, or all from a bracket to the one that closes it.
pub(super) fn value_at(tokens: &[Token], start: usize) -> Range<usize> {
    let mut open = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(start) {
        match token {
            Token::Open => open += 1,
            Token::Close => open = open.saturating_sub(1),
            _ => {}
        }
        if open == 0 {
            return start..at + 1;
        }
    }
    start.min(tokens.len())..tokens.len()
}

/// Reads to the quote that ends a text.
fn quoted(line: &[u8]) -> Result<(Token, &[u8]), &'static str> {
    let mut text = Vec::new();
    let mut rest = line;
    loop {
        match rest {
            [b'"', after @ ..] => return Ok((Token::Text(text), after)),
            [b'\\', byte, after @ ..] | [byte, after @ ..] => {
                text.push(*byte);
                rest = after;
            }
            [] => return Err("its answer has a quote without an end"),
        }
    }
}

/// Reads to the next space or bracket, but over what is in square brackets, as in `BODY[HEADER.FIELDS (DATE)]`.
fn atom(line: &[u8]) -> (Token, &[u8]) {
    let mut is_bracketed = false;
    let end = line.iter().position(|byte| {
        match byte {
            b'[' => is_bracketed = true,
            b']' => is_bracketed = false,
            _ => {}
        }
        !is_bracketed && matches!(byte, b' ' | b'(' | b')' | b'"')
    });
    let (atom, rest) = line.split_at(end.unwrap_or(line.len()));
    (Token::Atom(String::from_utf8_lossy(atom).into_owned()), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(line: &str) -> Result<Answer, &'static str> {
        let mut answer = Answer::default();
        answer.add_line(line.as_bytes())?;
        Ok(answer)
    }

    #[test]
    fn the_values_of_a_mail_are_found_by_name() {
        let line =
            r#"* 7 FETCH (UID 9 FLAGS () X ("a" (b "c)")) BODY[HEADER.FIELDS (DATE)]<0> "d \"e\"" Z NIL)"#;
        let answer = answer(line).unwrap();
        let values = answer.fetched();
        let names: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["UID", "FLAGS", "X", "BODY[HEADER.FIELDS (DATE)]<0>", "Z"]);
        assert_eq!(values[0].1[0].number(), Some(9));
        assert_eq!(values[2].1.len(), 7);
        assert_eq!(values[3].1[0].text().as_deref(), Some("d \"e\""));
        assert_eq!(values[4].1[0].text(), None);
    }

    #[test]
    fn odd_answers_end() {
        assert!(answer("* 1 FETCH (X \"no end").is_err());
        for line in
            ["", "*", "* 1 FETCH", "* 1 FETCH (", "* 1 FETCH (X", "* 1 FETCH (X (", "* 1 FETCH (X))) Y"]
        {
            assert!(answer(line).unwrap().fetched().len() < 2, "{line}");
        }
        let deep = format!("* 1 FETCH (X {}", "(".repeat(1_000_000));
        assert_eq!(answer(&deep).unwrap().fetched().len(), 1);
    }
}
