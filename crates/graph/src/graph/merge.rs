//! Rows of evidence put together by thing. A row whose label has another key says that its key is a form of the
//! label's: where all rows agree, the two are one thing; where they do not, the form stays by itself.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::Evidence;
use crate::kind::{Kind, Votes};
use crate::names::forms;
use crate::text::words;

pub struct Merged<'a> {
    pub documents: Vec<Arc<str>>,
    pub things: Vec<Thing<'a>>,
    /// Every key with its thing.
    pub keys: Vec<(&'a str, usize)>,
}

pub struct Thing<'a> {
    pub key: &'a str,
    pub label: &'a str,
    /// By document and passage, one row for each.
    pub rows: Vec<Row>,
}

#[derive(Clone, Copy)]
pub struct Row {
    pub document: u32,
    pub passage: u32,
    pub kind: Kind,
    pub weight: f32,
    pub count: u32,
    pub sentences: u32,
}

impl<'a> Merged<'a> {
    pub fn of(mut evidence: Vec<Evidence<'a>>) -> Merged<'a> {
        evidence.sort_by(|a, b| {
            let order = (a.key, a.document, a.passage, a.label).cmp(&(b.key, b.document, b.passage, b.label));
            order
                .then_with(|| b.weight.total_cmp(&a.weight))
                .then_with(|| (a.kind, a.count).cmp(&(b.kind, b.count)))
        });
        let documents = sorted_documents(&evidence);
        let numbers: HashMap<&str, u32> = documents.iter().map(|name| &**name).zip(0..).collect();
        let groups: Vec<Group<'a>> = group(&evidence, &numbers);
        let roots = roots(&groups);
        assemble(documents, groups, &roots)
    }
}

/// The rows of one key.
struct Group<'a> {
    key: &'a str,
    /// Rows whose label has this key.
    own: Vec<Row>,
    labels: BTreeMap<&'a str, f32>,
    /// Keys of which this one is a form, and the kind that those rows speak of.
    form_of: BTreeMap<String, Kind>,
}

fn sorted_documents(evidence: &[Evidence<'_>]) -> Vec<Arc<str>> {
    let mut names: Vec<&str> = evidence.iter().map(|row| row.document).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(Arc::from).collect()
}

fn group<'a>(evidence: &[Evidence<'a>], numbers: &HashMap<&str, u32>) -> Vec<Group<'a>> {
    let mut label_keys: HashMap<&str, String> = HashMap::new();
    let mut groups = Vec::new();
    for rows in evidence.chunk_by(|one, next| one.key == next.key) {
        let mut group =
            Group { key: rows[0].key, own: Vec::new(), labels: BTreeMap::new(), form_of: BTreeMap::new() };
        for row in rows {
            let label_key = label_keys.entry(row.label).or_insert_with(|| forms(&words(row.label)).key);
            if label_key != row.key {
                group.form_of.insert(label_key.clone(), row.kind);
                continue;
            }
            *group.labels.entry(row.label).or_default() += row.count as f32;
            group.own.push(Row {
                document: numbers[row.document],
                passage: row.passage,
                kind: row.kind,
                weight: row.weight,
                count: row.count,
                sentences: row.sentences,
            });
        }
        groups.push(group);
    }
    groups
}

/// For each group the one that it is shown as.
fn roots(groups: &[Group<'_>]) -> Vec<usize> {
    let place = |key: &str| groups.binary_search_by(|group| group.key.cmp(key)).ok();
    let mut roots: Vec<usize> = (0..groups.len()).collect();
    for (index, group) in groups.iter().enumerate() {
        let Some((target, kind)) = group.form_of.first_key_value().filter(|_| group.form_of.len() == 1)
        else {
            continue;
        };
        let mut votes = Votes::default();
        group.own.iter().for_each(|row| votes.add(row.kind, row.weight));
        let agrees = group.own.is_empty() || votes.winner() == *kind || votes.winner() == Kind::Term;
        if let Some(target) = place(target).filter(|_| agrees) {
            roots[index] = target;
        }
    }
    for index in 0..roots.len() {
        let mut root = roots[index];
        // Forms of forms are followed; a circle ends where the smallest key is met.
        for _ in 0..8 {
            root = roots[root];
        }
        roots[index] = root;
    }
    roots
}

fn assemble<'a>(documents: Vec<Arc<str>>, groups: Vec<Group<'a>>, roots: &[usize]) -> Merged<'a> {
    let mut members: BTreeMap<usize, Vec<Group<'a>>> = BTreeMap::new();
    for (group, &root) in groups.into_iter().zip(roots) {
        members.entry(root).or_default().push(group);
    }
    let mut merged = Merged { documents, things: Vec::new(), keys: Vec::new() };
    for groups in members.into_values() {
        let weight = |group: &Group<'_>| group.own.iter().map(|row| row.weight).sum::<f32>();
        let Some(lead) = groups.iter().max_by(|a, b| weight(a).total_cmp(&weight(b)).then(b.key.cmp(a.key)))
        else {
            continue;
        };
        let label = lead.labels.iter().max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(a.0)));
        let Some((&label, _)) = label else { continue };
        let key = lead.key;
        merged.keys.extend(groups.iter().map(|group| (group.key, merged.things.len())));
        merged.things.push(Thing { key, label, rows: joined_rows(groups) });
    }
    merged
}

fn joined_rows(groups: Vec<Group<'_>>) -> Vec<Row> {
    let mut rows: Vec<Row> = groups.into_iter().flat_map(|group| group.own).collect();
    rows.sort_by_key(|row| (row.document, row.passage));
    rows.dedup_by(|next, first| {
        let same = (next.document, next.passage) == (first.document, first.passage);
        if same {
            first.weight = first.weight.max(next.weight);
            first.count = first.count.saturating_add(next.count);
            first.sentences |= next.sentences;
        }
        same
    });
    rows
}
