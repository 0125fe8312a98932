//! Who somebody is: signing in and out, passwords, administrators, and pages of other sites.

use e2e::knowledge_client::login_digest;
use e2e::{Form, KnowledgeClient, Stoa, reply};
use reqwest::Method;
use serde_json::{Value, json};

async fn login(stoa: &Stoa, name: &str, digest: &str) -> e2e::Reply {
    let url = format!("http://{}/api/auth/login", stoa.knowledge.unwrap());
    let body = json!({ "username": name, "password": digest });
    reply(reqwest::Client::new().post(url).json(&body)).await
}

fn new_user(email: &str) -> Form {
    Form::new().text("name", "Somebody").text("email", email).text("password", "correct horse")
}

#[tokio::test]
async fn nothing_but_the_front_page_is_open_without_a_session() {
    let stoa = Stoa::start_knowledge().serve();
    let base = format!("http://{}", stoa.knowledge.unwrap());
    for (method, path) in [
        ("POST", "/api/auth/logout"),
        ("POST", "/api/auth/password"),
        ("GET", "/api/auth/me"),
        ("PATCH", "/api/auth/me"),
        ("POST", "/api/auth/token"),
        ("GET", "/api/auth/sessions"),
        ("DELETE", "/api/auth/sessions"),
        ("DELETE", "/api/auth/sessions/x"),
        ("GET", "/api/users/x/sessions"),
        ("DELETE", "/api/users/x/sessions"),
        ("DELETE", "/api/users/x/sessions/x"),
        ("GET", "/api/links"),
        ("POST", "/api/links"),
        ("DELETE", "/api/links/x"),
        ("POST", "/api/signup"),
        ("GET", "/api/users"),
        ("DELETE", "/api/users/x"),
        ("PATCH", "/api/users/x"),
        ("POST", "/api/users/x/password"),
        ("GET", "/api/models"),
        ("GET", "/api/providers"),
        ("POST", "/api/ingest"),
        ("GET", "/api/documents"),
        ("POST", "/api/documents/reindex"),
        ("DELETE", "/api/documents/purge-errors"),
        ("GET", "/api/documents/events"),
        ("GET", "/api/documents/x"),
        ("DELETE", "/api/documents/x"),
        ("GET", "/api/documents/x/content"),
        ("GET", "/api/documents/x/text"),
        ("POST", "/api/documents/x/reindex"),
        ("POST", "/api/documents/x/cancel"),
        ("GET", "/api/graph/search?q=x"),
        ("GET", "/api/graph/nodes/x"),
        ("GET", "/api/search?query=x"),
        ("GET", "/api/graph"),
    ] {
        for (name, value) in [("x-nothing", ""), ("x-api-key", "f00d"), ("cookie", "service_session=f00d")] {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let request = reqwest::Client::new().request(method.clone(), format!("{base}{path}"));
            let answer = reply(request.header(name, value)).await;
            assert_eq!(answer.status, 401, "{method} {path} with {name}: {answer:?}");
            assert_eq!(answer.json()["success"], false);
        }
    }
}

#[tokio::test]
async fn one_signs_in_with_the_username_or_the_email_address() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let form = new_user("Ada@example.org").text("username", "ada");
    assert_eq!(admin.submit("/api/signup", form).await.status, 200);
    for name in ["ada", "Ada@example.org"] {
        let answer = login(&stoa, name, &login_digest(name, "correct horse")).await;
        assert_eq!(answer.status, 200, "{name}: {answer:?}");
        assert_eq!(answer.json()["user"]["username"], "ada");
        assert_eq!(answer.json()["user"]["isAdmin"], false);
    }
    let wrong = login(&stoa, "ada", &login_digest("ada", "wrong")).await;
    let unknown = login(&stoa, "eve", &login_digest("eve", "wrong")).await;
    let without_id = |reply: &e2e::Reply| (reply.status, reply.body.clone());
    assert_eq!(without_id(&wrong), without_id(&unknown));
    assert_eq!(wrong.status, 401);
    // The digest of one name is none of another, and the password itself is no digest.
    assert_eq!(login(&stoa, "ada", &login_digest("Ada@example.org", "correct horse")).await.status, 401);
    assert_eq!(login(&stoa, "ada", "correct horse").await.status, 401);
    assert_eq!(login(&stoa, "a\0b", "x").await.status, 401);
}

