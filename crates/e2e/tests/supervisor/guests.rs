//! Guests: what they may do, and their limits.

use e2e::postgres::Postgres;
use e2e::stoa::Start;
use e2e::supervisor_client::{SupervisorClient, workflow};
use e2e::{Reply, Stoa, Vendor, reply, tokens};
use reqwest::Method;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const SEED: usize = 100_000;

async fn prepare(agent: &str) -> (Vendor, Start) {
    let vendor = Vendor::start("One word after the other.").await;
    let start = Stoa::start_supervisor(&vendor, &workflow(&[("prd", &[agent])]));
    (vendor, start)
}

fn project(seed: &str) -> Value {
    json!({ "name": "Bees", "product_seed": seed })
}

fn said(answer: &Reply) -> (u16, String) {
    (answer.status, answer.json()["error"].as_str().unwrap_or_default().to_owned())
}

/// Asks the gateway for a guest's token.
async fn fresh_token(stoa: &Stoa) -> Reply {
    reply(reqwest::Client::new().post(stoa.url("/auth/guest"))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_of_projects_with_long_seeds_take_little_memory_and_delay_no_other_request() {
    const PROJECTS: usize = 300;
    let (_vendor, start) = prepare("name = \"analyst\"").await;
    let start = start.set("GUEST_PROJECTS_PER_ADDRESS", PROJECTS).set("GUEST_SEED_CHARACTERS", SEED);
    let stoa = start.set("ACCESS_LOG", "off").serve();
    let token = fresh_token(&stoa).await.json()["token"].as_str().unwrap().to_owned();
    let guest = SupervisorClient::with_token(&stoa, token);
    let body = project(&"x".repeat(SEED));
    for _ in 0..PROJECTS {
        assert_eq!(guest.post("/api/projects", &body).await.status, 201);
    }
    let before = stoa.memory();
    let is_over = AtomicBool::new(false);
    let lists = async {
        let one = || async { guest.get("/api/projects").await.body.len() };
        let sizes = futures_util::future::join_all((0..20).map(|_| one())).await;
        is_over.store(true, Ordering::Relaxed);
        sizes
    };
    let watching = async {
        let (mut peak, mut longest) = (before, Duration::ZERO);
        while !is_over.load(Ordering::Relaxed) {
            peak = peak.max(stoa.memory());
            let started = Instant::now();
            guest.get("/api/projects?limit=1").await;
            longest = longest.max(started.elapsed());
        }
        (peak, longest)
    };
    let (sizes, (peak, longest)) = tokio::join!(lists, watching);
    assert!(sizes.iter().all(|size| *size < 1 << 20), "{sizes:?}");
    assert!(peak < before + 60.0, "{before} MiB, then {peak} MiB");
    assert!(longest < Duration::from_secs(3), "{longest:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_cuts_long_seeds_and_the_project_has_the_whole_one() {
    let (_vendor, start) = prepare("name = \"analyst\"").await;
    let stoa = start.serve();
    let client = SupervisorClient::local(&stoa);
    for (seed, shown) in [("ä".repeat(300), 300), ("ä".repeat(301), 300), ("ä".repeat(SEED), 300)] {
        let made = client.post("/api/projects", &project(&seed)).await.json();
        assert_eq!((&made["product_seed"], made.get("product_seed_truncated")), (&json!(seed), None));
        let listed = client.list("/api/projects").await[0].clone();
        assert_eq!(listed["product_seed"].as_str().unwrap().chars().count(), shown);
        assert_eq!(listed["product_seed_truncated"], json!(seed.chars().count() > shown));
        for field in ["id", "name", "current_phase", "status", "created_at", "updated_at"] {
            assert!(listed[field].is_string(), "{field}: {listed}");
        }
        let path = format!("/api/projects/{}", made["id"].as_str().unwrap());
        assert_eq!(client.get(&path).await.json()["product_seed"], json!(seed));
        let hydrated = client.get(&path.replace("projects", "hydrate")).await.json();
        assert_eq!(hydrated["project"]["product_seed"], json!(seed));
    }
    let long = client.post("/api/projects", &project(&"x".repeat(SEED + 1))).await;
    assert_eq!(said(&long), (400, "`product_seed` is too long: at most 100000 characters".into()));
    let guest = SupervisorClient::through_gateway(&stoa, "guest");
    assert_eq!(guest.post("/api/projects", &project(&"x".repeat(20_000))).await.status, 201);
    let long = guest.post("/api/projects", &project(&"x".repeat(20_001))).await;
    assert_eq!(said(&long), (400, "`product_seed` is too long: at most 20000 characters for guests".into()));
}

async fn check_limits_on_projects(start: Start) {
    let start = start.set("TRUSTED_PROXIES", "127.0.0.1");
    let stoa = start.set("GUEST_PROJECTS_PER_ADDRESS", 3).set("GUEST_PROJECTS", 8).serve();
    let guest = SupervisorClient::through_gateway(&stoa, "guest");
    let create = async |address: &str| {
        let request = guest.request(Method::POST, "/api/projects").json(&project("A diary."));
        reply(request.header("x-forwarded-for", address)).await
    };
    // All at the same time: the limit holds.
    for address in ["203.0.113.1", "2001:db8:1:2::1"] {
        let made = futures_util::future::join_all((0..10).map(|_| create(address))).await;
        let statuses: Vec<u16> = made.iter().map(|answer| answer.status).collect();
        assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 3, "{statuses:?}");
        let refused = made.iter().find(|answer| answer.status == 429).unwrap();
        assert_eq!(refused.json()["code"], "TOO_MANY_REQUESTS");
        let message = "guests at your address have made 3 projects, and no more are kept: sign in";
        assert_eq!((said(refused).1.as_str(), refused.header("retry-after")), (message, vec!["3600"]));
    }
    // The same IPv6 network, and then other addresses.
    assert_eq!(create("2001:db8:1:2:ffff::9").await.status, 429);
    let addresses = ["203.0.113.2", "203.0.113.3", "203.0.113.4", "203.0.113.5", "203.0.113.6"];
    let made = futures_util::future::join_all(addresses.map(&create)).await;
    let statuses: Vec<u16> = made.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 2, "{statuses:?}");
    let full = create("203.0.113.7").await;
    assert_eq!(said(&full), (429, "guests have made 8 projects, and no more are kept: sign in".into()));
    // An administrator is not limited, and can delete a guest's project to make room.
    let admin = SupervisorClient::through_gateway(&stoa, "admin");
    admin.project().await;
    let of_guest = admin.list("/api/projects").await[1]["id"].as_str().unwrap().to_owned();
    assert_eq!(admin.delete(&format!("/api/projects/{of_guest}")).await.status, 200);
    assert_eq!(create("203.0.113.7").await.status, 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_projects_of_guests_are_limited() {
    let (_vendor, start) = prepare("name = \"analyst\"").await;
    check_limits_on_projects(start).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_projects_of_guests_are_limited_on_postgresql() {
    let database = Postgres::shared().await.database().await;
    let (_vendor, start) = prepare("name = \"analyst\"").await;
    check_limits_on_projects(start.set("DATABASE_URL", &database)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_runs_of_guests_are_limited() {
    let (_vendor, start) = prepare("name = \"analyst\"\nmodel = \"hang\"").await;
    let start = start.set("TRUSTED_PROXIES", "127.0.0.1");
    let stoa = start.set("GUEST_RUNS_PER_ADDRESS", 2).set("GUEST_RUNS", 3).serve();
    let guest = SupervisorClient::through_gateway(&stoa, "guest");
    let admin = SupervisorClient::through_gateway(&stoa, "admin");
    let start = async |client: &SupervisorClient, address: &str, project: &str| {
        let request = client.execution(project, "prd").header("prefer", "respond-async");
        reply(request.header("x-forwarded-for", address)).await
    };
    let mut projects = Vec::new();
    for _ in 0..5 {
        projects.push(guest.project().await);
    }
    let here = "203.0.113.1";
    let both = futures_util::future::join_all(projects[..3].iter().map(|id| start(&guest, here, id))).await;
    let mut statuses: Vec<u16> = both.iter().map(|answer| answer.status).collect();
    statuses.sort();
    assert_eq!(statuses, [202, 202, 429]);
    let waiting = both.iter().position(|answer| answer.status == 429).unwrap();
    let refused = &both[waiting];
    let message = "a guest may have 2 runs at work: wait until one has ended";
    assert_eq!((said(refused), refused.header("retry-after")), ((429, message.into()), vec!["15"]));
    // Joining a run does not count.
    let running = (waiting + 1) % 3;
    assert_eq!(start(&guest, here, &projects[running]).await.status, 202);
    assert_eq!(start(&guest, "203.0.113.2", &projects[3]).await.status, 202);
    let full = start(&guest, "203.0.113.3", &projects[4]).await;
    assert_eq!(said(&full), (429, "guests may have 3 runs at work in all: wait until one has ended".into()));
    assert_eq!(start(&admin, "203.0.113.3", &projects[4]).await.status, 202);
    // A run that has ended no longer counts.
    assert_eq!(admin.post("/api/cancel", &json!({ "projectId": projects[running] })).await.status, 200);
    assert_eq!(start(&guest, here, &projects[waiting]).await.status, 202);
}

/// Executes a guest's project to the end of its run. Returns what was refused.
async fn run_as_guest(guest: &SupervisorClient, address: &str, id: &str) -> Option<(u16, String)> {
    let answer = reply(guest.execution(id, "prd").header("x-forwarded-for", address)).await;
    if answer.status == 200 {
        return None;
    }
    assert_eq!(answer.header("retry-after"), ["3600"], "{answer:?}");
    Some(said(&answer))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_runs_that_guests_start_in_an_hour_are_limited() {
    let (_vendor, start) = prepare("name = \"analyst\"\nmodel = \"fail\"\nretries = 0").await;
    let start = start.set("TRUSTED_PROXIES", "127.0.0.1");
    let stoa = start.set("GUEST_STARTS_PER_ADDRESS", 3).set("GUEST_STARTS", 5).serve();
    let guest = SupervisorClient::through_gateway(&stoa, "guest");
    let id = guest.project().await;
    // Each of these goes on with the one run that fails: a start is counted, whatever becomes of it.
    for address in ["203.0.113.1", "203.0.113.1", "203.0.113.1", "203.0.113.2"] {
        assert_eq!(run_as_guest(&guest, address, &id).await, None);
    }
    let own = "a guest may start 3 runs an hour: wait, or sign in";
    assert_eq!(run_as_guest(&guest, "203.0.113.1", &id).await, Some((429, own.into())));
    assert_eq!(run_as_guest(&guest, "203.0.113.2", &id).await, None);
    let all = "guests may start 5 runs an hour in all: wait, or sign in";
    assert_eq!(run_as_guest(&guest, "203.0.113.3", &id).await, Some((429, all.into())));
}

async fn check_limits_on_storage(with: impl Fn(Start) -> Start) {
    let vendor = Vendor::start("x".repeat(400 << 10).leak()).await;
    let agent = "name = \"analyst\"\nmax_tokens = 30000";
    let start = Stoa::start_supervisor(&vendor, &workflow(&[("prd", &[agent])]));
    let start = with(start).set("TRUSTED_PROXIES", "127.0.0.1");
    let stoa = start.set("GUEST_MIB_PER_ADDRESS", 1).set("GUEST_MIB", 2).serve();
    let guest = SupervisorClient::through_gateway(&stoa, "guest");
    let id = guest.project().await;
    for address in ["203.0.113.1", "203.0.113.2"] {
        for _ in 0..3 {
            assert_eq!(run_as_guest(&guest, address, &id).await, None);
        }
    }
    let own = "runs of guests at your address have stored 1 MiB: sign in";
    assert_eq!(run_as_guest(&guest, "203.0.113.2", &id).await, Some((429, own.into())));
    let all = "runs of guests have stored 2 MiB, and no more is kept: sign in";
    assert_eq!(run_as_guest(&guest, "203.0.113.3", &id).await, Some((429, all.into())));
    // An administrator is not limited, and makes room.
    let admin = SupervisorClient::through_gateway(&stoa, "admin");
    assert_eq!(reply(admin.execution(&id, "prd")).await.status, 200);
    assert_eq!(admin.delete(&format!("/api/projects/{id}")).await.status, 200);
    let id = guest.project().await;
    assert_eq!(run_as_guest(&guest, "203.0.113.2", &id).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_runs_of_guests_store_is_limited() {
    check_limits_on_storage(|start| start).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_runs_of_guests_store_is_limited_on_postgresql() {
    let database = Postgres::shared().await.database().await;
    check_limits_on_storage(|start| start.set("DATABASE_URL", &database)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn guests_who_may_only_read_cannot_create_or_execute() {
    let (vendor, start) = prepare("name = \"analyst\"").await;
    let data = start.serve();
    let guest = SupervisorClient::through_gateway(&data, "guest");
    let id = guest.project().await;
    let events = guest.run(&id, "prd").await;
    let folder = data.data.clone();
    drop(data);
    let start = Stoa::start_supervisor(&vendor, &workflow(&[("prd", &["name = \"analyst\""])]));
    let start = start.set("WORKFLOW", folder.path().join("workflow.toml").display());
    let stoa = start.data(&folder).set("GUESTS", "read").serve();
    assert_eq!(fresh_token(&stoa).await.status, 200);
    let guest = SupervisorClient::through_gateway(&stoa, "guest");
    assert_eq!(guest.list("/api/projects").await.len(), 1);
    assert_eq!(guest.get(&format!("/api/hydrate/{id}")).await.status, 200);
    let refused = (403, "guests may only read here: sign in".to_owned());
    assert_eq!(said(&guest.post("/api/projects", &project("A diary.")).await), refused);
    assert_eq!(said(&reply(guest.execution(&id, "prd")).await), refused);
    let by_get = format!("/api/execute?projectId={id}&phase=prd");
    assert_eq!(said(&guest.get(&by_get).await), refused);
    // They may read the events of a run.
    let again = guest.request(Method::GET, &by_get).header("last-event-id", events[0].id);
    assert_eq!(e2e::Watch::open(again).await.rest().await.len(), events.len() - 1);
    // The same without the gateway.
    let past = reqwest::Client::new().post(format!("http://{}/api/projects", stoa.supervisor.unwrap()));
    let past = past.bearer_auth(tokens::token("BUILD", "guest")).json(&project("A diary."));
    assert_eq!(said(&reply(past).await), refused);
}

#[tokio::test(flavor = "multi_thread")]
async fn guests_are_refused_if_they_are_off_also_with_an_older_token() {
    let (_vendor, start) = prepare("name = \"analyst\"").await;
    let stoa = start.only("gateway,supervisor,portal").set("GUESTS", "off").serve();
    assert_eq!(fresh_token(&stoa).await.error(), (403, "GUESTS_OFF".into(), "AUTH".into()));
    let older = SupervisorClient::through_gateway(&stoa, "guest").get("/api/projects").await;
    assert_eq!(older.error(), (403, "GUESTS_OFF".into(), "BUILD".into()));
    for (address, path, route) in [
        (stoa.supervisor.unwrap(), "/api/projects", "BUILD"),
        (stoa.portal.unwrap(), "/api/portal/updates", "KV"),
    ] {
        let client = reqwest::Client::new();
        let ask = |token: String| client.get(format!("http://{address}{path}")).bearer_auth(token);
        assert_eq!(reply(ask(tokens::token(route, "guest"))).await.status, 403, "{path}");
        assert_eq!(reply(ask(tokens::token(route, "admin"))).await.status, 200, "{path}");
    }
    assert_eq!(SupervisorClient::through_gateway(&stoa, "admin").list("/api/projects").await.len(), 0);
}
