//! Signing in by a real OpenID Connect provider: the way there and back, the session, and its end.

use e2e::issuer::parameter;
use e2e::oidc::{CLIENT_ID, CLIENT_SECRET};
use e2e::stoa::Start;
use e2e::{Browser, OidcProvider, Reply, Stoa};
use reqwest::{Method, RequestBuilder, Url};
use serde_json::json;

pub const LOGIN: &str = "/kv/api/portal/sso/login";
const LOGOUT: &str = "/kv/api/portal/sso/logout";
const UPDATES: &str = "/kv/api/portal/updates";

pub fn portal(provider: &OidcProvider) -> Start {
    let start = Stoa::start_portal().set("OIDC_ISSUER_URL", &provider.url);
    start.set("OIDC_CLIENT_ID", CLIENT_ID).set("OIDC_CLIENT_SECRET", CLIENT_SECRET)
}

/// Where the portal sends a user who wants to sign in.
pub async fn begin(browser: &Browser, login: &str) -> String {
    let sent = browser.get(login).await;
    assert_eq!(sent.status, 303, "{sent:?}");
    sent.header("location")[0].to_owned()
}

/// From there through the provider's form: the address at which it sends the browser back.
pub async fn agree(browser: &Browser, provider: &OidcProvider, from: &str, account: &str) -> String {
    let mut url: Url = from.parse().unwrap();
    while url.as_str().starts_with(&provider.url) {
        let mut page = browser.get(url.as_str()).await;
        if page.status == 200 {
            let action = page.body.split("action=\"").nth(1).expect("a form").split('"').next().unwrap();
            let action = url.join(action).unwrap();
            let form = format!("prompt=login&login={account}&password=x");
            page = browser.submit(action.as_str(), &form).await;
        }
        assert_eq!(page.status, 303, "{page:?}");
        url = url.join(page.header("location")[0]).unwrap();
    }
    url.into()
}

pub async fn sign_in(browser: &Browser, provider: &OidcProvider, login: &str, account: &str) -> Reply {
    let back = agree(browser, provider, &begin(browser, login).await, account).await;
    browser.get(&back).await
}

fn code(reply: &Reply) -> (u16, String) {
    assert!(reply.header("location").is_empty() && reply.header("set-cookie").is_empty(), "{reply:?}");
    (reply.status, reply.json()["code"].as_str().unwrap().to_owned())
}

