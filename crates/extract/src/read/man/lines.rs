//! The lines of a page, and the skipping of definitions and of branches that are not shown.

pub(super) struct Lines<'t> {
    lines: std::str::Lines<'t>,
    /// Whether the next `.el` is read.
    is_else_read: bool,
    depth: usize,
}

/// How deep conditions may stand inside each other.
const DEEPEST: usize = 32;

impl<'t> Lines<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { lines: text.lines(), is_else_read: false, depth: 0 }
    }

    pub fn next(&mut self) -> Option<&'t str> {
        self.lines.next()
    }

    /// Skips to the line that ends a definition: a dot and this name.
    pub fn skip_to(&mut self, end: &str) {
        self.lines.find(|line| line.strip_prefix(['.', '\'']).is_some_and(|name| name.trim() == end));
    }

    /// Skips the rest of a condition's body, if that is in braces.
    pub fn skip_body(&mut self, body: &str) {
        let mut open = braces(body);
        while open > 0 {
            let Some(line) = self.lines.next() else { return };
            open += braces(line);
        }
    }

    pub fn expect_else(&mut self, is_read: bool) {
        self.is_else_read = is_read;
    }

    pub fn take_else(&mut self) -> bool {
        std::mem::take(&mut self.is_else_read)
    }

    /// Returns whether one more condition may be read inside the others.
    pub fn enter(&mut self) -> bool {
        self.depth += 1;
        self.depth <= DEEPEST || {
            self.depth -= 1;
            false
        }
    }

    pub fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }
}

fn braces(line: &str) -> i64 {
    line.matches("\\{").count() as i64 - line.matches("\\}").count() as i64
}
