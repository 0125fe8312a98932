//! Killed at any moment, nothing acknowledged is lost, stuck or doubled.

use e2e::{Form, KnowledgeClient, Stoa};
use reqwest::Method;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

const KILLS: usize = 10;
const DOCUMENTS: usize = 100;

fn text(number: usize) -> String {
    let sentence = |n: usize| {
        format!(
            "Report {number} says that pump P-{n} of Acme Industries in Rotterdam was tested {} times. ",
            n * number
        )
    };
    (0..10 + number % 40).map(sentence).collect()
}

async fn upload(user: &KnowledgeClient, number: usize) -> bool {
    let form = Form::new().file("file", &format!("report-{number}.txt"), text(number).as_bytes());
    let request = form.into_request(user.request(Method::POST, "/api/ingest"));
    let sent = request.header("prefer", "respond-async").send().await;
    sent.is_ok_and(|response| response.status() == 202)
}

fn start(data: Option<&Arc<TempDir>>) -> Stoa {
    let start = Stoa::start_knowledge();
    match data {
        Some(data) => start.data(data).serve(),
        None => start.serve(),
    }
}

#[tokio::test]
async fn killed_again_and_again_every_acknowledged_document_is_indexed_once() {
    let mut stoa = start(None);
    let data = stoa.data.clone();
    let mut user = KnowledgeClient::admin(&stoa).await;
    let (mut number, mut acknowledged, mut noise) = (0, Vec::new(), 7u64);
    for _ in 0..KILLS {
        noise = noise.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let pause = Duration::from_millis(noise >> 54);
        let until = tokio::time::Instant::now() + pause;
        while number < DOCUMENTS && tokio::time::Instant::now() < until {
            // The kill may come in the middle of it.
            let uploading = tokio::time::timeout_at(until, upload(&user, number)).await;
            if uploading == Ok(true) {
                acknowledged.push(number);
            }
            number += 1;
        }
        tokio::time::sleep_until(until).await;
        drop(stoa);
        stoa = start(Some(&data));
        user = KnowledgeClient::admin(&stoa).await;
    }
    while number < DOCUMENTS {
        assert!(upload(&user, number).await);
        acknowledged.push(number);
        number += 1;
    }
    let documents = user.settled(Duration::from_secs(180)).await;
    let mut by_name: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for document in &documents {
        assert_eq!(document["status"], "indexed", "{document}");
        by_name.entry(document["filename"].as_str().unwrap()).or_default().push(document);
    }
    for number in &acknowledged {
        assert_eq!(by_name[format!("report-{number}.txt").as_str()].len(), 1, "report {number}");
    }

    // The same texts, never disturbed, give the same chunks and the same graph.
    let calm = start(None);
    let undisturbed = KnowledgeClient::admin(&calm).await;
    for name in by_name.keys() {
        let number = name.trim_start_matches("report-").trim_end_matches(".txt").parse().unwrap();
        assert!(upload(&undisturbed, number).await);
    }
    let expected = undisturbed.settled(Duration::from_secs(180)).await;
    let chunks = |documents: &[Value]| -> BTreeMap<String, i64> {
        let entry =
            |document: &Value| (document["filename"].to_string(), document["chunkCount"].as_i64().unwrap());
        documents.iter().map(entry).collect()
    };
    assert_eq!(chunks(&documents), chunks(&expected));
    let graph = async |user: &KnowledgeClient| {
        let graph = user.get("/api/graph?limit=10000").await.json();
        let row = |node: &Value| format!("{} {} {}", node["id"], node["type"], node["strength"]);
        let mut rows: Vec<String> = graph["nodes"].as_array().unwrap().iter().map(row).collect();
        rows.extend(graph["edges"].as_array().unwrap().iter().map(Value::to_string));
        rows.sort();
        rows
    };
    let (disturbed, calm_graph) = (graph(&user).await, graph(&undisturbed).await);
    let differing: Vec<_> =
        disturbed.iter().zip(&calm_graph).filter(|(one, other)| one != other).take(3).collect();
    assert!(disturbed == calm_graph, "{differing:?}");
    // Uploads that were cut off leave a file for half a minute at most.
    tokio::time::timeout(Duration::from_secs(90), async {
        while super::lifecycle::files(&stoa).len() != documents.len() {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    })
    .await
    .expect("no file without a document");
}
