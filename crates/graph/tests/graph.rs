//! The graph depends on its evidence alone, joins entities that occur together, and can be viewed in parts.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use graph::{Graph, Mention, Passage, mentions};

const DOCUMENTS: [(&str, &str, &str); 4] = [
    (
        "a",
        "Lothair II",
        "Lothair II was a king. King Lothair II of Lotharingia married Teutberga in Metz. Metz was rich.",
    ),
    ("b", "Teutberga", "Teutberga was a queen. Queen Teutberga married Lothair II. Her brother was Hucbert."),
    (
        "c",
        "Impeller",
        "The impeller of pump P-204 wears. Check the impeller of P-204 and its mechanical seal.",
    ),
    ("d", "Seals", "A mechanical seal leaks. The mechanical seal of P-204 came from Metz."),
];

fn rows() -> Vec<(&'static str, Mention)> {
    let found = |(id, title, text): (&'static str, &str, &str)| {
        let found = mentions(title, &[Passage { text, headings: &[], is_code: false }]);
        found.into_iter().map(move |mention| (id, mention))
    };
    DOCUMENTS.into_iter().flat_map(found).collect()
}

fn graph<'a>(rows: impl IntoIterator<Item = &'a (&'static str, Mention)>) -> Graph {
    Graph::build(rows.into_iter().map(|(document, mention)| mention.evidence(document)))
}

fn row(document: &'static str, key: &str, label: &str) -> (&'static str, Mention) {
    let kind = graph::Kind::Person;
    let (key, label) = (key.to_owned(), label.to_owned());
    (document, Mention { passage: 0, key, label, kind, count: 1, weight: 0.5, defines: false, sentences: 1 })
}

fn assert_same(one: &Graph, other: &Graph) {
    assert_eq!(one.nodes(), other.nodes());
    assert_eq!(one.edges(), other.edges());
}

#[test]
fn the_order_of_the_evidence_does_not_matter() {
    let mut rows = rows();
    let before = graph(&rows);
    rows.reverse();
    assert_same(&before, &graph(&rows));
    rows.sort_by(|a, b| a.1.label.len().cmp(&b.1.label.len()).then(a.1.key.cmp(&b.1.key)));
    assert_same(&before, &graph(&rows));
}

#[test]
fn a_document_leaves_nothing_behind() {
    let rows = rows();
    let without = graph(rows.iter().filter(|(document, _)| *document != "b"));
    assert!(without.nodes().iter().all(|node| node.documents.iter().all(|document| &**document != "b")));
    assert!(without.find("hucbert").is_none());
    assert!(graph(&rows).find("hucbert").is_some());
}

#[test]
fn a_part_has_what_its_documents_name_and_nothing_else() {
    let all = graph(&rows());
    let part = all.of_documents(|document| document != "b");
    assert!(part.nodes().iter().all(|node| node.documents.iter().all(|document| &**document != "b")));
    assert!(part.find("hucbert").is_none() && part.find("lothair-ii").is_some());
    assert!(part.nodes().iter().all(|node| part.find(&node.id) == Some(node)), "ids lead to their nodes");
    let names = |graph: &Graph, edge: &graph::Edge| {
        [edge.source, edge.target].map(|index| graph.nodes()[index as usize].id.clone())
    };
    let kept: Vec<_> = all
        .edges()
        .iter()
        .map(|edge| names(&all, edge))
        .filter(|ends| ends.iter().all(|id| part.find(id).is_some()))
        .collect();
    let edges: Vec<_> = part.edges().iter().map(|edge| names(&part, edge)).collect();
    assert!(!edges.is_empty());
    assert_eq!(edges, kept);
    let nothing = all.of_documents(|_| false);
    assert!(nothing.nodes().is_empty() && nothing.edges().is_empty());
    assert!(part.bytes() > 0 && nothing.bytes() == 0);
}

