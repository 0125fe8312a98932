//! How many edits turn one word into another. An edit adds, removes or replaces a letter, or swaps two neighbours.

/// Returns the number of edits between two words (optimal string alignment distance).
pub fn edit_distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut rows: [Vec<usize>; 3] = [vec![], vec![], (0..=other.len()).collect()];
    for (i, letter) in one.iter().enumerate() {
        rows.rotate_left(1);
        let mut row = vec![i + 1];
        for (j, other_letter) in other.iter().enumerate() {
            let replaced = rows[1][j] + usize::from(letter != other_letter);
            let mut least = replaced.min(row[j] + 1).min(rows[1][j + 1] + 1);
            if i > 0 && j > 0 && one[i - 1] == *other_letter && *letter == other[j - 1] {
                least = least.min(rows[0][j - 1] + 1);
            }
            row.push(least);
        }
        rows[2] = row;
    }
    rows[2][other.len()]
}

/// Returns whether [`edit_distance`] is 0 or 1, in linear time.
pub fn is_within_one_edit(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    if long.len() - short.len() > 1 {
        return false;
    }
    let same = short.iter().zip(&long).take_while(|(one, other)| one == other).count();
    let (short_rest, long_rest) = (&short[same..], &long[same..]);
    if short.len() < long.len() {
        return *short_rest == long_rest[1..];
    }
    let swapped = short_rest.len() >= 2
        && (short_rest[0], short_rest[1]) == (long_rest[1], long_rest[0])
        && short_rest[2..] == long_rest[2..];
    swapped || short_rest.get(1..) == long_rest.get(1..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        for (one, other, edits) in [
            ("abc", "abc", 0),
            ("abc", "abd", 1),
            ("abc", "ab", 1),
            ("abc", "acb", 1),
            ("", "ab", 2),
            ("ab", "ba", 1),
            ("", "a", 1),
            ("müll", "mull", 1),
            ("printer", "prnter", 1),
            ("printer", "printerx", 1),
            ("printer", "prinker", 1),
            ("printer", "pritner", 1),
            ("printer", "pritnre", 2),
            ("printer", "print", 2),
        ] {
            for (one, other) in [(one, other), (other, one)] {
                assert_eq!(edit_distance(one, other), edits, "{one} {other}");
                assert_eq!(is_within_one_edit(one, other), edits <= 1, "{one} {other}");
            }
        }
    }
}
