//! Subtitles, SRT and WebVTT: what is said as running text, with the time as a heading about every minute.

use crate::ExtractError;
use crate::document::Builder;
use crate::read::plain;

/// Returns whether a text is subtitles: it says so, or begins with a number and a stretch of time.
pub(crate) fn looks_like(head: &str) -> bool {
    if head.starts_with("WEBVTT") {
        return true;
    }
    let mut lines = head.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_number = lines.next().is_some_and(|line| line.parse::<u32>().is_ok());
    is_number && lines.next().is_some_and(|line| start_of(line).is_some())
}

/// Seconds after which the time is given again, at the end of a sentence or a little later.
const SECTION: u64 = 60;
const LONGEST_SECTION: u64 = 90;

pub(super) fn read(text: &str, builder: &mut Builder) -> Result<(), ExtractError> {
    let cues = cues(text);
    if cues.is_empty() {
        return plain::read(text, builder);
    }
    let mut start = cues.first().map_or(0, |cue| cue.start);
    let (mut said, mut speaker, mut last) = (String::new(), "", String::new());
    for cue in &cues {
        let length = cue.start.saturating_sub(start);
        let is_sentence = said.trim_end().ends_with(['.', '!', '?', '…', '。', '"', '”']);
        if length >= LONGEST_SECTION || (length >= SECTION && is_sentence) || cue.start < start {
            section(start, &std::mem::take(&mut said), builder)?;
            start = cue.start;
        }
        for line in &cue.lines {
            let shown = without_tags(line);
            // Captions that roll up show each line twice.
            if shown.trim().is_empty() || shown == last {
                continue;
            }
            if let Some(name) = speaker_of(line).filter(|name| *name != speaker) {
                said.push_str(&format!("{name}: "));
                speaker = name;
            }
            said.push_str(&shown);
            said.push(' ');
            last = shown;
        }
    }
    section(start, &said, builder)
}

fn section(start: u64, said: &str, builder: &mut Builder) -> Result<(), ExtractError> {
    if said.trim().is_empty() {
        return Ok(());
    }
    builder.heading(1, &format!("{:02}:{:02}:{:02}", start / 3600, start / 60 % 60, start % 60))?;
    builder.prose(said)
}

/// What is shown at one time.
struct Cue<'t> {
    /// In seconds.
    start: u64,
    lines: Vec<&'t str>,
}

/// Returns the cues: a line with their time, and the lines below it up to an empty one. Numbers, comments and styles
/// stand before such a line, and are left out.
fn cues(text: &str) -> Vec<Cue<'_>> {
    let mut cues: Vec<Cue> = Vec::new();
    let mut is_open = false;
    let mut lines = text.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        if let Some(start) = start_of(line) {
            cues.push(Cue { start, lines: Vec::new() });
            is_open = true;
            continue;
        }
        // Some files lack the empty line before the next number.
        let is_number =
            line.parse::<u32>().is_ok() && lines.peek().is_some_and(|next| start_of(next).is_some());
        if line.is_empty() || is_number {
            is_open = false;
        } else if let Some(cue) = cues.last_mut().filter(|_| is_open) {
            cue.lines.push(line);
        }
    }
    cues
}

/// Returns the seconds at which a cue begins: "00:01:02,500 --> 00:01:04,000" begins at 62. WebVTT may leave out the
/// hours.
fn start_of(line: &str) -> Option<u64> {
    let (start, _) = line.split_once("-->")?;
    let (whole, _) = start.trim().split_once([',', '.'])?;
    let parts: Vec<u64> = whole.split(':').map(|part| part.trim().parse().ok()).collect::<Option<_>>()?;
    let is_time = (2..=3).contains(&parts.len()) && parts.iter().all(|part| *part < 10_000);
    is_time.then(|| parts.iter().fold(0, |seconds, part| seconds * 60 + part))
}

/// Returns the speaker that WebVTT names: `<v Ann Lee>Hello` is said by Ann Lee.
fn speaker_of(line: &str) -> Option<&str> {
    let (tag, _) = line.strip_prefix("<v")?.split_once('>')?;
    let (_, name) = tag.split_once(char::is_whitespace)?;
    Some(name.trim()).filter(|name| !name.is_empty())
}

