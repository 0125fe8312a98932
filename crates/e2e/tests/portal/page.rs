//! The page, as the program serves it: built or not.

use e2e::{Reply, Stoa, reply};
use reqwest::{Client, Method};

async fn ask(stoa: &Stoa, method: Method, path: &str, headers: &[(&str, &str)]) -> Reply {
    let request = Client::new().request(method, stoa.url(path));
    reply(headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))).await
}

/// Returns the files that the page names.
fn assets(page: &str) -> Vec<String> {
    let parts = page.split('"').filter(|part| part.contains("assets/"));
    parts.map(|part| part.trim_start_matches("./").to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_is_at_kv_and_may_load_nothing_from_elsewhere() {
    let stoa = Stoa::start_portal().serve();
    let page = ask(&stoa, Method::GET, "/kv/", &[("accept", "text/html")]).await;
    assert_eq!(
        (page.status, page.header("content-type")),
        (200, vec!["text/html; charset=utf-8"]),
        "{page:?}"
    );
    let policy = page.header("content-security-policy").concat();
    for rule in ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"] {
        assert!(policy.split("; ").any(|own| own == rule), "{policy}");
    }
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    assert_eq!(page.header("x-content-type-options"), ["nosniff"]);
    assert_eq!(page.header("referrer-policy"), ["no-referrer"]);
    let cached = page.header("cache-control").concat();
    assert!(["no-cache", "no-store"].contains(&cached.as_str()), "{cached}");
    let head = ask(&stoa, Method::HEAD, "/kv/", &[]).await;
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert_eq!(head.header("content-type"), page.header("content-type"));
    for absolute in ["http://", "https://", "src=\"/", "href=\"/", "<style", "style=", "onload"] {
        assert!(!page.body.contains(absolute), "the page has {absolute}");
    }
    // With the last `/`, wherever the browser has begun.
    let bare = ask(&stoa, Method::GET, "/kv", &[("accept", "text/html")]).await;
    assert_eq!((bare.status, bare.body), (200, page.body.clone()), "it follows the redirect");
    let etag = page.header("etag");
    if let [tag] = etag[..] {
        let known = ask(&stoa, Method::GET, "/kv/", &[("if-none-match", tag)]).await;
        assert_eq!((known.status, known.body.as_str(), known.header("etag")), (304, "", vec![tag]));
    } else {
        assert!(page.body.contains("make run"), "the page is not built, and says how to build it: {page:?}");
    }
    for name in assets(&page.body) {
        let file = ask(&stoa, Method::GET, &format!("/kv/{name}"), &[("accept-encoding", "identity")]).await;
        assert_eq!(file.status, 200, "{name}");
        assert!(file.header("cache-control").concat().contains("immutable"), "{name}: {file:?}");
        let tag = file.header("etag")[0];
        let known = ask(&stoa, Method::GET, &format!("/kv/{name}"), &[("if-none-match", tag)]).await;
        assert_eq!(known.status, 304, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_of_the_page_is_not_found() {
    let stoa = Stoa::start_portal().serve();
    for path in
        ["/kv/assets/none.js", "/kv/assets/..%2findex.html", "/kv/assets/", "/kv/search", "/kv/index.php"]
    {
        let answer = ask(&stoa, Method::GET, path, &[("accept", "text/html")]).await;
        assert_eq!((answer.status, &answer.json()["code"]), (404, &"NOT_FOUND".into()), "{path}");
        assert_eq!(answer.json()["success"], false, "{path}");
    }
    let post = ask(&stoa, Method::POST, "/kv/", &[]).await;
    assert_eq!((post.status, post.header("allow")), (405, vec!["GET,HEAD"]));
}
