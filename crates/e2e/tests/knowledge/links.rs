//! Links that administrators hand out: invitations, and links to set a new password.

use super::administrators::gateway_login;
use e2e::knowledge_client::login_digest;
use e2e::postgres::Postgres;
use e2e::{KnowledgeClient, Reply, Stoa, reply};
use reqwest::{Client, Method};
use serde_json::{Value, json};

/// Makes a link and returns its token.
async fn link(admin: &KnowledgeClient, body: Value) -> String {
    let made = admin.post_json("/api/links", &body).await;
    assert_eq!(made.status, 201, "{made:?}");
    made.json()["token"].as_str().unwrap().to_owned()
}

/// Calls a public endpoint, without a session.
async fn public(stoa: &Stoa, path: &str, body: Value) -> Reply {
    reply(Client::new().post(stoa.url(&format!("/core{path}"))).json(&body)).await
}

async fn open(stoa: &Stoa, token: &str) -> Reply {
    public(stoa, "/api/auth/link", json!({ "token": token })).await
}

async fn accept(stoa: &Stoa, body: Value) -> Reply {
    public(stoa, "/api/auth/link/accept", body).await
}

fn newcomer(token: &str, name: &str) -> Value {
    let email = format!("{name}@example.org");
    json!({ "token": token, "name": name, "email": email, "username": name, "password": "correct horse" })
}

async fn links(admin: &KnowledgeClient) -> Vec<Value> {
    admin.get("/api/links").await.json()["links"].as_array().unwrap().clone()
}

async fn an_invitation_makes_one_account(stoa: Stoa) {
    let admin = KnowledgeClient::admin(&stoa).await;
    let token = link(&admin, json!({ "name": "Ada Solberg" })).await;
    let opened = open(&stoa, &token).await;
    assert_eq!(opened.status, 200, "{opened:?}");
    let opened = opened.json();
    assert_eq!([&opened["kind"], &opened["name"], &opened["email"]], ["invitation", "Ada Solberg", ""]);
    let listed = links(&admin).await;
    assert_eq!((listed.len(), &listed[0]["name"]), (1, &json!("Ada Solberg")));
    assert!(!listed[0].to_string().contains(&token), "only the person who is invited has the token");

    // What is wrong with the answer does not use the invitation up.
    for (wrong, value) in [("password", "short"), ("email", "nothing"), ("username", "a b"), ("name", "")] {
        let mut body = newcomer(&token, "ada");
        body[wrong] = json!(value);
        let refused = accept(&stoa, body).await;
        assert_eq!(refused.status, 400, "{wrong}: {refused:?}");
    }
    let mut taken = newcomer(&token, "ada");
    taken["username"] = json!("admin");
    assert_eq!(accept(&stoa, taken).await.status, 400);
    let mut sneaky = newcomer(&token, "ada");
    sneaky["isAdmin"] = json!(true);

    // Twice at the same time, it makes one account.
    let (one, two) = tokio::join!(accept(&stoa, sneaky), accept(&stoa, newcomer(&token, "eve")));
    let mut statuses = [one.status, two.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 404], "{one:?} {two:?}");
    let made = if one.status == 200 { one } else { two }.json()["username"].as_str().unwrap().to_owned();
    let user = KnowledgeClient::sign_in(&stoa, &made, "correct horse").await;
    assert_eq!(user.get("/api/auth/me").await.json()["user"]["isAdmin"], false);
    KnowledgeClient::sign_in(&stoa, &format!("{made}@example.org"), "correct horse").await;
    assert_eq!(admin.get("/api/users").await.json()["users"].as_array().unwrap().len(), 2);
    assert_eq!(open(&stoa, &token).await.status, 404, "it was used");
    assert!(links(&admin).await.is_empty());
}

