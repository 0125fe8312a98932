//! Parses server-sent events from bytes that arrive in any pieces. Only the data is kept, since no vendor needs more.

use std::collections::VecDeque;

/// Events have some hundred bytes; a longer one is not an answer.
const LONGEST_EVENT: usize = 1 << 20;
const BYTE_ORDER_MARK: &str = "\u{feff}";

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error("an event is longer than 1 MiB")]
    TooLong,
    #[error("an event is not UTF-8")]
    NotUtf8,
}

#[derive(Default)]
pub struct Events {
    line: Vec<u8>,
    /// A line feed right after a carriage return belongs to it, even if it arrives with the next bytes.
    after_return: bool,
    begun: bool,
    data: Option<String>,
    whole: VecDeque<String>,
}

impl Events {
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        for &byte in bytes {
            let completes_return = std::mem::replace(&mut self.after_return, byte == b'\r') && byte == b'\n';
            match byte {
                _ if completes_return => {}
                b'\r' | b'\n' => self.end_line()?,
                _ => self.line.push(byte),
            }
            if self.line.len() + self.data.as_ref().map_or(0, String::len) > LONGEST_EVENT {
                return Err(Malformed::TooLong);
            }
        }
        Ok(())
    }

    /// Ends the stream. Some servers leave out the empty line after the last event.
    pub fn close(&mut self) -> Result<(), Malformed> {
        self.push(b"\n\n")
    }

    pub fn next(&mut self) -> Option<String> {
        self.whole.pop_front()
    }

    fn end_line(&mut self) -> Result<(), Malformed> {
        let line = std::mem::take(&mut self.line);
        let line = str::from_utf8(&line).map_err(|_| Malformed::NotUtf8)?;
        let first = !std::mem::replace(&mut self.begun, true);
        let line = if first { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line) } else { line };
        if line.is_empty() {
            self.whole.extend(self.data.take());
            return Ok(());
        }
        // Comments have an empty name; `event`, `id` and `retry` add nothing to the data.
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        if name == "data" {
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the events are the same in whatever pieces the bytes arrive.
    fn check(stream: &str, expected: &[&str]) {
        for size in 1..=stream.len() {
            let mut events = Events::default();
            for part in stream.as_bytes().chunks(size) {
                events.push(part).unwrap();
            }
            let found: Vec<String> = std::iter::from_fn(|| events.next()).collect();
            assert_eq!(found, expected, "in parts of {size} bytes");
        }
    }

    #[test]
    fn events_come_out_whole_however_they_are_cut() {
        check("data: {\"a\":1}\n\ndata: [DONE]\n\n", &["{\"a\":1}", "[DONE]"]);
        check("data: Größe 🙂\n\n", &["Größe 🙂"]);
    }

    #[test]
    fn every_line_ending_counts() {
        check("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]);
        check("data: a\r\rdata: b\r\r", &["a", "b"]);
        check("data: a\r\n\ndata: b\n\r\n", &["a", "b"]);
    }

    #[test]
    fn comments_names_and_a_byte_order_mark_are_passed_over() {
        check("\u{feff}: hello\n\nevent: x\nid: 1\nretry: 5\ndata: a\n\n:\n\n", &["a"]);
        check("event: alone\n\ndata\n\n", &[""]);
    }

    #[test]
    fn data_of_several_lines_is_one_event() {
        check("data: a\ndata:b\ndata:  c\n\n", &["a\nb\n c"]);
    }

    #[test]
    fn an_event_without_its_empty_line_comes_at_the_end() {
        let mut events = Events::default();
        events.push(b"data: [DONE]").unwrap();
        assert_eq!(events.next(), None);
        events.close().unwrap();
        assert_eq!(events.next().as_deref(), Some("[DONE]"));
    }

    #[test]
    fn an_endless_event_is_given_up() {
        let mut line = Events::default();
        assert_eq!(line.push(&vec![b'x'; LONGEST_EVENT + 1]), Err(Malformed::TooLong));
        let mut lines = Events::default();
        let endless = "data: 0123456789\n".repeat(100_000);
        assert_eq!(lines.push(endless.as_bytes()), Err(Malformed::TooLong));
        assert_eq!(Events::default().push(b"data: \xff\n"), Err(Malformed::NotUtf8));
    }
}