#[tokio::test]
async fn signing_up_checks_every_field_and_leaves_nothing_behind() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let ada = admin.invite(&stoa, "ada").await;
    let refused = ada.submit("/api/signup", new_user("eve@example.org")).await;
    assert_eq!(refused.status, 403);
    assert!(refused.body.contains("contact an administrator"), "{refused:?}");
    for form in [
        new_user("ada@example.org"),
        new_user("ADA@example.org"),
        new_user("admin@x").text("username", "admin"),
        new_user("not an address"),
        new_user("two@at@signs"),
        new_user("@example.org"),
        Form::new().text("name", "x").text("email", "x@example.org").text("password", "7 chars"),
        Form::new().text("name", "x").text("email", "x@example.org"),
        Form::new().text("email", "x@example.org").text("password", "correct horse"),
        Form::new().text("name", " ").text("email", "x@example.org").text("password", "correct horse"),
        new_user("x@example.org").text("name", "twice"),
    ] {
        let answer = admin.submit("/api/signup", form).await;
        assert_eq!(answer.status, 400, "{answer:?}");
    }
    let users = admin.get("/api/users").await.json();
    assert_eq!(users["users"].as_array().unwrap().len(), 2, "{users}");
}

#[tokio::test]
async fn many_sign_up_under_one_address_at_once_and_one_gets_it() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let attempts = (0..8).map(|_| admin.submit("/api/signup", new_user("ada@example.org")));
    let mut statuses = Vec::new();
    for attempt in futures(attempts).await {
        statuses.push(attempt.status);
    }
    statuses.sort();
    assert_eq!(statuses, [200, 400, 400, 400, 400, 400, 400, 400]);
}