#[test]
fn the_forms_of_a_name_are_one_node_across_documents() {
    let graph = graph(&rows());
    let node = graph.find("lothair-ii").unwrap();
    assert_eq!(graph.find("lothair-ii-of-lotharingia").unwrap(), node);
    assert_eq!(node.documents.iter().map(|document| &**document).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(graph.find("p204").unwrap().label, "P-204");
}

#[test]
fn a_form_of_two_different_names_joins_neither() {
    let rows = [
        row("a", "john smith", "John Smith"),
        row("a", "smith", "John Smith"),
        row("b", "jane smith", "Jane Smith"),
        row("b", "smith", "Jane Smith"),
    ];
    let both = graph(&rows);
    assert_eq!(both.nodes().len(), 2);
    assert!(both.find("smith").is_none());
    let one = graph(&rows[..2]);
    assert_eq!(one.find("smith").unwrap().label, "John Smith");
}

#[test]
fn forms_that_point_at_each_other_end_somewhere() {
    let rows =
        [row("a", "one", "Two"), row("a", "two", "One"), row("b", "two", "Two"), row("b", "one", "One")];
    assert_eq!(graph(&rows).nodes().len(), graph(rows.iter().rev()).nodes().len());
}

#[test]
fn what_is_named_together_more_often_than_chance_is_joined_more_strongly() {
    let mut rows = Vec::new();
    for document in ["a", "b", "c", "d", "e", "f"] {
        rows.push(row(document, "everywhere", "everywhere"));
    }
    for document in ["a", "b", "c"] {
        rows.push(row(document, "valve", "valve"));
        rows.push(row(document, "gasket", "gasket"));
    }
    let graph = graph(&rows);
    let strength = |one: &str, other: &str| {
        let is = |index: u32, id: &str| graph.nodes()[index as usize].id == id;
        let joins = |edge: &&graph::Edge| {
            is(edge.source, one) && is(edge.target, other) || is(edge.source, other) && is(edge.target, one)
        };
        graph.edges().iter().find(joins).map_or(0.0, |edge| edge.strength)
    };
    assert!(strength("valve", "gasket") > strength("valve", "everywhere"));
    assert!(graph.edges().iter().all(|edge| edge.strength > 0.0 && edge.strength <= 1.0));
    assert!(graph.edges().iter().all(|edge| edge.source < edge.target));
}

#[test]
fn a_name_that_every_document_mentions_is_not_the_strongest() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let mut rows: Vec<_> = names.iter().map(|document| row(document, "common", "common")).collect();
    rows.iter_mut().for_each(|(_, mention)| mention.weight = 0.2);
    rows.extend([row("a", "special", "special"), row("b", "special", "special")]);
    assert_eq!(graph(&rows).nodes()[0].id, "special");
}

#[test]
fn parts_of_the_graph_hold_what_was_asked_for() {
    let graph = graph(&rows());
    let strongest = graph.strongest(3);
    assert_eq!(strongest.nodes.len(), 3);
    assert_eq!(strongest.nodes[0].strength, 1.0);
    assert!(strongest.edges.iter().all(|edge| edge.target < 3));
    let document = graph.of_document("c", 100);
    assert!(document.nodes.len() > 2);
    assert!(document.nodes.iter().all(|node| node.documents.iter().any(|name| &**name == "c")));
    let around = graph.around("hucbert", 100);
    assert!(around.nodes.iter().any(|node| node.id == "hucbert"));
    assert!(around.nodes.iter().any(|node| node.id == "teutberga"));
    assert!(around.nodes.iter().all(|node| node.id != "impeller"));
    assert_eq!(graph.around("nobody", 100).nodes.len(), 0);
}

#[test]
fn communities_part_what_is_not_connected() {
    let graph = graph(&rows());
    let community = |id: &str| graph.find(id).unwrap().community;
    assert_eq!(community("teutberga"), community("hucbert"));
    assert_ne!(community("teutberga"), community("impeller"));
}

#[test]
fn no_evidence_is_an_empty_graph() {
    let graph = graph(&[]);
    assert!(graph.nodes().is_empty() && graph.edges().is_empty() && graph.strongest(10).nodes.is_empty());
}
