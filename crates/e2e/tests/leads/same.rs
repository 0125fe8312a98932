//! The same lead, sent more than once.

use crate::{lead, listed, post, request};
use e2e::{Crm, Stoa, reply};
use reqwest::Method;
use serde_json::json;
use std::collections::BTreeSet;

#[tokio::test(flavor = "multi_thread")]
async fn the_same_content_is_one_lead_also_when_it_comes_twenty_times_at_once() {
    let crm = Crm::start().await;
    let stoa = Stoa::start_leads("").with_webhook(&crm).serve();
    let body = json!({ "email": "ada@example.org", "message": "hello" });
    let sending = (0..20).map(|_| post(&stoa, "/api/leads", &body));
    let answers = futures_util::future::join_all(sending).await;
    assert!(answers.iter().all(|answer| answer.status == 202), "{answers:?}");
    let bodies: BTreeSet<&str> = answers.iter().map(|answer| answer.body.as_str()).collect();
    assert_eq!(bodies.len(), 1, "the first answer again");
    assert_eq!(listed(&stoa, "").await.len(), 1);
    crm.taken(1).await;
    let same = json!({ "email": " ADA@example.org", "message": "hello ", "phone": "" });
    assert_eq!(post(&stoa, "/api/leads", &same).await.body, answers[0].body, "as it is kept, it is the same");
    lead(&stoa, "/api/leads", json!({ "email": "ada@example.org", "message": "hello again" })).await;
    lead(&stoa, "/api/leads", json!({ "email": "bob@example.org", "message": "hello" })).await;
    assert_eq!(listed(&stoa, "").await.len(), 3);
    assert_eq!(crm.taken(3).await.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idempotency_key_gives_the_first_answer_again() {
    let forms = "[forms.a]\nfields = [\"email\"]\n[forms.b]\nfields = [\"email\"]\n";
    let stoa = Stoa::start_leads(forms).serve();
    let send = async |form: &str, key: &str, email: &str| {
        let request =
            request(&stoa, Method::POST, &format!("/api/leads/{form}")).header("idempotency-key", key);
        reply(request.json(&json!({ "email": email }))).await
    };
    let sending = (0..20).map(|number| send("a", "k-1", if number % 2 == 0 { "a@b.cd" } else { "A@b.cd" }));
    let answers = futures_util::future::join_all(sending).await;
    let bodies: BTreeSet<&str> = answers.iter().map(|answer| answer.body.as_str()).collect();
    assert_eq!((answers[0].status, bodies.len()), (202, 1), "{bodies:?}");
    assert_eq!(send("a", "k-1", "other@b.cd").await.body, answers[0].body, "the key alone decides");
    assert_ne!(send("a", "k-2", "other@b.cd").await.body, answers[0].body);
    assert_ne!(send("b", "k-1", "a@b.cd").await.body, answers[0].body, "a key is of its form");
    assert_eq!(listed(&stoa, "").await.len(), 3);
    let long = "x".repeat(256);
    assert_eq!(send("a", &long, "c@b.cd").await.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_stays_the_same_after_a_restart_and_not_after_an_erasure() {
    let stoa = Stoa::start_leads("").serve();
    let body = json!({ "email": "ada@example.org" });
    let first = post(&stoa, "/api/leads", &body).await;
    let data = stoa.data.clone();
    drop(stoa);
    let stoa = Stoa::start_leads("").data(&data).serve();
    assert_eq!(post(&stoa, "/api/leads", &body).await.body, first.body);
    let id = first.json()["leadId"].as_str().unwrap().to_owned();
    assert_eq!(crate::as_admin(&stoa, Method::DELETE, &format!("/api/leads/{id}")).await.status, 200);
    assert_ne!(post(&stoa, "/api/leads", &body).await.body, first.body, "who was forgotten is somebody new");
    assert_eq!(listed(&stoa, "").await.len(), 2);
}
