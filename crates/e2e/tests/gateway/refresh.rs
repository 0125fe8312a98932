//! `POST /auth/refresh`: which tokens are renewed.

use crate::login::{CORRECT_HORSE, login, write_record};
use e2e::tokens::{claims, now, sign, verified};
use e2e::{Reply, Stoa, Upstream, reply};
use serde_json::{Value, json};
use std::time::Duration;

async fn refresh(stoa: &Stoa, token: &str) -> Reply {
    reply(reqwest::Client::new().post(stoa.url("/auth/refresh")).bearer_auth(token)).await
}

/// The claims of a token of `/auth/guest`.
fn guest() -> Value {
    let mut claims = claims("KV", "guest");
    claims["projectId"] = "guest".into();
    claims
}

fn refused() -> (u16, String, String) {
    (403, "INVALID_TOKEN".into(), "AUTH".into())
}

#[tokio::test]
async fn a_token_is_renewed_with_its_claims() {
    let upstream = Upstream::start().await;
    let stoa = Stoa::start().before(&upstream.url()).serve();
    let admin = login(&stoa, "admin", "password").await.json()["token"].as_str().unwrap().to_owned();
    let guest = reqwest::Client::new().post(stoa.url("/auth/guest")).body("{\"route\": \"KV\"}");
    let guest = reply(guest).await.json()["token"].as_str().unwrap().to_owned();
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    for old in [admin, guest] {
        let answer = refresh(&stoa, &old).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let body = answer.json();
        let new = body["token"].as_str().unwrap();
        let (mut before, mut after) = (verified(&old).1, verified(new).1);
        assert_eq!(body["expiresAt"], after["exp"].as_i64().unwrap() * 1000);
        assert!(after["exp"].as_i64() > before["exp"].as_i64(), "{before} {after}");
        for time in ["iat", "exp"] {
            before[time] = 0.into();
            after[time] = 0.into();
        }
        assert_eq!(before, after);
        let call = reqwest::Client::new().get(stoa.url("/kv/x")).bearer_auth(new);
        assert_eq!(reply(call).await.status, 200);
        assert_eq!(refresh(&stoa, new).await.status, 200, "and again");
    }
}

#[tokio::test]
async fn tokens_that_are_not_of_this_gateway_are_not_renewed() {
    let stoa = Stoa::start().serve();
    let missing = reply(reqwest::Client::new().post(stoa.url("/auth/refresh"))).await;
    assert_eq!(missing.error(), (401, "MISSING_TOKEN".into(), "AUTH".into()));
    let mut expired = guest();
    expired["exp"] = (now() - 10).into();
    let mut of_provider = guest();
    of_provider["issuedBy"] = json!("https://id.example.org");
    let mut without_scope = guest();
    without_scope["scopes"] = json!([]);
    // As the knowledge service issues it: the user may have been disabled meanwhile.
    let mut of_user = claims("CORE", "guest");
    of_user["scopes"] = json!(["guest", "user"]);
    // It has no generation, so nothing would ever end it.
    let of_other_tool = claims("AUTH", "admin");
    for (what, claims) in [
        ("expired", expired),
        ("of single sign-on", of_provider),
        ("without a scope", without_scope),
        ("a user's", of_user),
        ("an administrator's of another tool", of_other_tool),
    ] {
        assert_eq!(refresh(&stoa, &sign(&claims)).await.error(), refused(), "{what}");
    }
    for nonsense in ["x", "a.b.c", &"0aF9".repeat(16)] {
        assert_eq!(refresh(&stoa, nonsense).await.error(), refused(), "{nonsense}");
    }
    let twice = reqwest::Client::new().post(stoa.url("/auth/refresh"));
    let token = sign(&guest());
    let twice = twice.bearer_auth(&token).header("authorization", format!("Bearer {token}"));
    assert_eq!(reply(twice).await.error(), refused());
    let get = reply(reqwest::Client::new().get(stoa.url("/auth/refresh")).bearer_auth(&token)).await;
    assert_eq!((get.status, get.header("allow")), (405, vec!["POST"]));
}

#[tokio::test]
async fn a_removed_administrator_and_a_guest_who_is_not_let_in_renew_nothing() {
    let stoa = Stoa::start().serve();
    write_record(&stoa, "eve", CORRECT_HORSE);
    let admin = login(&stoa, "eve", "correct horse").await.json()["token"].as_str().unwrap().to_owned();
    assert_eq!(refresh(&stoa, &admin).await.status, 200);
    std::fs::remove_file(stoa.data.path().join("objects/auth/admins/eve.json")).unwrap();
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    while refresh(&stoa, &admin).await.status == 200 {
        assert!(std::time::Instant::now() < deadline, "still renewed");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(refresh(&stoa, &admin).await.error(), refused());
    let closed = Stoa::start().set("GUESTS", "off").serve();
    let answer = refresh(&closed, &sign(&guest())).await;
    assert_eq!(answer.error(), (403, "GUESTS_OFF".into(), "AUTH".into()));
}