async fn futures<F: Future<Output = e2e::Reply>>(all: impl Iterator<Item = F>) -> Vec<e2e::Reply> {
    let mut all: Vec<_> = all.map(Box::pin).collect();
    let mut done = Vec::new();
    std::future::poll_fn(|context| {
        all.retain_mut(|future| match future.as_mut().poll(context) {
            std::task::Poll::Ready(reply) => {
                done.push(reply);
                false
            }
            std::task::Poll::Pending => true,
        });
        if all.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    done
}

#[tokio::test]
async fn sessions_end_with_logout_a_new_password_and_the_user() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let ada = admin.invite(&stoa, "ada").await;
    let again = KnowledgeClient::sign_in(&stoa, "ada@example.org", "correct horse").await;
    assert_eq!(again.post("/api/auth/logout").await.status, 200);
    assert_eq!((again.get("/api/auth/me").await.status, ada.get("/api/auth/me").await.status), (401, 200));

    let change = |current: &str, new: &str| {
        let body = json!({ "currentPassword": current, "newPassword": new });
        reply(ada.request(Method::POST, "/api/auth/password").json(&body))
    };
    assert_eq!(change("wrong horse", "battery staple").await.status, 401);
    assert_eq!(change("correct horse", "short").await.status, 400);
    assert_eq!(change("correct horse", "battery staple").await.status, 200);
    assert_eq!(ada.get("/api/auth/me").await.status, 401);
    assert_eq!(login(&stoa, &ada.username, &login_digest(&ada.username, "correct horse")).await.status, 401);
    let ada = KnowledgeClient::sign_in(&stoa, "ada@example.org", "battery staple").await;

    assert_eq!(ada.delete(&format!("/api/users/{}", admin.id)).await.status, 403);
    assert_eq!(admin.delete(&format!("/api/users/{}", admin.id)).await.status, 400);
    assert_eq!(admin.delete("/api/users/nobody").await.status, 404);
    ada.ingest_text("a.txt", "The pump circulates coolant.").await;
    assert_eq!(admin.delete(&format!("/api/users/{}", ada.id)).await.status, 200);
    assert_eq!(ada.get("/api/auth/me").await.status, 401);
    let users: Value = admin.get("/api/users").await.json();
    assert_eq!(users["users"].as_array().unwrap().len(), 1);
    super::lifecycle::no_files_are_left(&stoa).await;
}

#[tokio::test]
async fn guessing_is_throttled_by_name() {
    let stoa = Stoa::start_knowledge().serve();
    for attempt in 0..11 {
        let answer = login(&stoa, "admin", &login_digest("admin", "wrong")).await;
        assert_eq!(answer.status, if attempt < 10 { 401 } else { 429 }, "attempt {attempt}");
        if attempt == 10 {
            assert!(answer.header("retry-after")[0].parse::<u64>().unwrap() <= 900);
        }
    }
    let right = login(&stoa, "admin", &login_digest("admin", "password")).await;
    assert_eq!(right.status, 429, "also with the right password");
}

#[tokio::test]
async fn the_gateways_administrator_is_one_here_and_its_guest_is_refused() {
    let stoa = Stoa::start_knowledge().serve();
    let client = reqwest::Client::new();
    let body = json!({ "username": "admin", "password": "password" });
    let token = reply(client.post(stoa.url("/auth/login")).json(&body)).await.json()["token"].clone();
    let ask = |token: &Value| client.get(stoa.url("/core/api/users")).bearer_auth(token.as_str().unwrap());
    let users = reply(ask(&token)).await;
    assert_eq!(users.status, 200, "{users:?}");
    let guest = reply(client.post(stoa.url("/auth/guest")).body(r#"{"route":"CORE"}"#)).await.json();
    assert_eq!(reply(ask(&guest["token"])).await.status, 401);
    // A session's token, behind the gateway, in the header that the gateway leaves alone.
    let admin = KnowledgeClient::admin(&stoa).await;
    let with_key = client.get(stoa.url("/core/api/users")).header("x-api-key", &admin.token);
    assert_eq!(reply(with_key).await.status, 200);
    // An identity that the gateway has not signed is refused.
    let url = format!("http://{}/api/users", stoa.knowledge.unwrap());
    for identity in ["admin", token.as_str().unwrap(), ""] {
        let forged = client.get(&url).header("x-gateway-identity", identity);
        assert_eq!(reply(forged).await.status, 403);
    }
}

#[tokio::test]
async fn a_page_of_another_site_cannot_act_with_the_cookie() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let knowledge = stoa.knowledge.unwrap();
    let ask_with = |method: Method, header: &'static str, value: &str| {
        let url = format!("http://{knowledge}/api/documents/purge-errors");
        let request = reqwest::Client::new().request(method, url).header(header, value.to_owned());
        reply(request.header("cookie", format!("service_session={}", admin.token)))
    };
    let ask = |method: Method, origin: &str| ask_with(method, "origin", origin);
    let own = format!("http://{knowledge}");
    assert_eq!(ask(Method::DELETE, &own).await.status, 200);
    for origin in ["https://evil.example", "null", "http://127.0.0.1:1"] {
        assert_eq!(ask(Method::DELETE, origin).await.status, 403, "{origin}");
    }
    // A browser may leave `Origin` out, and says this in any case.
    for (site, status) in [("same-origin", 200), ("none", 200), ("same-site", 403), ("cross-site", 403)] {
        let answer = ask_with(Method::DELETE, "sec-fetch-site", site).await;
        assert_eq!(answer.status, status, "{site}: {answer:?}");
    }
    let login = reqwest::Client::new()
        .post(format!("http://{knowledge}/api/auth/login"))
        .header("origin", "https://evil.example")
        .body(json!({ "username": "admin", "password": login_digest("admin", "password") }).to_string());
    assert_eq!(reply(login).await.status, 403, "nor sign a visitor in to somebody else's account");
    let through_gateway = reqwest::Client::new()
        .delete(stoa.url("/core/api/documents/purge-errors"))
        .header("cookie", format!("service_session={}", admin.token))
        .header("origin", format!("http://{}", stoa.gateway));
    assert_eq!(reply(through_gateway).await.status, 200);
}

#[tokio::test]
async fn users_with_long_goals_come_in_pages() {
    use sqlx::Connection;
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let url = format!("sqlite://{}", stoa.data.path().join("stoa.db").display());
    let mut connection = sqlx::SqliteConnection::connect(&url).await.unwrap();
    let insert = "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 20)
        INSERT INTO users (id, username, email, name, is_admin, goals, goals_summary, created_at, last_login)
        SELECT 'user-' || n, 'user-' || n, n || '@example.org', 'Somebody', 0, printf('%200000d', n), '', 1, 0 FROM numbers";
    sqlx::query(insert).execute(&mut connection).await.unwrap();
    let (mut seen, mut pages, mut query) = (Vec::new(), 0, String::new());
    loop {
        let answer = admin.get(&format!("/api/users{query}")).await;
        assert!(answer.body.len() < 1 << 20, "{}", answer.body.len());
        pages += 1;
        let users = answer.json()["users"].clone();
        seen.extend(users.as_array().unwrap().iter().map(|user| user["id"].to_string()));
        let Some(link) = answer.header("link").first().map(ToString::to_string) else { break };
        query = link.trim_start_matches('<').split('>').next().unwrap().to_owned();
    }
    assert_eq!((pages, seen.len()), (4, 21));
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 21);
}
