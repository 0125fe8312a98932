//! The log: one buffer, written to standard error by a thread of its own.
//!
//! A request never waits for a terminal or a disk. If the reader of standard error is more than 8 MiB behind, lines are
//! dropped and counted.

use base::iso8601;
use std::cell::RefCell;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    #[default]
    Text,
    Json,
}

/// One line of the access log.
pub struct Access<'a> {
    pub service: &'a str,
    pub at_ms: i64,
    pub method: &'a str,
    pub path: &'a str,
    pub status: u16,
    pub bytes: u64,
    pub micros: u64,
    pub peer: &'a str,
    pub request_id: &'a str,
}

#[derive(Clone)]
pub struct Log {
    buffer: Arc<Buffer>,
    format: LogFormat,
    access: bool,
}

impl Log {
    /// Starts the writer and makes it the destination of `tracing`. `level` is a filter such as `info`.
    pub fn start(format: LogFormat, level: &str, access: bool) -> io::Result<Self> {
        let log = Self { buffer: Arc::default(), format, access };
        let buffer = log.buffer.clone();
        std::thread::Builder::new().name("log".into()).spawn(move || buffer.write_forever())?;
        let builder = tracing_subscriber::fmt()
            .with_env_filter(EnvFilter::new(level))
            .with_writer(log.clone())
            .with_ansi(false);
        // A second start in one process (tests) keeps the first subscriber.
        let _ = match format {
            LogFormat::Text => builder.try_init(),
            LogFormat::Json => builder.json().flatten_event(true).try_init(),
        };
        Ok(log)
    }

    pub fn access(&self, access: &Access<'_>) {
        if self.access {
            self.buffer.push(|out| match self.format {
                LogFormat::Text => write_text(out, access),
                LogFormat::Json => write_json(out, access),
            });
        }
    }

    /// Waits until everything logged so far is written.
    pub fn flush(&self) {
        self.buffer.flush();
    }
}

fn write_text(out: &mut Vec<u8>, access: &Access<'_>) {
    write_time(out, access.at_ms);
    out.extend_from_slice(b"  INFO access service=");
    out.extend_from_slice(access.service.as_bytes());
    for (name, value) in [(" method=", access.method), (" path=", access.path)] {
        out.extend_from_slice(name.as_bytes());
        escape(out, value);
    }
    write_numbers(out, access, [" status=", " bytes=", " us="]);
    for (name, value) in [(" peer=", access.peer), (" request_id=", access.request_id)] {
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(value.as_bytes());
    }
    out.push(b'\n');
}

