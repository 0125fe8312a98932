//! A list while it is read: a line for each item, and its other paragraphs, its code and its inner lists on lines of
//! their own below it.

#[derive(Default)]
pub(crate) struct List {
    /// The open lists; for a numbered one the number of the next item.
    open: Vec<Option<u64>>,
    /// Lists that were open before the current table. They go on after it.
    around_table: usize,
    text: String,
    next: Next,
    /// Whether the last item is a term without a definition.
    has_term: bool,
}

/// Where the next text of the list goes.
#[derive(Default, Clone, Copy, PartialEq)]
enum Next {
    /// On a line of its own.
    #[default]
    Line,
    /// After the mark of its item.
    Item,
    /// After the term that it defines.
    Definition,
}

/// Deeper indentation tells little, and a hostile page can nest thousands of lists.
const DEEPEST: usize = 8;

impl List {
    pub fn is_open(&self) -> bool {
        self.open.len() > self.around_table
    }

    /// Opens a list; `number` is that of its first item if it is numbered.
    pub fn start(&mut self, number: Option<u64>) {
        self.open.push(number);
    }

    /// Closes a list. Returns whether it was the outermost.
    pub fn end(&mut self) -> bool {
        if self.is_open() {
            self.open.pop();
        }
        self.next = Next::Line;
        !self.is_open()
    }

    pub fn enter_table(&mut self) {
        self.around_table = self.open.len();
    }

    pub fn leave_table(&mut self) {
        self.around_table = 0;
    }

    /// Opens or closes lists until this many are open.
    pub fn set_depth(&mut self, depth: usize) {
        self.open.resize(depth, None);
    }

    /// Starts an item that has a term instead of a mark.
    pub fn term(&mut self, term: &str) {
        self.line(self.depth() - 1, "- ");
        self.text.push_str(term);
        self.next = if term.is_empty() { Next::Item } else { Next::Definition };
    }

    /// Adds another term to the item that was just started.
    pub fn other_term(&mut self, term: &str) {
        self.text.push_str(", ");
        self.text.push_str(term);
    }

    /// Starts an item with the mark that it has in the document.
    pub fn marked_item(&mut self, mark: &str) {
        self.line(self.depth() - 1, mark);
        self.text.push(' ');
        self.next = Next::Item;
    }

    pub fn item(&mut self) {
        self.has_term = false;
        let mark = match self.open.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{number}. ");
                *number = number.saturating_add(1);
                mark
            }
            _ => "- ".to_owned(),
        };
        self.line(self.depth() - 1, &mark);
        self.next = Next::Item;
    }

    /// Starts a term that a definition may follow.
    pub fn defined_term(&mut self) {
        self.item();
        self.has_term = true;
    }

    /// Starts the definition of the term before it, or another paragraph of one.
    pub fn definition(&mut self) {
        match std::mem::take(&mut self.has_term) {
            true if self.next == Next::Line => self.next = Next::Definition,
            true => {}
            false if self.text.is_empty() => self.item(),
            false => self.next = Next::Line,
        }
    }

    pub fn paragraph(&mut self, text: &str) {
        match std::mem::take(&mut self.next) {
            Next::Item => self.text.push_str(text),
            Next::Definition => {
                self.text.push_str(if self.text.ends_with([':', '?']) { " " } else { ": " });
                self.text.push_str(text);
            }
            Next::Line => self.line(self.depth(), text),
        }
    }

    pub fn code(&mut self, fenced: &str) {
        self.next = Next::Line;
        for line in fenced.lines() {
            self.line(self.depth(), line);
        }
    }

    pub fn take_text(&mut self) -> String {
        self.next = Next::Line;
        std::mem::take(&mut self.text)
    }

    fn depth(&self) -> usize {
        self.open.len().saturating_sub(self.around_table).clamp(1, DEEPEST + 1)
    }

    fn line(&mut self, depth: usize, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(&"  ".repeat(depth));
        self.text.push_str(text);
    }
}
