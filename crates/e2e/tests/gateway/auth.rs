//! What `/auth` answers beside a login: guest tokens, methods, unknown paths.

use e2e::tokens::verified;
use e2e::{Reply, Stoa, Upstream, get, reply};
use serde_json::{Value, json};

async fn guest(stoa: &Stoa, body: &str) -> Reply {
    reply(reqwest::Client::new().post(stoa.url("/auth/guest")).body(body.to_owned())).await
}

#[tokio::test]
async fn a_guest_token_is_for_the_asked_route_and_for_build_by_default() {
    let stoa = Stoa::start().serve();
    let cases = [
        ("", "BUILD"),
        ("{}", "BUILD"),
        (r#"{"other":1}"#, "BUILD"),
        (r#"{"route":"BUILD"}"#, "BUILD"),
        (r#"{"route":"KV"}"#, "KV"),
        (r#"{"route":"CORE"}"#, "CORE"),
    ];
    for (body, route) in cases {
        let answer = guest(&stoa, body).await;
        assert_eq!(answer.status, 200, "{body}: {answer:?}");
        assert_eq!(answer.header("cache-control"), ["no-store"]);
        let said = answer.json();
        assert_eq!((&said["success"], &said["route"]), (&json!(true), &json!(route)), "{body}");
        let (_, claims) = verified(said["token"].as_str().unwrap());
        assert_eq!(claims["projectId"], "guest");
        assert_eq!(claims["route"], route);
        assert_eq!(claims["scopes"], json!(["guest"]));
        assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 3600);
    }
}

#[tokio::test]
async fn a_guest_token_is_refused_for_any_other_route_and_for_a_malformed_body() {
    let stoa = Stoa::start().serve();
    for body in [
        r#"{"route":"AUTH"}"#,
        r#"{"route":"build"}"#,
        r#"{"route":""}"#,
        r#"{"route":"OTHER"}"#,
        r#"{"route":7}"#,
        r#"{"route":null}"#,
        r#"{"route":["KV"]}"#,
        "[]",
        "\"KV\"",
        "null",
        "{",
        "route=KV",
        " ",
    ] {
        let answer = guest(&stoa, body).await;
        assert_eq!(answer.error(), (400, "INVALID_REQUEST".into(), "AUTH".into()), "{body}");
        assert_eq!(answer.header("cache-control"), ["no-store"]);
    }
}

#[tokio::test]
async fn only_post_is_allowed_on_the_two_endpoints() {
    let stoa = Stoa::start().serve();
    for path in ["/auth/login", "/auth/guest"] {
        for method in ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE"] {
            let request = reqwest::Client::new().request(method.parse().unwrap(), stoa.url(path));
            let answer = reply(request).await;
            assert_eq!(answer.error(), (405, "METHOD_NOT_ALLOWED".into(), "AUTH".into()), "{method} {path}");
            assert_eq!(answer.header("allow"), ["POST"], "{method} {path}");
        }
        let head = reply(reqwest::Client::new().head(stoa.url(path))).await;
        assert_eq!((head.status, head.header("allow")), (405, vec!["POST"]));
    }
}

#[tokio::test]
async fn every_other_path_under_auth_is_not_found_whatever_the_method() {
    let stoa = Stoa::start().serve();
    for path in ["/auth", "/auth/", "/auth/x", "/auth/login/", "/auth/login/x", "/auth/Login", "/auth//login"]
    {
        for method in ["GET", "POST", "DELETE"] {
            let request = reqwest::Client::new().request(method.parse().unwrap(), stoa.url(path));
            let answer = reply(request).await;
            assert_eq!(answer.error(), (404, "NOT_FOUND".into(), "AUTH".into()), "{method} {path}");
        }
    }
}

#[tokio::test]
async fn paths_outside_the_route_table_are_not_found_with_route_auth() {
    let stoa = Stoa::start().serve();
    for path in ["/", "/builder", "/Build", "/kvx/y", "/cor", "/authx", "/livez", "/metrics", "/x/build"] {
        assert_eq!(get(stoa.url(path)).await.error(), (404, "NOT_FOUND".into(), "AUTH".into()), "{path}");
    }
}

#[tokio::test]
async fn tokens_carry_the_configured_lifetime_issuer_audience_and_environment() {
    let stoa = Stoa::start()
        .set("JWT_TTL", "90s")
        .set("JWT_ISSUER", "the issuer")
        .set("JWT_AUDIENCE", "the audience")
        .set("ENVIRONMENT", "production")
        .serve();
    let token = guest(&stoa, "").await.json()["token"].as_str().unwrap().to_owned();
    let claims = jsonwebtoken::dangerous::insecure_decode::<Value>(&token).unwrap().claims;
    assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 90);
    assert_eq!((&claims["iss"], &claims["issuedBy"]), (&json!("the issuer"), &json!("the issuer")));
    assert_eq!(claims["aud"], "the audience");
    assert_eq!(claims["environment"], "production");
}

#[tokio::test]
async fn what_a_request_has_beyond_the_contract_is_named() {
    let upstream = Upstream::start().await;
    let stoa = Stoa::start().before(&upstream.url()).serve();
    let post = async |path: &str, body: &str| {
        reply(reqwest::Client::new().post(stoa.url(path)).body(body.to_owned())).await
    };
    let answer = post("/auth/guest?x=1", r#"{"route":"KV","rotue":"KV"}"#).await;
    assert_eq!((answer.status, answer.header("x-unknown-fields")), (200, vec!["rotue, x"]));
    let answer = post("/auth/login", r#"{"user":"admin","password":"password"}"#).await;
    assert_eq!((answer.status, answer.header("x-unknown-fields")), (400, vec!["user"]));
    let known =
        [post("/auth/guest", "").await, post("/auth/login", r#"{"username":"a","password":"b"}"#).await];
    assert!(known.iter().all(|answer| answer.header("x-unknown-fields").is_empty()), "{known:?}");
    // What is proxied is the target's affair.
    let proxied = post("/core/auth?x=1", "{\"y\":1}").await;
    assert_eq!((proxied.status, proxied.header("x-unknown-fields")), (200, vec![]));
}
