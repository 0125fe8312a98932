//! Measures how many of the passages that a question needs can be reached by names: names in the question, or in
//! another passage that it needs. `linked folder` with `corpus.jsonl`, `queries.jsonl` and `qrels.tsv`.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program for measuring, run by hand")]

use std::collections::{BTreeMap, HashMap, HashSet};

use graph::{Mention, Passage, mentions, names_in};

fn main() {
    let folder = std::env::args().nth(1).unwrap();
    let read = |name: &str| std::fs::read_to_string(format!("{folder}/{name}")).unwrap();
    let mut corpus: BTreeMap<String, (String, String, Vec<Mention>)> = BTreeMap::new();
    let mut passages_of_key: HashMap<String, usize> = HashMap::new();
    for (id, title, text) in read("corpus.jsonl").lines().map(fields) {
        let found = mentions(&title, &[Passage { text: &text, headings: &[] }]);
        found.iter().for_each(|mention| *passages_of_key.entry(mention.key.clone()).or_default() += 1);
        corpus.insert(id, (title, text, found));
    }
    named_titles(&corpus);
    let mut needed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in read("qrels.tsv").lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        needed.entry(columns[0].to_owned()).or_default().push(columns[1].to_owned());
    }
    let (mut reached, mut all, mut questions, mut complete) = (0, 0, 0, 0);
    let mut rarity: Vec<usize> = Vec::new();
    for (id, _, question) in read("queries.jsonl").lines().map(fields) {
        let named: HashSet<String> = names_in(&question).into_iter().collect();
        let gold = &needed[&id];
        let mut missed = false;
        for passage in gold {
            let (title, _, own) = &corpus[passage];
            let defined: Vec<&str> = own.iter().filter(|m| m.defines).map(|m| m.key.as_str()).collect();
            let others = gold.iter().filter(|other| *other != passage).flat_map(|other| &corpus[other].2);
            let around: HashSet<&str> = others.map(|mention| mention.key.as_str()).collect();
            let links = defined.iter().filter(|key| named.contains(**key) || around.contains(**key));
            let rarest = links.map(|key| passages_of_key[*key]).min();
            all += 1;
            match rarest {
                Some(count) => {
                    reached += 1;
                    rarity.push(count);
                }
                None => {
                    missed = true;
                    println!("missed {passage} `{title}` {defined:?}\n   {question}\n   {around:?}");
                }
            }
        }
        questions += 1;
        complete += usize::from(!missed);
    }
    rarity.sort_unstable();
    println!(
        "passages reached {reached}/{all} = {:.3}; questions complete {complete}/{questions}",
        f64::from(reached) / f64::from(all)
    );
    println!(
        "passages that share the rarest link: median {}, 90 % {}, most {}",
        rarity[rarity.len() / 2],
        rarity[rarity.len() * 9 / 10],
        rarity[rarity.len() - 1]
    );
}

/// Counts the titles that other passages contain word for word, and how many of those occurrences gave the title's
/// key.
fn named_titles(corpus: &BTreeMap<String, (String, String, Vec<Mention>)>) {
    let strip = |title: &str| title.split(" (").next().unwrap_or(title).to_owned();
    let titles: BTreeMap<String, &[Mention]> =
        corpus.values().map(|(title, _, found)| (strip(title), found.as_slice())).collect();
    let titles: BTreeMap<String, &[Mention]> =
        titles.into_iter().filter(|(title, _)| title.len() > 3).collect();
    let (mut found, mut all) = (0, 0);
    for (own, text, mentions) in corpus.values() {
        let own = strip(own);
        let keys: HashSet<&str> = mentions.iter().map(|mention| mention.key.as_str()).collect();
        let words: Vec<&str> = text
            .split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '-')
            .filter(|word| !word.is_empty())
            .collect();
        let mut seen = HashSet::new();
        for length in 1..=6 {
            for run in words.windows(length) {
                let name = run.join(" ");
                let Some(defining) = titles.get(&name).filter(|_| name != own && seen.insert(name.clone()))
                else {
                    continue;
                };
                all += 1;
                let linked =
                    defining.iter().any(|mention| mention.defines && keys.contains(mention.key.as_str()));
                found += usize::from(linked);
                if !linked && !own.contains(&name) {
                    println!("   unlinked `{name}` in `{own}`");
                }
            }
        }
    }
    println!(
        "titles named in other passages: {found}/{all} = {:.3}",
        f64::from(found as u32) / f64::from(all)
    );
}

fn fields(line: &str) -> (String, String, String) {
    let value: serde_json::Value = serde_json::from_str(line).unwrap();
    let field = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    (field("_id"), field("title"), field("text"))
}
