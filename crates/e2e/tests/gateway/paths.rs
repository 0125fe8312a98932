//! Which path leads where, byte for byte, and which leads nowhere.

use e2e::client::{Echoed, check_error};
use e2e::raw::{Answer, exchange};
use e2e::tokens::token;
use e2e::upstream::free_address;
use e2e::{Stoa, Upstream, get, reply};

async fn raw_get(stoa: &Stoa, path: &str) -> Answer {
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    exchange(stoa.gateway, request).await.remove(0)
}

#[tokio::test]
async fn each_prefix_leads_to_its_own_target() {
    let (build, kv, core) = (Upstream::start().await, Upstream::start().await, Upstream::start().await);
    let stoa = Stoa::start()
        .set("BUILD_SERVICE_URL", build.url())
        .set("KV_SERVICE_URL", kv.url())
        .set("CORE_SERVICE_URL", core.url())
        .serve();
    for (prefix, route, target) in [("/build", "BUILD", &build), ("/kv", "KV", &kv), ("/core", "CORE", &core)]
    {
        for (path, forwarded) in [("", "/"), ("/", "/"), ("/x", "/x"), ("/x/", "/x/"), ("?a=b", "/?a=b")] {
            let before = target.requests();
            let request = reqwest::Client::new().get(stoa.url(&format!("{prefix}{path}")));
            let echoed = reply(request.bearer_auth(token("AUTH", "admin"))).await.echoed();
            assert_eq!(echoed.uri(), forwarded, "{prefix}{path}");
            assert_eq!(echoed.header("x-gateway-route"), [route]);
            assert_eq!(target.requests(), before + 1);
        }
    }
}

#[tokio::test]
async fn the_rest_of_the_path_and_the_query_are_forwarded_byte_for_byte() {
    let upstream = Upstream::start().await;
    let stoa = Stoa::start().before(&upstream.url()).serve();
    for rest in [
        "/a%2Fb",
        "/a%2fb/%41",
        "/a//b///",
        "//x",
        "/%zz",
        "/%",
        "/a;b=c,d",
        "/~!$&'()*+=:@",
        "/a/./b/../c",
        "/a/%2e%2e/c",
        "/caf%C3%A9/%FF",
        "/%E2%80%A6...",
        "/x?",
        "/x?a=b&a=c&&=",
        "/x?a=%2F%zz+%20",
        "/x?/../..?%2e%2e",
        "/x?q={}|^`[]",
        "/x?%00",
        "/.",
        "/...",
        "/..x",
    ] {
        let answer = raw_get(&stoa, &format!("/kv{rest}")).await;
        assert_eq!(answer.status, 200, "{rest}: {answer:?}");
        assert_eq!(Echoed(answer.json()).uri(), rest);
    }
}

#[tokio::test]
async fn a_path_in_the_targets_address_comes_first() {
    let upstream = Upstream::start().await;
    for base in ["/base/path", "/base/path/"] {
        let stoa = Stoa::start().before(&format!("{}{base}", upstream.url())).serve();
        assert_eq!(get(stoa.url("/kv/x?y=z")).await.echoed().uri(), "/base/path/x?y=z");
        assert_eq!(get(stoa.url("/kv")).await.echoed().uri(), "/base/path/");
    }
}

