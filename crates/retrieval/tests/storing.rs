//! Stored passages are found, and removed ones leave no trace.

mod common;

use common::{DIMENSION, MODES, Page, Random, answers, ask, put, put_generated, titles};
use retrieval::{Index, Mention, Mode, Passage};

#[test]
fn an_index_with_a_history_answers_as_one_without() {
    let mut changed = Index::new(DIMENSION);
    let mut random = Random(4);
    let mut versions = [None; 120];
    for step in 0..1500 {
        let document = random.below(120);
        // Storing is more frequent for 300 steps, then removing.
        if random.next() < if step / 300 % 2 == 0 { 0.8 } else { 0.2 } {
            put_generated(&mut changed, document, step);
            versions[document] = Some(step);
        } else {
            changed.remove(&document.to_string());
            versions[document] = None;
        }
    }
    let mut held: Vec<(u64, usize)> =
        (0..120).filter_map(|document| Some((versions[document]?, document))).collect();
    held.sort_unstable();
    let mut fresh = Index::new(DIMENSION);
    held.iter().for_each(|(version, document)| put_generated(&mut fresh, *document, *version));
    assert!(held.len() > 40 && changed.len() == fresh.len());
    assert_eq!(answers(&changed), answers(&fresh));
}

#[test]
fn memory_follows_what_is_held() {
    let mut index = Index::new(DIMENSION);
    (0..20).for_each(|document| put_generated(&mut index, document, 0));
    let (few, answers_of_few) = (index.bytes(), answers(&index));
    (20..3000).for_each(|document| put_generated(&mut index, document, 0));
    assert!(index.bytes() > 20 * few);
    (20..3000).for_each(|document| index.remove(&document.to_string()));
    assert!(index.bytes() < 2 * few, "{} of {few}", index.bytes());
    assert_eq!(answers(&index), answers_of_few);
    (0..20).for_each(|document| index.remove(&document.to_string()));
    assert!(index.is_empty() && answers(&index).is_empty());
}

#[test]
fn storing_a_document_again_replaces_it() {
    let mut index = Index::new(2);
    let page = |text| Page { title: "report", text, vector: &[1.0, 0.0], about: &[], names: &[] };
    put(&mut index, page("turbine"));
    put(&mut index, page("compressor"));
    let found = |word| index.search(&ask(word, &[0.0, 1.0], Mode::Lexical)).len();
    assert_eq!((index.len(), found("turbine"), found("compressor")), (1, 0, 1));
    index.put("report", &[]);
    index.remove("never seen");
    assert!(index.is_empty());
}

#[test]
fn titles_and_headings_are_found_and_count_more() {
    let mut index = Index::new(2);
    let heading = ["Turbine".to_owned()];
    let plain = Passage { text: "word turbine", vector: &[1.0, 0.0], ..Passage::default() };
    let headed = Passage { text: "word", vector: &[1.0, 0.0], headings: &heading, ..Passage::default() };
    index.put("plain", &[plain]);
    index.put("headed", &[headed]);
    index.put("titled", &[Passage { title: "turbine turbine", headings: &[], ..headed }]);
    assert_eq!(titles(&index.search(&ask("turbines", &[], Mode::Lexical))), ["titled", "headed", "plain"]);
}

#[test]
fn passages_that_make_no_sense_do_no_harm() {
    let mut index = Index::new(2);
    let long = "wör ".repeat(50_000);
    let key = Mention { key: "", defines: true };
    let passage =
        Passage { text: &long, vector: &[f32::NAN, 1.0], mentions: &[key, key], ..Passage::default() };
    index.put("", &[passage, Passage::default(), Passage { vector: &[3.0; 9], ..passage }]);
    for mode in MODES {
        index.search(&ask("wor", &[1.0, 0.0], mode));
    }
    assert_eq!(index.search(&ask("wor", &[1.0, 0.0], Mode::Lexical)).len(), 2);
}

#[test]
fn an_index_can_be_shared() {
    fn shared<T: Send + Sync>() {}
    shared::<Index>();
}
