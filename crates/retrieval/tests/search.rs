//! What a search finds, in which order, and with which scores.

mod common;

use common::{MODES, Page, ask, put, titles};
use retrieval::{Index, Mode, Query};

/// Returns a vector in a plane, so that similar angles are similar vectors.
fn direction(angle: f32) -> [f32; 2] {
    [angle.cos(), angle.sin()]
}

fn library() -> Index {
    let mut index = Index::new(2);
    let mut page = |title, text, angle, names: &[&str]| {
        let about = [&*format!("the {title}")];
        put(&mut index, Page { title, text, vector: &direction(angle), about: &about, names });
    };
    page(
        "harbour film",
        "A silent film about the old harbour, directed by Ada Quist.",
        0.1,
        &["the ada quist"],
    );
    page("bergen", "A rainy town between seven mountains.", 1.5, &[]);
    page("pump manual", "Replace the impeller when it vibrates.", 0.9, &[]);
    page("lighthouse film", "A colour film about a keeper and his lighthouse.", 0.3, &[]);
    page("ada quist", "Born in Bergen in 1901, she wrote novels.", 1.4, &["the bergen"]);
    index
}

#[test]
fn each_mode_ranks_by_its_own_measure() {
    let index = library();
    let near_the_pump = direction(0.95);
    let found = |mode| index.search(&ask("film with a lighthouse", &near_the_pump, mode));
    let by_vectors = found(Mode::Dense);
    assert_eq!(titles(&by_vectors)[..2], ["pump manual", "ada quist"]);
    assert!((by_vectors[0].score - 0.05f32.cos()).abs() < 1e-6);
    assert_eq!(titles(&found(Mode::Lexical)), ["lighthouse film", "harbour film"]);
    let by_both = found(Mode::Hybrid);
    assert_eq!((by_both.len(), titles(&by_both)[0]), (5, "lighthouse film"));
}

#[test]
fn what_the_best_passage_names_comes_next() {
    let index = library();
    let vector = direction(0.1);
    let found = |mode| index.search(&ask("who directed the silent film about the harbour", &vector, mode));
    assert_eq!(titles(&found(Mode::Hybrid))[..2], ["harbour film", "lighthouse film"]);
    assert_eq!(titles(&found(Mode::Graph))[..2], ["harbour film", "ada quist"]);
}

#[test]
fn a_name_that_most_passages_have_leads_nowhere() {
    let mut index = library();
    for number in 0..40 {
        let title = format!("filler {number}");
        let names = ["the ada quist"];
        put(
            &mut index,
            Page { title: &title, text: "nothing", vector: &direction(-1.5), about: &[], names: &names },
        );
    }
    let found = index.search(&ask("the silent film about the harbour", &direction(0.1), Mode::Graph));
    assert_eq!(titles(&found)[..2], ["harbour film", "lighthouse film"]);
}

#[test]
fn what_the_question_names_comes_forward() {
    let index = library();
    let vector = direction(0.6);
    let names = ["the bergen".to_owned()];
    let score = |names| {
        let hits = index.search(&Query { names, ..ask("impeller", &vector, Mode::Graph) });
        hits.iter().find(|hit| hit.document == "bergen").map(|hit| hit.score)
    };
    assert!(score(&names) > score(&[]));
}

#[test]
fn a_passage_is_worth_more_among_others_that_answer() {
    let mut index = Index::new(2);
    for (title, angle) in [("c", -0.5), ("d", -0.9), ("a", 0.5), ("b", 0.2)] {
        put(&mut index, Page { title, text: "the same", vector: &direction(angle), about: &[], names: &[] });
    }
    let found = |mode| index.search(&ask("question", &[1.0, 0.0], mode));
    assert_eq!(titles(&found(Mode::Dense)), ["b", "c", "a", "d"]);
    assert_eq!(titles(&found(Mode::Hybrid)), ["b", "a", "c", "d"]);
}

#[test]
fn scores_lie_between_0_and_1_and_fall() {
    let index = library();
    for mode in MODES {
        for angle in [0.0, 1.0, 2.0, 3.1, 4.5] {
            let hits = index.search(&ask("harbour lighthouse pump pump", &direction(angle), mode));
            assert!(hits.iter().all(|hit| (0.0..=1.0).contains(&hit.score)), "{mode:?} {hits:?}");
            assert!(hits.is_sorted_by(|a, b| a.score >= b.score), "{mode:?} {hits:?}");
        }
    }
}

#[test]
fn only_accepted_documents_are_found_also_over_names() {
    let index = library();
    let accept = |document: &str| document != "ada quist" && document != "lighthouse film";
    for mode in MODES {
        let names = ["the ada quist".to_owned()];
        let vector = direction(0.1);
        let query =
            Query { accept: Some(&accept), names: &names, ..ask("harbour film quist", &vector, mode) };
        let hits = index.search(&query);
        assert_eq!(titles(&hits)[0], "harbour film");
        assert!(hits.iter().all(|hit| accept(&hit.document)), "{mode:?}");
    }
}

#[test]
fn as_many_are_found_as_are_wanted() {
    let index = library();
    for limit in [0, 1, 3, usize::MAX] {
        let vector = direction(0.1);
        let hits = index.search(&Query { limit, ..ask("film", &vector, Mode::Graph) });
        assert_eq!(hits.len(), limit.min(5));
    }
}

#[test]
fn without_a_usable_vector_words_alone_are_compared() {
    let index = library();
    let by_words = index.search(&ask("lighthouse", &[1.0, 0.0], Mode::Lexical));
    for vector in [None, Some(&[1.0][..]), Some(&[f32::NAN, 1.0]), Some(&[f32::INFINITY; 2])] {
        let query = |mode| Query { vector, ..ask("lighthouse", &[], mode) };
        assert!(index.search(&query(Mode::Dense)).is_empty());
        assert_eq!(titles(&index.search(&query(Mode::Hybrid))), titles(&by_words));
    }
}

#[test]
fn no_question_does_harm() {
    let long = "word ".repeat(2_000);
    let same = "lighthouse ".repeat(2_000);
    for index in [library(), Index::new(2), Index::new(0)] {
        for text in ["", "?!", "the of and", "\u{0}\u{FFFF}́", &long, &same] {
            for vector in [&[][..], &[0.0, 0.0], &[f32::MAX, f32::MIN]] {
                for mode in MODES {
                    let hits = index.search(&ask(text, vector, mode));
                    assert!(hits.iter().all(|hit| (0.0..=1.0).contains(&hit.score)), "{mode:?}");
                }
            }
        }
    }
}
