//! Whose pages may post.

use crate::{fault, listed, request, url};
use e2e::{Reply, Stoa, reply};
use reqwest::Method;
use serde_json::json;

const FORMS: &str = "[forms.own]\nfields = [\"email\"]\n\
                     [forms.shared]\nfields = [\"email\"]\norigins = [\"https://www.example.org\"]\n\
                     [forms.open]\nfields = [\"email\"]\norigins = [\"*\"]\n";

async fn send(stoa: &Stoa, form: &str, origin: &str) -> Reply {
    let request = request(stoa, Method::POST, &format!("/api/leads/{form}")).header("origin", origin);
    reply(request.json(&json!({ "email": format!("{}@example.org", origin.len()) }))).await
}

async fn preflight(stoa: &Stoa, form: &str, origin: &str) -> Reply {
    let request = request(stoa, Method::OPTIONS, &format!("/api/leads/{form}")).header("origin", origin);
    reply(request.header("access-control-request-method", "POST")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_other_origins_are_refused_unless_the_form_names_them() {
    let stoa = Stoa::start_leads(FORMS).serve();
    let own = url(&stoa, "");
    for (form, origin, status) in [
        ("own", own.as_str(), 202),
        ("own", "https://www.example.org", 403),
        ("own", "null", 403),
        ("shared", "https://www.example.org", 202),
        ("shared", "HTTPS://WWW.EXAMPLE.ORG", 202),
        ("shared", own.as_str(), 202),
        ("shared", "http://www.example.org", 403),
        ("shared", "https://www.example.org.evil.example", 403),
        ("shared", "https://www.example.org:8443", 403),
        ("shared", "null", 403),
        ("open", "https://anybody.example", 202),
    ] {
        let answer = send(&stoa, form, origin).await;
        assert_eq!(answer.status, status, "{form} {origin} {answer:?}");
        if status == 403 {
            assert_eq!(fault(&answer).1, "FORBIDDEN");
            assert!(answer.header("access-control-allow-origin").is_empty());
        }
    }
    assert!(listed(&stoa, "?form=own").await.len() == 1, "what is refused is not kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_may_post_can_read_the_answer_also_a_refusal() {
    let stoa = Stoa::start_leads(FORMS).serve();
    let origin = "https://www.example.org";
    let answer = preflight(&stoa, "shared", origin).await;
    assert_eq!((answer.status, answer.body.as_str()), (204, ""));
    assert_eq!(answer.header("access-control-allow-origin"), [origin]);
    assert_eq!(answer.header("access-control-allow-methods"), ["POST"]);
    assert_eq!(answer.header("access-control-allow-headers"), ["content-type, idempotency-key"]);
    assert!(answer.header("access-control-allow-credentials").is_empty());
    assert_eq!(preflight(&stoa, "shared", "https://evil.example").await.status, 403);
    assert_eq!(preflight(&stoa, "own", origin).await.status, 403);
    assert_eq!(preflight(&stoa, "nowhere", origin).await.status, 404);
    let taken = send(&stoa, "shared", origin).await;
    assert_eq!(taken.header("access-control-allow-origin"), [origin]);
    assert_eq!(taken.header("vary"), ["origin"]);
    let wrong = request(&stoa, Method::POST, "/api/leads/shared").header("origin", origin).body("{");
    let wrong = reply(wrong).await;
    assert_eq!((wrong.status, wrong.header("access-control-allow-origin")), (400, vec![origin]));
}
