//! Executing phases, and their events.

use e2e::supervisor_client::{SupervisorClient, check_ids, names, workflow};
use e2e::{SseEvent, Stoa, Vendor, Watch, reply, run_client, tokens};
use reqwest::Method;
use serde_json::{Value, json};

const TWO_PHASES: &[(&str, &[&str])] = &[
    ("prd", &["name = \"analyst\"", "name = \"writer\"\ninputs = [\"analyst\"]"]),
    ("build", &["name = \"developer\"\ninputs = [\"writer\"]\noutput = \"code\""]),
];

async fn start(phases: &[(&str, &[&str])]) -> (Vendor, Stoa) {
    let vendor = Vendor::start("One word after the other.").await;
    let stoa = Stoa::start_supervisor(&vendor, &workflow(phases)).serve();
    (vendor, stoa)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_phase_sends_the_events_of_each_agent_in_order_and_moves_the_project_on() {
    let (vendor, stoa) = start(TWO_PHASES).await;
    let client = SupervisorClient::through_gateway(&stoa, "guest");
    let id = client.project().await;
    let events = client.run(&id, "prd").await;
    check_ids(&events);
    assert_eq!(events[0].id, 1);
    assert_eq!(
        names(&events),
        [
            "agent_start",
            "agent_progress",
            "agent_complete",
            "agent_start",
            "agent_progress",
            "agent_complete",
            "phase_complete"
        ]
    );
    assert_eq!(events[0].data, json!({ "agent": "analyst", "phase": "prd" }));
    assert_eq!((&events[1].data["agent"], &events[1].data["progress"]), (&json!("analyst"), &json!(100)));
    assert_eq!(events[6].data, json!({ "phase": "prd", "status": "complete" }));
    let stored = client.list(&format!("/api/artifacts/{id}")).await;
    assert_eq!((&events[2].data["artifact"], &events[5].data["artifact"]), (&stored[0], &stored[1]));
    let artifact = &stored[0];
    assert_eq!(
        (&artifact["type"], &artifact["content"], &artifact["phase"], &artifact["version"]),
        (&json!("markdown"), &json!("One word after the other."), &json!("prd"), &json!(1))
    );
    // The second agent reads what the first has written.
    assert!(vendor.last("user").contains("# Material from analyst\n\nOne word after the other."));
    assert!(vendor.last("system").contains("You do what your name says."));

    let project = client.get(&format!("/api/projects/{id}")).await.json();
    assert_eq!((&project["current_phase"], &project["status"]), (&json!("build"), &json!("active")));
    let traces = client.list(&format!("/api/traces/{id}")).await;
    assert_eq!(traces.len(), 2);
    let trace = &traces[0];
    assert_eq!(
        (&trace["agent"], &trace["status"], &trace["provider"]),
        (&json!("writer"), &json!("complete"), &json!("vendor-a"))
    );
    assert_eq!((&trace["input_tokens"], &trace["output_tokens"]), (&json!(11), &json!(7)));
    assert!(
        trace["duration_ms"].is_number() && trace["ended_at"].is_string() && trace["created_at"].is_string()
    );

    let events = client.run(&id, "build").await;
    assert_eq!((events[0].id, names(&events).last()), (8, Some(&"phase_complete")));
    assert_eq!(events[2].data["artifact"]["type"], "code");
    assert_eq!(client.get(&format!("/api/projects/{id}")).await.json()["status"], "complete");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_cannot_be_executed_is_refused_with_the_reason() {
    let (_vendor, stoa) = start(TWO_PHASES).await;
    let client = SupervisorClient::local(&stoa);
    let id = client.project().await;
    let other = client.project().await;
    let post = async |body: Value, header: Option<&str>| {
        let request = client.request(Method::POST, "/api/execute").json(&body);
        let request = header
            .map(|id| ("x-project-id", id))
            .into_iter()
            .fold(request, |request, (name, id)| request.header(name, id));
        let answer = reply(request).await;
        (answer.status, answer.json()["error"].as_str().unwrap_or_default().to_owned())
    };
    for (body, header, status, said) in [
        (json!({ "phase": "prd" }), None, 400, "`projectId` is missing"),
        (json!({ "projectId": id, "phase": "prd" }), Some(other.as_str()), 400, "have to agree"),
        (json!({ "projectId": "nobody", "phase": "prd" }), None, 404, "no project `nobody`"),
        (json!({ "projectId": id, "phase": "dance" }), None, 400, "unknown phase `dance`: one of prd, build"),
        (json!({ "projectId": id, "phase": "build" }), None, 409, "ahead: the project is at `prd`"),
        (json!({ "projectId": 7, "phase": "prd" }), None, 400, "`projectId` is not a string"),
        (json!("prd"), None, 400, "not a JSON object"),
    ] {
        let (found, error) = post(body.clone(), header).await;
        assert_eq!(found, status, "{body} {error}");
        assert!(error.contains(said), "{body} {error}");
    }
    for seen in ["x", "-1", "99"] {
        let path = format!("/api/execute?projectId={id}&lastEventId={seen}");
        assert_eq!(reply(client.request(Method::GET, &path)).await.status, 400, "{seen}");
    }
    let bad_id = client.request(Method::GET, &format!("/api/execute?projectId={id}&lastEventId=x"));
    assert_eq!(reply(bad_id).await.status, 400);
    assert_eq!(client.list(&format!("/api/projects/{id}/runs")).await.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_source_needs_only_the_query_and_does_not_start_a_run_when_it_reconnects() {
    let (vendor, stoa) = start(TWO_PHASES).await;
    let client = SupervisorClient::local(&stoa);
    let id = client.project().await;
    let path = format!("/api/execute?projectId={id}&phase=prd");
    let events = Watch::open(client.request(Method::GET, &path)).await.rest().await;
    assert_eq!((events.len(), vendor.asked().len()), (7, 2));
    // A browser reconnects by itself, with the last id that it has received.
    let back = reply(client.request(Method::GET, &path).header("last-event-id", "7")).await;
    assert_eq!((back.status, back.body.as_str()), (204, ""));
    for seen in 1..7 {
        let rest =
            Watch::open(client.request(Method::GET, &path).header("last-event-id", seen)).await.rest().await;
        assert_eq!(rest, events[seen..], "after {seen}");
        let rest = Watch::open(client.request(Method::POST, &format!("{path}&lastEventId={seen}")))
            .await
            .rest()
            .await;
        assert_eq!(rest, events[seen..], "after {seen}");
    }
    assert_eq!(vendor.asked().len(), 2, "nothing was executed again");
    let runs = client.list(&format!("/api/projects/{id}/runs")).await;
    assert_eq!((runs.len(), &runs[0]["status"], &runs[0]["last_event"]), (1, &json!("complete"), &json!(7)));
    let run = runs[0]["id"].as_str().unwrap();
    let replayed = Watch::open(client.request(Method::GET, &format!("/api/runs/{run}/events"))).await;
    assert_eq!(replayed.header("x-run-id"), run);
    assert_eq!(replayed.rest().await, events);
    assert_eq!(client.get(&format!("/api/runs/{run}/events?lastEventId=7")).await.status, 204);
    assert_eq!(client.get("/api/runs/nothing/events").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_phase_is_joined_and_another_phase_is_refused() {
    let slow: &[(&str, &[&str])] =
        &[("prd", &["name = \"analyst\"\nmodel = \"slow\""]), ("build", &["name = \"developer\""])];
    let vendor =
        Vendor::start("a b c d e f g h i j k l m n o p q r s t u v w x y z a b c d e f g h i j k l m").await;
    let stoa = Stoa::start_supervisor(&vendor, &workflow(slow)).serve();
    let client = SupervisorClient::local(&stoa);
    let id = client.project().await;
    let mut first = client.execute(&id, "prd").await;
    let start = first.until("agent_start").await;
    assert_eq!(client.get(&format!("/api/projects/{id}")).await.json()["status"], "running");
    let second = client.execute(&id, "prd").await;
    assert_eq!(second.header("x-run-id"), first.header("x-run-id"));
    let other = reply(client.execution(&id, "build")).await;
    assert_eq!(other.status, 409, "{other:?}");
    // The run does not depend on its client.
    drop(first);
    let all = second.rest().await;
    assert_eq!((all[0].clone(), names(&all).last()), (start, Some(&"phase_complete")));
    assert_eq!(vendor.asked().len(), 1);
    let asynchronous = reply(client.execution(&id, "build").header("prefer", "respond-async")).await;
    assert_eq!((asynchronous.status, &asynchronous.json()["status"]), (202, &json!("running")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_phase_that_is_run_again_makes_new_versions_and_keeps_the_old() {
    let (_vendor, stoa) = start(TWO_PHASES).await;
    let client = SupervisorClient::local(&stoa);
    let id = client.project().await;
    client.run(&id, "prd").await;
    let again = client.run(&id, "prd").await;
    assert_eq!((again[0].id, again.len()), (8, 7));
    let project = client.get(&format!("/api/projects/{id}")).await.json();
    assert_eq!((&project["current_phase"], &project["status"]), (&json!("build"), &json!("active")));
    let current = client.list(&format!("/api/artifacts/{id}")).await;
    let version = |artifact: &Value| {
        (artifact["agent"].clone(), artifact["version"].clone(), artifact["superseded"].clone())
    };
    assert_eq!(
        current.iter().map(version).collect::<Vec<_>>(),
        [(json!("analyst"), json!(2), json!(false)), (json!("writer"), json!(2), json!(false))]
    );
    let all = client.list(&format!("/api/artifacts/{id}?versions=all")).await;
    assert_eq!(all.iter().filter(|artifact| artifact["superseded"] == true).count(), 2);
    assert_eq!(all.len(), 4);
    assert_eq!(client.list(&format!("/api/artifacts/{id}?versions=all&phase=build")).await.len(), 0);
    assert_eq!(client.get(&format!("/api/artifacts/{id}?versions=some")).await.status, 400);
    // A client that has received only the first run gets the second one, and then the end.
    let rest =
        Watch::open(client.request(Method::GET, &format!("/api/execute?projectId={id}&lastEventId=7"))).await;
    assert_eq!(rest.rest().await, again);
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_whose_inputs_are_ready_work_at_the_same_time() {
    let agents = ["one", "two", "three"].map(|name| format!("name = \"{name}\"\nmodel = \"slow\""));
    let last = "name = \"last\"\ninputs = [\"one\", \"two\", \"three\"]".to_owned();
    let agents: Vec<&str> = agents.iter().chain([&last]).map(String::as_str).collect();
    let vendor = Vendor::start("a b c d e f g h i j k l m n o p q r s t").await;
    let stoa = Stoa::start_supervisor(&vendor, &workflow(&[("prd", &agents)])).serve();
    let client = SupervisorClient::local(&stoa);
    let id = client.project().await;
    let events = client.run(&id, "prd").await;
    check_ids(&events);
    assert_eq!(names(&events)[..3], ["agent_start"; 3]);
    for agent in ["one", "two", "three", "last"] {
        let own: Vec<&SseEvent> = events.iter().filter(|event| event.data["agent"] == agent).collect();
        assert_eq!(
            (own[0].name.as_str(), own.last().unwrap().name.as_str()),
            ("agent_start", "agent_complete")
        );
        let progress: Vec<i64> = own.iter().filter_map(|event| event.data["progress"].as_i64()).collect();
        assert!(
            progress.is_sorted_by(|one, next| one < next) && progress.last() == Some(&100),
            "{progress:?}"
        );
    }
    let position = |name: &str, agent: &str| {
        events.iter().position(|event| event.name == name && event.data["agent"] == agent)
    };
    assert!(
        ["one", "two", "three"]
            .iter()
            .all(|agent| position("agent_complete", agent) < position("agent_start", "last"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browsers_event_source_follows_a_run_directly_and_through_the_gateway() {
    let (vendor, stoa) = start(TWO_PHASES).await;
    let client = SupervisorClient::local(&stoa);
    let token = tokens::token("BUILD", "admin");
    let direct = format!("http://{}", stoa.supervisor.unwrap());
    for (base, token) in [(direct, ""), (stoa.url("/build"), token.as_str())] {
        let id = client.project().await;
        let before = vendor.asked().len();
        let url = format!("{base}/api/execute?projectId={id}&phase=prd");
        let received: Value =
            serde_json::from_str(&run_client("event_source.cjs", &[&url, token]).await).unwrap();
        let run =
            client.list(&format!("/api/projects/{id}/runs")).await[0]["id"].as_str().unwrap().to_owned();
        let events =
            Watch::open(client.request(Method::GET, &format!("/api/runs/{run}/events"))).await.rest().await;
        let events: Vec<Value> = events
            .iter()
            .map(|event| json!({ "id": event.id, "name": event.name, "data": event.data }))
            .collect();
        assert_eq!(received["events"], json!(events));
        assert_eq!(
            (&received["opened"], vendor.asked().len() - before),
            (&json!(1), 2),
            "it reconnected once and got 204"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_runs_take_little_more_space_than_their_artifacts() {
    let answer: &'static str = "eight letters of it and more of the same ".repeat(200).leak();
    let vendor = Vendor::start(answer).await;
    let stoa =
        Stoa::start_supervisor(&vendor, &workflow(&[("prd", &["name = \"analyst\"\nmax_tokens = 4000"])]))
            .serve();
    let client = SupervisorClient::local(&stoa);
    let id = client.project().await;
    client.run(&id, "prd").await;
    let size = || {
        let files = ["stoa.db", "stoa.db-wal"].map(|name| stoa.data.path().join(name));
        files.iter().filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum::<u64>()
    };
    let before = size();
    for _ in 0..100 {
        assert_eq!(client.run(&id, "prd").await.last().unwrap().name, "phase_complete");
    }
    assert_eq!(client.list(&format!("/api/artifacts/{id}?versions=all")).await.len(), 101);
    let data = stoa.data.clone();
    // A process that ends normally writes its log into the database file.
    stoa.signal("TERM");
    assert_eq!(stoa.wait().0, Some(0));
    let grown = data.path().join("stoa.db").metadata().unwrap().len() - before.min(1 << 20);
    let artifacts = 100 * answer.len() as u64;
    assert!(grown < artifacts * 3 / 2, "{grown} bytes for {artifacts} bytes of artifacts");
}
