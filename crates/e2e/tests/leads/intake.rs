//! What forms send, in three encodings, and what is kept of it.

use crate::{becomes, fault, invalid, lead, listed, post, request, shown, urlencoded};
use e2e::{Crm, Stoa, reply};
use reqwest::Method;
use serde_json::json;

const FORMS: &str = r#"
[forms.contact]
fields = ["name", "email", "phone", "message", "interest", "size"]
required = ["name", "email"]
country_code = "+49"
split_name = true
return_to = "https://www.example.org/thanks?from=form"
consent_text = "You may write to me."
consent_version = "2026-11"

[forms.contact.crm]
size = "company_size"

[forms.strict]
fields = ["email"]
consent_required = true
"#;

#[tokio::test(flavor = "multi_thread")]
async fn the_three_encodings_make_the_same_lead() {
    let stoa = Stoa::start_leads("").serve();
    let by_curl = request(&stoa, Method::POST, "/api/leads").body(r#"{"email": "curl@example.org"}"#);
    let by_curl = reply(by_curl.header("content-type", "application/x-www-form-urlencoded")).await;
    assert_eq!(by_curl.status, 202, "JSON is read whatever its type says: {by_curl:?}");
    let json =
        lead(&stoa, "/api/leads", json!({ "name": " Ada ", "email": "ADA@Example.org", "message": "1" }))
            .await;
    let pairs = [("name", " Ada "), ("email", "ADA@Example.org"), ("message", "2")];
    let by_form = reply(urlencoded(request(&stoa, Method::POST, "/api/leads/default"), &pairs)).await;
    let boundary = "x-boundary";
    let parts: String = [("name", " Ada "), ("email", "ADA@Example.org"), ("message", "3")]
        .map(|(name, value)| {
            format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        })
        .concat();
    let multipart = request(&stoa, Method::POST, "/api/leads")
        .header("content-type", format!("multipart/form-data; boundary={boundary}"))
        .body(format!("{parts}--{boundary}--\r\n"));
    let multipart = reply(multipart).await;
    let ids = [&by_form, &multipart].map(|answer| {
        assert_eq!(answer.status, 202, "{answer:?}");
        answer.json()["leadId"].as_str().unwrap().to_owned()
    });
    for (id, message) in [(&json, "1"), (&ids[0], "2"), (&ids[1], "3")] {
        let kept = shown(&stoa, id).await;
        assert_eq!(kept["fields"], json!({ "name": "Ada", "email": "ada@example.org", "message": message }));
        assert_eq!((&kept["email"], &kept["status"]), (&json!("ada@example.org"), &json!("queued")));
        assert_eq!(kept["address"], "127.0.0.1");
    }
    let typeless = request(&stoa, Method::POST, "/api/leads").body(r#"{"email":"b@example.org"}"#);
    assert_eq!(reply(typeless).await.status, 202, "JSON is read whatever its type is called");
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_are_made_uniform_and_go_out_under_the_names_of_the_crm() {
    let crm = Crm::start().await;
    let stoa = Stoa::start_leads(FORMS).with_webhook(&crm).serve();
    let body = json!({ "name": "Ludwig  van Beethoven", "email": " L.V.B@Example.ORG ", "phone": "030 / 123 456 78",
        "message": "Dear\r\nall", "interest": ["pianos", "quartets"], "size": 12, "_consent": true, "_page": "/x" });
    let id = lead(&stoa, "/api/leads/contact", body).await;
    let sent = crm.taken(1).await.remove(0);
    assert_eq!(sent.id(), id);
    assert_eq!(sent.body["type"], "lead.created");
    let data = &sent.body["data"];
    assert_eq!((&data["leadId"], &data["form"]), (&json!(id), &json!("contact")));
    let expected = json!({ "name": "Ludwig van Beethoven", "first_name": "Ludwig", "last_name": "van Beethoven",
        "email": "l.v.b@example.org", "phone": "+493012345678", "message": "Dear\nall", "interest": "pianos;quartets",
        "company_size": "12" });
    assert_eq!(data["properties"], expected);
    let kept = becomes(&stoa, &id, "forwarded").await;
    assert_eq!(kept["consent"]["text"], "You may write to me.");
    assert_eq!(kept["consent"]["version"], "2026-11");
    assert_eq!(kept["consent"]["time"], kept["createdAt"]);
    assert_eq!(kept["consent"]["address"], "127.0.0.1");
    assert_eq!(data["consent"], kept["consent"]);
    assert_eq!(kept["attempts"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_named_and_what_the_form_does_not_know_is_left_out() {
    let stoa = Stoa::start_leads(FORMS).serve();
    invalid(
        &post(&stoa, "/api/leads/contact", &json!({ "name": "  ", "email": "a@b.cd" })).await,
        "`name` is missing",
    );
    invalid(
        &post(&stoa, "/api/leads/contact", &json!({ "name": "A", "email": "nobody" })).await,
        "`email` is not",
    );
    invalid(
        &post(&stoa, "/api/leads/contact", &json!({ "name": { "a": 1 }, "email": "a@b.cd" })).await,
        "`name`",
    );
    invalid(&post(&stoa, "/api/leads/contact", &json!([1])).await, "not a JSON object");
    invalid(&post(&stoa, "/api/leads/strict", &json!({ "email": "a@b.cd" })).await, "`_consent`");
    invalid(
        &post(&stoa, "/api/leads/strict", &json!({ "email": "a@b.cd", "_consent": "no" })).await,
        "`_consent`",
    );
    let own =
        json!({ "email": "a@b.cd", "_consent": "on", "_consent_text": "Yes.", "_consent_version": "7" });
    let kept = shown(&stoa, &lead(&stoa, "/api/leads/strict", own).await).await;
    assert_eq!((&kept["consent"]["text"], &kept["consent"]["version"]), (&json!("Yes."), &json!("7")));
    let unknown = post(&stoa, "/api/leads/nowhere", &json!({ "email": "a@b.cd" })).await;
    assert_eq!(fault(&unknown), (404, "NOT_FOUND".to_owned()));
    let default = post(&stoa, "/api/leads", &json!({ "email": "a@b.cd" })).await;
    assert_eq!(default.status, 404, "the built-in form is there only without others");
    assert_eq!(listed(&stoa, "").await.len(), 1, "nothing of what was refused is kept");
    let more = json!({ "name": "A", "email": "a@b.cd", "submit": "Send", "utm_source": "x" });
    let kept = shown(&stoa, &lead(&stoa, "/api/leads/contact", more).await).await;
    assert_eq!(kept["fields"].get("submit"), None, "{kept}");
    let wrong = reply(request(&stoa, Method::PUT, "/api/leads/contact")).await;
    assert_eq!(fault(&wrong), (405, "METHOD_NOT_ALLOWED".to_owned()));
    assert!(wrong.header("allow")[0].contains("POST"), "{wrong:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browsers_form_goes_back_to_the_page_and_a_script_gets_json() {
    let stoa = Stoa::start_leads(FORMS).serve();
    let page = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    let form = [("name", "Ada"), ("email", "ada@example.org")];
    let browser =
        urlencoded(request(&stoa, Method::POST, "/api/leads/contact").header("accept", page), &form);
    let answer = reply(browser).await;
    assert_eq!((answer.status, answer.body.as_str()), (303, ""));
    assert_eq!(answer.header("location"), ["https://www.example.org/thanks?from=form"]);
    let script =
        urlencoded(request(&stoa, Method::POST, "/api/leads/contact").header("accept", "*/*"), &form);
    let answer = reply(script).await;
    assert_eq!(answer.status, 202);
    assert_eq!(answer.header("cache-control"), ["no-store"]);
    let json = request(&stoa, Method::POST, "/api/leads/contact").header("accept", page);
    let json = reply(json.json(&json!({ "name": "Ada", "email": "ada@example.org" }))).await;
    assert_eq!(json.status, 202, "no browser posts JSON by itself");
    assert_eq!(listed(&stoa, "").await.len(), 1);
    let none = Stoa::start_leads("").serve();
    let answer =
        reply(urlencoded(request(&none, Method::POST, "/api/leads").header("accept", page), &form)).await;
    assert_eq!(answer.status, 202, "nowhere to go back to");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_is_shown_what_is_wrong_as_a_page() {
    let stoa = Stoa::start_leads(FORMS).set("LEADS_PER_MINUTE", 2).serve();
    let send = async |form: &str, accept: &str, pairs: &[(&str, &str)]| {
        let request = request(&stoa, Method::POST, &format!("/api/leads/{form}"));
        reply(urlencoded(request.header("accept", accept), pairs)).await
    };
    let wrong = [("name", "A"), ("email", "<b>\"x\"</b>")];
    let page = send("contact", "text/html", &wrong).await;
    assert_eq!((page.status, page.header("content-type")), (400, vec!["text/html; charset=utf-8"]));
    assert_eq!(page.header("content-security-policy"), ["default-src 'none'"]);
    assert!(page.body.contains("<p>`email` is not an email address"), "{page:?}");
    let file = "--x\r\nContent-Disposition: form-data; name=\"<i>\"; filename=\"a\"\r\n\r\ny\r\n--x--\r\n";
    let file = request(&stoa, Method::POST, "/api/leads/contact").header("accept", "text/html").body(file);
    let file = file.header("content-type", "multipart/form-data; boundary=x");
    let file = reply(file).await;
    assert!(file.status == 400 && file.body.contains("<p>`&lt;i&gt;` is a file"), "{file:?}");
    let often = send("contact", "text/html", &wrong).await;
    assert_eq!((often.status, often.header("retry-after").len()), (429, 1), "{often:?}");
    assert!(often.body.starts_with("<!doctype html>"), "{often:?}");
    assert!(send("nowhere", "text/html", &wrong).await.body.contains("<p>no such form</p>"));
    assert_eq!(fault(&send("strict", "*/*", &wrong).await).0, 400, "a script gets JSON");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_address_may_send_so_many_a_minute_to_one_form() {
    let forms = "[forms.a]\nfields = [\"email\"]\n[forms.b]\nfields = [\"email\"]\n";
    let start = Stoa::start_leads(forms).set("LEADS_PER_MINUTE", 3);
    let stoa = start.set("TRUSTED_PROXIES", "127.0.0.1").serve();
    let send = async |form: &str, number: usize, address: &str| {
        let body = json!({ "email": format!("{number}@example.org") });
        let request = request(&stoa, Method::POST, &format!("/api/leads/{form}"));
        reply(request.header("x-forwarded-for", address).json(&body)).await
    };
    for number in 0..3 {
        assert_eq!(send("a", number, "203.0.113.7").await.status, 202);
    }
    let answer = send("a", 3, "203.0.113.7").await;
    assert_eq!(fault(&answer), (429, "TOO_MANY_REQUESTS".to_owned()));
    let wait: u64 = answer.header("retry-after")[0].parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    assert_eq!(send("a", 4, "203.0.113.8").await.status, 202, "another address");
    assert_eq!(send("b", 5, "203.0.113.7").await.status, 202, "another form");
    for number in 6..9 {
        assert_eq!(send("a", number, &format!("2001:db8:1:1::{number}")).await.status, 202);
    }
    assert_eq!(send("a", 9, "2001:db8:1:1:ffff::1").await.status, 429, "one network, one sender");
    assert_eq!(send("a", 9, "2001:db8:1:2::1").await.status, 202);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_form_does_not_have_is_named_and_left_out() {
    let stoa = Stoa::start_leads(FORMS).serve();
    let body =
        json!({ "name": "Ada", "email": "ada@example.org", "fax": "1", "_consent": true, "_next": "x" });
    let answer = post(&stoa, "/api/leads/contact?utm_source=x", &body).await;
    assert_eq!((answer.status, answer.header("x-unknown-fields")), (202, vec!["_next, fax, utm_source"]));
    let pairs = [("name", "Ada"), ("email", "ada@example.org"), ("submit", "Send")];
    let answer = reply(urlencoded(request(&stoa, Method::POST, "/api/leads/contact"), &pairs)).await;
    assert_eq!((answer.status, answer.header("x-unknown-fields")), (202, vec!["submit"]));
    let answer = crate::as_admin(&stoa, Method::GET, "/api/leads?form=contact&state=queued").await;
    assert_eq!((answer.status, answer.header("x-unknown-fields")), (200, vec!["state"]));
}
