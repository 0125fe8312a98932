//! From a sign-in by the provider to the other services: a gateway token, and a session of the knowledge service.

use crate::sso::LOGIN;
use e2e::issuer::parameter;
use e2e::stoa::Start;
use e2e::tokens::{claims, sign, verified};
use e2e::{Browser, Issuer, KnowledgeClient, Reply, Stoa, reply};
use reqwest::{Client, Method};
use serde_json::{Value, json};

const TOKEN: &str = "/kv/api/portal/sso/token";
const ME: &str = "/kv/api/portal/me";

fn start(issuer: &Issuer) -> Start {
    let start = Stoa::start().only("gateway,knowledge,portal").set("STOA_MODELS_DIR", "none");
    start.set("OIDC_ISSUER_URL", &issuer.url).set("OIDC_CLIENT_ID", "stoa").set("OIDC_ADMIN_GROUPS", "staff")
}

/// Signs a person in with these claims beside the usual ones.
async fn sign_in(stoa: &Stoa, issuer: &Issuer, extra: Value) -> Browser {
    let browser = Browser::default();
    let sent = browser.get(&stoa.url(LOGIN)).await;
    let there = sent.header("location")[0].to_owned();
    let mut said = issuer.good_claims(&there);
    for (name, value) in extra.as_object().unwrap() {
        said[name] = value.clone();
    }
    issuer.say(said);
    let back = format!("/kv/api/portal/sso/callback?code=c&state={}", parameter(&there, "state"));
    let done = browser.get(&stoa.url(&back)).await;
    assert_eq!((done.status, done.header("location")), (303, vec!["/kv/"]), "{done:?}");
    browser
}

async fn token(stoa: &Stoa, browser: &Browser) -> String {
    let answer = browser.post(&stoa.url(TOKEN)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let token = answer.json()["token"].as_str().unwrap().to_owned();
    assert_eq!(answer.json()["expiresAt"], verified(&token).1["exp"].as_i64().unwrap() * 1000);
    token
}

async fn open_session(stoa: &Stoa, token: &str) -> Reply {
    reply(Client::new().post(stoa.url("/core/api/auth/sso")).bearer_auth(token)).await
}

fn ada() -> Value {
    json!({ "email": "Ada@example.org", "email_verified": true })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verified_email_address_opens_the_account_that_has_it() {
    let issuer = Issuer::start().await;
    let stoa = start(&issuer).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let browser = sign_in(&stoa, &issuer, ada()).await;
    let me = browser.get(&stoa.url(ME)).await.json();
    assert_eq!((&me["username"], &me["route"]), (&json!("Ada@example.org"), &json!("KV")), "{me}");
    assert_eq!(
        me["sso"],
        json!({ "configured": true, "signedIn": true, "name": "Ada@example.org", "email": "Ada@example.org" })
    );
    let token = token(&stoa, &browser).await;
    let said = verified(&token).1;
    assert_eq!((&said["route"], &said["scopes"]), (&json!("CORE"), &json!(["guest", "email"])));
    assert_eq!((&said["projectId"], &said["issuedBy"]), (&json!("Ada@example.org"), &json!(issuer.url)));
    let with_token = reply(Client::new().get(stoa.url(ME)).bearer_auth(&token)).await.json();
    assert_eq!(with_token["expiresAt"], said["exp"].as_i64().unwrap() * 1000);

    let unknown = open_session(&stoa, &token).await;
    assert_eq!((unknown.status, &unknown.json()["code"]), (404, &json!("NOT_FOUND")), "{unknown:?}");
    admin.invite(&stoa, "ada").await;
    let opened = open_session(&stoa, &token).await;
    assert_eq!(
        (opened.status, &opened.json()["user"]["email"]),
        (200, &json!("ada@example.org")),
        "{opened:?}"
    );
    assert!(opened.header("set-cookie")[0].contains("Max-Age=28800"), "{opened:?}");
    let session = opened.json()["token"].as_str().unwrap().to_owned();
    let own = reply(Client::new().get(stoa.url("/core/api/auth/me")).header("x-api-key", session)).await;
    assert_eq!((own.status, &own.json()["user"]["name"]), (200, &json!("ada")));
    // A disabled account is not opened either.
    let user = opened.json()["user"]["id"].as_str().unwrap().to_owned();
    let disable = admin.request(reqwest::Method::PATCH, &format!("/api/users/{user}"));
    assert_eq!(reply(disable.json(&json!({ "disabled": true }))).await.status, 200);
    assert_eq!(open_session(&stoa, &token).await.status, 403);
    // A gateway token of single sign-on is renewed by its own session alone.
    let refreshed = reply(Client::new().post(stoa.url("/auth/refresh")).bearer_auth(&token)).await;
    assert_eq!(refreshed.error().1, "INVALID_TOKEN");
    assert_eq!(browser.post(&stoa.url("/kv/api/portal/sso/logout")).await.status, 204);
    assert_eq!(browser.post(&stoa.url(TOKEN)).await.status, 401);
    assert_eq!(browser.get(&stoa.url(ME)).await.json()["sso"]["signedIn"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_provider_has_not_verified_opens_no_account() {
    let issuer = Issuer::start().await;
    let stoa = start(&issuer).set("SSO_CREATE_USERS", "true").serve();
    // The subject is the name of an administrator here, and the person is one at the provider.
    let extra =
        json!({ "sub": "admin", "email": "admin@example.org", "email_verified": false, "groups": ["staff"] });
    let browser = sign_in(&stoa, &issuer, extra).await;
    let token = token(&stoa, &browser).await;
    let said = verified(&token).1;
    assert_eq!((&said["projectId"], &said["scopes"]), (&json!("sso:admin"), &json!(["admin"])));
    assert_eq!(open_session(&stoa, &token).await.status, 403);
    for (what, claims) in
        [("a guest's", claims("CORE", "guest")), ("an administrator's", claims("AUTH", "admin"))]
    {
        assert_eq!(open_session(&stoa, &sign(&claims)).await.status, 403, "{what}");
    }
    assert_eq!(reply(Client::new().post(stoa.url("/core/api/auth/sso"))).await.status, 401);
    let stranger = Browser::default();
    assert_eq!(stranger.post(&stoa.url(TOKEN)).await.status, 401);
    let me = stranger.get(&stoa.url(ME)).await.json();
    assert_eq!(
        (&me["username"], &me["scopes"], &me["sso"]["configured"]),
        (&Value::Null, &json!([]), &json!(true))
    );
    let evil = browser
        .send(Method::POST, &stoa.url(TOKEN), |post| post.header("origin", "https://evil.example"))
        .await;
    assert_eq!(evil.status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_are_created_if_the_setting_says_so_and_only_once() {
    let issuer = Issuer::start().await;
    let stoa = start(&issuer).set("SSO_CREATE_USERS", "true").serve();
    let browser = sign_in(&stoa, &issuer, ada()).await;
    let token = token(&stoa, &browser).await;
    let both = tokio::join!(open_session(&stoa, &token), open_session(&stoa, &token));
    let ids = [both.0, both.1].map(|answer| {
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.json()["user"]["isAdmin"], false);
        answer.json()["user"]["id"].clone()
    });
    assert_eq!(ids[0], ids[1]);
    let without = Stoa::start_portal().serve();
    let answer = reply(Client::new().post(without.url(TOKEN))).await;
    assert_eq!((answer.status, &answer.json()["code"]), (404, &json!("SSO_NOT_CONFIGURED")));
    let me = reply(Client::new().get(without.url(ME))).await.json();
    assert_eq!(me["sso"]["configured"], false);
}
