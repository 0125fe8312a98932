//! Finds nodes by what a person types: the beginning of a label, of a word in it, or any part.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::{Graph, Node};

/// How well a label fits, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Whole,
    Beginning,
    BeginningOfWord,
    Part,
}

impl Graph {
    /// Returns the nodes whose label has this text in any spelling, the best fit first and the strongest first among
    /// equals. A node that has the text as another name comes first too.
    pub fn search(&self, text: &str, limit: usize) -> Vec<&Node> {
        let wanted = fold(text.trim());
        if wanted.is_empty() {
            return Vec::new();
        }
        let named = self.find_named(text.trim()).and_then(|node| self.index(&node.id));
        let fits = (0_u32..).zip(&self.nodes).filter_map(|(index, node)| {
            let fit = if named == Some(index) { Some(Fit::Whole) } else { fit(&fold(&node.label), &wanted) };
            Some((fit?, node))
        });
        let mut found: Vec<(Fit, &Node)> = fits.collect();
        // Stable: nodes are in the order of their strength.
        found.sort_by_key(|(fit, _)| *fit);
        found.into_iter().take(limit).map(|(_, node)| node).collect()
    }
}

fn fit(label: &str, wanted: &str) -> Option<Fit> {
    let mut places = label.match_indices(wanted).map(|(place, _)| place).peekable();
    let first = *places.peek()?;
    if label == wanted {
        return Some(Fit::Whole);
    }
    if first == 0 {
        return Some(Fit::Beginning);
    }
    let begins_word = |place: usize| !label[..place].ends_with(char::is_alphanumeric);
    Some(if places.any(begins_word) { Fit::BeginningOfWord } else { Fit::Part })
}

/// Returns a text in lower case, without accents.
fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.nfkd().filter(|letter| !is_combining_mark(*letter)).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_fits_better_than_a_part() {
        for (label, wanted, expected) in [
            ("Pump", "pump", Some(Fit::Whole)),
            ("Pump P-204", "PUMP", Some(Fit::Beginning)),
            ("cooling pump", "pump", Some(Fit::BeginningOfWord)),
            ("sumpump pump", "pump", Some(Fit::BeginningOfWord)),
            ("sumpump", "pump", Some(Fit::Part)),
            ("Zürich", "zur", Some(Fit::Beginning)),
            ("turbine", "pump", None),
        ] {
            assert_eq!(fit(&fold(label), &fold(wanted)), expected, "{label}");
        }
    }
}
