//! A password from the person at the terminal, who does not see it, or from standard input.

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::{BufRead, IsTerminal, Read, Stdin, Write, stdin};

const SHORTEST: usize = 12;
const MAX_BYTES: u64 = 4096;
/// What the knowledge service takes.
const LONGEST: usize = 1024;

pub fn read() -> Result<String, String> {
    let input = stdin();
    let password = if input.is_terminal() { ask_twice(&input)? } else { read_all(&input)? };
    check(&password)?;
    Ok(password)
}

fn check(password: &str) -> Result<(), String> {
    match password.chars().count() {
        0 => Err("the password is empty: expected at least 12 characters".to_owned()),
        short @ 1..SHORTEST => {
            Err(format!("the password has {short} characters: expected at least {SHORTEST}"))
        }
        _ if password.len() > LONGEST => Err(format!("the password is longer than {LONGEST} bytes")),
        _ => Ok(()),
    }
}

fn read_all(input: &Stdin) -> Result<String, String> {
    let mut text = String::new();
    input.lock().take(MAX_BYTES).read_to_string(&mut text).map_err(unreadable)?;
    Ok(without_line_end(&text))
}

fn ask_twice(input: &Stdin) -> Result<String, String> {
    let hidden = Hidden::start(input)?;
    let first = hidden.ask("Password (at least 12 characters, not shown): ")?;
    check(&first)?;
    match hidden.ask("The same again: ")? == first {
        true => Ok(first),
        false => Err("the two passwords are not the same".to_owned()),
    }
}

/// A terminal that does not show what is typed, for as long as this lives.
struct Hidden<'a> {
    input: &'a Stdin,
    before: Termios,
}

impl<'a> Hidden<'a> {
    fn start(input: &'a Stdin) -> Result<Self, String> {
        let before = tcgetattr(input).map_err(unreadable)?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        // The line's end is still shown.
        silent.local_modes.insert(LocalModes::ECHONL);
        tcsetattr(input, OptionalActions::Flush, &silent).map_err(unreadable)?;
        Ok(Self { input, before })
    }

    fn ask(&self, prompt: &str) -> Result<String, String> {
        let mut terminal = std::io::stderr();
        // Without it the person can still type.
        let _ = write!(terminal, "{prompt}").and_then(|()| terminal.flush());
        let mut line = String::new();
        self.input.lock().take(MAX_BYTES).read_line(&mut line).map_err(unreadable)?;
        Ok(without_line_end(&line))
    }
}

impl Drop for Hidden<'_> {
    fn drop(&mut self) {
        let _ = tcsetattr(self.input, OptionalActions::Now, &self.before);
    }
}

fn without_line_end(text: &str) -> String {
    text.trim_end_matches(['\r', '\n']).to_owned()
}

fn unreadable(error: impl std::fmt::Display) -> String {
    format!("cannot read the password from standard input: {error}")
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn a_password_has_twelve_characters_at_least() {
        assert!(check("twelve chars").is_ok());
        assert!(check("zwölf zeiché").is_ok());
        assert!(check("eleven char").unwrap_err().contains("at least 12"));
        assert!(check("").unwrap_err().contains("at least 12"));
        assert!(check(&"x".repeat(1025)).is_err());
    }
}
