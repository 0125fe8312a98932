//! Who may come in by the provider, from where, and to where.

use crate::sso::{LOGIN, begin, portal, sign_in};
use e2e::issuer::parameter;
use e2e::{Browser, Issuer, OidcProvider, PortalClient, Stoa, reply};
use reqwest::Method;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn domains_of_verified_addresses_say_who_is_what() {
    let provider = OidcProvider::start().await;
    let start = portal(&provider).set("OIDC_ADMIN_DOMAINS", "example.org");
    let start = start.set("OIDC_GUEST_DOMAINS", "@Example.COM");
    let (_, told, _) = start.run(&["check"]);
    assert!(told.contains(&format!("ok      sign-on        {}", provider.url)), "{told}");
    let stoa = start.serve();
    for (account, status) in [("ada", 201), ("bob", 403)] {
        let browser = Browser::default();
        let done = sign_in(&browser, &provider, &stoa.url(LOGIN), account).await;
        assert_eq!(done.status, 303, "{account}: {done:?}");
        let url = stoa.url("/kv/api/portal/updates");
        let body = json!({ "title": "A" });
        let written = browser.send(Method::POST, &url, |post| post.json(&body)).await;
        assert_eq!(written.status, status, "{account}");
    }
    // An address that anybody could have typed.
    let browser = Browser::default();
    let refused = sign_in(&browser, &provider, &stoa.url(LOGIN), "eve").await;
    assert_eq!((refused.status, &refused.json()["code"]), (403, &json!("SSO_NOT_ALLOWED")));
    assert!(refused.json()["error"].as_str().unwrap().contains("ask an administrator"));
    assert!(browser.cookie("portal_session").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_provider_there_is_no_single_sign_on() {
    let stoa = Stoa::start_portal().serve();
    let stranger = PortalClient::anonymous(&stoa);
    for (method, path) in
        [(Method::GET, "login"), (Method::GET, "callback?state=x"), (Method::POST, "logout")]
    {
        let answer = reply(stranger.request(method, &format!("/api/portal/sso/{path}"))).await;
        let expected =
            json!({ "code": "SSO_NOT_CONFIGURED", "success": false, "error": answer.json()["error"] });
        assert_eq!((answer.status, answer.json()), (404, expected), "{path}");
    }
    let with_cookie =
        stranger.request(Method::GET, "/api/portal/updates").header("cookie", "portal_session=x");
    assert_eq!(reply(with_cookie).await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_client_is_redirected_to_another_site() {
    let issuer = Issuer::start().await;
    let stoa = Stoa::start_portal().set("OIDC_ISSUER_URL", &issuer.url).set("OIDC_CLIENT_ID", "stoa").serve();
    let browser = Browser::default();
    for evil in [
        "//evil.example",
        "///evil.example",
        "https://evil.example",
        "http:evil.example",
        "evil.example",
        "javascript:alert(1)",
        "/\\evil.example",
        "\\\\evil.example",
        "\\/evil.example",
        "/kv/\\..\\evil",
        "%2F%2Fevil.example",
        "%2F%5Cevil.example",
        "%5C%5Cevil.example",
        "/%09/evil.example",
        "/%0D%0ALocation:%20https://evil.example",
        "%20//evil.example",
        "%00/",
        "/kv/&returnTo=//evil.example",
    ] {
        let answer = browser.get(&stoa.url(&format!("{LOGIN}?returnTo={evil}"))).await;
        assert_eq!((answer.status, &answer.json()["code"]), (400, &json!("INVALID_REQUEST")), "{evil}");
        assert!(answer.header("location").is_empty() && answer.header("set-cookie").is_empty(), "{evil}");
    }
    let long = format!("{LOGIN}?returnTo=/{}", "a".repeat(2_000));
    assert_eq!(browser.get(&stoa.url(&long)).await.status, 400);
    // What looks like it and stays here.
    for (given, place) in [("/%252F/evil.example", "/%2F/evil.example"), ("/a//b@c", "/a//b@c"), ("", "/kv/")]
    {
        let there = begin(&browser, &stoa.url(&format!("{LOGIN}?returnTo={given}"))).await;
        issuer.say(issuer.good_claims(&there));
        let back = format!("/kv/api/portal/sso/callback?code=c&state={}", parameter(&there, "state"));
        let done = browser.get(&stoa.url(&back)).await;
        assert_eq!((done.status, done.header("location")), (303, vec![place]), "{given}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_way_back_is_as_the_browser_sees_it_or_as_set() {
    let issuer = Issuer::start().await;
    let start = || Stoa::start_portal().set("OIDC_ISSUER_URL", &issuer.url).set("OIDC_CLIENT_ID", "stoa");
    let set = start().set("PORTAL_PUBLIC_URL", "https://stoa.example.org/kv/").serve();
    let answer = Browser::default().get(&set.url(LOGIN)).await;
    let there = answer.header("location")[0];
    assert_eq!(parameter(there, "redirect_uri"), "https://stoa.example.org/kv/api/portal/sso/callback");
    assert!(
        answer.header("set-cookie")[0].ends_with("Path=/kv/api/portal/sso; Max-Age=600; Secure"),
        "{answer:?}"
    );
    let never =
        start().set("PORTAL_PUBLIC_URL", "https://stoa.example.org/kv").set("COOKIE_SECURE", "off").serve();
    let answer = Browser::default().get(&never.url(LOGIN)).await;
    assert!(answer.header("set-cookie")[0].ends_with("Max-Age=600"), "{answer:?}");

    let behind = start().set("TRUSTED_PROXIES", "127.0.0.1").serve();
    let forwarded = [
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "a.example:444"),
        ("x-forwarded-prefix", "/outer/"),
    ];
    let ask = async |stoa: &Stoa| {
        let browser = Browser::default();
        let with = |get| {
            forwarded
                .iter()
                .fold(get, |get: reqwest::RequestBuilder, (name, value)| get.header(*name, *value))
        };
        browser.send(Method::GET, &stoa.url(LOGIN), with).await
    };
    let answer = ask(&behind).await;
    let redirect = parameter(answer.header("location")[0], "redirect_uri");
    assert_eq!(redirect, "https://a.example:444/outer/kv/api/portal/sso/callback");
    let cookie = answer.header("set-cookie")[0];
    assert!(cookie.ends_with("; Secure") && cookie.contains("Path=/outer/kv/api/portal/sso;"), "{cookie}");
    let exposed = start().serve();
    let redirect = parameter(ask(&exposed).await.header("location")[0], "redirect_uri");
    assert_eq!(redirect, exposed.url("/kv/api/portal/sso/callback"), "anybody can say so");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_sign_ins_from_one_address_has_an_end() {
    let issuer = Issuer::start().await;
    let stoa = Stoa::start_portal().set("OIDC_ISSUER_URL", &issuer.url).set("OIDC_CLIENT_ID", "stoa").serve();
    let browser = Browser::default();
    for _ in 0..60 {
        begin(&browser, &stoa.url(LOGIN)).await;
    }
    let refused = browser.get(&stoa.url(LOGIN)).await;
    assert_eq!((refused.status, refused.header("retry-after").len()), (429, 1));
}

#[test]
fn wrong_settings_are_told_before_the_start() {
    let start = Stoa::start_portal().set("OIDC_ISSUER_URL", "http://id.example.org");
    let start = start.set("OIDC_GUEST_DOMAINS", "a@example.org").set("PORTAL_PUBLIC_URL", "stoa");
    let (status, _, told) = start.run(&["check"]);
    assert_eq!(status, 2, "{told}");
    for name in ["OIDC_ISSUER_URL: ", "OIDC_GUEST_DOMAINS: ", "PORTAL_PUBLIC_URL: "] {
        assert!(told.contains(name), "{name}: {told}");
    }
    let (status, _, told) =
        Stoa::start_portal().set("OIDC_ISSUER_URL", "https://id.example.org").run(&["check"]);
    assert_eq!((status, told.contains("OIDC_CLIENT_ID: is unset")), (2, true), "{told}");
}

pub fn changed(mut claims: Value, name: &str, value: Value) -> Value {
    claims[name] = value;
    claims
}
