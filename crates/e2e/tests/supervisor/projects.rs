//! Projects and their history.

use e2e::supervisor_client::{SupervisorClient, workflow};
use e2e::{Stoa, Vendor};
use serde_json::{Value, json};
use std::time::Instant;

async fn start() -> (Vendor, Stoa) {
    let vendor = Vendor::start("One word after the other.").await;
    let stoa = Stoa::start_supervisor(&vendor, &workflow(&[("prd", &["name = \"analyst\""])])).serve();
    (vendor, stoa)
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_is_created_listed_shown_and_deleted() {
    let (_vendor, stoa) = start().await;
    let client = SupervisorClient::local(&stoa);
    let body = json!({ "name": " Bees ", "product_seed": "A diary of hives.", "unknown": 1 });
    let made = client.post("/api/projects", &body).await;
    assert_eq!((made.status, made.header("x-unknown-fields")), (201, vec!["unknown"]), "{made:?}");
    let made = made.json();
    let fields = [
        "access",
        "created_at",
        "current_phase",
        "id",
        "name",
        "owner",
        "product_seed",
        "space_id",
        "status",
    ];
    assert_eq!(keys(&made), fields);
    assert_eq!(
        (&made["name"], &made["current_phase"], &made["status"]),
        (&json!("Bees"), &json!("prd"), &json!("active"))
    );
    let id = made["id"].as_str().unwrap();
    assert!(e2e::client::is_uuid(id));

    assert_eq!(client.get("/api/projects").await.header("cache-control"), ["no-store"]);
    let second = client.project().await;
    let listed = client.list("/api/projects").await;
    assert_eq!(
        listed.iter().map(|project| project["id"].as_str().unwrap()).collect::<Vec<_>>(),
        [second.as_str(), id]
    );
    assert!(listed[0]["updated_at"].as_str().unwrap().ends_with('Z'), "{listed:?}");
    let page = client.get("/api/projects?limit=1").await;
    assert_eq!(page.header("link"), [format!("<?limit=1&after={second}>; rel=\"next\"")]);
    assert_eq!(client.list(&format!("/api/projects?limit=1&after={second}")).await[0]["id"], *id);
    assert_eq!(client.get(&format!("/api/projects/{id}")).await.json()["name"], "Bees");

    assert_eq!(client.delete(&format!("/api/projects/{id}")).await.status, 200);
    for path in ["/api/projects/", "/api/hydrate/", "/api/artifacts/", "/api/traces/", "/api/state/"] {
        let gone = client.get(&format!("{path}{id}")).await;
        assert_eq!((gone.status, keys(&gone.json())), (404, vec!["code", "error", "success"]), "{path}");
    }
    assert_eq!(client.delete(&format!("/api/projects/{id}")).await.status, 404);
    assert_eq!(client.list("/api/projects").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_projects_name_and_seed_are_changed() {
    let vendor = Vendor::start("One word after the other.").await;
    let agents: &[&str] = &["name = \"analyst\"\napproval = true"];
    let stoa = Stoa::start_supervisor(&vendor, &workflow(&[("prd", agents)])).serve();
    let admin = SupervisorClient::through_gateway(&stoa, "admin");
    let id = admin.project().await;
    let path = format!("/api/projects/{id}");
    let long = format!("An {} diary.", "ö".repeat(400));
    let changed = admin.patch(&path, &json!({ "name": " Hives ", "product_seed": long })).await;
    assert_eq!((changed.status, &changed.json()["name"]), (200, &json!("Hives")), "{changed:?}");
    assert_eq!(admin.get(&path).await.json()["product_seed"], long);
    let listed = admin.list("/api/projects").await;
    assert_eq!((&listed[0]["name"], &listed[0]["product_seed_truncated"]), (&json!("Hives"), &json!(true)));
    let unchanged = admin.patch(&path, &json!({ "name": null })).await;
    assert_eq!((unchanged.status, &unchanged.json()["product_seed"]), (200, &json!(long)));
    for body in [json!({ "name": " " }), json!({ "name": 7 }), json!({ "product_seed": "" }), json!([])] {
        assert_eq!(admin.patch(&path, &body).await.status, 400, "{body}");
    }
    assert_eq!(admin.patch("/api/projects/none", &json!({ "name": "x" })).await.status, 404);

    // The agents of an open run read the seed.
    admin.execute(&id, "prd").await.until("interrupt").await;
    assert_eq!(admin.patch(&path, &json!({ "product_seed": "Another." })).await.status, 409);
    assert_eq!(admin.patch(&path, &json!({ "name": "Bees" })).await.status, 200);
    assert_eq!(admin.get(&path).await.json()["product_seed"], long);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_workflow_says_whether_each_model_can_write() {
    let vendor = Vendor::start("").await;
    let agents: &[&str] = &["name = \"analyst\"", "name = \"small\"\nprovider = \"edge-ai\""];
    let text = workflow(&[("prd", agents)]).replacen(
        "provider = \"vendor-a\"\nname = \"small\"",
        "name = \"small\"",
        1,
    );
    let stoa = Stoa::start_supervisor(&vendor, &text).serve();
    let shown = SupervisorClient::local(&stoa).get("/api/workflow").await.json();
    let agents = shown["phases"][0]["agents"].as_array().unwrap();
    let writes: Vec<(&Value, &Value)> =
        agents.iter().map(|agent| (&agent["name"], &agent["writes"])).collect();
    assert_eq!(writes, [(&json!("analyst"), &json!(true)), (&json!("small"), &json!(false))]);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_projects_are_refused_with_the_name_of_the_field() {
    let (_vendor, stoa) = start().await;
    let client = SupervisorClient::local(&stoa);
    for (body, said) in [
        (json!({}), "`name` is missing"),
        (json!({ "name": "x" }), "`product_seed` is missing"),
        (json!({ "name": "  ", "product_seed": "y" }), "`name` is missing"),
        (json!({ "name": 7, "product_seed": "y" }), "`name` is not a string"),
        (json!({ "name": "x\u{0}", "product_seed": "y" }), "`name` has a NUL"),
        (json!({ "name": "x".repeat(201), "product_seed": "y" }), "`name` is too long"),
        (json!([1]), "not a JSON object"),
    ] {
        let answer = client.post("/api/projects", &body).await;
        assert_eq!(answer.status, 400, "{body}");
        assert!(answer.json()["error"].as_str().unwrap().contains(said), "{answer:?}");
        assert_eq!(
            (&answer.json()["code"], &answer.json()["success"]),
            (&json!("INVALID_REQUEST"), &json!(false))
        );
    }
    let huge = json!({ "name": "x", "product_seed": "y".repeat(1 << 20) });
    assert_eq!(client.post("/api/projects", &huge).await.status, 413);
    let wrong_method = client.delete("/api/projects").await;
    assert_eq!((wrong_method.status, wrong_method.header("allow")), (405, vec!["GET,HEAD,POST"]));
    assert_eq!(client.get("/api/nothing").await.status, 404);
    assert_eq!(client.list("/api/projects").await.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_is_hydrated_in_one_request_also_with_ten_thousand_log_lines() {
    let (_vendor, stoa) = start().await;
    let client = SupervisorClient::local(&stoa);
    let id = client.project().await;
    client.run(&id, "prd").await;
    let whole = client.get(&format!("/api/hydrate/{id}")).await.json();
    assert_eq!((&whole["project"]["id"], &whole["project"]["status"]), (&json!(id), &json!("complete")));
    let history = &whole["history"];
    let log = &history["logs"][0];
    assert_eq!(keys(log), ["agent", "created_at", "id", "level", "message", "phase"]);
    assert_eq!((&log["level"], &log["message"]), (&json!("info"), &json!("phase `prd` is complete")));
    let checkpoint = &history["checkpoints"][0];
    assert_eq!(
        (&checkpoint["agent"], &checkpoint["step"], &checkpoint["status"]),
        (&json!("analyst"), &json!(1), &json!("complete"))
    );
    assert_eq!(history["artifacts"][0]["content"], "One word after the other.");
    assert_eq!(whole["system_state"]["interrupt_signal"], false);

    fill_log(&stoa, &id, 10_000).await;
    let mut times = Vec::new();
    for _ in 0..5 {
        let started = Instant::now();
        assert_eq!(client.get(&format!("/api/hydrate/{id}")).await.status, 200);
        times.push(started.elapsed());
    }
    times.sort();
    assert!(times[2].as_millis() < 50, "{times:?}");

    let mut seen = Vec::new();
    let mut path = format!("/api/hydrate/{id}?limit=1000");
    loop {
        let history = client.get(&path).await.json()["history"].clone();
        seen.extend(
            history["logs"].as_array().unwrap().iter().map(|log| log["id"].as_str().unwrap().to_owned()),
        );
        let Some(next) = history["next"].as_str() else { break };
        path = format!("/api/hydrate/{id}?limit=1000&before={next}");
    }
    assert!(seen.len() > 10_000 && seen.windows(2).all(|pair| pair[0] > pair[1]), "{}", seen.len());
}

async fn fill_log(stoa: &Stoa, project: &str, lines: usize) {
    use sqlx::Connection;
    let url = format!("sqlite://{}", stoa.data.path().join("stoa.db").display());
    let mut connection = sqlx::SqliteConnection::connect(&url).await.unwrap();
    let insert = "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < $2)
        INSERT INTO logs (id, project_id, level, message, created_at)
        SELECT printf('00000000-0000-7000-8000-%012d', n), $1, 'info', 'line ' || n, n FROM numbers";
    sqlx::query(insert).bind(project).bind(lines as i64).execute(&mut connection).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_parameters_and_fields_are_named() {
    let (_vendor, stoa) = start().await;
    let client = SupervisorClient::through_gateway(&stoa, "admin");
    let project = client.project().await;
    let answer = client.get("/api/projects?limt=1").await;
    assert_eq!((answer.status, answer.header("x-unknown-fields")), (200, vec!["limt"]));
    let body = json!({ "projectId": project, "phase": "prd", "projectid": project });
    let answer = client.post("/api/execute?stream=1", &body).await;
    assert_eq!((answer.status, answer.header("x-unknown-fields")), (200, vec!["projectid, stream"]));
    let answer = client.post("/api/interrupt", &json!({ "projectID": project })).await;
    assert_eq!((answer.status, answer.header("x-unknown-fields")), (400, vec!["projectID"]));
}