#[tokio::test]
async fn a_path_outside_the_table_is_not_found_even_without_a_token_or_a_target() {
    let upstream = Upstream::start().await;
    let stoa = Stoa::start().before(&upstream.url()).serve();
    for path in [
        "/",
        "/builder",
        "/buil",
        "/Build/x",
        "/BUILD",
        "//build/x",
        "/x/build",
        "/kv.",
        "/kv;x",
        "/core%00",
        "/.build",
        "/../build/x",
        "/x/../build/x",
        "*",
    ] {
        let method = if path == "*" { "OPTIONS" } else { "GET" };
        let request = format!("{method} {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        let answer = exchange(stoa.gateway, request).await.remove(0);
        let record = answer.json();
        check_error(404, &record);
        assert_eq!(
            (answer.status, &record["code"], &record["route"]),
            (404, &"NOT_FOUND".into(), &"AUTH".into())
        );
    }
    assert_eq!(upstream.requests(), 0);
}

#[tokio::test]
async fn a_path_that_leaves_its_prefix_is_refused_and_never_forwarded() {
    let upstream = Upstream::start().await;
    let stoa = Stoa::start().before(&upstream.url()).serve();
    for (path, route) in [
        ("/build/../kv/x", "BUILD"),
        ("/build/..", "BUILD"),
        ("/kv/../build/x", "KV"),
        ("/kv/%2e%2e/x", "KV"),
        ("/kv/%2E%2e/x", "KV"),
        ("/kv/.%2e/x", "KV"),
        ("/kv/..%2fbuild", "KV"),
        ("/kv/..%2F..%2Fx", "KV"),
        ("/kv/a/../../x", "KV"),
        ("/kv/a%2f..%2f..%2fx", "KV"),
        ("/kv//../x", "KV"),
        ("/kv/./../x", "KV"),
        ("/kv/..\\x", "KV"),
        ("/kv/..%5cx", "KV"),
        ("/build%2fx", "BUILD"),
        ("/build%2Fx", "BUILD"),
        ("/build%5cx", "BUILD"),
        ("/core%2f..%2fkv", "CORE"),
    ] {
        let answer = raw_get(&stoa, path).await;
        check_error(400, &answer.json());
        assert_eq!(answer.status, 400, "{path}");
        assert_eq!(
            (&answer.json()["code"], &answer.json()["route"]),
            (&"INVALID_REQUEST".into(), &route.into())
        );
    }
    assert_eq!(upstream.requests(), 0);
}

#[tokio::test]
async fn a_prefix_in_disguise_still_needs_its_token() {
    let upstream = Upstream::start().await;
    let stoa = Stoa::start().before(&upstream.url()).serve();
    for path in ["/%62uild/x", "/b%75ild", "/%62%75%69%6c%64/x"] {
        let answer = raw_get(&stoa, path).await;
        assert!([401, 404].contains(&answer.status), "{path}: {answer:?}");
    }
    assert_eq!(upstream.requests(), 0);
}

#[tokio::test]
async fn an_absolute_request_target_is_taken_by_its_path() {
    let upstream = Upstream::start().await;
    let stoa = Stoa::start().before(&upstream.url()).serve();
    let request = "GET http://a.example/kv/x?y HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n";
    let answer = exchange(stoa.gateway, request).await.remove(0);
    assert_eq!(Echoed(answer.json()).uri(), "/x?y");
}

#[tokio::test]
async fn the_token_is_checked_before_the_target() {
    for start in [Stoa::start(), Stoa::start().before("")] {
        let stoa = start.serve();
        let missing = |route: &str| (502, "MISSING_TARGET".to_owned(), route.to_owned());
        assert_eq!(get(stoa.url("/build/x")).await.error(), (401, "MISSING_TOKEN".into(), "BUILD".into()));
        let wrong = reply(reqwest::Client::new().get(stoa.url("/kv/x")).bearer_auth("x")).await;
        assert_eq!(wrong.error(), (403, "INVALID_TOKEN".into(), "KV".into()));
        let build = reqwest::Client::new().get(stoa.url("/build/x")).bearer_auth(token("BUILD", "guest"));
        assert_eq!(reply(build).await.error(), missing("BUILD"));
        assert_eq!(get(stoa.url("/kv/x")).await.error(), missing("KV"));
        assert_eq!(get(stoa.url("/core")).await.error(), missing("CORE"));
    }
}

#[tokio::test]
async fn a_target_that_refuses_connections_is_unavailable() {
    let stoa = Stoa::start().before(&format!("http://{}", free_address().await)).serve();
    let answer = get(stoa.url("/core/x")).await;
    assert_eq!(answer.error(), (502, "UPSTREAM_UNAVAILABLE".into(), "CORE".into()));
}

#[tokio::test]
async fn a_target_that_breaks_off_before_its_answer_is_unavailable() {
    let upstream = Upstream::start_breaking_after(0).await;
    let stoa = Stoa::start().before(&upstream.url()).serve();
    let answer = get(stoa.url("/kv/x")).await;
    assert_eq!(answer.error(), (502, "UPSTREAM_UNAVAILABLE".into(), "KV".into()));
}

#[tokio::test]
async fn a_target_that_does_not_answer_times_out() {
    let upstream = Upstream::start().await;
    let stoa = Stoa::start().before(&upstream.url()).set("UPSTREAM_TIMEOUT", "300ms").serve();
    let answer = get(stoa.url("/kv/hang")).await;
    assert_eq!(answer.error(), (504, "UPSTREAM_TIMEOUT".into(), "KV".into()));
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    assert_eq!(upstream.abandoned(), 1, "the target is told by a close");
    assert_eq!(get(stoa.url("/kv/slow?n=100")).await.status, 200, "slow is not silent for too long");
}
