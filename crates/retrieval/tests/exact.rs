//! Scores equal those of the definitions, computed directly.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

mod common;

use common::{Random, ask};
use retrieval::{Index, Mode, Passage, Query};

#[test]
fn the_nearest_are_those_that_comparing_all_floats_gives() {
    let mut random = Random(2);
    let dimension = 100;
    let center = random.vector(dimension);
    // Nearer to each other than the bytes can resolve, and some equal.
    let mut vectors: Vec<Vec<f32>> = Vec::new();
    for number in 0..700 {
        let noise = random.vector(dimension);
        let near = center.iter().zip(noise).map(|(center, noise)| center + 0.01 * noise);
        vectors.push(if number % 10 == 9 { vectors[number - 1].clone() } else { near.collect() });
    }
    let mut index = Index::new(dimension);
    for (number, vector) in vectors.iter().enumerate() {
        index.put(&number.to_string(), &[Passage { vector, ..Passage::default() }]);
    }
    for round in 0..20 {
        let query: Vec<f32> = center.iter().zip(random.vector(dimension)).map(|(a, b)| a + 0.1 * b).collect();
        let query: Vec<f32> = query.iter().map(|value| value / 2.0).collect();
        let accept = |document: &str| round % 2 == 0 || document.parse::<usize>().unwrap() % 3 == 0;
        let product = |vector: &[f32]| -> f64 {
            vector.iter().zip(&query).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
        };
        let mut expected: Vec<(f32, usize)> = (0..700)
            .filter(|number| accept(&number.to_string()))
            .map(|number| (product(&vectors[number]) as f32, number))
            .collect();
        expected.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let hits = index.search(&Query { limit: 60, accept: Some(&accept), ..ask("", &query, Mode::Dense) });
        let found: Vec<(f32, usize)> =
            hits.iter().map(|hit| (hit.score, hit.document.parse().unwrap())).collect();
        let same_score = |(a, b): (&(f32, usize), &(f32, usize))| (a.0 - b.0).abs() < 1e-6;
        assert!(found.len() == 60 && found.iter().zip(&expected).all(same_score));
        let numbers = |list: &[(f32, usize)]| list.iter().map(|(_, number)| *number).collect::<Vec<_>>();
        let (mut found, mut expected) = (numbers(&found), numbers(&expected[..60]));
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
}

#[test]
fn words_are_weighed_as_bm25_says() {
    let texts = ["alpha beta beta gamma", "alpha alpha", "delta gamma gamma gamma epsilon zeta", "beta"];
    let mut index = Index::new(1);
    for (number, text) in texts.iter().enumerate() {
        index.put(&number.to_string(), &[Passage { text, ..Passage::default() }]);
    }
    let words = |text: &'static str| text.split(' ').collect::<Vec<&str>>();
    let mean = texts.iter().map(|text| words(text).len()).sum::<usize>() as f32 / 4.0;
    let rarity = |word: &str| {
        let having = texts.iter().filter(|text| words(text).contains(&word)).count() as f32;
        (1.0 + (4.0 - having + 0.5) / (having + 0.5)).ln()
    };
    let query = ["alpha", "beta", "beta", "unknown"];
    let all: f32 = query.iter().map(|word| rarity(word)).sum();
    let expected = |text: &'static str| -> f32 {
        let share = |word: &&str| {
            let count = words(text).iter().filter(|other| *other == word).count() as f32;
            rarity(word) * count / (count + 1.2 * (0.25 + 0.75 * words(text).len() as f32 / mean))
        };
        query.iter().map(share).sum::<f32>() / all
    };
    let hits = index.search(&ask("alpha beta beta unknown", &[], Mode::Lexical));
    assert_eq!(hits.len(), 3);
    for hit in hits {
        let score = expected(texts[hit.document.parse::<usize>().unwrap()]);
        assert!((hit.score - score).abs() < 1e-5, "{hit:?} {score}");
    }
}

#[test]
fn the_best_by_words_are_those_that_scoring_all_gives() {
    let mut random = Random(3);
    let mut index = Index::new(1);
    for document in 0..1000 {
        let texts: Vec<String> = (0..20).map(|_| random.text(12)).collect();
        let passages: Vec<Passage<'_>> =
            texts.iter().map(|text| Passage { text, ..Passage::default() }).collect();
        index.put(&document.to_string(), &passages);
    }
    for _ in 0..30 {
        // Common words and rare ones, and one that weighs more than all others.
        let query = format!("{} w200", random.text(6));
        let search = |limit| index.search(&Query { limit, ..ask(&query, &[], Mode::Lexical) });
        let all = search(index.len());
        assert_eq!(search(40), all[..40], "{query}");
    }
}
