//! What goes on after a request was let in ends soon after what it was let in with; and sign-in errors that help.

use super::administrators::{gateway_login, gateway_token};
use e2e::knowledge_client::login_digest;
use e2e::{Form, KnowledgeClient, Stoa, Watch, reply};
use reqwest::{Method, RequestBuilder};
use serde_json::json;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(12);

async fn ends_soon(watch: Watch, why: &str) {
    assert!(tokio::time::timeout(SOON, watch.rest()).await.is_ok(), "the stream goes on after {why}");
}

async fn goes_on(watch: &mut Watch) {
    assert!(
        tokio::time::timeout(Duration::from_secs(5), watch.next()).await.is_err(),
        "the stream has ended"
    );
}

fn events(user: &KnowledgeClient) -> RequestBuilder {
    user.request(Method::GET, "/api/documents/events")
}

#[tokio::test]
async fn an_event_stream_ends_with_its_session() {
    let stoa = Stoa::start().only("gateway,knowledge").serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let ada = admin.invite(&stoa, "ada").await;
    let again = KnowledgeClient::sign_in(&stoa, "ada@example.org", "correct horse").await;
    let (mut of_ada, of_again) = (Watch::open(events(&ada)).await, Watch::open(events(&again)).await);
    let by_cookie = reqwest::Client::new()
        .get(format!("http://{}/api/documents/events", stoa.knowledge.unwrap()))
        .header("cookie", format!("service_session={}", again.token));
    let by_cookie = Watch::open(by_cookie).await;
    assert_eq!(again.post("/api/auth/logout").await.status, 200);
    ends_soon(of_again, "logging out").await;
    ends_soon(by_cookie, "logging out, with the cookie").await;
    goes_on(&mut of_ada).await;

    let body = json!({ "currentPassword": "correct horse", "newPassword": "battery staple" });
    assert_eq!(reply(ada.request(Method::POST, "/api/auth/password").json(&body)).await.status, 200);
    ends_soon(of_ada, "a new password").await;
    let ada = KnowledgeClient::sign_in(&stoa, "ada@example.org", "battery staple").await;
    let (of_ada, of_admin) = (Watch::open(events(&ada)).await, Watch::open(events(&admin)).await);
    assert_eq!(admin.delete(&format!("/api/users/{}", ada.id)).await.status, 200);
    ends_soon(of_ada, "the user's removal").await;
    drop(of_admin);
}

#[tokio::test]
async fn an_event_stream_ends_with_the_token_that_the_gateway_saw() {
    let stoa = Stoa::start().only("gateway,knowledge").set("JWT_TTL", "4s").serve();
    let through_gateway =
        |token: &str| reqwest::Client::new().get(stoa.url("/core/api/documents/events")).bearer_auth(token);
    let token = gateway_token(&stoa, "admin", "password").await;
    let watch = Watch::open(through_gateway(&token)).await;
    ends_soon(watch, "the token's expiry").await;
    drop(stoa);

    let stoa = Stoa::start().only("gateway,knowledge").serve();
    let token = gateway_token(&stoa, "admin", "password").await;
    let url = stoa.url("/core/api/documents/events");
    let mut watch = Watch::open(reqwest::Client::new().get(url).bearer_auth(&token)).await;
    goes_on(&mut watch).await;
    let admin = KnowledgeClient::admin(&stoa).await;
    let body = json!({ "currentPassword": "password", "newPassword": "battery staple" });
    assert_eq!(reply(admin.request(Method::POST, "/api/auth/password").json(&body)).await.status, 200);
    ends_soon(watch, "a new password").await;
}

#[tokio::test]
async fn mcp_keeps_no_session_and_a_call_after_the_end_is_refused() {
    let stoa = Stoa::start().only("gateway,knowledge").serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let call = async |token: &str| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
        let request = reqwest::Client::new().post(format!("http://{}/mcp", stoa.knowledge.unwrap()));
        let request = request.header("accept", "application/json, text/event-stream").json(&body);
        reply(request.bearer_auth(token)).await
    };
    let answer = call(&admin.token).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.header("mcp-session-id").is_empty(), "there is no session to outlive ours");
    assert_eq!(admin.post("/api/auth/logout").await.status, 200);
    assert_eq!(call(&admin.token).await.status, 401);
}

