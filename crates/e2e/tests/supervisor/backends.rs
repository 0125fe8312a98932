//! Runs on PostgreSQL, with two processes.

use e2e::postgres::Postgres;
use e2e::supervisor_client::{SupervisorClient, check_ids, names, workflow};
use e2e::{Stoa, Vendor, Watch};
use reqwest::Method;
use serde_json::json;
use std::time::Duration;

const WORDS: &str = "a b c d e f g h i j k l m n o p q r s t u v w x y z";

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_share_the_runs_and_one_takes_over_when_the_other_dies() {
    let database = Postgres::shared().await.database().await;
    let vendor = Vendor::start(WORDS).await;
    let agents: &[&str] = &[
        "name = \"one\"\nmodel = \"slow\"\nmax_tokens = 40",
        "name = \"two\"\nmodel = \"slow\"\nmax_tokens = 40\ninputs = [\"one\"]\napproval = true",
    ];
    let text = workflow(&[("prd", agents)]);
    let start = || Stoa::start_supervisor(&vendor, &text).set("DATABASE_URL", &database).serve();
    let (first, second) = (start(), start());
    let (here, there) = (SupervisorClient::local(&first), SupervisorClient::local(&second));
    let id = here.project().await;
    let mut watch = here.execute(&id, "prd").await;
    let mut seen = vec![watch.next().await.unwrap()];
    assert_eq!(there.state(&id).await["status"], "running");
    // Either process may execute the run: it stops at once if the other one gets the request.
    assert_eq!(there.post("/api/interrupt", &json!({ "projectId": id })).await.status, 200);
    assert_eq!(here.state(&id).await["status"], "interrupted");
    assert_eq!(there.post("/api/resume", &json!({ "projectId": id })).await.status, 200);
    loop {
        seen.push(watch.next().await.unwrap());
        if seen.last().unwrap().name == "agent_progress" {
            break;
        }
    }
    drop(first);
    let path = format!("/api/execute?projectId={id}&phase=prd");
    let mut rest =
        Watch::open(there.request(Method::GET, &path).header("last-event-id", seen.last().unwrap().id)).await;
    loop {
        seen.push(tokio::time::timeout(Duration::from_secs(20), rest.next()).await.unwrap().unwrap());
        if seen.last().unwrap().name == "interrupt" && seen.last().unwrap().data["agent"] == "two" {
            break;
        }
    }
    let resume = json!({ "projectId": id, "decision": "approve" });
    let both = tokio::join!(there.post("/api/resume", &resume), there.post("/api/resume", &resume));
    let mut statuses = [both.0.status, both.1.status];
    statuses.sort();
    assert_eq!(statuses, [200, 409]);
    seen.extend(rest.rest().await);
    check_ids(&seen);
    assert_eq!(names(&seen).last(), Some(&"phase_complete"));
    let all = there.list(&format!("/api/artifacts/{id}?versions=all")).await;
    assert!(all.len() == 2 && all.iter().all(|artifact| artifact["content"] == WORDS), "{all:?}");
    assert_eq!(there.get(&format!("/api/hydrate/{id}")).await.json()["project"]["status"], "complete");
    assert_eq!(there.delete(&format!("/api/projects/{id}")).await.status, 200);
}
