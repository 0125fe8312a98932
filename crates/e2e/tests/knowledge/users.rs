//! What administrators change of other users: rights, names, passwords, and whether they may come in at all.

use super::administrators::gateway_login;
use e2e::knowledge_client::login_digest;
use e2e::postgres::Postgres;
use e2e::{Form, KnowledgeClient, Reply, Stoa, reply};
use reqwest::Method;
use serde_json::{Value, json};

const PASSWORD: &str = "correct horse";

async fn login(stoa: &Stoa, name: &str, password: &str) -> Reply {
    let url = format!("http://{}/api/auth/login", stoa.knowledge.unwrap());
    let body = json!({ "username": name, "password": login_digest(name, password) });
    reply(reqwest::Client::new().post(url).json(&body)).await
}

async fn change(admin: &KnowledgeClient, id: &str, changes: Value) -> Reply {
    reply(admin.request(Method::PATCH, &format!("/api/users/{id}")).json(&changes)).await
}

async fn set_password(admin: &KnowledgeClient, id: &str, password: &str) -> Reply {
    admin.post_json(&format!("/api/users/{id}/password"), &json!({ "password": password })).await
}

/// Signs up another administrator and signs in as them.
async fn second_admin(stoa: &Stoa, admin: &KnowledgeClient) -> KnowledgeClient {
    let form = Form::new().text("name", "Bob").text("email", "bob@example.org").text("username", "bob");
    let form = form.text("password", PASSWORD).text("isAdmin", "true");
    assert_eq!(admin.submit("/api/signup", form).await.status, 200);
    KnowledgeClient::sign_in(stoa, "bob", PASSWORD).await
}

async fn a_disabled_user_is_kept_out(stoa: Stoa) {
    let admin = KnowledgeClient::admin(&stoa).await;
    let ada = admin.invite(&stoa, "ada").await;
    ada.ingest_text("a.txt", "The pump circulates coolant.").await;
    let answer = change(&admin, &ada.id, json!({ "disabled": true })).await;
    assert_eq!((answer.status, &answer.json()["user"]["disabled"]), (200, &json!(true)));
    assert_eq!(ada.get("/api/auth/me").await.status, 401, "the session has ended");
    let refused = login(&stoa, "ada@example.org", PASSWORD).await;
    assert_eq!(refused.status, 403, "{refused:?}");
    assert!(refused.json()["error"].as_str().unwrap().contains("this account is disabled"), "{refused:?}");
    assert_eq!(login(&stoa, "ada@example.org", "wrong").await.status, 401, "only a right password is told");

    let listed = admin.get("/api/users").await.json();
    let listed: Vec<&Value> = listed["users"].as_array().unwrap().iter().collect();
    assert_eq!((&listed[0]["disabled"], &listed[0]["documents"]), (&json!(false), &json!(0)));
    assert_eq!((&listed[1]["disabled"], &listed[1]["documents"]), (&json!(true), &json!(1)));

    assert_eq!(set_password(&admin, &ada.id, "battery staple").await.status, 200);
    assert_eq!(login(&stoa, "ada@example.org", "battery staple").await.status, 403, "still disabled");
    assert_eq!(change(&admin, &ada.id, json!({ "disabled": false })).await.status, 200);
    assert_eq!(ada.get("/api/auth/me").await.status, 401, "the old session does not come back");
    let ada = KnowledgeClient::sign_in(&stoa, "ada@example.org", "battery staple").await;
    assert_eq!(ada.find("coolant").await.len(), 1, "the documents are there still");
}