async fn write(browser: &Browser, stoa: &Stoa, origin: Option<&str>) -> u16 {
    let body = json!({ "title": "A" });
    let url = stoa.url(UPDATES);
    let request = browser.send(Method::POST, &url, |request| {
        let request = request.json(&body);
        origin.into_iter().fold(request, |request, origin| request.header("origin", origin))
    });
    request.await.status
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_of_the_group_signs_in_as_an_administrator() {
    let provider = OidcProvider::start().await;
    let stoa = portal(&provider).set("OIDC_ADMIN_GROUPS", "owners, admins").serve();
    let browser = Browser::default();
    assert_eq!(browser.get(&stoa.url(UPDATES)).await.status, 401);
    let there = begin(&browser, &stoa.url(LOGIN)).await;
    assert_eq!(parameter(&there, "response_type"), "code");
    assert_eq!(parameter(&there, "code_challenge_method"), "S256");
    assert_eq!(parameter(&there, "scope"), "openid email groups");
    assert_eq!(parameter(&there, "redirect_uri"), stoa.url("/kv/api/portal/sso/callback"));
    let binding = browser.cookie("portal_sso").unwrap();
    assert_eq!(binding.attributes, "HttpOnly; SameSite=Lax; Path=/kv/api/portal/sso; Max-Age=600");
    assert!(!there.contains(&binding.value), "only this browser knows it");

    let back = agree(&browser, &provider, &there, "ada").await;
    let done = browser.get(&back).await;
    assert_eq!((done.status, done.header("location"), done.body.as_str()), (303, vec!["/kv/"], ""));
    assert_eq!(done.header("cache-control"), ["no-store"]);
    let session = browser.cookie("portal_session").unwrap();
    assert_eq!(session.attributes, "HttpOnly; SameSite=Lax; Path=/; Max-Age=28800");
    assert_eq!(session.value.len(), 64);
    assert_eq!(browser.get(&stoa.url(UPDATES)).await.status, 200);
    assert_eq!(write(&browser, &stoa, None).await, 201);
    assert_eq!(write(&browser, &stoa, Some(&stoa.url(""))).await, 201);
    for other in ["https://evil.example", "null", "http://127.0.0.1:1"] {
        assert_eq!(write(&browser, &stoa, Some(other)).await, 403, "{other}");
    }
    assert!(stoa.logs("a user signed in by the provider"));
    let metrics = e2e::get(format!("http://{}/metrics", stoa.ops)).await.body;
    assert!(metrics.contains("portal_sign_ins_total{outcome=\"admin\"} 1"), "{metrics}");
    let database = std::fs::read(stoa.data.path().join("stoa.db")).unwrap();
    let wal = std::fs::read(stoa.data.path().join("stoa.db-wal")).unwrap_or_default();
    let has = |text: &str| [&database, &wal].iter().any(|file| String::from_utf8_lossy(file).contains(text));
    assert!(has("ada@example.org") && !has(&session.value), "only its hash is kept");
    for secret in
        [&session.value, &binding.value, &parameter(&back, "code"), "ada@example.org", CLIENT_SECRET]
    {
        assert!(!stoa.log().contains(secret), "{secret} is in the log");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_reads_and_comes_back_where_they_wanted_to_go() {
    let provider = OidcProvider::start().await;
    let stoa = portal(&provider).set("OIDC_ADMIN_GROUPS", "admins").serve();
    let browser = Browser::default();
    let login = stoa.url(&format!("{LOGIN}?returnTo=%2Fkv%2Fpages%2F%C3%BC%3Fa%3D%252F%20b%23c"));
    let done = sign_in(&browser, &provider, &login, "bob").await;
    assert_eq!((done.status, done.header("location")), (303, vec!["/kv/pages/%C3%BC?a=%2F%20b#c"]));
    assert_eq!(browser.get(&stoa.url(UPDATES)).await.status, 200);
    assert_eq!(write(&browser, &stoa, None).await, 403);
    // Past the gateway, at the portal itself.
    let (direct, base) = (Browser::default(), format!("http://{}", stoa.portal.unwrap()));
    let there = begin(&direct, &format!("{base}/api/portal/sso/login")).await;
    assert_eq!(parameter(&there, "redirect_uri"), format!("{base}/api/portal/sso/callback"));
    let back = agree(&direct, &provider, &there, "bob").await;
    assert_eq!(direct.get(&back).await.status, 303);
    assert_eq!(direct.get(&format!("{base}/api/portal/updates")).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_by_logout_and_by_the_next_sign_in() {
    let provider = OidcProvider::start().await;
    let stoa = portal(&provider).serve();
    let browser = Browser::default();
    assert_eq!(sign_in(&browser, &provider, &stoa.url(LOGIN), "ada").await.status, 303);
    let first = browser.cookie("portal_session").unwrap().value;
    assert_eq!(sign_in(&browser, &provider, &stoa.url(LOGIN), "ada").await.status, 303);
    let second = browser.cookie("portal_session").unwrap().value;
    assert_ne!(first, second);
    let status = async |token: &str| {
        let (other, url) = (Browser::default(), stoa.url(UPDATES));
        let with = format!("portal_session={token}");
        other.send(Method::GET, &url, |get| get.header("cookie", with)).await.status
    };
    assert_eq!((status(&first).await, status(&second).await), (403, 200));
    let (url, evil) = (stoa.url(LOGOUT), "https://evil.example");
    let refused = browser.send(Method::POST, &url, |post| post.header("origin", evil)).await;
    assert_eq!((refused.status, status(&second).await), (403, 200));
    for url in [stoa.url(LOGOUT), stoa.url(UPDATES)] {
        let cross =
            |post: RequestBuilder| post.header("sec-fetch-site", "cross-site").json(&json!({ "title": "A" }));
        assert_eq!(browser.send(Method::POST, &url, cross).await.status, 403, "{url}");
    }
    assert_eq!(status(&second).await, 200);
    assert_eq!(browser.get(&stoa.url(LOGOUT)).await.status, 405);
    let gone = browser.post(&stoa.url(LOGOUT)).await;
    assert_eq!((gone.status, gone.body.as_str()), (204, ""));
    assert_eq!(gone.header("set-cookie"), ["portal_session=; HttpOnly; SameSite=Lax; Path=/; Max-Age=0"]);
    assert!(browser.cookie("portal_session").is_none());
    assert_eq!((status(&second).await, browser.get(&stoa.url(UPDATES)).await.status), (403, 401));
    assert_eq!(browser.post(&stoa.url(LOGOUT)).await.status, 204, "once more does no harm");
    for forged in ["", "x", &"0".repeat(64), &"0".repeat(5_000)] {
        assert_eq!(status(forged).await, 403, "{forged}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callback_counts_once_and_in_the_browser_that_began() {
    let provider = OidcProvider::start().await;
    let stoa = portal(&provider).serve();
    let unknown = (400, "SSO_STATE_INVALID".to_owned());
    let attacker = Browser::default();
    let back = agree(&attacker, &provider, &begin(&attacker, &stoa.url(LOGIN)).await, "bob").await;
    // The attacker's link, opened by others: without a sign-in under way, and with one of their own.
    let victim = Browser::default();
    assert_eq!(code(&victim.get(&back).await), unknown);
    let own = begin(&victim, &stoa.url(LOGIN)).await;
    assert_eq!(code(&victim.get(&back).await), unknown);
    assert!(victim.cookie("portal_session").is_none());
    // Their code with the victim's state is refused by the provider: the challenge is another.
    let mixed = back.replace(&parameter(&back, "state"), &parameter(&own, "state"));
    assert_eq!(code(&victim.get(&mixed).await), (400, "SSO_CODE_INVALID".to_owned()));

    let browser = Browser::default();
    let back = agree(&browser, &provider, &begin(&browser, &stoa.url(LOGIN)).await, "bob").await;
    let state = parameter(&back, "state");
    for wrong in
        [back.replace(&state, &"0".repeat(64)), back.replace(&state, "x"), back.replace("state=", "x=")]
    {
        assert_eq!(code(&browser.get(&wrong).await), unknown, "{wrong}");
    }
    assert_eq!(browser.get(&back).await.status, 303, "what others tried has not hurt it");
    assert_eq!(code(&browser.get(&back).await), unknown, "a second time");
    // The used code in a sign-in that is new.
    let next = begin(&browser, &stoa.url(LOGIN)).await;
    let replayed = back.replace(&state, &parameter(&next, "state"));
    assert_eq!(code(&browser.get(&replayed).await), (400, "SSO_CODE_INVALID".to_owned()));
    assert!(stoa.logs("a sign-in was refused"));
    assert!(stoa.log().contains("the state is of another browser"));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_tabs_of_one_browser_sign_in_at_the_same_time() {
    let provider = OidcProvider::start().await;
    let stoa = portal(&provider).serve();
    let browser = Browser::default();
    let one = begin(&browser, &stoa.url(LOGIN)).await;
    let other = begin(&browser, &stoa.url(&format!("{LOGIN}?returnTo=/other"))).await;
    for (there, place) in [(one, "/kv/"), (other, "/other")] {
        let back = agree(&browser, &provider, &there, "ada").await;
        assert_eq!(browser.get(&back).await.header("location"), [place]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_turns_back_at_the_provider_is_told_so() {
    let provider = OidcProvider::start().await;
    let stoa = portal(&provider).serve();
    let browser = Browser::default();
    let there = begin(&browser, &stoa.url(LOGIN)).await;
    let form = browser.get(&there).await;
    let abort = format!("{}{}/abort", provider.url, form.header("location")[0]);
    let aborted = browser.get(&abort).await;
    let resumed = browser.get(aborted.header("location")[0]).await;
    let back = resumed.header("location")[0];
    assert_eq!(parameter(back, "error"), "access_denied");
    let told = browser.get(back).await;
    assert_eq!(code(&told), (403, "SSO_DENIED".to_owned()));
    assert_eq!(told.json()["success"], false);
    assert_eq!(code(&browser.get(back).await), (400, "SSO_STATE_INVALID".to_owned()));
}
