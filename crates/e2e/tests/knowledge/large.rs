//! Users with many passages: reading them into memory disturbs nobody, goes on without its client, and has a limit.

use e2e::passages::{add_documents, database_of};
use e2e::{KnowledgeClient, Reply, Stoa};
use reqwest::Method;
use std::time::{Duration, Instant};

const SEARCH: &str = "/api/search?mode=lexical&query=pump+17";

/// Asks until the answer is not 503; each of these says when to come back, and why.
async fn until_ready(user: &KnowledgeClient, path: &str, patience: Duration) -> (Reply, Vec<u64>) {
    let deadline = Instant::now() + patience;
    let mut progress = Vec::new();
    loop {
        let answer = user.get(path).await;
        if answer.status != 503 {
            return (answer, progress);
        }
        assert_eq!(answer.header("retry-after"), ["2"], "{answer:?}");
        let body = answer.json();
        assert_eq!((&body["code"], &body["success"]), (&"INDEX_LOADING".into(), &false.into()), "{body}");
        assert!(body["passagesRead"].as_u64() <= body["passages"].as_u64(), "{body}");
        progress.push(body["passagesRead"].as_u64().unwrap());
        assert!(Instant::now() < deadline, "still loading: {body}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_answered_while_many_cold_indexes_are_read() {
    let stoa = Stoa::start_knowledge().set("INDEX_TIMEOUT", "2m").serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let mut searches = Vec::new();
    for name in ["ann", "bob", "cid", "dan", "eve", "fay"] {
        let user = admin.invite(&stoa, name).await;
        add_documents(&database_of(&stoa), &user.id, 2, 4_000).await;
        searches.push(user);
    }
    let searches: Vec<_> =
        searches.into_iter().map(|user| tokio::spawn(async move { user.get(SEARCH).await.status })).collect();
    let mut slowest = Duration::ZERO;
    while !searches.iter().all(|search| search.is_finished()) {
        let asked = Instant::now();
        assert_eq!(admin.get("/api/auth/me").await.status, 200);
        slowest = slowest.max(asked.elapsed());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for search in searches {
        assert_eq!(search.await.unwrap(), 200);
    }
    assert!(slowest < Duration::from_secs(1), "a request took {slowest:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_never_waits_long_gets_its_answer_in_the_end() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    add_documents(&database_of(&stoa), &admin.id, 3, 1_500).await;
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let request = admin.request(Method::GET, SEARCH).timeout(Duration::from_millis(300));
        if request.send().await.is_ok_and(|answer| answer.status() == 200) {
            break;
        }
        assert!(Instant::now() < deadline, "no search has ever succeeded");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_that_waits_too_long_is_told_when_to_come_back() {
    let stoa = Stoa::start_knowledge().set("INDEX_TIMEOUT", "100ms").serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let ids = add_documents(&database_of(&stoa), &admin.id, 3, 1_500).await;
    let (answer, progress) = until_ready(&admin, SEARCH, Duration::from_secs(60)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(!progress.is_empty() && progress.is_sorted(), "{progress:?}");
    let found = admin.find("passage 1499 of document 2").await;
    assert!(found.contains(&ids[2]), "the last passage of the last document is there: {found:?}");
    // A change to an index that is there is read quickly, whatever its size.
    let new = add_documents(&database_of(&stoa), &admin.id, 1, 10).await;
    assert!(admin.find("passage 9 of document 3").await.contains(&new[0]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_graph_is_shown_while_a_new_one_is_built() {
    let stoa = Stoa::start_knowledge().set("INDEX_TIMEOUT", "5ms").serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let ids = add_documents(&database_of(&stoa), &admin.id, 10, 1_000).await;
    let (first, progress) = until_ready(&admin, "/api/graph", Duration::from_secs(120)).await;
    assert!(!progress.is_empty(), "the first build is waited for");
    assert_eq!(first.header("x-graph-revision"), ["10"]);
    let first = first.json();
    assert!(first["outdated"].is_null(), "{}", first["notice"]);

    add_documents(&database_of(&stoa), &admin.id, 1, 10).await;
    let asked = Instant::now();
    let last = admin.get("/api/graph").await;
    let took = asked.elapsed();
    assert_eq!(last.header("x-graph-revision"), ["10"]);
    let last = last.json();
    assert_eq!(last["outdated"], true);
    assert_eq!(last["nodes"], first["nodes"]);
    assert!(took < Duration::from_secs(2), "the last graph is there already, but took {took:?}");

    assert_eq!(admin.delete(&format!("/api/documents/{}", ids[3])).await.status, 200);
    let reduced = admin.get("/api/graph").await;
    assert_eq!(reduced.json()["outdated"], true);
    assert!(
        last.to_string().contains(&ids[3]) && !reduced.body.contains(&ids[3]),
        "it is not shown any more"
    );

    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        let graph = admin.get("/api/graph").await;
        if graph.header("x-graph-revision") == ["12"] {
            assert!(graph.json()["outdated"].is_null(), "{}", graph.json()["notice"]);
            break;
        }
        assert!(Instant::now() < deadline, "no new graph");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_is_not_used_gives_its_memory_back() {
    let stoa = Stoa::start_knowledge().set("INDEX_IDLE", "3s").serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    add_documents(&database_of(&stoa), &admin.id, 4, 3_000).await;
    let mut size = 0.0;
    let mut evicted = Vec::new();
    // The allocator keeps what it was given for a while, so one round says little: a leak grows with each.
    for _ in 0..5 {
        // On a busy machine the index may be gone before it is measured.
        for _ in 0..10 {
            let (answer, _) = until_ready(&admin, SEARCH, Duration::from_secs(60)).await;
            assert_eq!(answer.status, 200, "{answer:?}");
            size = index_bytes(&stoa).await;
            if size > 0.0 {
                break;
            }
        }
        assert!(size > 4e6, "12,000 passages take {size} bytes");
        let deadline = Instant::now() + Duration::from_secs(30);
        while index_bytes(&stoa).await > 0.0 {
            assert!(Instant::now() < deadline, "the index was not evicted");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        evicted.push(stoa.memory());
    }
    let grown = evicted[4] - evicted[1];
    assert!(
        grown < 1.5 * size / f64::from(1 << 20),
        "{evicted:?} MiB after an index of {size} bytes each time"
    );
}

async fn index_bytes(stoa: &Stoa) -> f64 {
    let metrics = e2e::get(format!("http://{}/metrics", stoa.ops)).await.body;
    let line = metrics.lines().find_map(|line| line.strip_prefix("knowledge_index_bytes "));
    line.and_then(|bytes| bytes.parse().ok()).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_user_beyond_the_limit_is_searched_and_said_to_be() {
    let stoa = Stoa::start_knowledge().set("INDEX_MEMORY", "2MiB").serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let ids = add_documents(&database_of(&stoa), &admin.id, 2, 750).await;
    assert!(admin.find("passage 749 of document 1").await.contains(&ids[1]));
    assert!(stoa.logs("INDEX_MEMORY"), "{}", stoa.log());
    let metrics = e2e::get(format!("http://{}/metrics", stoa.ops)).await.body;
    assert!(metrics.contains("knowledge_index_over_limit_total 1"), "{metrics}");
    // Once it is there it stays: nothing is read again for the next search.
    assert!(admin.find("passage 749 of document 1").await.contains(&ids[1]));
    let metrics = e2e::get(format!("http://{}/metrics", stoa.ops)).await.body;
    assert!(metrics.contains("knowledge_index_load_seconds_count 1"), "{metrics}");
}