/// Removes tags such as `<i>`, `<00:01.500>` and `{\an8}`, and writes out what stands for signs.
fn without_tags(line: &str) -> String {
    let mut shown = String::new();
    let mut rest = line;
    // Whether a later `>` or `}` was looked for in vain: it is not looked for again.
    let mut is_unclosed = [false; 2];
    while let Some(at) = rest.find(['<', '{']) {
        let (before, tag) = rest.split_at(at);
        shown.push_str(before);
        let is_tag = match tag.as_bytes() {
            [b'<', next, ..] => next.is_ascii_alphanumeric() || *next == b'/',
            [b'{', next, ..] => *next == b'\\',
            _ => false,
        };
        let (kind, close) = if tag.starts_with('<') { (0, '>') } else { (1, '}') };
        let end = if is_tag && !is_unclosed[kind] { tag.find(close) } else { None };
        is_unclosed[kind] |= is_tag && end.is_none();
        match end {
            Some(end) => rest = &tag[end + 1..],
            None => {
                shown.push_str(&tag[..1]);
                rest = &tag[1..];
            }
        }
    }
    shown.push_str(rest);
    let signs = [("&lt;", "<"), ("&gt;", ">"), ("&nbsp;", " "), ("&lrm;", ""), ("&rlm;", ""), ("&amp;", "&")];
    signs.iter().fold(shown, |shown, (name, sign)| shown.replace(name, sign))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Limits};

    fn check(text: &str, expected: &[(&str, &str)]) {
        assert!(looks_like(text));
        let mut builder = Builder::new(Kind::Subtitles, &Limits::default());
        read(text, &mut builder).unwrap();
        let document = builder.finish().unwrap();
        let found: Vec<(String, &str)> =
            document.blocks.iter().map(|block| (block.headings.join(" > "), block.text.as_str())).collect();
        let expected: Vec<(String, &str)> =
            expected.iter().map(|(heads, text)| (heads.to_string(), *text)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn srt_is_running_text_under_the_time_of_about_each_minute() {
        let text = "1\r\n00:00:01,000 --> 00:00:04,000\r\n<i>The pump</i>\r\nturns\r\n\r\n2\r\n00:00:58,000 --> 00:01:02,000\r\n\
            {\\an8}day and &amp; night.\r\n3\r\n00:01:01,500 --> 00:01:03,000\r\n- 7 < 8?\r\n\r\n\
            4\r\n01:02:03,000 --> 01:02:04,000\r\nEnd.\r\n";
        check(
            text,
            &[
                ("00:00:01", "The pump turns day and & night."),
                ("00:01:01", "- 7 < 8?"),
                ("01:02:03", "End."),
            ],
        );
    }

    #[test]
    fn a_sentence_is_not_cut_unless_it_lasts_long() {
        let cue = |at: u32, text: &str| {
            format!("{at}\n00:{:02}:{:02},0 --> 00:09:00,0\n{text}\n\n", at / 60, at % 60)
        };
        let text = [cue(1, "One two"), cue(62, "three."), cue(70, "Four"), cue(170, "five.")].concat();
        check(&text, &[("00:00:01", "One two three."), ("00:01:10", "Four"), ("00:02:50", "five.")]);
    }

    #[test]
    fn vtt_names_speakers_and_its_styles_and_comments_are_left_out() {
        let text = "WEBVTT - A talk\nKind: captions\n\nSTYLE\n::cue { color: red }\n\nNOTE by Bo\nmore\n\nintro\n\
            00:01.000 --> 00:04.000 line:0 position:20%\n<v Ann Lee>Is the <c.loud>pump</c> hot?\n\n\
            00:05.000 --> 00:06.000\n<v.first Bo>Yes,<00:05.500> it is.\n\n00:06.000 --> 00:07.000\n<v Bo>Yes, it is.\nVery.\n";
        check(text, &[("00:00:01", "Ann Lee: Is the pump hot? Bo: Yes, it is. Very.")]);
    }

    #[test]
    fn tags_without_an_end_take_no_longer_than_others() {
        let started = std::time::Instant::now();
        for tag in ["<a", "{\\", "<<", "<a{\\"] {
            let line = tag.repeat(500_000);
            assert_eq!(without_tags(&line), line);
        }
        assert!(started.elapsed().as_secs() < 5);
        assert_eq!(without_tags("a <b {\\i}c</i> d> {e"), "a  d> {e");
    }

    #[test]
    fn other_texts_are_not_subtitles() {
        for text in ["1\nWords.", "1\na --> b\n", "2024\n12:30 --> x\n", "WEB"] {
            assert!(!looks_like(text), "{text}");
        }
    }
}
