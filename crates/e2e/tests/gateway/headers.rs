//! What the target is told beside what the client sent, and what each side does not get to see.

use e2e::client::{Echoed, is_uuid};
use e2e::raw::exchange;
use e2e::tokens::{now, token, verified};
use e2e::{Stoa, Upstream, get, reply};
use serde_json::json;

async fn start() -> (Upstream, Stoa) {
    let upstream = Upstream::start().await;
    let stoa = Stoa::start().before(&upstream.url()).serve();
    (upstream, stoa)
}

#[tokio::test]
async fn the_target_is_told_who_calls_in_an_identity_and_never_sees_the_token() {
    let (_upstream, stoa) = start().await;
    let token = token("KV", "guest");
    let request = reqwest::Client::new().get(stoa.url("/kv/x")).bearer_auth(&token);
    let echoed = reply(request).await.echoed();
    assert_eq!(echoed.header("authorization"), [""; 0]);
    assert_eq!(echoed.header("x-gateway-route"), ["KV"]);
    let identities = echoed.header("x-gateway-identity");
    assert_eq!(identities.len(), 1);
    let (header, claims) = verified(identities[0]);
    assert_eq!((&header["alg"], &header["typ"]), (&json!("HS256"), &json!("gateway-identity+jwt")));
    let iat = claims["iat"].as_i64().unwrap();
    assert!((now() - 5..=now()).contains(&iat));
    let expected = json!({
        "projectId": "ada", "route": "KV", "scopes": ["guest"], "environment": "staging",
        "issuedBy": "stoa", "iss": "stoa", "aud": "stoa", "iat": iat, "exp": iat + 60,
        "tokenExp": verified(&token).1["exp"],
    });
    assert_eq!(claims, expected);
}

#[tokio::test]
async fn kv_and_core_pass_without_a_token_and_without_an_identity() {
    let (_upstream, stoa) = start().await;
    for (path, route) in [("/kv/x", "KV"), ("/core/x", "CORE")] {
        let echoed = get(stoa.url(path)).await.echoed();
        assert_eq!(echoed.header("x-gateway-identity"), [""; 0]);
        assert_eq!(echoed.header("x-gateway-route"), [route]);
    }
    assert_eq!(get(stoa.url("/build/x")).await.error(), (401, "MISSING_TOKEN".into(), "BUILD".into()));
}

#[tokio::test]
async fn what_the_client_sends_under_the_gateways_names_is_dropped() {
    let (_upstream, stoa) = start().await;
    let request = "GET /kv/x HTTP/1.1\r\nHost: a\r\nX-Gateway-Identity: forged\r\nX-Gateway-Route: BUILD\r\n\
                   x-gateway-identity: again\r\nX-Gateway-Other: forged\r\nX_Gateway_Identity: forged\r\n\
                   X-Gateway_Identity: forged\r\nConnection: close\r\n\r\n";
    let echoed = Echoed(exchange(stoa.gateway, request).await.remove(0).json());
    assert!(!echoed.0.to_string().contains("forged"), "{echoed:?}");
    assert_eq!(echoed.header("x-gateway-identity"), [""; 0]);
    assert_eq!(echoed.header("x-gateway-route"), ["KV"]);
}

#[tokio::test]
async fn what_the_client_says_of_its_address_is_replaced() {
    let (_upstream, stoa) = start().await;
    let request = "GET /kv/x HTTP/1.1\r\nHost: shop.example\r\nX-Forwarded-For: 192.0.2.1\r\n\
                   X-Forwarded-Proto: https\r\nX-Forwarded-Host: forged\r\nX-Forwarded-Port: 1\r\n\
                   X-Forwarded-Prefix: /forged\r\n\
                   Forwarded: for=192.0.2.1\r\nX-Real-IP: 192.0.2.1\r\nConnection: close\r\n\r\n";
    let echoed = Echoed(exchange(stoa.gateway, request).await.remove(0).json());
    assert_eq!(echoed.header("x-forwarded-for"), ["127.0.0.1"]);
    assert_eq!(echoed.header("x-forwarded-proto"), ["http"]);
    assert_eq!(echoed.header("x-forwarded-host"), ["shop.example"]);
    assert_eq!(echoed.header("x-forwarded-prefix"), ["/kv"]);
    for name in ["forwarded", "x-real-ip", "x-forwarded-port"] {
        assert_eq!(echoed.header(name), [""; 0], "{name}");
    }
}

