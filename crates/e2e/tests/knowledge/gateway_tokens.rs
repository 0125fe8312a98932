//! One sign-in opens all services: a session gives out a gateway token.

use e2e::{KnowledgeClient, Reply, Stoa, reply};
use reqwest::Method;
use serde_json::{Value, json};

async fn token(client: &KnowledgeClient) -> Value {
    let answer = client.post("/api/auth/token").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

async fn through_gateway(stoa: &Stoa, method: Method, path: &str, token: &Value) -> Reply {
    let request = reqwest::Client::new().request(method, stoa.url(path));
    reply(request.bearer_auth(token["token"].as_str().unwrap()).json(&json!({ "title": "Hello" }))).await
}

#[tokio::test]
async fn a_session_of_an_administrator_opens_all_services_and_writes() {
    let stoa = Stoa::start().only("gateway,knowledge,supervisor,portal").serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let granted = token(&admin).await;
    assert_eq!(granted["scopes"], json!(["admin"]));
    let made = through_gateway(&stoa, Method::POST, "/kv/api/portal/updates", &granted).await;
    assert_eq!(made.status, 201, "{made:?}");
    assert_eq!(through_gateway(&stoa, Method::GET, "/build/api/projects", &granted).await.status, 200);

    // As with a token of the gateway's own login, a new password ends it.
    let body = json!({ "currentPassword": "password", "newPassword": "battery staple" });
    assert_eq!(admin.post_json("/api/auth/password", &body).await.status, 200);
    let refused = through_gateway(&stoa, Method::GET, "/kv/api/portal/updates", &granted).await;
    assert_eq!(refused.status, 403, "{refused:?}");
}

#[tokio::test]
async fn a_session_of_a_user_reads_everywhere_also_if_guests_are_off() {
    let stoa = Stoa::start().only("gateway,knowledge,supervisor,portal").set("GUESTS", "off").serve();
    let ada = KnowledgeClient::admin(&stoa).await.invite(&stoa, "ada").await;
    let granted = token(&ada).await;
    assert_eq!(granted["scopes"], json!(["guest", "user"]));
    for path in ["/kv/api/portal/updates", "/build/api/projects"] {
        assert_eq!(through_gateway(&stoa, Method::GET, path, &granted).await.status, 200, "{path}");
    }
    let refused = through_gateway(&stoa, Method::POST, "/kv/api/portal/updates", &granted).await;
    assert_eq!(refused.status, 403, "{refused:?}");
    assert_eq!(ada.post("/api/auth/logout").await.status, 200);
    assert_eq!(ada.post("/api/auth/token").await.status, 401);
}

#[tokio::test]
async fn a_page_may_ask_who_is_signed_in_before_any_user_is() {
    let stoa = Stoa::start().only("gateway,knowledge").serve();
    let url = stoa.url("/core/api/auth/session");
    let answer = reply(reqwest::Client::new().get(&url)).await;
    assert_eq!((answer.status, &answer.json()["user"]), (200, &Value::Null), "{answer:?}");
    let admin = KnowledgeClient::admin(&stoa).await;
    let cookie = format!("service_session={}", admin.token);
    let answer = reply(reqwest::Client::new().get(&url).header("cookie", cookie)).await;
    assert_eq!(answer.json()["user"]["username"], "admin");
    let answer = reply(reqwest::Client::new().get(&url).header("cookie", "service_session=forged")).await;
    assert_eq!((answer.status, &answer.json()["user"]), (200, &Value::Null), "{answer:?}");
}