#[tokio::test]
async fn a_sign_in_that_cannot_work_says_why() {
    let stoa = Stoa::start().only("gateway,knowledge").serve();
    let login = async |name: &str, password: &str| {
        let url = format!("http://{}/api/auth/login", stoa.knowledge.unwrap());
        reply(reqwest::Client::new().post(url).json(&json!({ "username": name, "password": password }))).await
    };
    for password in ["password", &"a".repeat(63), &"g".repeat(64)] {
        let answer = login("admin", password).await;
        assert_eq!(answer.status, 401, "{password}");
        assert!(answer.body.contains("hex SHA-256 of the username"), "{answer:?}");
    }
    let wrong = login("admin", &login_digest("admin", "wrong")).await;
    assert!(wrong.status == 401 && wrong.body.contains("unknown user or wrong password"), "{wrong:?}");

    let admin = KnowledgeClient::admin(&stoa).await;
    let request = reqwest::Client::new().get(stoa.url("/core/api/users"));
    let answer = reply(request.bearer_auth(&admin.token)).await;
    assert_eq!(answer.error(), (403, "INVALID_TOKEN".into(), "CORE".into()));
    assert!(answer.json()["message"].as_str().unwrap().contains("X-Api-Key"), "{answer:?}");
    assert_eq!(gateway_login(&stoa, "admin", "password").await.status, 200);
}

#[tokio::test]
async fn the_case_of_a_name_does_not_matter_in_the_digest_either() {
    let stoa = Stoa::start().only("gateway,knowledge").serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let form =
        Form::new().text("name", "Ada").text("email", "Ada@Example.org").text("password", "correct horse");
    assert_eq!(admin.submit("/api/signup", form.text("username", "AdaL")).await.status, 200);
    for typed in ["AdaL", "adal", "ADAL", "Adal", "ada@example.org", "Ada@Example.org", "Ada@example.org"] {
        let of_typed = KnowledgeClient::sign_in(&stoa, typed, "correct horse").await;
        assert_eq!(of_typed.get("/api/auth/me").await.json()["user"]["username"], "AdaL");
    }
    // And of the name as it is stored, whatever was typed.
    let url = format!("http://{}/api/auth/login", stoa.knowledge.unwrap());
    let body = json!({ "username": "aDAl", "password": login_digest("AdaL", "correct horse") });
    assert_eq!(reply(reqwest::Client::new().post(url).json(&body)).await.status, 200);
    for typed in ["ADMIN", "Admin"] {
        KnowledgeClient::sign_in(&stoa, typed, "password").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_session_of_the_old_password_outlives_its_change() {
    let stoa = Stoa::start().only("gateway,knowledge").serve();
    let url = format!("http://{}/api/auth/login", stoa.knowledge.unwrap());
    for round in 0..4 {
        let password =
            |round: u32| if round == 0 { "password".to_owned() } else { format!("password {round}") };
        let (old, new) = (password(round), password(round + 1));
        let admin = KnowledgeClient::sign_in(&stoa, "admin", &old).await;
        let body = json!({ "username": "admin", "password": login_digest("admin", &old) });
        let logins: Vec<_> =
            (0..6).map(|_| tokio::spawn(reply(reqwest::Client::new().post(&url).json(&body)))).collect();
        let change = json!({ "currentPassword": old, "newPassword": new });
        assert_eq!(reply(admin.request(Method::POST, "/api/auth/password").json(&change)).await.status, 200);
        for login in logins {
            let answer = login.await.unwrap();
            if answer.status == 200 {
                let token = answer.json()["token"].as_str().unwrap().to_owned();
                let me = format!("http://{}/api/auth/me", stoa.knowledge.unwrap());
                let me = reply(reqwest::Client::new().get(me).header("x-api-key", token)).await;
                assert_eq!(me.status, 401, "round {round}");
            }
        }
    }
}
