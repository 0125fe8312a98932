//! Each row of the contract, field by field.

use e2e::knowledge_client::login_digest;
use e2e::{Form, KnowledgeClient, Stoa, get, reply};
use serde_json::{Value, json};

fn names(object: &Value) -> Vec<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

fn has_all(object: &Value, fields: &[&str]) {
    for field in fields {
        assert!(names(object).contains(field), "{field} in {object}");
    }
}

#[tokio::test]
async fn what_needs_no_session() {
    let stoa = Stoa::start_knowledge().serve();
    let base = format!("http://{}", stoa.knowledge.unwrap());
    let root = get(format!("{base}/")).await;
    assert_eq!(root.status, 200);
    has_all(&root.json(), &["service", "version", "status", "endpoints"]);
    for name in ["health", "auth", "signup", "ingest", "search", "graph", "chat"] {
        assert!(root.json()["endpoints"][name].as_str().unwrap().starts_with("/api/"), "{name}");
    }
    let health = get(format!("{base}/api/health")).await.json();
    assert!(health["timestamp"].as_i64().unwrap() > 1_767_225_600_000, "{health}");
    has_all(&health, &["status", "timestamp", "service"]);
    for path in ["/livez", "/readyz"] {
        let answer = get(format!("{base}{path}")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    // The same through the gateway, which adds nothing and takes nothing away.
    assert_eq!(get(stoa.url("/core/")).await.json(), root.json());
}

#[tokio::test]
async fn the_whole_walk_of_a_new_user() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let form = Form::new()
        .text("name", "Ada Solberg")
        .text("email", "ada@example.org")
        .text("password", "correct horse")
        .text("goals", "Keep the pumps running. Learn about varroa. Plan the next overhaul before winter.")
        .file("files[]", "pump.txt", b"The pump P-204 circulates coolant.")
        .file("files[]", "bees.md", b"# Varroa\n\nThe varroa mite weakens bees.");
    let signup = admin.submit("/api/signup", form).await;
    assert_eq!(signup.status, 200, "{signup:?}");
    let signup = signup.json();
    assert_eq!((&signup["success"], &signup["filesUploaded"]), (&json!(true), &json!(2)));
    assert!(signup["goalsSummary"].as_str().unwrap().contains("varroa"), "{signup}");
    let user_id = signup["userId"].as_str().unwrap();
    assert!(e2e::client::is_uuid(user_id) && user_id.as_bytes()[14] == b'4', "{user_id}");
    for file in signup["files"].as_array().unwrap() {
        has_all(file, &["id", "filename", "objectKey", "uploadedAt"]);
        let key = format!("users/{user_id}/documents/{}-{}", s(&file["id"]), s(&file["filename"]));
        assert_eq!(file["objectKey"], key);
    }

    let ada = KnowledgeClient::sign_in(&stoa, "ada@example.org", "correct horse").await;
    ada.settled(std::time::Duration::from_secs(20)).await;
    let form = Form::new()
        .text("userId", &ada.id)
        .text("metadata", r#"{"author": "A. Solberg", "category": "manual", "tags": "pump, coolant"}"#)
        .file("file", "impeller.txt", b"Dr. Ada Solberg inspected the impeller of P-204 in Rotterdam.");
    let ingest = ada.submit("/api/ingest", form).await;
    assert_eq!(ingest.status, 200, "{ingest:?}");
    let ingest = ingest.json();
    assert_eq!(
        names(&ingest),
        ["chunks", "documentId", "graphNodes", "objectKey", "status", "success"],
        "{ingest}"
    );
    assert_eq!((&ingest["status"], &ingest["chunks"]), (&json!("indexed"), &json!(1)));
    assert!(ingest["graphNodes"].as_i64().unwrap() > 0);

    let documents = ada.documents().await;
    assert_eq!(documents.len(), 3);
    has_all(
        &documents[0],
        &["id", "userId", "title", "objectKey", "uploadedAt", "status", "progress", "chunkCount", "metadata"],
    );
    assert_eq!(documents[0]["id"], ingest["documentId"], "newest first");
    assert_eq!(documents[0]["metadata"]["tags"], "pump, coolant");
    assert_eq!((&documents[0]["progress"], &documents[0]["chunkCount"]), (&json!(100), &json!(1)));

    let found = ada.get("/api/search?query=who%20looked%20at%20the%20impeller&topK=2").await.json();
    let results = found["results"].as_array().unwrap();
    assert_eq!(results.len(), 2, "{found}");
    has_all(&results[0], &["id", "documentId", "text", "score", "metadata"]);
    assert_eq!(results[0]["documentId"], ingest["documentId"]);
    assert_eq!(results[0]["metadata"]["documentTitle"], "impeller.txt");
    assert_eq!(results[0]["metadata"]["chunkIndex"], 0);
    assert_eq!(results[0]["text"], "Dr. Ada Solberg inspected the impeller of P-204 in Rotterdam.");

    let graph = ada.get(&format!("/api/graph?userId={}", ada.id)).await.json();
    for node in graph["nodes"].as_array().unwrap() {
        has_all(node, &["id", "label", "type", "documentIds"]);
    }
    for edge in graph["edges"].as_array().unwrap() {
        has_all(edge, &["source", "target", "type", "strength"]);
    }

    let reindexed = ada.post("/api/documents/reindex").await;
    assert_eq!(reindexed.json(), json!({ "success": true, "documentsReindexed": 3 }));
    let purged = ada.delete("/api/documents/purge-errors").await;
    assert_eq!(purged.json(), json!({ "success": true, "documentsPurged": 0 }));
}

#[tokio::test]
async fn login_answers_with_user_token_and_cookie() {
    let stoa = Stoa::start_knowledge().serve();
    let url = format!("http://{}/api/auth/login", stoa.knowledge.unwrap());
    let body = json!({ "username": "admin", "password": login_digest("admin", "password").to_uppercase() });
    let answer = reply(reqwest::Client::new().post(&url).body(body.to_string())).await;
    assert_eq!(answer.status, 200, "either case of the digits, whatever the Content-Type: {answer:?}");
    let token = answer.json()["token"].as_str().unwrap().to_owned();
    has_all(&answer.json()["user"], &["id", "username", "email", "name", "isAdmin", "goals", "lastLogin"]);
    let cookie = format!("service_session={token}; HttpOnly; SameSite=Lax; Path=/; Max-Age=604800");
    assert_eq!(answer.header("set-cookie"), [cookie.as_str()]);
    let request =
        reqwest::Client::new().post(&url).header("x-forwarded-proto", "https").body(body.to_string());
    let cookie = reply(request).await.header("set-cookie")[0].to_owned();
    assert!(cookie.ends_with("Max-Age=604800"), "anybody can say so: {cookie}");
    for (name, value) in [("cookie", format!("a=b; service_session={token}")), ("x-api-key", token.clone())] {
        let url = format!("http://{}/api/documents", stoa.knowledge.unwrap());
        let answer = reply(reqwest::Client::new().get(url).header(name, value)).await;
        assert_eq!((answer.status, answer.header("cache-control")), (200, vec!["no-store"]), "{name}");
    }
}

#[tokio::test]
async fn the_cookie_is_secure_when_a_trusted_proxy_says_so_to_the_gateway() {
    // An address of its own: the knowledge service sees only the gateway's.
    let stoa = Stoa::start().only("gateway,knowledge").set("TRUSTED_PROXIES", "127.0.0.2").serve();
    let body = json!({ "username": "admin", "password": login_digest("admin", "password") });
    let secure = async |address: &str, url: String| {
        let address: std::net::IpAddr = address.parse().unwrap();
        let client = reqwest::Client::builder().local_address(address).build().unwrap();
        let request = client.post(url).header("x-forwarded-proto", "https").json(&body);
        reply(request).await.header("set-cookie")[0].ends_with("; Secure")
    };
    let direct = || format!("http://{}/api/auth/login", stoa.knowledge.unwrap());
    assert!(secure("127.0.0.2", stoa.url("/core/api/auth/login")).await);
    assert!(secure("127.0.0.2", direct()).await);
    assert!(!secure("127.0.0.1", stoa.url("/core/api/auth/login")).await);
    assert!(!secure("127.0.0.1", direct()).await);
}

#[tokio::test]
async fn unknown_paths_methods_and_bodies_come_in_the_error_shape() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let login = |body: &str| admin.request(reqwest::Method::POST, "/api/auth/login").body(body.to_owned());
    for (answer, status) in [
        (admin.get("/api/nowhere").await, 404),
        (admin.post("/api/documents").await, 405),
        (reply(login("{")).await, 400),
        (reply(login("[]")).await, 400),
        (reply(login(r#"{"username": "admin"}"#)).await, 400),
        (reply(login(r#"{"username": 1, "password": "x"}"#)).await, 400),
        (reply(login(&"[".repeat(100))).await, 400),
        (reply(login(&format!("\"{}\"", "x".repeat(1 << 20)))).await, 413),
        (admin.post("/api/ingest").await, 400),
        (admin.post("/api/signup").await, 400),
    ] {
        assert_eq!(answer.status, status, "{answer:?}");
        assert_eq!(answer.json()["success"], false, "{answer:?}");
        assert!(!s(&answer.json()["error"]).is_empty(), "{answer:?}");
        assert_eq!(answer.header("x-request-id").len(), 1);
    }
    assert_eq!(admin.post("/api/documents").await.header("allow"), ["GET,HEAD"]);
}

fn s(value: &Value) -> &str {
    value.as_str().unwrap()
}