#[tokio::test]
async fn a_disabled_user_is_kept_out_on_sqlite() {
    a_disabled_user_is_kept_out(Stoa::start_knowledge().serve()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disabled_user_is_kept_out_on_postgres() {
    let database = Postgres::shared().await.database().await;
    a_disabled_user_is_kept_out(Stoa::start_knowledge().set("DATABASE_URL", &database).serve()).await;
}

#[tokio::test]
async fn an_administrator_is_always_left() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    for changes in [json!({ "disabled": true }), json!({ "isAdmin": false })] {
        assert_eq!(change(&admin, &admin.id, changes).await.status, 409, "not oneself");
    }
    let bob = second_admin(&stoa, &admin).await;
    assert_eq!(gateway_login(&stoa, "bob", PASSWORD).await.status, 200);
    // Both at once, each the other: one of them stays.
    let disabled = json!({ "disabled": true });
    let (one, other) =
        tokio::join!(change(&admin, &bob.id, disabled.clone()), change(&bob, &admin.id, disabled.clone()));
    let (kept, out) = match (one.status, other.status) {
        (200, 401 | 403 | 409) => (&admin, &bob),
        (401 | 403 | 409, 200) => (&bob, &admin),
        statuses => panic!("{statuses:?}"),
    };
    assert_eq!((kept.get("/api/users").await.status, out.get("/api/users").await.status), (200, 401));
    let (name, password) = if out.username == "bob" { ("bob", PASSWORD) } else { ("admin", "password") };
    assert_eq!(gateway_login(&stoa, name, password).await.status, 401, "the gateway knows it too");

    // Enabled again, the gateway knows them after a new password.
    assert_eq!(change(kept, &out.id, json!({ "disabled": false })).await.status, 200);
    assert_eq!(login(&stoa, name, password).await.status, 200);
    assert_eq!(set_password(kept, &out.id, "battery staple").await.status, 200);
    assert_eq!(login(&stoa, name, "battery staple").await.status, 200);
    assert_eq!(gateway_login(&stoa, name, "battery staple").await.status, 200);
}

#[tokio::test]
async fn a_token_of_a_disabled_administrator_is_refused_soon() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let bob = second_admin(&stoa, &admin).await;
    let token = super::administrators::gateway_token(&stoa, "bob", PASSWORD).await;
    let ask = || reply(reqwest::Client::new().get(stoa.url("/core/api/users")).bearer_auth(&token));
    assert_eq!(ask().await.status, 200);
    assert_eq!(change(&admin, &bob.id, json!({ "disabled": true })).await.status, 200);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(15);
    while ask().await.status == 200 {
        assert!(std::time::Instant::now() < deadline, "the token is accepted still");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn rights_come_and_go() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let ada = admin.invite(&stoa, "ada").await;
    assert_eq!(change(&admin, &ada.id, json!({ "isAdmin": true })).await.status, 200);
    assert_eq!(ada.get("/api/users").await.status, 200);
    assert_eq!(gateway_login(&stoa, "ada@example.org", PASSWORD).await.status, 401);
    assert_eq!(set_password(&admin, &ada.id, "battery staple").await.status, 200);
    assert_eq!(gateway_login(&stoa, "ada@example.org", "battery staple").await.status, 200);
    let ada = KnowledgeClient::sign_in(&stoa, "ada@example.org", "battery staple").await;
    assert_eq!(change(&admin, &ada.id, json!({ "isAdmin": false })).await.status, 200);
    assert_eq!(gateway_login(&stoa, "ada@example.org", "battery staple").await.status, 401);
    assert_eq!((ada.get("/api/auth/me").await.status, ada.get("/api/users").await.status), (200, 403));
    assert_eq!(login(&stoa, "ada@example.org", "battery staple").await.status, 200);
}

#[tokio::test]
async fn names_addresses_and_goals_are_changed() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let (ada, eve) = (admin.invite(&stoa, "ada").await, admin.invite(&stoa, "eve").await);
    let changes = json!({ "name": " Ada Solberg ", "email": "solberg@example.org", "goals": "Keep the pumps running." });
    let user = change(&admin, &ada.id, changes).await.json()["user"].clone();
    assert_eq!((&user["name"], &user["email"]), (&json!("Ada Solberg"), &json!("solberg@example.org")));
    assert_eq!(user["username"], "ada@example.org", "the name to sign in with stays");
    assert!(!user["goalsSummary"].as_str().unwrap().is_empty());
    assert_eq!(ada.get("/api/auth/me").await.json()["user"], user);
    assert_eq!(login(&stoa, "ada@example.org", PASSWORD).await.status, 200);
    assert_eq!(login(&stoa, "solberg@example.org", PASSWORD).await.status, 401, "not before a new password");
    assert_eq!(set_password(&admin, &ada.id, "battery staple").await.status, 200);
    assert_eq!(ada.get("/api/auth/me").await.status, 401, "a new password ends sessions");
    for name in ["ada@example.org", "solberg@example.org"] {
        assert_eq!(login(&stoa, name, "battery staple").await.status, 200, "{name}");
    }
    let again = change(&admin, &ada.id, json!({ "email": "ada2@example.org" })).await;
    assert_eq!(again.status, 200, "{again:?}");
    assert_eq!(login(&stoa, "solberg@example.org", "battery staple").await.status, 401, "given up");
    let takes_it = change(&admin, &eve.id, json!({ "email": "solberg@example.org" })).await;
    assert_eq!(takes_it.status, 200, "free again");

    for (changes, status) in [
        (json!({ "email": "ada2@example.org" }), 400),
        (json!({ "email": "admin" }), 400),
        (json!({ "email": "ADA@example.org" }), 400),
        (json!({ "name": " " }), 400),
        (json!({ "name": "x".repeat(255) }), 400),
        (json!({ "name": "a\u{0}b" }), 400),
        (json!({ "disabled": "yes" }), 400),
        (json!({ "goals": "x".repeat(300_000) }), 413),
        (json!([]), 400),
        (json!({}), 200),
    ] {
        assert_eq!(change(&admin, &eve.id, changes.clone()).await.status, status, "{changes}");
    }
    for (password, status) in [("short", 400), ("", 400)] {
        assert_eq!(set_password(&admin, &eve.id, password).await.status, status);
    }
    for id in ["nothing", "%00"] {
        assert_eq!(change(&admin, id, json!({ "name": "x" })).await.status, 404, "{id}");
        assert_eq!(set_password(&admin, id, "battery staple").await.status, 404, "{id}");
    }
    // Only an administrator may.
    for id in [&ada.id, &eve.id] {
        let eve = KnowledgeClient::sign_in(&stoa, "eve@example.org", PASSWORD).await;
        assert_eq!(change(&eve, id, json!({ "isAdmin": true })).await.status, 403);
        assert_eq!(set_password(&eve, id, "battery staple").await.status, 403);
    }
}
