//! Finding nodes of the graph, and the passages behind them.

use e2e::{KnowledgeClient, Stoa};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const TEXTS: [&str; 3] = [
    "Dr. Ada Solberg joined Acme Industries in Rotterdam. At Acme Industries, Ada Solberg leads the pump laboratory.",
    "The pump laboratory of Acme Industries tests the pump P-204. Pump P-204 cools the turbine hall.",
    "The turbine hall in Rotterdam was built in 1962. The turbine hall holds three steam turbines.",
];

async fn with_texts() -> (Stoa, KnowledgeClient, Vec<String>) {
    let stoa = Stoa::start_knowledge().serve();
    let user = KnowledgeClient::admin(&stoa).await;
    let mut ids = Vec::new();
    for (number, text) in TEXTS.iter().enumerate() {
        ids.push(user.ingest_text(&format!("{number}.txt"), text).await);
    }
    (stoa, user, ids)
}

fn labels(answer: &Value) -> Vec<String> {
    let nodes = answer["nodes"].as_array().unwrap();
    nodes.iter().map(|node| node["label"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn nodes_are_found_by_any_part_of_their_label() {
    let (_stoa, user, _) = with_texts().await;
    for (query, first) in [("ada+sol", "Ada Solberg"), ("SOLB", "Ada Solberg"), ("rotter", "Rotterdam")] {
        let found = user.get(&format!("/api/graph/search?q={query}")).await.json();
        assert_eq!(labels(&found)[0], first, "{query}: {found}");
    }
    let turbines = labels(&user.get("/api/graph/search?q=turbine").await.json());
    assert!(turbines.len() > 1 && turbines.iter().all(|label| label.to_lowercase().contains("turbine")));
    assert_eq!(labels(&user.get("/api/graph/search?q=turbine&limit=1").await.json()), turbines[..1]);
    assert_eq!(user.get("/api/graph/search?q=zebra").await.json(), json!({ "nodes": [] }));
    for bad in ["q=", "q=%20", "", "q=x&limit=0", "q=x&limit=101", &format!("q={}", "x".repeat(1001))] {
        assert_eq!(user.get(&format!("/api/graph/search?{bad}")).await.status, 400, "{bad}");
    }
}

#[tokio::test]
async fn a_node_has_its_documents_and_passages_page_by_page() {
    let (_stoa, user, ids) = with_texts().await;
    let long: String =
        (0..200).map(|n| format!("Acme Industries sold the pump number {n} to a town. ")).collect();
    let long = user.ingest_text("long.txt", &long).await;
    let found = user.get("/api/graph/search?q=acme+industries").await.json();
    let id = found["nodes"][0]["id"].as_str().unwrap().to_owned();
    let node = user.get(&format!("/api/graph/nodes/{id}?limit=100")).await.json();
    assert_eq!(node["node"], found["nodes"][0]);
    let total = node["totalPassages"].as_u64().unwrap() as usize;
    let passages = node["passages"].as_array().unwrap();
    assert!(total > 5 && passages.len() == total && node["next"].is_null(), "{node}");
    let documents = node["documents"].as_array().unwrap();
    assert_eq!(documents.len(), 3);
    assert_eq!((&documents[0]["id"], &documents[0]["title"]), (&json!(long), &json!("long.txt")));
    assert_eq!(documents[0]["passages"].as_u64().unwrap() as usize, total - 2);
    for passage in passages {
        assert!(passage["text"].as_str().unwrap().contains("Acme Industries"), "{passage}");
        let document = passage["documentId"].as_str().unwrap();
        let path = format!("/api/search?query=Acme+Industries&documentId={document}&topK=100");
        let known = user.get(&path).await.json()["results"].as_array().unwrap().clone();
        let result = known.iter().find(|result| result["id"] == passage["id"]).unwrap();
        assert_eq!(result["text"], passage["text"]);
        assert_eq!(result["metadata"]["chunkIndex"], passage["chunkIndex"]);
    }
    let (mut query, mut seen) = ("limit=2".to_owned(), Vec::new());
    loop {
        let page = user.get(&format!("/api/graph/nodes/{id}?{query}")).await.json();
        assert_eq!(page["totalPassages"], node["totalPassages"]);
        seen.extend(page["passages"].as_array().unwrap().clone());
        let Some(next) = page["next"].as_str() else { break };
        query = format!("limit=2&after={next}");
    }
    assert_eq!(&seen, passages);

    // A document that is deleted takes its passages along.
    assert_eq!(user.delete(&format!("/api/documents/{long}")).await.status, 200);
    let left = user.get(&format!("/api/graph/nodes/{id}")).await.json();
    assert_eq!((&left["totalPassages"], left["documents"].as_array().unwrap().len()), (&json!(2), 2));
    let left: BTreeSet<&str> =
        left["documents"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(left, BTreeSet::from([ids[0].as_str(), ids[1].as_str()]));
    assert_eq!(user.get("/api/graph/nodes/nothing").await.status, 404);
    assert_eq!(user.get(&format!("/api/graph/nodes/{id}?after=rubbish")).await.status, 400);
}

#[tokio::test]
async fn totals_are_of_all_and_sources_have_a_graph_of_their_own() {
    let (_stoa, user, ids) = with_texts().await;
    let all = user.get("/api/graph").await.json();
    let number = |graph: &Value| graph["nodes"].as_array().unwrap().len() as u64;
    assert_eq!(all["totals"]["nodes"].as_u64().unwrap(), number(&all));
    assert!(all["totals"]["edges"].as_u64().unwrap() >= all["edges"].as_array().unwrap().len() as u64);
    let few = user.get("/api/graph?limit=2").await.json();
    assert_eq!((number(&few), &few["totals"]), (2, &all["totals"]));
    let third = user.get(&format!("/api/graph?documentId={}", ids[2])).await.json();
    assert_eq!(third["totals"]["nodes"].as_u64().unwrap(), number(&third));
    assert!(number(&third) < number(&all));
    let cut = user.get(&format!("/api/graph?documentId={}&limit=1", ids[2])).await.json();
    assert_eq!((number(&cut), &cut["totals"]), (1, &third["totals"]));

    // Each text is one passage here, so the graph of a passage is that of its document.
    let results = user.get("/api/search?query=turbine+hall+Solberg&topK=10").await.json()["results"].clone();
    let of = |document: &str| {
        let result = results.as_array().unwrap().iter().find(|result| result["documentId"] == document);
        result.unwrap()["id"].as_str().unwrap().to_owned()
    };
    let one = user.get(&format!("/api/graph?sources={}", of(&ids[2]))).await.json();
    assert_eq!(one, third);
    let two = user.get(&format!("/api/graph?sources={}&sources={}", of(&ids[2]), of(&ids[0]))).await.json();
    let both: BTreeSet<String> = labels(&two).into_iter().collect();
    assert!(both.contains("Ada Solberg") && both.is_superset(&labels(&third).into_iter().collect()), "{two}");
    let none = user.get("/api/graph?sources=nothing&sources=%00").await;
    assert!(none.status == 400 || number(&none.json()) == 0, "{none:?}");
    let many = vec!["sources=x"; 101].join("&");
    assert_eq!(user.get(&format!("/api/graph?{many}")).await.status, 400);
}

#[tokio::test]
async fn results_mark_the_words_of_the_question() {
    let stoa = Stoa::start_knowledge().serve();
    let user = KnowledgeClient::admin(&stoa).await;
    user.ingest_text("a.txt", "😀 Zwölf Pumps were pumping in the hall. The end.").await;
    let found = user.get("/api/search?query=which+pump+is+in+the+halls").await.json();
    let result = &found["results"][0];
    let units: Vec<u16> = result["text"].as_str().unwrap().encode_utf16().collect();
    let place = |value: &Value| value.as_u64().unwrap() as usize;
    let marked = result["matches"].as_array().unwrap().iter();
    let marked: Vec<String> = marked
        .map(|one| String::from_utf16(&units[place(&one["start"])..place(&one["end"])]).unwrap())
        .collect();
    assert_eq!(marked, ["Pumps", "pumping", "hall"]);
    let other = user.get("/api/search?query=zebra&mode=dense").await.json();
    assert_eq!(other["results"][0]["matches"], json!([]));
}
