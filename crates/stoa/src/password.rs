//! Reads a password from the terminal, without showing it, or from standard input.

use anyhow::{Context, Result, bail, ensure};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::{BufRead, IsTerminal, Read, Stdin, Write, stdin};

const SHORTEST: usize = 12;
const MAX_BYTES: u64 = 4096;
/// The longest password that the knowledge service accepts.
const LONGEST: usize = 1024;

const UNREADABLE: &str = "cannot read the password from standard input";

pub fn read() -> Result<String> {
    let input = stdin();
    let password = if input.is_terminal() { ask_twice(&input)? } else { read_all(&input)? };
    check(&password)?;
    Ok(password)
}

fn check(password: &str) -> Result<()> {
    match password.chars().count() {
        0 => bail!("the password is empty: expected at least {SHORTEST} characters"),
        short @ 1..SHORTEST => {
            bail!("the password has {short} characters: expected at least {SHORTEST}")
        }
        _ if password.len() > LONGEST => bail!("the password is longer than {LONGEST} bytes"),
        _ => Ok(()),
    }
}

fn read_all(input: &Stdin) -> Result<String> {
    let mut text = String::new();
    input.lock().take(MAX_BYTES).read_to_string(&mut text).context(UNREADABLE)?;
    Ok(without_line_end(&text))
}

fn ask_twice(input: &Stdin) -> Result<String> {
    let hidden = Hidden::start(input)?;
    let first = hidden.ask("Password (at least 12 characters, not shown): ")?;
    check(&first)?;
    ensure!(hidden.ask("The same again: ")? == first, "the two passwords are not the same");
    Ok(first)
}

/// Keeps the terminal from showing what is typed until it is dropped.
struct Hidden<'a> {
    input: &'a Stdin,
    before: Termios,
}

impl<'a> Hidden<'a> {
    fn start(input: &'a Stdin) -> Result<Self> {
        let before = tcgetattr(input).context(UNREADABLE)?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        // The end of the line is still shown.
        silent.local_modes.insert(LocalModes::ECHONL);
        tcsetattr(input, OptionalActions::Flush, &silent).context(UNREADABLE)?;
        Ok(Self { input, before })
    }

    fn ask(&self, prompt: &str) -> Result<String> {
        let mut terminal = std::io::stderr();
        // If the prompt cannot be written, the user can still type.
        let _ = write!(terminal, "{prompt}").and_then(|()| terminal.flush());
        let mut line = String::new();
        self.input.lock().take(MAX_BYTES).read_line(&mut line).context(UNREADABLE)?;
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

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn a_password_has_twelve_characters_at_least() {
        assert!(check("twelve chars").is_ok());
        assert!(check("zwölf zeiché").is_ok());
        assert!(check("eleven char").unwrap_err().to_string().contains("at least 12"));
        assert!(check("").unwrap_err().to_string().contains("at least 12"));
        assert!(check(&"x".repeat(1025)).is_err());
    }
}
