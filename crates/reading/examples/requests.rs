//! Counts how many requests of a file are told right: `requests FILE`. Each line is a kind and a request, with a tab between.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used, reason = "not the product")]

use reading::Request;
use std::collections::BTreeMap;
use std::{env, fs};

fn main() {
    let text = fs::read_to_string(env::args().nth(1).expect("a file")).unwrap();
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for line in text.lines() {
        let (kind, request) = line.split_once('\t').expect("a kind and a request");
        let is_right = format!("{:?}", Request::of(request)).to_lowercase() == kind;
        for kind in [kind, "all"] {
            let (right, all) = counts.entry(kind).or_default();
            *all += 1;
            *right += usize::from(is_right);
        }
    }
    for (kind, (right, all)) in counts {
        println!("{kind:10} {right} of {all}");
    }
}