#[tokio::test]
async fn what_a_trusted_proxy_says_of_the_client_is_kept_and_added_to() {
    let upstream = Upstream::start().await;
    let stoa = Stoa::start().before(&upstream.url()).set("TRUSTED_PROXIES", "127.0.0.1").serve();
    let request = reqwest::Client::new().get(stoa.url("/kv/x"));
    let request = request.header("x-forwarded-for", "192.0.2.1, 192.0.2.2");
    let request = request.header("x-forwarded-proto", "https").header("x-forwarded-host", "shop.example");
    let echoed = reply(request).await.echoed();
    assert_eq!(echoed.header("x-forwarded-for").join(", "), "192.0.2.1, 192.0.2.2, 127.0.0.1");
    assert_eq!(echoed.header("x-forwarded-proto"), ["https"]);
    assert_eq!(echoed.header("x-forwarded-host"), ["shop.example"]);

    let plain = get(stoa.url("/kv/x")).await.echoed();
    assert_eq!(plain.header("x-forwarded-for"), ["127.0.0.1"]);
    assert_eq!(plain.header("x-forwarded-proto"), ["http"]);
    assert_eq!(plain.header("x-forwarded-host"), [stoa.gateway.to_string()]);
}

#[tokio::test]
async fn the_target_is_told_the_prefix_and_that_of_a_trusted_proxy() {
    let (_upstream, stoa) = start().await;
    for path in ["/kv", "/kv/", "/core/x"] {
        let echoed = get(stoa.url(path)).await.echoed();
        let prefix = &path[..path[1..].find('/').map_or(path.len(), |slash| slash + 1)];
        assert_eq!(echoed.header("x-forwarded-prefix"), [prefix], "{path}");
    }
    let upstream = Upstream::start().await;
    let stoa = Stoa::start().before(&upstream.url()).set("TRUSTED_PROXIES", "127.0.0.1").serve();
    for (outer, seen) in [
        ("/outer", "/outer/kv"),
        ("/outer/", "/outer/kv"),
        ("/a/b", "/a/b/kv"),
        ("//evil.example", "/kv"),
        ("/a;Domain=evil.example", "/kv"),
        ("", "/kv"),
    ] {
        let request = reqwest::Client::new().get(stoa.url("/kv/x")).header("x-forwarded-prefix", outer);
        assert_eq!(reply(request).await.echoed().header("x-forwarded-prefix"), [seen], "{outer}");
    }
}

#[tokio::test]
async fn a_browser_that_opens_kv_is_sent_to_the_page_and_other_callers_are_not() {
    let (_upstream, stoa) = start().await;
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let accept = "text/html,application/xhtml+xml,*/*;q=0.8";
    let page = |path: &str| client.get(stoa.url(path)).header("accept", accept);
    for (path, location) in [("/kv", "kv/"), ("/kv?a=b%20c&d", "kv/?a=b%20c&d")] {
        let sent = reply(page(path)).await;
        assert_eq!((sent.status, sent.header("location"), sent.body.as_str()), (302, vec![location], ""));
        assert_eq!(sent.header("cache-control"), ["no-store"]);
    }
    let head = reply(client.head(stoa.url("/kv")).header("accept", "text/html")).await;
    assert_eq!((head.status, head.header("location")), (302, vec!["kv/"]));
    // Relative: behind a proxy with a prefix, the browser stays there.
    let seen: reqwest::Url = "https://example.org/outer/kv".parse().unwrap();
    assert_eq!(seen.join("kv/?a").unwrap().as_str(), "https://example.org/outer/kv/?a");
    for path in ["/kv/", "/kv/x", "/core"] {
        assert_eq!(reply(page(path)).await.status, 200, "{path}");
    }
    assert_eq!(get(stoa.url("/kv")).await.echoed().uri(), "/");
    let post = client.post(stoa.url("/kv")).header("accept", accept);
    assert_eq!(reply(post).await.echoed().uri(), "/");
}

#[tokio::test]
async fn every_answer_forbids_guessing_its_type() {
    let (_upstream, stoa) = start().await;
    for path in ["/kv/x", "/build/x", "/nowhere", "/auth/login"] {
        assert_eq!(get(stoa.url(path)).await.header("x-content-type-options"), ["nosniff"], "{path}");
    }
    let refused = exchange(stoa.gateway, "GET / HTTP/1.1\r\n\r\n").await.remove(0);
    assert!(refused.head.contains("x-content-type-options: nosniff"), "{refused:?}");
    assert_eq!(get(format!("http://{}/livez", stoa.ops)).await.header("x-content-type-options"), ["nosniff"]);
}

