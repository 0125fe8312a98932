//! What attackers send: each refused with a clear error, or made harmless.

use crate::{as_admin, fault, invalid, lead, listed, post, request, urlencoded};
use e2e::{Crm, Stoa, reply};
use reqwest::Method;
use serde_json::{Value, json};

const FORMS: &str = "[forms.contact]\nfields = [\"name\", \"email\", \"phone\", \"company\", \"message\"]\n\
                     return_to = \"/thanks\"\n";

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_are_too_large_too_deep_or_too_many_are_refused() {
    let stoa = Stoa::start_leads(FORMS).serve();
    let path = "/api/leads/contact";
    let send = async |kind: &str, body: String| {
        reply(request(&stoa, Method::POST, path).header("content-type", kind).body(body)).await
    };
    let large = json!({ "email": "a@b.cd", "message": "x".repeat(1 << 20) }).to_string();
    let of_form = "application/x-www-form-urlencoded";
    let multipart = "multipart/form-data; boundary=b";
    let part = |name: &str, text: &str| {
        format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n")
    };
    for (kind, body) in [
        ("application/json", large.clone()),
        (of_form, format!("email=a%40b.cd&message={}", "x".repeat(1 << 20))),
        (multipart, format!("{}--b--\r\n", part("message", &"x".repeat(1 << 20)))),
    ] {
        assert_eq!(fault(&send(kind, body).await), (413, "PAYLOAD_TOO_LARGE".to_owned()), "{kind}");
    }
    let deep = format!("{{\"email\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    invalid(&send("application/json", deep).await, "nested deeper");
    let many: serde_json::Map<String, Value> = (0..10_000).map(|n| (format!("f{n}"), "x".into())).collect();
    invalid(&send("application/json", Value::from(many).to_string()).await, "more than 200 fields");
    let list = json!({ "email": "a@b.cd", "message": vec!["x"; 10_000] });
    invalid(&send("application/json", list.to_string()).await, "more than 200 fields");
    let many: String = (0..10_000).map(|n| format!("f{n}=x&")).collect();
    invalid(&send(of_form, many).await, "more than 200 fields");
    let many: String = (0..5_000).map(|n| part(&format!("f{n}"), "x")).collect();
    invalid(&send(multipart, format!("{many}--b--\r\n")).await, "more than 200 fields");
    invalid(&send("application/json", "{\"email\":".to_owned()).await, "not the JSON");
    invalid(&send("multipart/form-data", "x".to_owned()).await, "boundary");
    invalid(
        &send("application/json", json!({ "email": "a@b.cd", "message": "x".repeat(10_001) }).to_string())
            .await,
        "too long",
    );
    let file =
        "--b\r\nContent-Disposition: form-data; name=\"message\"; filename=\"a.exe\"\r\n\r\nMZ\r\n--b--\r\n";
    invalid(&send(multipart, file.to_owned()).await, "is a file");
    assert_eq!(listed(&stoa, "").await.len(), 0);
    assert_eq!(post(&stoa, path, &json!({ "email": "a@b.cd" })).await.status, 202, "and it goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_field_can_begin_a_header_line() {
    let crm = Crm::start().await;
    let stoa = Stoa::start_leads(FORMS).with_webhook(&crm).serve();
    for email in
        ["a@b.cd\r\nBcc: eve@evil.example", "a@b.cd\nX: y", "a@b.cd%0aBcc:x, b@c.de", "\"a\r\n\"@b.cd"]
    {
        invalid(&post(&stoa, "/api/leads/contact", &json!({ "email": email })).await, "`email`");
    }
    invalid(&post(&stoa, "/api/leads/contact", &json!({ "name": "a\u{0}b" })).await, "control character");
    invalid(&post(&stoa, "/api/leads/contact", &json!({ "name": "a\u{1b}[2J" })).await, "control character");
    let body = json!({ "email": "a@b.cd", "name": "Eve\r\nBcc: x@y.zz", "company": "A\nB", "phone": "1\r\nX: y",
        "message": "one\r\ntwo" });
    lead(&stoa, "/api/leads/contact", body).await;
    let sent = crm.taken(1).await.remove(0);
    let properties = &sent.body["data"]["properties"];
    for field in ["name", "company", "phone"] {
        assert!(!properties[field].as_str().unwrap().contains(['\r', '\n']), "{properties}");
    }
    assert_eq!(properties["message"], "one\ntwo");
    let names: Vec<&str> = sent.headers.keys().map(|name| name.as_str()).collect();
    assert!(!names.contains(&"bcc") && !names.contains(&"x"), "{names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_goes_back_only_to_where_the_form_says() {
    let stoa = Stoa::start_leads(FORMS).serve();
    for name in ["_next", "_redirect", "_return_to", "return_to", "next", "redirect"] {
        let email = format!("{}@b.cd", name.trim_start_matches('_'));
        let form = [("email", email.as_str()), (name, "https://evil.example/")];
        let path = format!("/api/leads/contact?{name}=https://evil.example/&return_to=//evil.example");
        let request = request(&stoa, Method::POST, &path).header("accept", "text/html");
        let answer = reply(urlencoded(request.header("referer", "https://evil.example/"), &form)).await;
        assert_eq!((answer.status, answer.header("location")), (303, vec!["/thanks"]), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_cell_of_the_export_is_a_formula() {
    let stoa = Stoa::start_leads(FORMS).serve();
    for (number, text) in
        ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(1)", "a,\"b\"\nc", "plain"].iter().enumerate()
    {
        lead(
            &stoa,
            "/api/leads/contact",
            json!({ "email": format!("{number}@b.cd"), "company": text, "message": text }),
        )
        .await;
    }
    lead(&stoa, "/api/leads/contact", json!({ "email": "=1@b.cd", "phone": "+49 30 123456" })).await;
    let answer = as_admin(&stoa, Method::GET, "/api/leads/export?form=contact&status=queued").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), ["text/csv; charset=utf-8; header=present"]);
    assert_eq!(answer.header("content-disposition"), ["attachment; filename=\"leads.csv\""]);
    let rows = rows(&answer.body);
    assert_eq!(rows.len(), 8);
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{rows:?}");
    assert_eq!(rows[0][..4], ["id", "form", "status", "createdAt"]);
    let cells = || rows.iter().flatten();
    assert!(!cells().any(|cell| cell.starts_with(['=', '+', '-', '@', '\t', '\r'])), "{rows:?}");
    for cell in
        ["'=cmd|' /C calc'!A0", "'+1+1", "'@SUM(1)", "'+4930123456", "'=1@b.cd", "plain", "a,\"b\"\nc"]
    {
        assert!(cells().any(|own| own == cell), "{cell} is not in {rows:?}");
    }
    let none = as_admin(&stoa, Method::GET, "/api/leads/export?status=failed").await;
    assert_eq!(none.body.lines().count(), 1, "the head alone");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_column_of_the_export_has_its_own_name_and_no_value_is_lost() {
    let forms = "[forms.a]\nfields = [\"work\", \"email\", \"address\", \"status\", \"otherFields\", \"size\"]\n\
                 kinds = { work = \"email\" }\n[forms.b]\nfields = [\"email\", \"size\"]\n";
    let stoa = Stoa::start_leads(forms).serve();
    let body = json!({ "work": "w@b.cd", "email": "home@b.cd", "address": "Main St", "status": "married",
        "otherFields": "rest", "size": "9" });
    lead(&stoa, "/api/leads/a", body).await;
    lead(&stoa, "/api/leads/b", json!({ "email": "b@b.cd", "size": "7" })).await;
    for (form, values) in [
        ("a", ["w@b.cd", "home@b.cd", "127.0.0.1", "Main St", "queued", "married", "rest", "9"]),
        ("b", ["b@b.cd", "b@b.cd", "127.0.0.1", "", "queued", "", "", "7"]),
    ] {
        let rows = rows(&as_admin(&stoa, Method::GET, "/api/leads/export").await.body);
        let (head, row) = (&rows[0], rows.iter().find(|row| row[1] == form).unwrap());
        let names: std::collections::BTreeSet<&String> = head.iter().collect();
        assert_eq!(names.len(), head.len(), "{head:?}");
        let of = |name: &str| row[head.iter().position(|own| own == name).unwrap()].as_str();
        let columns = ["email", "fields.email", "address", "fields.address", "status", "fields.status"];
        let columns = columns.into_iter().chain(["fields.otherFields", "size"]);
        assert_eq!(columns.map(of).collect::<Vec<_>>(), values, "{form}");
        assert_eq!(of("otherFields"), "");
    }
    let only_b = as_admin(&stoa, Method::GET, "/api/leads/export?form=b").await.body;
    assert!(rows(&only_b)[0].ends_with(&["size".to_owned(), "otherFields".to_owned()]), "{only_b}");
    // Its address is another field since.
    let data = stoa.data.clone();
    drop(stoa);
    let stoa = Stoa::start_leads("[forms.a]\nfields = [\"email\"]\n").data(&data).serve();
    let later = as_admin(&stoa, Method::GET, "/api/leads/export?form=a").await.body;
    assert!(later.contains("home@b.cd") && later.contains("married"), "{later}");
}

/// CSV as RFC 4180 has it.
fn rows(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut signs = text.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '"' if quoted && signs.peek() == Some(&'"') => cell.extend(signs.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut cell)),
            '\r' if !quoted => {
                assert_eq!(signs.next(), Some('\n'));
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            other => cell.push(other),
        }
    }
    assert!(cell.is_empty() && row.is_empty() && !quoted);
    rows
}
