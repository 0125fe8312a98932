//! How documents are split. Here a token is a word, and every text has two more for its ends.

use super::*;
use crate::{Kind, Limits, extract};

fn count(text: &str) -> usize {
    2 + text.split_whitespace().count()
}

fn cut(markdown: &str, title: &str, max_tokens: usize) -> Vec<Passage> {
    let document = extract("a.md", markdown.as_bytes(), &Limits::default()).unwrap();
    let passages = passages(&document, title, max_tokens, &count);
    let text: Vec<char> = document.text().chars().collect();
    for passage in &passages {
        assert!(count(&passage.embedded()) <= max_tokens, "{passage:?}");
        let first = passage.text.lines().find(|line| !line.starts_with("```")).unwrap_or_default();
        if passage.text.starts_with("```") {
            continue;
        }
        let there: String = text[passage.offset..].iter().take(first.chars().count()).collect();
        assert!(there == first || !document.text().contains(first), "{passage:?} is not at its offset");
    }
    passages
}

fn texts(passages: &[Passage]) -> Vec<&str> {
    passages.iter().map(|passage| passage.text.as_str()).collect()
}

#[test]
fn what_fits_is_one_passage_with_its_context() {
    let passages = cut("# Pumps\n\n## Speed\n\nThey turn. They are hot.\n\nThey stop.", "Handbook", 40);
    assert_eq!(texts(&passages), ["They turn. They are hot.\n\nThey stop."]);
    assert_eq!(passages[0].headings, ["Pumps", "Speed"]);
    assert_eq!(passages[0].embedded(), "Handbook\nPumps > Speed\nThey turn. They are hot.\n\nThey stop.");
}

#[test]
fn sentences_are_not_cut_and_parts_are_of_about_the_same_size() {
    let sentence = |number: usize| format!("Sentence {number} has six words.");
    let prose = (10..31).map(sentence).collect::<Vec<_>>().join(" ");
    let passages = cut(&prose, "", 42);
    let lengths: Vec<usize> = passages.iter().map(|passage| count(&passage.text) - 2).collect();
    assert_eq!(lengths, [35, 35, 35]);
    assert!(
        passages
            .iter()
            .all(|passage| passage.text.starts_with("Sentence") && passage.text.ends_with("words."))
    );
}

#[test]
fn cuts_fall_between_paragraphs_where_they_can() {
    let short = "One two three four five. Six seven eight nine. Ten and some more.";
    let long = ["One two three four."; 5].join(" ");
    assert_eq!(texts(&cut(&format!("{short}\n\n{long}"), "", 30)), [short, &long]);
}

#[test]
fn a_sentence_too_long_is_cut_at_commas_then_between_words_then_within_them() {
    let clause = "one two three four five six,";
    assert_eq!(
        texts(&cut(&format!("{clause} {clause} end"), "", 10)),
        [clause.to_owned(), format!("{clause} end")]
    );
    let words = cut(&"word ".repeat(100), "", 22);
    assert_eq!(words.iter().map(|passage| count(&passage.text) - 2).sum::<usize>(), 100);
    let letters = |text: &str| 2 + text.len();
    let document = extract("a.txt", "x".repeat(1000).as_bytes(), &Limits::default()).unwrap();
    let passages = passages(&document, "", 102, &letters);
    assert!(passages.iter().all(|passage| passage.text.len() <= 100));
    assert_eq!(passages.iter().map(|passage| passage.text.len()).sum::<usize>(), 1000);
}

#[test]
fn rows_of_a_table_stay_whole_and_each_has_its_names() {
    let rows: String = (0..30).map(|row| format!("| P-{row} | hot. Very hot |\n")).collect();
    let passages = cut(&format!("| Name | State |\n|---|---|\n{rows}"), "", 32);
    assert_eq!(passages.len(), 6);
    let mut lines = passages.iter().flat_map(|passage| passage.text.lines());
    assert!(lines.all(|line| line.starts_with("Name: P-") && line.ends_with("; State: hot. Very hot")));
}

