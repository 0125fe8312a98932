//! Citations in an answer that is being written: `[2]` is kept if there is a second source, and removed if there is none.

/// Longer text in brackets is not a citation.
const LONGEST: usize = 500;

/// Filters an answer piece by piece. A possible citation is held back until it is clear whether it is one.
pub struct Citations {
    sources: usize,
    held: String,
    /// Whether the held text follows a citation that was removed together with the spaces around it.
    gap: bool,
}

impl Citations {
    pub fn new(sources: usize) -> Self {
        Self { sources, held: String::new(), gap: false }
    }

    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let mut shown = String::new();
        self.close_gap();
        while let Some(open) = self.held.find('[') {
            let inside = &self.held[open + 1..];
            let Some(end) = inside.find(|c: char| !c.is_ascii_digit() && !matches!(c, ',' | ' ' | '-' | '–'))
            else {
                if inside.len() > LONGEST {
                    self.show(open + 1, &mut shown);
                    continue;
                }
                break;
            };
            let has_number = inside[..end].contains(|c: char| c.is_ascii_digit());
            if !inside[end..].starts_with(']') || !has_number {
                self.show(open + 1, &mut shown);
                continue;
            }
            let citation = open..open + 1 + end + 1;
            match self.kept(&inside[..end]) {
                Some(kept) => {
                    shown.push_str(&self.held[..open]);
                    shown.push_str(&kept);
                    self.held.drain(..citation.end);
                }
                None => {
                    self.held.drain(citation);
                    let before = self.held[..open].trim_end_matches(' ').len();
                    self.show(before, &mut shown);
                    self.gap = true;
                    self.close_gap();
                }
            }
        }
        // Spaces are held with the bracket, since they are removed with it.
        if self.gap {
            return shown;
        }
        let safe = self.held.find('[').unwrap_or(self.held.len());
        let safe = self.held[..safe].trim_end_matches(' ').len();
        self.show(safe, &mut shown);
        shown
    }

    /// Returns the rest at the end of the answer.
    pub fn finish(self) -> String {
        self.held.trim_end().to_owned()
    }

    /// Leaves one space between words around a removed citation, and none before a full stop.
    fn close_gap(&mut self) {
        let rest = self.held.trim_start_matches(' ');
        let Some(next) = rest.chars().next().filter(|_| self.gap) else { return };
        let space = self.held.starts_with(' ') && (next.is_alphanumeric() || matches!(next, '[' | '('));
        self.held = format!("{}{rest}", if space { " " } else { "" });
        self.gap = false;
    }

    fn show(&mut self, length: usize, shown: &mut String) {
        shown.extend(self.held.drain(..length));
    }

    /// Returns the citation with those of its numbers that name a source.
    fn kept(&self, inside: &str) -> Option<String> {
        let numbers = inside.split(|c: char| !c.is_ascii_digit()).filter(|number| !number.is_empty());
        let mut valid: Vec<&str> = numbers.collect();
        let all = valid.len();
        valid.retain(|number| number.parse().is_ok_and(|number: usize| (1..=self.sources).contains(&number)));
        match valid.len() {
            0 => None,
            some if some == all => Some(format!("[{inside}]")),
            _ => Some(format!("[{}]", valid.join(", "))),
        }
    }
}

/// Removes all citations from a text.
pub fn uncited(text: &str) -> String {
    let mut citations = Citations::new(0);
    citations.push(text) + &citations.finish()
}

/// Returns the numbers of the sources that a text cites, each once and in order.
pub fn cited(text: &str) -> Vec<usize> {
    let mut numbers = Vec::new();
    for inside in text.split('[').skip(1).filter_map(|rest| rest.split_once(']')).map(|(inside, _)| inside) {
        let found = inside.split(',').map(|number| number.trim().parse::<usize>());
        numbers.extend(found.filter_map(Result::ok));
    }
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the result is the same however the answer is split into pieces.
    fn check(answer: &str, expected: &str) {
        for size in 1..=answer.chars().count().max(1) {
            let mut citations = Citations::new(3);
            let characters: Vec<char> = answer.chars().collect();
            let mut shown = String::new();
            for piece in characters.chunks(size) {
                shown += &citations.push(&piece.iter().collect::<String>());
            }
            shown += &citations.finish();
            assert_eq!(shown, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn citations_that_name_no_source_are_removed() {
        check("It is so [1]. And so [4]. And [0] so [12][2].", "It is so [1]. And so. And so [2].");
        check("Both [1, 2]; one of two [3, 9]; neither [7, 8].", "Both [1, 2]; one of two [3]; neither.");
        check("[5]", "");
        check("A range [1-3] stays, one beyond [2-5] is cut.", "A range [1-3] stays, one beyond [2] is cut.");
    }

    #[test]
    fn other_brackets_stay() {
        check("see [the manual] and a[i] [] [1", "see [the manual] and a[i] [] [1");
        check("[[1]] [x] 東京 [2]", "[[1]] [x] 東京 [2]");
        check("- [ ] a task [-] [,]", "- [ ] a task [-] [,]");
        let open = format!("[{}", "1".repeat(1000));
        check(&open, &open);
        check("[1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 99] end", "[1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2] end");
        check("", "");
    }

    #[test]
    fn citations_of_a_document_are_removed_from_quotations() {
        assert_eq!(uncited("It was built in 1901.[12] See [2]."), "It was built in 1901. See.");
        assert_eq!(uncited("- [ ] replace the seal"), "- [ ] replace the seal");
    }

    #[test]
    fn citations_are_found() {
        assert_eq!(cited("a [2], b [1, 3] c [x] [2]"), [1, 2, 3]);
    }
}
