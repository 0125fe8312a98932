//! The direction of writing. Arabic and Hebrew run from right to left, numbers and foreign words in them from left to
//! right. Files hold the characters in the order of reading, or as they stand on the page from the left.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Right,
    Left,
}

/// Returns the direction of a character; none for spaces, signs and marks, which take that of their neighbours.
pub(super) fn direction(c: char) -> Option<Direction> {
    match c {
        // Digits run to the right in every script.
        '\u{660}'..='\u{669}' | '\u{6f0}'..='\u{6f9}' => Some(Direction::Right),
        _ if is_mark(c) => None,
        '\u{590}'..='\u{8ff}'
        | '\u{fb1d}'..='\u{fdff}'
        | '\u{fe70}'..='\u{feff}'
        | '\u{10800}'..='\u{10fff}' => c.is_alphabetic().then_some(Direction::Left),
        _ if c.is_alphanumeric() => Some(Direction::Right),
        _ => None,
    }
}

/// Returns whether most letters of the texts run to the left.
pub(super) fn runs_left<'t>(texts: impl Iterator<Item = &'t str>) -> bool {
    let (mut left, mut right) = (0_usize, 0_usize);
    for c in texts.flat_map(str::chars) {
        match direction(c) {
            Some(Direction::Left) => left += 1,
            Some(Direction::Right) if c.is_alphabetic() => right += 1,
            _ => {}
        }
    }
    left > right
}

/// Puts text that was read from the left into the order of reading, if it has letters that run to the left.
pub(super) fn in_reading_order(text: &str) -> String {
    if !text.chars().any(|c| direction(c) == Some(Direction::Left)) {
        return text.to_owned();
    }
    let mut clusters = clusters(text);
    if runs_left(std::iter::once(text)) {
        clusters.reverse();
        reverse_runs(&mut clusters, Direction::Right);
    } else {
        reverse_runs(&mut clusters, Direction::Left);
    }
    clusters.concat()
}

/// Splits a text into characters with the marks that follow them.
fn clusters(text: &str) -> Vec<&str> {
    let mut starts: Vec<usize> =
        text.char_indices().filter(|(_, c)| !is_mark(*c)).map(|(at, _)| at).collect();
    if starts.first() != Some(&0) {
        starts.insert(0, 0);
    }
    starts.push(text.len());
    starts.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect()
}

/// Reverses what runs in this direction, from its first letter or digit to its last, with what is between.
fn reverse_runs(clusters: &mut [&str], wanted: Direction) {
    let directions: Vec<Option<Direction>> =
        clusters.iter().map(|cluster| cluster.chars().next().and_then(direction)).collect();
    let mut at = 0;
    while at < clusters.len() {
        if directions[at] != Some(wanted) {
            at += 1;
            continue;
        }
        let length =
            directions[at..].iter().take_while(|direction| direction.is_none_or(|one| one == wanted)).count();
        let last = directions[at..at + length].iter().rposition(|direction| direction.is_some()).unwrap_or(0);
        clusters[at..=at + last].reverse();
        at += length;
    }
}

fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}'..='\u{5c7}'
        | '\u{610}'..='\u{61a}' | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{6d6}'..='\u{6ed}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reversed_text_is_put_in_order_and_numbers_and_foreign_words_stay() {
        let reversed = |text: &str| text.chars().rev().collect::<String>();
        assert_eq!(in_reading_order(&reversed("مضخة الماء")), "مضخة الماء");
        assert_eq!(in_reading_order(&reversed("שלום")), "שלום");
        assert_eq!(in_reading_order("ءاملا 204-P ةخضم"), "مضخة 204-P الماء");
        assert_eq!(
            in_reading_order(&format!("the word {} means peace", reversed("سلام"))),
            "the word سلام means peace"
        );
        assert_eq!(in_reading_order("plain words"), "plain words");
        // A mark stays behind its letter.
        assert_eq!(in_reading_order("بَا"), "ابَ");
    }
}
