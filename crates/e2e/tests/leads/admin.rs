//! Who manages leads, and how.

use crate::{as_admin, becomes, fault, lead, listed, request, shown};
use e2e::tokens::{claims, now, sign_as, token};
use e2e::{Crm, Mood, Stoa, reply};
use reqwest::Method;
use serde_json::{Value, json};

fn identity(scope: &str, secret: &str) -> String {
    let mut claims = claims("KV", scope);
    claims["exp"] = (now() + 60).into();
    let header = json!({ "typ": "gateway-identity+jwt", "alg": "HS256" });
    sign_as(&header, &claims, secret, jsonwebtoken::Algorithm::HS256)
}

#[tokio::test(flavor = "multi_thread")]
async fn leads_are_for_administrators_only() {
    let stoa = Stoa::start_leads("").serve();
    let id = lead(&stoa, "/api/leads", json!({ "email": "ada@example.org" })).await;
    let right = e2e::stoa::JWT_SECRET;
    let wrong = "another secret that is as long as the right one";
    for (method, path) in [
        (Method::GET, "/api/leads".to_owned()),
        (Method::GET, "/api/leads/export".to_owned()),
        (Method::GET, format!("/api/leads/{id}")),
        (Method::POST, format!("/api/leads/{id}/retry")),
        (Method::POST, "/api/leads/failed/retry".to_owned()),
        (Method::DELETE, format!("/api/leads/{id}")),
    ] {
        let ask = |name: &'static str, value: String| {
            let request = request(&stoa, method.clone(), &path);
            reply(if name.is_empty() { request } else { request.header(name, value) })
        };
        assert_eq!(fault(&ask("", String::new()).await), (401, "UNAUTHORIZED".to_owned()), "{method} {path}");
        for (name, value) in [
            ("authorization", format!("Bearer {}", token("AUTH", "guest"))),
            ("authorization", "Bearer x".to_owned()),
            ("authorization", format!("Basic {}", token("AUTH", "admin"))),
            ("authorization", format!("Bearer {}", identity("admin", right))),
            ("x-gateway-identity", identity("guest", right)),
            ("x-gateway-identity", identity("admin", wrong)),
            ("x-gateway-identity", token("AUTH", "admin")),
        ] {
            assert_eq!(
                fault(&ask(name, value.clone()).await),
                (403, "FORBIDDEN".to_owned()),
                "{method} {path} {name} {value}"
            );
        }
    }
    let by_identity =
        request(&stoa, Method::GET, "/api/leads").header("x-gateway-identity", identity("admin", right));
    let answer = reply(by_identity).await;
    assert_eq!((answer.status, answer.header("cache-control")), (200, vec!["no-store"]));
    assert_eq!(shown(&stoa, &id).await["status"], "queued", "nobody else has changed it");
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_filtered_and_paged() {
    let forms = "[forms.a]\nfields = [\"email\"]\n[forms.b]\nfields = [\"email\"]\n";
    let stoa = Stoa::start_leads(forms).serve();
    let mut ids = Vec::new();
    for number in 0..5 {
        let form = if number % 2 == 0 { "a" } else { "b" };
        ids.push(
            lead(&stoa, &format!("/api/leads/{form}"), json!({ "email": format!("{number}@example.org") }))
                .await,
        );
    }
    let of = |leads: Vec<Value>| {
        leads.iter().map(|lead| lead["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let newest_first: Vec<String> = ids.iter().rev().cloned().collect();
    assert_eq!(of(listed(&stoa, "").await), newest_first);
    assert_eq!(of(listed(&stoa, "?form=b").await), [ids[3].clone(), ids[1].clone()]);
    assert_eq!(of(listed(&stoa, "?email=2%40Example.org").await), [ids[2].clone()]);
    assert_eq!(listed(&stoa, "?status=failed").await.len(), 0);
    let page = as_admin(&stoa, Method::GET, "/api/leads?form=a&limit=2").await;
    let link = page.header("link")[0].to_owned();
    let next = link.strip_prefix('<').unwrap().split('>').next().unwrap();
    assert_eq!(of(listed(&stoa, next).await), [ids[0].clone()]);
    for path in ["?status=lost", "?limit=0", "?limit=1001"] {
        assert_eq!(as_admin(&stoa, Method::GET, &format!("/api/leads{path}")).await.status, 400, "{path}");
    }
    for (method, path) in [(Method::GET, ""), (Method::DELETE, ""), (Method::POST, "/retry")] {
        let answer =
            as_admin(&stoa, method, &format!("/api/leads/018f0000-0000-7000-8000-000000000000{path}")).await;
        assert_eq!(fault(&answer), (404, "NOT_FOUND".to_owned()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_erased_is_nowhere_and_is_not_sent_any_more() {
    let crm = Crm::start().await;
    crm.set(Mood::Says(500));
    let stoa = Stoa::start_leads("").with_webhook(&crm).serve();
    let body = json!({ "name": "Zebulon Quux", "email": "zebulon@example.org", "message": "xyzzy", "_consent": "on",
        "_consent_text": "plugh" });
    let id = lead(&stoa, "/api/leads", body).await;
    let later =
        lead(&stoa, "/api/leads", json!({ "email": "zebulon@example.org", "message": "second" })).await;
    crm.asked(2).await;
    let answer = as_admin(&stoa, Method::DELETE, &format!("/api/leads/{id}")).await;
    assert_eq!(answer.json(), json!({ "success": true, "leadId": id, "status": "erased" }));
    let before = crm.sent().iter().filter(|sent| sent.id() == id).count();
    crm.set(Mood::Well);
    becomes(&stoa, &later, "forwarded").await;
    let sent = crm.sent();
    assert!(sent.iter().filter(|sent| sent.id() == id).count() <= before + 1, "one may have been under way");
    assert!(!sent.iter().any(|sent| sent.id() == id && sent.is_taken()));
    let erased = shown(&stoa, &id).await;
    assert_eq!((&erased["status"], &erased["fields"]), (&json!("erased"), &json!({})));
    for field in ["email", "address", "consent", "error"] {
        assert_eq!(erased[field], Value::Null, "{field}");
    }
    let export = as_admin(&stoa, Method::GET, "/api/leads/export").await.body;
    assert!(export.contains(&id) && !export.contains("Quux") && !export.contains("xyzzy"), "{export}");
    assert_eq!(as_admin(&stoa, Method::POST, &format!("/api/leads/{id}/retry")).await.status, 409);
    assert_eq!(
        as_admin(&stoa, Method::DELETE, &format!("/api/leads/{id}")).await.status,
        200,
        "again is no fault"
    );
    let log = stoa.log();
    assert!(!log.contains("zebulon") && !log.contains("Quux") && !log.contains("xyzzy"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn long_leads_come_in_pages_and_are_exported_whole() {
    let names: Vec<String> = (0..60).map(|number| format!("field{number}")).collect();
    let fields = names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    let stoa = Stoa::start_leads(&format!("[forms.a]\nfields = [\"email\", {fields}]\n")).serve();
    let mut ids = Vec::new();
    for number in 0..4 {
        let mut body = json!({ "email": format!("{number}@example.org") });
        names.iter().for_each(|name| body[name] = json!("x".repeat(10_000)));
        ids.push(lead(&stoa, "/api/leads/a", body).await);
    }
    let (mut seen, mut pages, mut query) = (Vec::new(), 0, "?form=a&limit=1000".to_owned());
    loop {
        let answer = as_admin(&stoa, Method::GET, &format!("/api/leads{query}")).await;
        assert!(answer.body.len() < 1 << 20, "{}", answer.body.len());
        pages += 1;
        let leads = answer.json();
        seen.extend(leads.as_array().unwrap().iter().map(|lead| lead["id"].as_str().unwrap().to_owned()));
        let Some(link) = answer.header("link").first().map(ToString::to_string) else { break };
        query = link.trim_start_matches('<').split('>').next().unwrap().to_owned();
    }
    ids.reverse();
    assert_eq!((seen, pages), (ids, 4));
    let export = as_admin(&stoa, Method::GET, "/api/leads/export?form=a").await;
    assert_eq!(export.body.trim_end().lines().count(), 5);
}
