//! Log files: an entry is a line with a time or a level, together with the lines below it that have none.

use crate::ExtractError;
use crate::document::Builder;

/// Returns whether most lines of a text are entries of a log.
pub(crate) fn looks_like(head: &str) -> bool {
    let lines: Vec<&str> = head.lines().filter(|line| !line.trim().is_empty()).take(60).collect();
    let entries = lines.iter().filter(|line| starts_entry(line)).count();
    // The lines of a trace have no time.
    let traced = lines.iter().filter(|line| line.starts_with([' ', '\t'])).count();
    entries >= 3 && entries * 10 >= (lines.len() - traced.min(lines.len())) * 6
}

pub(super) fn read(text: &str, builder: &mut Builder) -> Result<(), ExtractError> {
    let mut entries = String::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        // Deeper lines belong to the entry above them.
        if !starts_entry(line) && !line.starts_with([' ', '\t']) && !entries.is_empty() {
            entries.push_str("  ");
        }
        entries.push_str(line);
        entries.push('\n');
        if builder.is_full_with(&entries) {
            break;
        }
    }
    builder.lines(&entries)
}

/// How a time begins: 0 stands for a digit, a for a letter.
const TIMES: [&str; 14] = [
    "0000-00-00",
    "0000/00/00",
    "0000.00.00",
    "00/00/0000",
    "00/00/00 ",
    "00-00-0000",
    "00.00.0000",
    "00:00:00",
    "00/aaa/0000",
    "00 aaa 0000",
    "aaa 00 00:00",
    "aaa  0 00:00",
    "aaa aaa 00 00:00",
    "0000000000.000 ",
];
const LEVELS: [&str; 12] = [
    "TRACE", "DEBUG", "INFO", "NOTICE", "WARN", "WARNING", "ERROR", "ERR", "FATAL", "CRITICAL", "SEVERE",
    "CRIT",
];

fn starts_entry(line: &str) -> bool {
    let line = line.trim_start_matches(['[', '(', '<', '{']);
    let start = shaped(line);
    if TIMES.iter().any(|time| start.starts_with(time)) {
        return true;
    }
    let first = line.split([' ', ':', ']', '\t', '|']).next().unwrap_or_default();
    // The log of a web server: an address, and the time in brackets.
    let has_day = || line.split('[').nth(1).is_some_and(|time| shaped(time).starts_with("00/aaa/0000"));
    let address = line.split(' ').next().unwrap_or_default();
    LEVELS.contains(&first) || (address.parse::<std::net::IpAddr>().is_ok() && has_day())
}

fn shaped(text: &str) -> String {
    text.chars().take(24).map(shape).collect()
}

fn shape(c: char) -> char {
    match c {
        '0'..='9' => '0',
        'a'..='z' | 'A'..='Z' => 'a',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Limits};

    #[test]
    fn entries_keep_the_lines_that_belong_to_them() {
        let log = "2024-01-01 10:00:00 INFO pump started\n2024-01-01 10:00:05 ERROR it failed\nTraceback:\n  \
                   File x\nOilError: none\n\n2024-01-01 10:00:09 INFO stopped\n";
        assert!(looks_like(log));
        let mut builder = Builder::new(Kind::Log, &Limits::default());
        read(log, &mut builder).unwrap();
        assert_eq!(
            builder.finish().unwrap().text(),
            "2024-01-01 10:00:00 INFO pump started\n2024-01-01 10:00:05 ERROR it failed\n  Traceback:\n  File x\n  \
             OilError: none\n2024-01-01 10:00:09 INFO stopped"
        );
    }

    #[test]
    fn logs_are_told_from_other_texts() {
        let logs = [
            "Jan  1 10:00:00 host pump: a\n",
            "[10:00:00] a\n",
            "WARN: a\n",
            "1198298239.740    388 127.0.0.1 TCP_MISS/301\n",
            "10.0.0.7 - - [01/Jan/2024:10:00:00 +0000] \"GET /\" 200\n",
            "::1 - bo [01/Jan/2024:10:00:00 +0000] \"GET /\" 200\n",
        ];
        for line in logs {
            assert!(looks_like(&line.repeat(4)), "{line}");
        }
        for text in ["Info about pumps\n", "In 2024 the pump\n", "10.0.0.7 pump\n", "01/02 New Year\n"] {
            assert!(!looks_like(&text.repeat(4)), "{text}");
        }
    }
}
