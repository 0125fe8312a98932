//! Pages of other origins: nobody's by default, those of `CORS_ORIGINS` where it is set.

use e2e::{Reply, Stoa, Upstream, reply};

async fn call(stoa: &Stoa, method: &str, path: &str, origin: &str) -> Reply {
    let request =
        reqwest::Client::new().request(method.parse().unwrap(), stoa.url(path)).header("origin", origin);
    let request = request.header("access-control-request-method", "PUT");
    reply(request.header("access-control-request-headers", "authorization, x-own")).await
}

#[tokio::test]
async fn no_origin_is_allowed_by_default() {
    let upstream = Upstream::start().await;
    let stoa = Stoa::start().before(&upstream.url()).serve();
    for (method, path) in
        [("GET", "/kv/x"), ("GET", "/nowhere"), ("OPTIONS", "/kv/x"), ("OPTIONS", "/build/x")]
    {
        let answer = call(&stoa, method, path, "https://app.example").await;
        assert_eq!(answer.header("access-control-allow-origin"), [""; 0], "{method} {path}");
    }
    assert_eq!(call(&stoa, "OPTIONS", "/kv/x", "https://app.example").await.echoed().method(), "OPTIONS");
    assert_eq!(call(&stoa, "OPTIONS", "/build/x", "https://app.example").await.status, 401);
}

#[tokio::test]
async fn listed_origins_are_allowed_and_others_are_not() {
    let upstream = Upstream::start().await;
    let origins = "https://app.example, http://localhost:5173";
    let stoa = Stoa::start().before(&upstream.url()).set("CORS_ORIGINS", origins).serve();
    for origin in ["https://app.example", "http://localhost:5173"] {
        for (path, status) in [("/kv/x", 200), ("/build/x", 401), ("/nowhere", 404)] {
            let answer = call(&stoa, "GET", path, origin).await;
            assert_eq!(answer.status, status);
            assert_eq!(answer.header("access-control-allow-origin"), [origin], "{path}");
            assert!(answer.header("vary").join(",").to_lowercase().contains("origin"), "{path}");
            assert!(answer.header("access-control-expose-headers").join(",").contains("x-request-id"));
        }
        let before = upstream.requests();
        for path in ["/build/x", "/kv/x", "/auth/login"] {
            let answer = call(&stoa, "OPTIONS", path, origin).await;
            assert_eq!((answer.status, answer.body.as_str()), (204, ""), "a preflight carries no token");
            assert_eq!(answer.header("access-control-allow-origin"), [origin]);
            assert_eq!(answer.header("access-control-allow-methods"), ["PUT"]);
            assert_eq!(answer.header("access-control-allow-headers"), ["authorization, x-own"]);
            assert_eq!(answer.header("access-control-allow-credentials"), [""; 0]);
        }
        assert_eq!(upstream.requests(), before, "a preflight is not forwarded");
    }
    for origin in ["https://app.example.evil", "http://app.example", "https://app.example:8443", "null"] {
        for (method, path) in [("GET", "/kv/x"), ("OPTIONS", "/build/x")] {
            let answer = call(&stoa, method, path, origin).await;
            assert_eq!(answer.header("access-control-allow-origin"), [""; 0], "{origin}");
            assert_ne!(answer.status, 204, "{origin}");
            assert_eq!(answer.header("vary"), ["origin"], "another origin would have got more");
        }
    }
}

#[tokio::test]
async fn an_answer_to_no_origin_varies_by_origin_as_well() {
    let upstream = Upstream::start().await;
    let stoa = Stoa::start().before(&upstream.url()).set("CORS_ORIGINS", "https://app.example").serve();
    for path in ["/kv/x", "/nowhere", "/build/x"] {
        assert_eq!(e2e::client::get(stoa.url(path)).await.header("vary"), ["origin"], "{path}");
    }
}
