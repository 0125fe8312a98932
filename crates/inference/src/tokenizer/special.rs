//! Finds tokens that are written literally in a text, such as `<|im_end|>` or `[MASK]`, in one pass.

/// A trie over the tokens' bytes.
#[derive(Debug)]
pub struct SpecialTokens {
    nodes: Vec<Node>,
    first_bytes: [bool; 256],
}

#[derive(Debug, Default)]
struct Node {
    children: Vec<(u8, usize)>,
    id: Option<u32>,
}

impl SpecialTokens {
    /// Of equal texts the first is used; empty ones are ignored.
    pub fn new<'a>(tokens: impl IntoIterator<Item = (&'a str, u32)>) -> Self {
        let mut all = Self { nodes: vec![Node::default()], first_bytes: [false; 256] };
        for (text, id) in tokens {
            all.insert(text.as_bytes(), id);
        }
        all
    }

    fn insert(&mut self, text: &[u8], id: u32) {
        let Some(first) = text.first() else { return };
        self.first_bytes[usize::from(*first)] = true;
        let mut node = 0;
        for &byte in text {
            node = match self.child(node, byte) {
                Some(child) => child,
                None => {
                    self.nodes.push(Node::default());
                    let child = self.nodes.len() - 1;
                    self.nodes[node].children.push((byte, child));
                    child
                }
            };
        }
        self.nodes[node].id.get_or_insert(id);
    }

    #[inline]
    pub fn may_begin_with(&self, byte: u8) -> bool {
        self.first_bytes[usize::from(byte)]
    }

    /// Returns the length and number of the longest token at the start of the text.
    pub fn at(&self, text: &str) -> Option<(usize, u32)> {
        let mut node = 0;
        let mut found = None;
        for (index, byte) in text.bytes().enumerate() {
            let Some(child) = self.child(node, byte) else { break };
            node = child;
            if let Some(id) = self.nodes[node].id {
                found = Some((index + 1, id));
            }
        }
        found
    }

    /// Returns the first token in the text, with its position.
    pub fn find(&self, text: &str) -> Option<(usize, usize, u32)> {
        let candidates = text.bytes().enumerate().filter(|(_, byte)| self.may_begin_with(*byte));
        let mut found = candidates.filter_map(|(at, _)| text.get(at..).map(|rest| (at, rest)));
        found.find_map(|(at, rest)| self.at(rest).map(|(len, id)| (at, len, id)))
    }

    fn child(&self, node: usize, byte: u8) -> Option<usize> {
        self.nodes[node].children.iter().find(|child| child.0 == byte).map(|child| child.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_leftmost_and_then_the_longest_token_is_found() {
        let tokens = SpecialTokens::new([("<a>", 1), ("<a>b", 2), ("é!", 3), ("", 4)]);
        assert_eq!(tokens.at("<a>bc"), Some((4, 2)));
        assert_eq!(tokens.find("x<a<a>é!"), Some((3, 3, 1)));
        assert_eq!(tokens.find("èé!"), Some((2, 3, 3)));
        assert_eq!(tokens.find("<a"), None);
    }
}
