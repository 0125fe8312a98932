//! Lists that are longer than a page: all entries are reached, and no answer is larger than a page.

use e2e::supervisor_client::{SupervisorClient, workflow};
use e2e::{Stoa, Vendor};
use serde_json::{Value, json};
use sqlx::Connection;

/// Reads all pages of a list. Returns the ids, and the bytes of each answer.
async fn walk(client: &SupervisorClient, path: &str) -> (Vec<String>, Vec<usize>) {
    let (mut ids, mut sizes, mut query) = (Vec::new(), Vec::new(), String::new());
    loop {
        // The link to the next page is a query, which replaces the query before.
        let path = if query.is_empty() { path } else { path.split('?').next().unwrap() };
        let answer = client.get(&format!("{path}{query}")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        sizes.push(answer.body.len());
        let rows = answer.json();
        ids.extend(rows.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()));
        let Some(link) = answer.header("link").first().map(ToString::to_string) else { return (ids, sizes) };
        query = link.strip_prefix('<').unwrap().strip_suffix(">; rel=\"next\"").unwrap().to_owned();
    }
}

async fn database(stoa: &Stoa) -> sqlx::SqliteConnection {
    let url = format!("sqlite://{}", stoa.data.path().join("stoa.db").display());
    sqlx::SqliteConnection::connect(&url).await.unwrap()
}

async fn start() -> (Vendor, Stoa, SupervisorClient, String) {
    let vendor = Vendor::start("One word after the other.").await;
    let stoa = Stoa::start_supervisor(&vendor, &workflow(&[("prd", &["name = \"analyst\""])])).serve();
    let client = SupervisorClient::local(&stoa);
    let id = client.project().await;
    (vendor, stoa, client, id)
}

#[tokio::test(flavor = "multi_thread")]
async fn artifacts_come_in_pages_and_a_history_cuts_them() {
    let (_vendor, stoa, client, id) = start().await;
    let insert = "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 40)
        INSERT INTO artifacts (id, project_id, run_id, phase, agent, type, content, version, superseded, created_at)
        SELECT printf('00000000-0000-7000-8000-%012d', n), $1, 'r', 'prd', 'agent-' || n, 'markdown',
            replace(hex(zeroblob(200000)), '00', 'äb'), 1, n % 2, n FROM numbers";
    sqlx::query(insert).bind(&id).execute(&mut database(&stoa).await).await.unwrap();
    let (ids, sizes) = walk(&client, &format!("/api/artifacts/{id}?versions=all&limit=30")).await;
    let expected: Vec<String> = (1..=40).map(|n| format!("00000000-0000-7000-8000-{n:012}")).collect();
    assert_eq!(ids, expected);
    assert!(sizes.len() > 2 && sizes.iter().all(|size| *size <= 8 << 20), "{sizes:?}");
    let (current, _) = walk(&client, &format!("/api/artifacts/{id}?limit=7&phase=prd")).await;
    assert_eq!(current.len(), 20);
    let (none, _) = walk(&client, &format!("/api/artifacts/{id}?phase=build")).await;
    assert_eq!(none.len(), 0);

    let answer = client.get(&format!("/api/hydrate/{id}")).await;
    assert!(answer.body.len() < 2 << 20, "{}", answer.body.len());
    let history = answer.json()["history"].clone();
    let artifacts = history["artifacts"].as_array().unwrap();
    let lengths: Vec<(usize, bool)> = artifacts
        .iter()
        .map(|artifact| {
            let characters = artifact["content"].as_str().unwrap().chars().count();
            (characters, artifact["content_truncated"].as_bool().unwrap())
        })
        .collect();
    assert_eq!(lengths.len(), 20);
    assert_eq!((lengths[0], lengths[1], lengths[2]), ((400_000, false), (300, true), (300, true)));
}

#[tokio::test(flavor = "multi_thread")]
async fn traces_and_runs_come_in_pages() {
    let (_vendor, stoa, client, id) = start().await;
    let mut connection = database(&stoa).await;
    let insert = "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 3000)
        INSERT INTO traces (id, project_id, run_id, phase, agent, status, progress, provider, model, error, started_at)
        SELECT printf('00000000-0000-7000-8000-%012d', n), $1, 'r', 'prd', 'analyst', 'error', 0, 'p', 'm',
            printf('%1000d', n), n FROM numbers";
    sqlx::query(insert).bind(&id).execute(&mut connection).await.unwrap();
    let insert = "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1200)
        INSERT INTO runs (id, project_id, phase, status, reason, first_event, last_event, created_at, ended_at)
        SELECT printf('00000000-0000-7000-8000-%012d', 5000 - n), $1, 'prd', 'complete', printf('%2000d', n),
            n, n, n, n FROM numbers";
    sqlx::query(insert).bind(&id).execute(&mut connection).await.unwrap();

    let (ids, sizes) = walk(&client, &format!("/api/traces/{id}")).await;
    assert!(ids.len() == 3000 && ids.windows(2).all(|pair| pair[0] > pair[1]), "{}", ids.len());
    assert!(sizes.len() > 3 && sizes.iter().all(|size| *size <= 1 << 20), "{sizes:?}");
    let older = client.list(&format!("/api/traces/{id}?limit=1&before={}", ids[0])).await;
    assert_eq!(older[0]["id"], json!(ids[1]));

    let (ids, sizes) = walk(&client, &format!("/api/projects/{id}/runs?limit=1000")).await;
    let expected: Vec<String> =
        (1..=1200).rev().map(|n| format!("00000000-0000-7000-8000-{:012}", 5000 - n)).collect();
    assert_eq!(ids, expected);
    assert!(sizes.len() > 2 && sizes.iter().all(|size| *size <= 1 << 20), "{sizes:?}");
    assert_eq!(client.list(&format!("/api/projects/{id}/runs")).await.len(), 100);

    let hydrated = client.get(&format!("/api/hydrate/{id}?limit=1000")).await;
    assert!(hydrated.body.len() < 4 << 20, "{}", hydrated.body.len());
    let history: Value = hydrated.json()["history"].clone();
    assert!(history["runs"].as_array().unwrap().len() > 400);
}