fn write_json(out: &mut Vec<u8>, access: &Access<'_>) {
    out.extend_from_slice(b"{\"timestamp\":\"");
    write_time(out, access.at_ms);
    out.extend_from_slice(b"\",\"level\":\"INFO\",\"message\":\"access\",\"service\":\"");
    out.extend_from_slice(access.service.as_bytes());
    out.extend_from_slice(b"\",\"method\":\"");
    out.extend_from_slice(access.method.as_bytes());
    out.extend_from_slice(b"\",\"path\":\"");
    for byte in access.path.bytes() {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out.push(b'"');
    write_numbers(out, access, [",\"status\":", ",\"bytes\":", ",\"us\":"]);
    out.extend_from_slice(b",\"peer\":\"");
    out.extend_from_slice(access.peer.as_bytes());
    out.extend_from_slice(b"\",\"request_id\":\"");
    out.extend_from_slice(access.request_id.as_bytes());
    out.extend_from_slice(b"\"}\n");
}

fn write_numbers(out: &mut Vec<u8>, access: &Access<'_>, names: [&str; 3]) {
    let numbers = [u64::from(access.status), access.bytes, access.micros];
    for (name, number) in names.into_iter().zip(numbers) {
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    }
}

/// Writes the time. Formatting a date costs more than the rest of the line, so each thread caches the text of the current
/// second.
fn write_time(out: &mut Vec<u8>, at_ms: i64) {
    thread_local! {
        static SECOND: RefCell<(i64, String)> = const { RefCell::new((i64::MIN, String::new())) };
    }
    SECOND.with_borrow_mut(|(second, text)| {
        if *second != at_ms.div_euclid(1000) {
            *second = at_ms.div_euclid(1000);
            *text = iso8601(*second * 1000);
            text.truncate("2026-11-15T02:17:41.".len());
        }
        out.extend_from_slice(text.as_bytes());
        let millis = at_ms.rem_euclid(1000);
        let digits = [millis / 100, millis / 10 % 10, millis % 10];
        out.extend(digits.map(|digit| b'0' + digit as u8));
        out.push(b'Z');
    });
}

#[derive(Default)]
struct Buffer {
    state: Mutex<State>,
    filled: Condvar,
    written: Condvar,
}

#[derive(Default)]
struct State {
    pending: Vec<u8>,
    writing: bool,
    dropped: u64,
}

impl Buffer {
    const MAX_PENDING: usize = 8 * 1024 * 1024;
    /// Lines within this time are written together.
    const GATHER: Duration = Duration::from_millis(10);

    fn push(&self, line: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.pending.len() > Self::MAX_PENDING {
            state.dropped += 1;
            return;
        }
        let was_empty = state.pending.is_empty();
        line(&mut state.pending);
        if was_empty {
            self.filled.notify_one();
        }
    }

    fn write_forever(&self) {
        let mut lines = Vec::new();
        loop {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.writing = false;
            self.written.notify_all();
            while state.pending.is_empty() {
                state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            drop(state);
            std::thread::sleep(Self::GATHER);
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::swap(&mut state.pending, &mut lines);
            state.writing = true;
            let dropped = std::mem::take(&mut state.dropped);
            drop(state);
            // If standard error is closed, the lines are lost.
            let _ = io::stderr().write_all(&lines);
            if dropped > 0 {
                let _ =
                    writeln!(io::stderr(), "{dropped} log lines were dropped: standard error is too slow");
            }
            lines.clear();
        }
    }

    fn flush(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.writing || !state.pending.is_empty() {
            let waited = self.written.wait_timeout(state, Duration::from_millis(500));
            let (next, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            if timeout.timed_out() {
                return;
            }
            state = next;
        }
    }
}

/// One `tracing` event: collected here, pushed as a whole.
pub struct Line {
    buffer: Arc<Buffer>,
    format: LogFormat,
    text: Vec<u8>,
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        match self.format {
            LogFormat::Text => self.buffer.push(|out| write_escaped(out, &self.text)),
            LogFormat::Json => self.buffer.push(|out| out.extend_from_slice(&self.text)),
        }
    }
}

/// Writes one line, with line breaks and control characters escaped, so that they cannot break the line or move a
/// terminal's cursor.
fn write_escaped(out: &mut Vec<u8>, line: &[u8]) {
    escape(out, &String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(line)));
    out.push(b'\n');
}

fn escape(out: &mut Vec<u8>, text: &str) {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return out.extend_from_slice(text.as_bytes());
    }
    for character in text.chars() {
        match character {
            '\u{2028}' | '\u{2029}' => out.extend(character.escape_unicode().map(|ascii| ascii as u8)),
            _ if character.is_control() => out.extend(character.escape_default().map(|ascii| ascii as u8)),
            _ => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line { buffer: self.buffer.clone(), format: self.format, text: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCESS: Access<'_> = Access {
        service: "gateway",
        at_ms: 1_794_709_061_007,
        method: "GET",
        path: "/build/\"x\"",
        status: 200,
        bytes: 12,
        micros: 345,
        peer: "127.0.0.1",
        request_id: "00000000-0000-4000-8000-000000000000",
    };

    #[test]
    fn an_access_line_in_text() {
        let mut out = Vec::new();
        write_text(&mut out, &ACCESS);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "2026-11-15T02:17:41.007Z  INFO access service=gateway method=GET path=/build/\"x\" status=200 \
             bytes=12 us=345 peer=127.0.0.1 request_id=00000000-0000-4000-8000-000000000000\n"
        );
    }

    #[test]
    fn an_access_line_in_json_is_json() {
        let mut out = Vec::new();
        write_json(&mut out, &ACCESS);
        let line: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(line["path"], "/build/\"x\"");
        assert_eq!(line["status"], 200);
        assert_eq!(line["timestamp"], "2026-11-15T02:17:41.007Z");
    }

    #[test]
    fn control_characters_are_shown_in_a_line_of_text() {
        let mut out = Vec::new();
        write_escaped(&mut out, "a\nb\r\t\0\u{1b}[31m\u{7f}\u{9b}\u{2028}\u{2029}\u{e4}\n".as_bytes());
        let escaped = r"a\nb\r\t\u{0}\u{1b}[31m\u{7f}\u{9b}\u{2028}\u{2029}".to_owned() + "\u{e4}\n";
        assert_eq!(String::from_utf8(out).unwrap(), escaped);
    }

    #[test]
    fn a_reader_that_is_too_slow_costs_lines_not_memory() {
        let buffer = Buffer::default();
        for _ in 0..10 {
            buffer.push(|out| out.resize(out.len() + 2 * 1024 * 1024, b'x'));
        }
        let state = buffer.state.lock().unwrap();
        assert!(state.pending.len() <= Buffer::MAX_PENDING + 2 * 1024 * 1024);
        assert_eq!(state.dropped, 5);
    }
}
