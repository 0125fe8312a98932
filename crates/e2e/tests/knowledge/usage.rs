//! The use of models: a row for each call, with what it has cost, and sums of them. `budgets` has what is refused.

mod budgets;

use super::spaces::{add, space};
use e2e::passages::{database_of, execute};
use e2e::{Form, KnowledgeClient, Reply, Stoa, Vendor, reply};
use futures_util::StreamExt;
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::time::{Duration, Instant};

const SEAL: &str = "The shaft seal must be replaced every year.";
const QUESTION: &str = "How often is the shaft seal replaced?";
/// By the prices of [`Usage::start`]: the vendor counts 11 tokens in and 7 out.
const COST: f64 = 2.5;

/// The service with a connection to a vendor, and a user with a document.
struct Usage {
    vendor: Vendor,
    stoa: Stoa,
    admin: KnowledgeClient,
    ada: KnowledgeClient,
    /// Of the connection.
    id: String,
}

impl Usage {
    async fn start(answer: &'static str) -> Self {
        let vendor = Vendor::start(answer).await;
        let stoa = Stoa::start_knowledge().set("CHAT_REQUESTS_PER_MINUTE", 1000).serve();
        let admin = KnowledgeClient::admin(&stoa).await;
        let ada = admin.invite(&stoa, "ada").await;
        ada.ingest_text("pump.md", SEAL).await;
        let id = connect(&admin, &vendor).await;
        let prices = json!([{ "connection": id, "model": "*", "inputPerMillion": 100_000, "outputPerMillion": 200_000 }]);
        put_prices(&admin, prices).await;
        Self { vendor, stoa, admin, ada, id }
    }

    async fn restart(mut self) -> Self {
        let data = self.stoa.data.clone();
        self.stoa.signal("TERM");
        assert_eq!(self.stoa.wait().0, Some(0));
        self.stoa = Stoa::start_knowledge().data(&data).set("CHAT_REQUESTS_PER_MINUTE", 1000).serve();
        self.admin = KnowledgeClient::admin(&self.stoa).await;
        self.ada = KnowledgeClient::sign_in(&self.stoa, "ada@example.org", "correct horse").await;
        self
    }
}

/// Connects the vendor as `Own server`, and returns the connection's id.
async fn connect(admin: &KnowledgeClient, vendor: &Vendor) -> String {
    let body = json!({ "name": "Own server", "kind": "openai", "baseUrl": vendor.url() });
    let made = admin.post_json("/api/connections", &body).await;
    assert_eq!(made.status, 201, "{made:?}");
    made.json()["connection"]["id"].as_str().unwrap().to_owned()
}

async fn put(client: &KnowledgeClient, path: &str, body: &Value) -> Reply {
    reply(client.request(Method::PUT, path).json(body)).await
}

async fn put_prices(admin: &KnowledgeClient, prices: Value) {
    let set = put(admin, "/api/usage/prices", &json!({ "currency": "EUR", "prices": prices })).await;
    assert_eq!(set.status, 200, "{set:?}");
}

fn question(model: &str) -> Value {
    json!({ "query": QUESTION, "llmConfig": { "provider": "Own server", "model": model } })
}

async fn ask(client: &KnowledgeClient, model: &str) -> Reply {
    client.post_json("/api/chat", &question(model)).await
}

/// Completes a chat without documents.
async fn complete(client: &KnowledgeClient, model: &str) -> Reply {
    let body = json!({ "model": model, "max_tokens": 3, "messages": [{ "role": "user", "content": "Say something." }] });
    client.post_json("/v1/chat/completions", &body).await
}

/// Returns the name of the embedded model, as OpenAI's clients use it.
async fn embedded(client: &KnowledgeClient) -> String {
    let listed = client.get("/v1/models").await.json()["data"].clone();
    let ids = listed.as_array().unwrap().iter().filter_map(|model| model["id"].as_str());
    ids.filter(|id| id.starts_with("edge-ai/")).map(str::to_owned).next().unwrap()
}

async fn usage(client: &KnowledgeClient, query: &str) -> Value {
    let answer = client.get(&format!("/api/usage?{query}")).await;
    assert_eq!(answer.status, 200, "{query}: {answer:?}");
    answer.json().clone()
}

