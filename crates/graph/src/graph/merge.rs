//! Groups rows of evidence by entity. A row whose label has another key says that its key is a form of the label's.
//! If all rows agree, the two become one entity; if not, the form stays an entity of its own.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::Evidence;
use super::fixed_point::FixedPoint;
use crate::key::key_of_label;
use crate::kind::{Kind, Votes};

/// Further spellings of a key are not counted.
const MOST_LABELS: usize = 64;

pub struct Merged<'a> {
    pub documents: Vec<Arc<str>>,
    pub entities: Vec<MergedEntity<'a>>,
    /// Every key with the index of its entity.
    pub keys: Vec<(&'a str, usize)>,
}

pub struct MergedEntity<'a> {
    pub key: &'a str,
    pub label: &'a str,
    /// Sorted, one for each document and passage.
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
    /// Labels of this key, each with its count.
    labels: Vec<(&'a str, u32)>,
    form: Form,
}

/// The key that the other rows name as the full form of this one.
enum Form {
    Nothing,
    One(String, Kind),
    Several,
}

fn sorted_documents(evidence: &[Evidence<'_>]) -> Vec<Arc<str>> {
    let mut names: Vec<&str> = evidence.iter().map(|row| row.document).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(Arc::from).collect()
}

fn group<'a>(evidence: &[Evidence<'a>], numbers: &HashMap<&str, u32>) -> Vec<Group<'a>> {
    let mut groups = Vec::new();
    for rows in evidence.chunk_by(|one, next| one.key == next.key) {
        let mut group = Group { key: rows[0].key, own: Vec::new(), labels: Vec::new(), form: Form::Nothing };
        for row in rows {
            let label_key = key_of_label(row.label);
            if label_key == row.key {
                group.take(row, numbers[row.document]);
            } else {
                group.form = group.form.and(label_key, row.kind);
            }
        }
        groups.push(group);
    }
    groups
}

impl<'a> Group<'a> {
    fn take(&mut self, row: &Evidence<'a>, document: u32) {
        // Documents about the entity count more for its label.
        let says = row.count.saturating_mul(if row.defines { 4 } else { 1 });
        match self.labels.iter_mut().find(|(label, _)| *label == row.label) {
            Some((_, count)) => *count = count.saturating_add(says),
            None => self.labels.push((row.label, says)),
        }
        self.labels.truncate(MOST_LABELS);
        self.own.push(Row {
            document,
            passage: row.passage,
            kind: row.kind,
            weight: row.weight,
            count: row.count,
            sentences: row.sentences,
        });
    }
}

impl Form {
    fn and(&self, key: String, kind: Kind) -> Form {
        match self {
            Form::Nothing => Form::One(key, kind),
            Form::One(known, kind) if *known == key => Form::One(key, *kind),
            _ => Form::Several,
        }
    }
}

/// Returns for each group the group that it is merged into.
fn roots(groups: &[Group<'_>]) -> Vec<usize> {
    let find = |key: &str| groups.binary_search_by(|group| group.key.cmp(key)).ok();
    let mut roots: Vec<usize> = (0..groups.len()).collect();
    for (index, group) in groups.iter().enumerate() {
        let Form::One(target, kind) = &group.form else { continue };
        let mut votes = Votes::default();
        group.own.iter().for_each(|row| votes.add(row.kind, row.weight));
        let agrees = group.own.is_empty() || votes.winner() == *kind || votes.winner() == Kind::Term;
        if let Some(target) = find(target).filter(|_| agrees) {
            roots[index] = target;
        }
    }
    for index in 0..roots.len() {
        let mut root = roots[index];
        // Follows forms of forms, up to a bound, since they can form a cycle.
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
    let mut merged = Merged { documents, entities: Vec::new(), keys: Vec::new() };
    for groups in members.into_values() {
        let weight = |group: &Group<'_>| group.own.iter().map(|row| row.weight).sum::<FixedPoint>().value();
        let Some(lead) = groups.iter().max_by(|a, b| weight(a).total_cmp(&weight(b)).then(b.key.cmp(a.key)))
        else {
            continue;
        };
        let label = lead.labels.iter().max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(a.0)));
        let Some(&(label, _)) = label else { continue };
        let key = lead.key;
        merged.keys.extend(groups.iter().map(|group| (group.key, merged.entities.len())));
        merged.entities.push(MergedEntity { key, label, rows: joined_rows(groups) });
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
