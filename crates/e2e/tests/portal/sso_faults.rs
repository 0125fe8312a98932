//! A provider that says what it should not, says nothing, or is not there.

use crate::sso::{LOGIN, begin};
use crate::sso_rules::changed;
use e2e::issuer::parameter;
use e2e::tokens::now;
use e2e::{Browser, Issuer, Reply, Stoa};
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;

const SECRET: &str = "the-secret-of-the-client";

fn portal(issuer: &str) -> Stoa {
    let start = Stoa::start_portal().set("OIDC_ISSUER_URL", issuer).set("OIDC_CLIENT_ID", "stoa");
    start.set("OIDC_CLIENT_SECRET", SECRET).serve()
}

/// The provider sends the browser back with this.
async fn back(browser: &Browser, stoa: &Stoa, there: &str, query: &str) -> Reply {
    let state = parameter(there, "state");
    browser.get(&stoa.url(&format!("/kv/api/portal/sso/callback?state={state}&{query}"))).await
}

fn check(answer: &Reply, status: u16, code: &str) {
    assert_eq!((answer.status, &answer.json()["code"]), (status, &json!(code)), "{answer:?}");
    assert_eq!(answer.json()["success"], false);
    assert!(answer.header("location").is_empty() && answer.header("set-cookie").is_empty(), "{answer:?}");
    assert!(!answer.body.contains(SECRET) && !answer.body.contains("127.0.0.1"), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_counts_only_for_us_now_and_for_this_sign_in() {
    let issuer = Issuer::start().await;
    let stoa = portal(&issuer.url);
    let browser = Browser::default();
    for (name, wrong) in [
        ("aud", json!("another")),
        ("aud", json!(["stoa", "another"])),
        ("aud", json!([])),
        ("azp", json!("another")),
        ("iss", json!("https://another.example")),
        ("nonce", json!("0".repeat(64))),
        ("nonce", json!(null)),
        ("exp", json!(now() - 1)),
        ("at_hash", json!("AAAAAAAAAAAAAAAAAAAAAA")),
    ] {
        let there = begin(&browser, &stoa.url(LOGIN)).await;
        issuer.say(changed(issuer.good_claims(&there), name, wrong.clone()));
        let answer = back(&browser, &stoa, &there, "code=c").await;
        assert_eq!(answer.status, 403, "{name} {wrong}: {answer:?}");
        check(&answer, 403, "SSO_TOKEN_INVALID");
    }
    let there = begin(&browser, &stoa.url(LOGIN)).await;
    issuer.say(issuer.good_claims(&there));
    assert_eq!(back(&browser, &stoa, &there, "code=c").await.status, 303, "nothing but these was wrong");
    assert!(stoa.logs("a user signed in"), "lines come in order: those before are there");
    let refused = stoa.log().matches("a sign-in was refused").count();
    assert_eq!(refused, 9, "each is told once: {}", stoa.log());
    assert!(!stoa.log().contains(SECRET));
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_may_change_but_not_be_forged() {
    let issuer = Issuer::start().await;
    let stoa = portal(&issuer.url);
    let browser = Browser::default();
    let there = begin(&browser, &stoa.url(LOGIN)).await;
    // What the portal has read says another key under this name.
    issuer.change_key("1");
    issuer.say(issuer.good_claims(&there));
    check(&back(&browser, &stoa, &there, "code=c").await, 403, "SSO_TOKEN_INVALID");
    let there = begin(&browser, &stoa.url(LOGIN)).await;
    issuer.change_key("2");
    issuer.say(issuer.good_claims(&there));
    assert_eq!(back(&browser, &stoa, &there, "code=c").await.status, 303, "the new key is read");
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_the_provider_are_told_without_its_words() {
    let issuer = Issuer::start().await;
    let stoa = portal(&issuer.url);
    let browser = Browser::default();
    for (query, status, code) in [
        ("error=access_denied&error_description=evil", 403, "SSO_DENIED"),
        ("error=login_required", 403, "SSO_DENIED"),
        ("error=server_error", 502, "SSO_PROVIDER_FAILED"),
        ("error=%3Cscript%3Eevil", 502, "SSO_PROVIDER_FAILED"),
        ("error=access_denied&code=c", 403, "SSO_DENIED"),
        ("code=c&iss=https%3A%2F%2Fevil.example", 403, "SSO_TOKEN_INVALID"),
        ("", 400, "SSO_CODE_INVALID"),
    ] {
        let there = begin(&browser, &stoa.url(LOGIN)).await;
        let answer = back(&browser, &stoa, &there, query).await;
        check(&answer, status, code);
        assert!(!answer.body.contains("evil"), "{answer:?}");
    }
    assert_eq!(issuer.exchanges(), Vec::<String>::new(), "no code was sent");
    for (refusal, answer, status, code) in [
        (400, json!({ "error": "invalid_grant" }), 400, "SSO_CODE_INVALID"),
        (401, json!({ "error": "invalid_client" }), 502, "SSO_PROVIDER_FAILED"),
        (500, json!("evil"), 502, "SSO_PROVIDER_FAILED"),
        (302, json!({ "error": "evil" }), 502, "SSO_PROVIDER_FAILED"),
        (200, json!({ "access_token": "evil", "token_type": "Bearer" }), 403, "SSO_TOKEN_INVALID"),
        (
            200,
            json!({ "access_token": "a", "token_type": "Bearer", "id_token": "evil" }),
            502,
            "SSO_PROVIDER_FAILED",
        ),
    ] {
        let there = begin(&browser, &stoa.url(LOGIN)).await;
        issuer.refuse(refusal, answer);
        check(&back(&browser, &stoa, &there, "code=c0de").await, status, code);
    }
    let sent = issuer.exchanges();
    assert!(sent[0].contains("code=c0de") && sent[0].contains("code_verifier="), "{sent:?}");
    assert!(!stoa.log().contains("c0de") && !stoa.log().contains("<script>"), "{}", stoa.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_not_there_is_told_and_asked_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let stoa = portal(&format!("http://{address}"));
    let browser = Browser::default();
    check(&browser.get(&stoa.url(LOGIN)).await, 502, "SSO_PROVIDER_FAILED");
    assert!(stoa.logs("it does not answer"));
    let issuer = Issuer::start_at(&address).await;
    let there = begin(&browser, &stoa.url(LOGIN)).await;
    // It fails while a user signs in.
    issuer.refuse(503, json!({}));
    check(&back(&browser, &stoa, &there, "code=c").await, 502, "SSO_PROVIDER_FAILED");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_hangs_is_waited_for_ten_seconds_by_all_together() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stoa = portal(&format!("http://{}", silent.local_addr().unwrap()));
    let (started, url) = (Instant::now(), stoa.url(LOGIN));
    let browsers = [Browser::default(), Browser::default(), Browser::default()];
    let answers = futures_util::future::join_all(browsers.iter().map(|browser| browser.get(&url))).await;
    for answer in answers {
        check(&answer, 502, "SSO_PROVIDER_FAILED");
    }
    let took = started.elapsed();
    assert!((Duration::from_secs(9)..Duration::from_secs(15)).contains(&took), "{took:?}");
    assert!(stoa.logs("it took more than 10 s"));
}