#[test]
fn code_and_steps_stay_whole() {
    let code = "```sh\none two\nthree four\n\nfive six\n```";
    let before = "Words that take some room here. And some more of them.";
    assert_eq!(texts(&cut(&format!("{before}\n\n{code}\n\n{before}"), "", 20)), [before, code, before]);
    let step = |number: usize| format!("{number}. Do this and that.\n   - at once\n   - and well\n");
    let steps: String = (1..5).map(step).collect();
    let passages = cut(&steps, "", 26);
    assert_eq!(passages.len(), 2);
    assert!(passages.iter().all(|passage| passage.text.ends_with("- and well")), "{passages:?}");
    assert!(passages[1].text.starts_with("3. Do"), "{passages:?}");
}

#[test]
fn code_that_is_too_long_is_split_between_lines_and_every_part_has_fences() {
    let lines: String = (10..40).map(|number| format!("let line_{number} = compute it;\n")).collect();
    let passages = cut(&format!("```rust\n{lines}```"), "", 40);
    assert!(passages.len() > 2);
    for passage in &passages {
        assert!(passage.text.starts_with("```") && passage.text.ends_with("\n```"), "{passage:?}");
        let inside = passage.text.lines().filter(|line| !line.starts_with("```"));
        assert!(
            inside.clone().count() > 0 && inside.into_iter().all(|line| line.ends_with("it;")),
            "{passage:?}"
        );
    }
}

#[test]
fn what_announces_a_list_stays_with_it() {
    let passages =
        cut("One two three four five six seven.\n\nDo this:\n\n- first of all\n- then the rest", "", 14);
    assert_eq!(texts(&passages)[1], "Do this:\n\n- first of all\n- then the rest");
}

#[test]
fn at_most_eight_headings_are_above_a_passage() {
    let mut builder = crate::document::Builder::new(Kind::Text, &Limits::default());
    for level in 1..12 {
        builder.heading(level, &format!("Level {level}")).unwrap();
    }
    builder.prose("Text.").unwrap();
    let blocks = builder.finish().unwrap().blocks;
    let text = blocks.last().unwrap();
    assert_eq!(
        (text.headings.len(), text.headings[0].as_str(), text.headings[7].as_str()),
        (8, "Level 1", "Level 11")
    );
}

#[test]
fn tiny_sections_share_a_passage_and_keep_their_headings() {
    let passages =
        cut("# Glossary\n\n## Head\n\nPressure.\n\n## Flow\n\nVolume.\n\n# Other\n\nText.", "", 60);
    assert_eq!(texts(&passages), ["Head\nPressure.\nFlow\nVolume.", "Text."]);
    assert_eq!(passages[0].headings, ["Glossary"]);
    assert_eq!(passages[1].headings, ["Other"]);
}

#[test]
fn a_long_context_is_shortened_from_outside() {
    let long = "word ".repeat(30);
    let passages = cut(&format!("# {long}\n\n## Near\n\nText."), "Title", 30);
    assert_eq!(passages[0].context, "Title\nNear");
    let passages = cut("Some text.", &long, 30);
    assert!(passages[0].context.starts_with("word") && passages[0].embedded().ends_with("Some text."));
}

#[test]
fn a_title_that_is_the_first_heading_is_said_once() {
    assert_eq!(cut("# Pumps\n\nThey turn.", "Pumps", 30)[0].embedded(), "Pumps\nThey turn.");
}

#[test]
fn a_tokenizer_that_counts_more_for_the_whole_than_for_its_parts_is_obeyed() {
    let count = |text: &str| text.len() + text.len() * text.len() / 500;
    let prose = "Twenty letters here. ".repeat(50);
    let document = extract("a.txt", prose.as_bytes(), &Limits::default()).unwrap();
    for passage in passages(&document, "", 100, &count) {
        assert!(count(&passage.embedded()) <= 100);
    }
    assert_eq!(document.kind, Kind::Text);
}