#[tokio::test]
async fn an_invitation_makes_one_account_on_sqlite() {
    an_invitation_makes_one_account(Stoa::start().only("gateway,knowledge").serve()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_makes_one_account_on_postgres() {
    let database = Postgres::shared().await.database().await;
    let start = Stoa::start().only("gateway,knowledge").set("DATABASE_URL", &database);
    an_invitation_makes_one_account(start.serve()).await;
}

#[tokio::test]
async fn an_address_that_the_administrator_names_stays() {
    let stoa = Stoa::start().only("gateway,knowledge").serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let token = link(&admin, json!({ "email": "ada@example.org" })).await;
    let mut body = newcomer(&token, "eve");
    body.as_object_mut().unwrap().remove("username");
    let accepted = accept(&stoa, body).await;
    assert_eq!(accepted.json()["username"], "ada@example.org", "{accepted:?}");
    for email in ["ada@example.org", "ADA@example.org", "admin", "a b@example.org"] {
        let refused = admin.post_json("/api/links", &json!({ "email": email })).await;
        assert_eq!(refused.status, 400, "{email}: {refused:?}");
    }
    for hours in [json!(0), json!(721), json!("x"), json!(-1)] {
        assert_eq!(admin.post_json("/api/links", &json!({ "hours": hours })).await.status, 400, "{hours}");
    }
}

#[tokio::test]
async fn a_link_that_is_withdrawn_or_made_up_opens_nothing() {
    let stoa = Stoa::start().only("gateway,knowledge").serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let eve = admin.invite(&stoa, "eve").await;
    let token = link(&admin, json!({})).await;
    let id = links(&admin).await[0]["id"].as_str().unwrap().to_owned();
    let path = format!("/api/links/{id}");
    let refused = [
        eve.get("/api/links").await.status,
        eve.delete(&path).await.status,
        eve.post_json("/api/links", &json!({ "userId": admin.id })).await.status,
    ];
    assert_eq!(refused, [403; 3]);
    assert_eq!(admin.delete(&path).await.status, 200);
    assert_eq!(admin.delete(&path).await.status, 404);
    for bad in [token.as_str(), id.as_str(), "", "x", &"f".repeat(9000), "\u{e4}"] {
        assert_eq!(open(&stoa, bad).await.status, 404, "{bad}");
        assert_eq!(accept(&stoa, newcomer(bad, "mallory")).await.status, 404, "{bad}");
    }
    assert_eq!(public(&stoa, "/api/auth/link", json!({})).await.status, 400);
    let unknown = json!({ "userId": "5f0c1d9e-8b1a-4c55-9d0e-0a1b2c3d4e5f" });
    assert_eq!(admin.post_json("/api/links", &unknown).await.status, 404);
}

#[tokio::test]
async fn guesses_are_throttled() {
    let stoa = Stoa::start().only("gateway,knowledge").serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let token = link(&admin, json!({})).await;
    for _ in 0..60 {
        assert_eq!(open(&stoa, &token).await.status, 200, "a right one is not counted");
    }
    let mut statuses = Vec::new();
    for guess in 0..51 {
        statuses.push(open(&stoa, &guess.to_string()).await.status);
    }
    assert_eq!(statuses.iter().filter(|status| **status == 404).count(), 50);
    assert_eq!(statuses.last(), Some(&429));
}

#[tokio::test]
async fn a_link_sets_a_new_password_once_and_ends_all_sessions() {
    let stoa = Stoa::start().only("gateway,knowledge").serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let ada = admin.invite(&stoa, "ada").await;
    let first = link(&admin, json!({ "userId": ada.id })).await;
    let token = link(&admin, json!({ "userId": ada.id, "hours": 1 })).await;
    assert_eq!(open(&stoa, &first).await.status, 404, "a new link takes the place of the one before");
    assert_eq!((links(&admin).await.len(), &links(&admin).await[0]["userId"]), (1, &json!(ada.id)));
    let opened = open(&stoa, &token).await.json();
    assert_eq!([&opened["kind"], &opened["username"]], ["password", "ada@example.org"]);
    let short = accept(&stoa, json!({ "token": token, "password": "short" })).await;
    assert_eq!(short.status, 400, "{short:?}");
    assert_eq!(ada.get("/api/auth/me").await.status, 200, "nothing has happened yet");
    let body = json!({ "token": token, "password": "battery staple" });
    let accepted = accept(&stoa, body.clone()).await;
    assert_eq!((accepted.status, &accepted.json()["username"]), (200, &json!("ada@example.org")));
    assert_eq!(ada.get("/api/auth/me").await.status, 401, "the sessions have ended");
    assert_eq!(accept(&stoa, body).await.status, 404, "it was used");
    KnowledgeClient::sign_in(&stoa, "ada@example.org", "battery staple").await;

    // Another new password makes an open link worthless, and so does the removal of the user.
    let token = link(&admin, json!({ "userId": ada.id })).await;
    let reset = json!({ "password": "battery staple 2" });
    assert_eq!(admin.post_json(&format!("/api/users/{}/password", ada.id), &reset).await.status, 200);
    assert_eq!(open(&stoa, &token).await.status, 404);
    let token = link(&admin, json!({ "userId": ada.id })).await;
    assert_eq!(admin.delete(&format!("/api/users/{}", ada.id)).await.status, 200);
    assert_eq!(accept(&stoa, json!({ "token": token, "password": "battery staple" })).await.status, 404);
}

#[tokio::test]
async fn an_administrators_own_and_new_passwords_hold_at_the_gateway_too() {
    let stoa = Stoa::start().only("gateway,knowledge").serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let token = link(&admin, json!({ "userId": admin.id })).await;
    let body = json!({ "token": token, "password": "battery staple" });
    assert_eq!(accept(&stoa, body).await.status, 200);
    assert_eq!(gateway_login(&stoa, "admin", "password").await.status, 401);
    assert_eq!(gateway_login(&stoa, "admin", "battery staple").await.status, 200);
    let admin = KnowledgeClient::sign_in(&stoa, "admin", "battery staple").await;
    let body = json!({ "currentPassword": "battery staple", "newPassword": "correct horse" });
    assert_eq!(admin.post_json("/api/auth/password", &body).await.status, 200);
    assert_eq!(gateway_login(&stoa, "admin", "battery staple").await.status, 401);
    assert_eq!(gateway_login(&stoa, "admin", "correct horse").await.status, 200);
    KnowledgeClient::sign_in(&stoa, "admin", "correct horse").await;
}

/// Otherwise a dismissed administrator would come back by an invitation made in time.
#[tokio::test]
async fn a_link_is_worth_nothing_once_its_administrator_is_none() {
    let stoa = Stoa::start().only("gateway,knowledge").serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let bob = admin.invite(&stoa, "bob").await;
    let set = async |changes: Value| {
        let answer =
            reply(admin.request(Method::PATCH, &format!("/api/users/{}", bob.id)).json(&changes)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    };
    set(json!({ "isAdmin": true })).await;
    let invitation = link(&bob, json!({})).await;
    let takeover = link(&bob, json!({ "userId": admin.id })).await;
    assert_eq!(open(&stoa, &invitation).await.status, 200);
    set(json!({ "isAdmin": false })).await;
    assert!(links(&admin).await.is_empty());
    assert_eq!(accept(&stoa, newcomer(&invitation, "mallory")).await.status, 404);
    let body = json!({ "token": takeover, "password": "battery staple" });
    assert_eq!(accept(&stoa, body).await.status, 404);
    let login = json!({ "username": "admin", "password": login_digest("admin", "password") });
    assert_eq!(public(&stoa, "/api/auth/login", login).await.status, 200);
}
