//! Ends a text at the first of several stop strings, without ever showing a part of one.

pub(super) struct Stop {
    strings: Vec<String>,
    /// Text that may be the beginning of a stop string.
    held: String,
}

/// The part of a text that may be shown.
#[derive(Debug, PartialEq)]
pub(super) enum Shown {
    All(String),
    /// Up to a stop string: the text ends here.
    Last(String),
}

impl Stop {
    pub fn new(strings: Vec<String>) -> Self {
        Self {
            strings: strings.into_iter().filter(|string| !string.is_empty()).collect(),
            held: String::new(),
        }
    }

    pub fn push(&mut self, piece: &str) -> Shown {
        self.held.push_str(piece);
        if let Some(at) = self.strings.iter().filter_map(|string| self.held.find(string)).min() {
            return Shown::Last(self.held[..at].to_owned());
        }
        let kept = self.strings.iter().map(|string| overlap(&self.held, string)).max().unwrap_or(0);
        let rest = self.held.split_off(self.held.len() - kept);
        Shown::All(std::mem::replace(&mut self.held, rest))
    }

    /// Returns the text that was held back.
    pub fn finish(self) -> String {
        self.held
    }
}

/// Returns how many bytes at the end of the text are the beginning of `string`.
fn overlap(text: &str, string: &str) -> usize {
    let longest = text.len().min(string.len() - 1);
    let begins = |len: &usize| text.as_bytes().ends_with(&string.as_bytes()[..*len]);
    (1..=longest).rev().filter(|len| string.is_char_boundary(*len)).find(begins).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(strings: &[&str], pieces: &[&str]) -> (Vec<String>, bool) {
        let mut stop = Stop::new(strings.iter().map(|string| (*string).to_owned()).collect());
        let mut shown = Vec::new();
        for piece in pieces {
            match stop.push(piece) {
                Shown::All(text) => shown.push(text),
                Shown::Last(text) => {
                    shown.push(text);
                    return (shown, true);
                }
            }
        }
        shown.push(stop.finish());
        (shown, false)
    }

    #[test]
    fn a_stop_string_over_several_pieces_ends_the_text_and_is_never_shown() {
        let (shown, stopped) = all(&["\n\nUser:"], &["Yes.\n", "\nUs", "er: more"]);
        assert_eq!((shown.concat(), stopped), ("Yes.".to_owned(), true));
    }

    #[test]
    fn what_only_looked_like_one_is_shown_in_the_end() {
        let (shown, stopped) = all(&["###"], &["a#", "#b", "##"]);
        assert_eq!((shown.concat(), stopped), ("a##b##".to_owned(), false));
        assert_eq!(shown[0], "a");
    }

    #[test]
    fn the_first_of_several_counts() {
        assert_eq!(all(&["beta", "alpha"], &["one alpha beta"]).0, ["one "]);
        assert_eq!(all(&["", "é!"], &["caf", "é", "s"]).0.concat(), "cafés");
    }
}