#[tokio::test]
async fn headers_of_one_connection_go_no_further_in_either_direction() {
    let (_upstream, stoa) = start().await;
    let request = "GET /kv/x HTTP/1.1\r\nHost: a\r\nConnection: close, X-Private\r\nconnection: x-secret\r\n\
                   X-Private: 1\r\nX-Secret: 2\r\nKeep-Alive: timeout=9\r\nTE: trailers\r\n\
                   Proxy-Connection: keep-alive\r\nProxy-Authorization: Basic x\r\nUpgrade: h2c\r\n\
                   HTTP2-Settings: x\r\nX-Kept: 3\r\n\r\n";
    let answer = exchange(stoa.gateway, request).await.remove(0);
    let echoed = Echoed(answer.json());
    for name in [
        "x-private",
        "x-secret",
        "keep-alive",
        "te",
        "proxy-connection",
        "proxy-authorization",
        "upgrade",
        "http2-settings",
        "transfer-encoding",
    ] {
        assert_eq!(echoed.header(name), [""; 0], "{name}");
    }
    assert_eq!(echoed.header("x-kept"), ["3"]);
    assert!(!answer.head.contains("x-hop"), "{}", answer.head);
    assert!(!answer.head.contains("timeout=5"), "{}", answer.head);
}

#[tokio::test]
async fn a_connection_header_cannot_take_away_what_the_gateway_sets() {
    let (_upstream, stoa) = start().await;
    let request = format!(
        "GET /build/x HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {}\r\n\
         Connection: close, x-gateway-identity, x-gateway-route, x-forwarded-for, x-request-id\r\n\r\n",
        token("AUTH", "admin")
    );
    let echoed = Echoed(exchange(stoa.gateway, request).await.remove(0).json());
    for name in ["x-gateway-identity", "x-gateway-route", "x-forwarded-for", "x-request-id"] {
        assert_eq!(echoed.header(name).len(), 1, "{name}");
    }
}

#[tokio::test]
async fn the_target_gets_its_own_host_and_all_other_headers_as_they_came() {
    let (upstream, stoa) = start().await;
    let request =
        reqwest::Client::new().get(stoa.url("/kv/x")).header("x-list", "one").header("x-list", "two");
    let request = request.header("cookie", "a=1; b=2").header("accept", "text/html;q=0.5");
    let echoed = reply(request.header("user-agent", "a test/1.0 (x)")).await.echoed();
    assert_eq!(echoed.header("host"), [upstream.address.to_string()]);
    assert_eq!(echoed.header("x-list"), ["one", "two"]);
    assert_eq!(echoed.header("cookie"), ["a=1; b=2"]);
    assert_eq!(echoed.header("accept"), ["text/html;q=0.5"]);
    assert_eq!(echoed.header("user-agent"), ["a test/1.0 (x)"]);
}

#[tokio::test]
async fn a_request_id_is_the_same_for_target_client_and_error_record() {
    let (_upstream, stoa) = start().await;
    let own = "6f0c2d8e-9f55-4c53-9c0a-1d2b3c4d5e6f";
    let send =
        |path: &str, id: &str| reply(reqwest::Client::new().get(stoa.url(path)).header("x-request-id", id));
    let answer = send("/kv/x", own).await;
    assert_eq!(answer.header("x-request-id"), [own]);
    assert_eq!(answer.echoed().header("x-request-id"), [own]);
    let error = send("/nowhere", own).await;
    assert_eq!(error.header("x-request-id"), [own]);
    assert_eq!(error.json()["requestId"], own);

    for malformed in
        ["x", "6f0c2d8e9f554c539c0a1d2b3c4d5e6f", &own[1..], "zf0c2d8e-9f55-4c53-9c0a-1d2b3c4d5e6f"]
    {
        let answer = send("/kv/x", malformed).await;
        let id = answer.header("x-request-id")[0].to_owned();
        assert!(is_uuid(&id) && id != malformed, "{id}");
        assert_eq!(answer.echoed().header("x-request-id"), [id.as_str()]);
    }
    let (first, second) = (get(stoa.url("/nowhere")).await, get(stoa.url("/nowhere")).await);
    assert_eq!(first.header("x-request-id"), [first.json()["requestId"].as_str().unwrap()]);
    assert_ne!(first.json()["requestId"], second.json()["requestId"]);
    assert_eq!(get(stoa.url("/nowhere")).await.error().0, 404);
}