/// Returns `[key, calls, inputTokens, outputTokens, cost]` of each row.
async fn rows(client: &KnowledgeClient, query: &str) -> Value {
    let fields = ["key", "calls", "inputTokens", "outputTokens", "cost"];
    let answer = usage(client, query).await;
    let row = |row: &Value| fields.iter().map(|field| row[field].clone()).collect::<Value>();
    answer["rows"].as_array().unwrap().iter().map(row).collect()
}

/// Waits until so many calls have ended.
async fn wait_for_calls(admin: &KnowledgeClient, calls: i64) -> Value {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let answer = usage(admin, "by=model").await;
        if answer["totals"]["calls"] == calls {
            return answer;
        }
        assert!(Instant::now() < deadline, "not {calls} calls: {answer}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_call_counts_to_its_user_space_connection_model_and_purpose() {
    let all = Usage::start("Once a year [1].").await;
    let Usage { stoa, admin, ada, id, .. } = &all;
    let eve = admin.invite(stoa, "eve").await;
    let pumps = space(admin, json!({ "name": "Pumps" })).await;
    add(admin, &pumps, ada, "editor").await;
    let form = Form::new().text("spaceId", &pumps).file("file", "space.md", SEAL.as_bytes());
    assert_eq!(ada.submit("/api/ingest", form).await.status, 200);

    assert_eq!(ask(ada, "small").await.json()["response"], "Once a year [1].");
    let mut in_space = question("small");
    in_space["spaceId"] = json!(pumps);
    assert_eq!(ada.post_json("/api/chat", &in_space).await.status, 200);
    // One's own documents are no space.
    in_space["spaceId"] = json!(ada.id);
    assert_eq!(ada.post_json("/api/chat", &in_space).await.status, 200);
    assert_eq!(complete(&eve, "Own server/slow").await.status, 200);
    let tested = admin.post_json(&format!("/api/connections/{id}/test"), &json!({ "model": "small" })).await;
    assert_eq!(tested.json()["success"], true, "{tested:?}");

    let one = |key: &str, calls: i64| json!([key, calls, 11 * calls, 7 * calls, COST * calls as f64]);
    for (by, expected) in [
        ("user", json!([one(&ada.id, 3), one(&admin.id, 1), one(&eve.id, 1)])),
        ("space", json!([one("", 4), one(&pumps, 1)])),
        ("project", json!([one("", 5)])),
        ("connection", json!([one(id, 5)])),
        ("model", json!([one("small", 4), one("slow", 1)])),
        ("purpose", json!([one("chat", 3), one("api", 1), one("test", 1)])),
    ] {
        let mut found = rows(admin, &format!("by={by}")).await;
        let mut expected = expected;
        // Administrators and users have random ids, and here the same cost.
        for list in [&mut found, &mut expected] {
            list.as_array_mut().unwrap().sort_by_key(Value::to_string);
        }
        assert_eq!(found, expected, "by {by}");
        let totals = usage(admin, &format!("by={by}")).await["totals"].clone();
        assert_eq!((&totals["calls"], &totals["cost"]), (&json!(5), &json!(12.5)), "by {by}: {totals}");
        assert!(totals["seconds"].as_f64().unwrap() > 0.0, "the slow model took its time: {totals}");
    }
    let by_user = usage(admin, "by=user").await;
    let dearest = &by_user["rows"][0];
    assert_eq!(
        (&dearest["name"], &dearest["cost"]),
        (&json!("ada"), &json!(7.5)),
        "the dearest first: {by_user}"
    );
    assert_eq!(by_user["currency"], "EUR");
    assert_eq!(usage(admin, "by=connection").await["rows"][0]["name"], "Own server");
    let by_space = usage(admin, "by=space").await["rows"].clone();
    assert_eq!((&by_space[0]["name"], &by_space[1]["name"]), (&json!(""), &json!("Pumps")));

    assert_eq!(rows(admin, &format!("by=purpose&userId={}", eve.id)).await, json!([one("api", 1)]));
    assert_eq!(rows(admin, &format!("by=purpose&spaceId={pumps}")).await, json!([one("chat", 1)]));
    assert_eq!(rows(admin, "by=purpose&projectId=none").await, json!([]));
    let by_day = usage(admin, "").await;
    assert_eq!((&by_day["by"], by_day["rows"].as_array().unwrap().len()), (&json!("day"), 1), "{by_day}");
    let day = by_day["rows"][0]["key"].as_str().unwrap();
    let digits = day.split('-').map(str::len).collect::<Vec<usize>>();
    assert!(digits == [4, 2, 2] && day > "2026-01-01", "{day}");
    let (from, to) = (by_day["from"].as_i64().unwrap(), by_day["to"].as_i64().unwrap());
    assert_eq!(to - from, 30 * 86_400_000);
    assert_eq!(rows(admin, &format!("by=model&to={from}")).await, json!([]), "what came before");
    assert_eq!(rows(admin, &format!("by=model&from={from}&to={to}")).await.as_array().unwrap().len(), 2);
    for wrong in [format!("from={to}&to={from}"), "by=hour".to_owned(), "from=x".to_owned()] {
        assert_eq!(admin.get(&format!("/api/usage?{wrong}")).await.status, 400, "{wrong}");
    }

    // The rows stay when their user and space go, and are named by their ids.
    assert_eq!(admin.delete(&format!("/api/users/{}", eve.id)).await.status, 200);
    assert_eq!(admin.delete(&format!("/api/spaces/{pumps}")).await.status, 200);
    let by_user = usage(admin, "by=user").await["rows"].clone();
    let gone = by_user.as_array().unwrap().iter().find(|row| row["key"] == eve.id.as_str()).unwrap().clone();
    assert_eq!(gone["name"], eve.id.as_str(), "{by_user}");
    assert_eq!(usage(admin, "by=space").await["rows"][1]["name"], pumps.as_str());
}

#[tokio::test]
async fn calls_that_fail_or_are_left_have_rows_with_what_they_have_used() {
    let all = Usage::start("Once a year [1].").await;
    let Usage { vendor, admin, ada, .. } = &all;
    assert_eq!(ask(ada, "fail").await.status, 502);
    assert_eq!(ask(ada, "break").await.status, 502);
    let request = ada.request(Method::POST, "/api/chat").json(&question("hang"));
    let mut stream = request.header("accept", "text/event-stream").send().await.unwrap().bytes_stream();
    let mut seen = String::new();
    while !seen.contains("event: token") {
        seen += std::str::from_utf8(&stream.next().await.unwrap().unwrap()).unwrap();
    }
    drop(stream);
    let name = embedded(ada).await;
    let answer = complete(ada, &name).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let counted = answer.json()["usage"].clone();

    wait_for_calls(admin, 4).await;
    assert_eq!(vendor.asked().len(), 3);
    let found = rows(admin, "by=model").await;
    let of = |model: &str| {
        let found = found.as_array().unwrap().iter().find(|row| row[0] == model);
        found.unwrap_or_else(|| panic!("{model} in {found:?}")).clone()
    };
    assert_eq!(of("fail"), json!(["fail", 1, 0, 0, 0.0]), "nothing was answered");
    for model in ["break", "hang"] {
        let row = of(model);
        let [input, output] = [row[2].as_f64().unwrap(), row[3].as_f64().unwrap()];
        // `Once ` is two tokens by the estimate; the prompt has the document and what the agent is told.
        assert!(input > 50.0 && output == 2.0, "{row}");
        let cost = row[4].as_f64().unwrap();
        assert!((cost - (input * 0.1 + output * 0.2)).abs() < 1e-6, "{row}");
    }
    let own = name.strip_prefix("edge-ai/").unwrap();
    let expected = json!([own, 1, counted["prompt_tokens"], counted["completion_tokens"], 0.0]);
    assert_eq!(of(own), expected, "the embedded model is free");
    assert!(counted["completion_tokens"].as_i64().unwrap() > 0, "{counted}");
    let by_connection = rows(admin, "by=connection").await;
    assert!(by_connection.to_string().contains("[\"edge-ai\",1,"), "{by_connection}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cost_stays_as_it_was_when_prices_change_and_the_process_ends() {
    let all =
        Usage::start("Once a year, and more often if it leaks, which one sees by the oil on the floor [1].")
            .await;
    let Usage { admin, ada, id, .. } = &all;
    assert_eq!(ask(ada, "small").await.status, 200);
    put_prices(
        admin,
        json!([
            { "connection": "", "model": "s*", "inputPerMillion": 5, "outputPerMillion": 5 },
            { "connection": id, "model": "slow", "inputPerMillion": 1_000_000, "outputPerMillion": 0 },
            { "connection": "edge-ai", "model": "*", "inputPerMillion": 0, "outputPerMillion": 1_000_000 },
        ]),
    )
    .await;
    let listed = admin.get("/api/usage/prices").await.json().clone();
    assert_eq!(listed["prices"].as_array().unwrap().len(), 3);
    assert_eq!(
        listed["prices"][1],
        json!({ "connection": id, "model": "slow", "inputPerMillion": 1_000_000.0, "outputPerMillion": 0.0 })
    );
    assert_eq!(ask(ada, "small").await.status, 200);
    let name = embedded(ada).await;
    let written = complete(ada, &name).await.json()["usage"]["completion_tokens"].clone();
    // An answer that is being written when the process stops is written to its end, and its row, too.
    let talk = ada.post("/api/conversations").await.json()["id"].as_str().unwrap().to_owned();
    let asked = ada.post_json(&format!("/api/conversations/{talk}/messages"), &question("slow")).await;
    assert_eq!(asked.status, 202, "{asked:?}");
    let all = all.restart().await;
    let Usage { admin, .. } = &all;
    let own = name.strip_prefix("edge-ai/").unwrap();
    let found = rows(admin, "by=model").await;
    let row = |model: &str| found.as_array().unwrap().iter().find(|row| row[0] == model).cloned();
    assert_eq!(row("slow"), Some(json!(["slow", 1, 11, 7, 11.0])), "{found}");
    assert_eq!(row("small"), Some(json!(["small", 2, 22, 14, COST + 0.00009])), "{found}");
    let embedded = row(own).unwrap();
    assert_eq!((&embedded[3], &embedded[4]), (&written, &json!(written.as_f64())), "{found}");
}

#[tokio::test]
async fn the_csv_has_a_line_for_each_call_and_no_formula() {
    let all = Usage::start("Once a year [1].").await;
    let Usage { stoa, admin, ada, .. } = &all;
    let eve = admin.invite(stoa, "eve").await;
    assert_eq!(ask(ada, "=1+1").await.status, 200);
    assert_eq!(complete(&eve, "Own server/small").await.status, 200);
    let answer = admin.get("/api/usage.csv").await;
    assert_eq!(answer.header("content-type"), ["text/csv; charset=utf-8; header=present"]);
    let lines: Vec<&str> = answer.body.lines().collect();
    let columns = "time,user,purpose,space,project,connection,model,inputTokens,outputTokens,seconds,cost";
    assert_eq!((lines.len(), lines[0]), (3, columns), "{lines:?}");
    let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<String>>();
    let [first, second] = [lines[1], lines[2]].map(cells);
    assert_eq!(first[1..9], ["ada", "chat", "", "", "Own server", "\"'=1+1\"", "11", "7"]);
    assert_eq!(second[1..9], ["eve", "api", "", "", "Own server", "small", "11", "7"]);
    assert!(first[0].ends_with('Z') && first[0] <= second[0], "{lines:?}");
    assert_eq!((first[10].as_str(), second[10].as_str()), ("2.500000", "2.500000"));
    let of_eve = admin.get(&format!("/api/usage.csv?userId={}", eve.id)).await;
    assert_eq!(of_eve.body.lines().skip(1).collect::<Vec<&str>>(), [lines[2]]);

    // Who is not an administrator sees their own.
    assert_eq!(eve.get("/api/usage.csv").await.body, of_eve.body);
    assert_eq!(eve.get(&format!("/api/usage.csv?userId={}", eve.id)).await.body, of_eve.body);
    for by in ["day", "connection", "model", "purpose"] {
        assert_eq!(usage(&eve, &format!("by={by}")).await["totals"]["calls"], 1, "{by}");
    }
    for path in [
        format!("/api/usage?by=day&userId={}", ada.id),
        format!("/api/usage.csv?userId={}", ada.id),
        "/api/usage?by=user".to_owned(),
        "/api/usage?by=space".to_owned(),
        "/api/usage?by=project".to_owned(),
        "/api/usage/prices".to_owned(),
        "/api/usage/budgets".to_owned(),
    ] {
        assert_eq!(eve.get(&path).await.status, 403, "{path}");
    }
    for path in ["/api/usage/prices", "/api/usage/budgets"] {
        assert_eq!(put(&eve, path, &json!({})).await.status, 403, "{path}");
    }
}

/// Read in pages of 1,000, of which some end between calls of the same moment.
#[tokio::test]
async fn a_long_csv_has_each_call_once() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let rows = "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 3000)
        INSERT INTO model_calls SELECT 'call-' || n, 1700000000000 + n / 7, 'ada', 'chat', '', '', 'vendor-a', 'm' || n, 1, 2,
            3, 4 FROM numbers";
    execute(&database_of(&stoa), rows).await;
    let answer = admin.get("/api/usage.csv?from=1700000000000").await;
    let models: HashSet<&str> =
        answer.body.lines().skip(1).filter_map(|line| line.split(',').nth(6)).collect();
    assert_eq!((answer.body.lines().count(), models.len()), (3001, 3000));
    let totals = usage(&admin, "from=1700000000000&by=user").await["totals"].clone();
    assert_eq!(
        (&totals["calls"], &totals["seconds"], &totals["cost"]),
        (&json!(3000), &json!(9.0), &json!(0.012))
    );
}

#[tokio::test]
async fn a_wrong_table_of_prices_or_budgets_is_refused_whole() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let price = |connection: &str, model: &str, input: f64| json!({ "connection": connection, "model": model, "inputPerMillion": input, "outputPerMillion": 0 });
    let good = put(
        &admin,
        "/api/usage/prices",
        &json!({ "currency": "USD", "prices": [price("openai", "*", 0.15)] }),
    )
    .await;
    let vendor =
        json!([{ "connection": "vendor-a", "model": "*", "inputPerMillion": 0.15, "outputPerMillion": 0.0 }]);
    assert_eq!((good.status, &good.json()["prices"]), (200, &vendor), "{good:?}");
    for (currency, prices, says) in [
        ("euro", json!([]), "`currency`"),
        ("USD", json!([price("", "a", -1.0)]), "from 0"),
        ("USD", json!([price("", "a", 1e7)]), "from 0"),
        ("USD", json!([price("", "", 1.0)]), "`model`"),
        ("USD", json!([price("", "a*b", 1.0)]), "`model`"),
        ("USD", json!([price("", "a", 1.0), price("", "a", 2.0)]), "two entries"),
        (
            "USD",
            json!([price("", "a", 1.0), price("openai", "a", 2.0), price("vendor-a", "a", 2.0)]),
            "two entries",
        ),
        ("USD", json!(vec![price("", "a", 1.0); 1001]), "more than 1000"),
        ("USD", json!([{ "model": "a", "inputPerMillion": "1", "outputPerMillion": 0 }]), "inputPerMillion"),
    ] {
        let body = json!({ "currency": currency, "prices": prices });
        let answer = put(&admin, "/api/usage/prices", &body).await;
        assert!(answer.status == 400 && answer.body.contains(says), "{says}: {answer:?}");
    }
    assert_eq!(admin.get("/api/usage/prices").await.json()["prices"], vendor, "nothing has changed");
    for (budgets, says) in [
        (json!([{ "kind": "user" }]), "neither"),
        (json!([{ "kind": "user", "tokens": -1 }]), "`tokens`"),
        (json!([{ "kind": "user", "cost": -0.5 }]), "`cost`"),
        (json!([{ "kind": "all", "id": "x", "tokens": 1 }]), "`all`"),
        (json!([{ "kind": "team", "tokens": 1 }]), "kind"),
        (json!([{ "kind": "user", "tokens": 1 }, { "kind": "user", "id": null, "cost": 1 }]), "two entries"),
    ] {
        let answer = put(&admin, "/api/usage/budgets", &json!({ "budgets": budgets })).await;
        assert!(answer.status == 400 && answer.body.contains(says), "{says}: {answer:?}");
    }
    assert_eq!(admin.get("/api/usage/budgets").await.json()["budgets"], json!([]));
}
