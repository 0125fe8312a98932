//! The same on PostgreSQL, with two processes.

use crate::{as_admin, becomes, lead, listed, post};
use e2e::postgres::Postgres;
use e2e::{Crm, Mood, Sent, Stoa};
use reqwest::Method;
use serde_json::json;
use std::collections::BTreeSet;

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_share_the_outbox_and_one_takes_over_when_the_other_dies() {
    let database = Postgres::shared().await.database().await;
    let crm = Crm::start().await;
    let start = || Stoa::start_leads("").with_webhook(&crm).set("DATABASE_URL", &database).serve();
    let (first, second) = (start(), start());
    let body = json!({ "email": "same@example.org", "message": "at once" });
    let sending =
        (0..20).map(|number| post(if number % 2 == 0 { &first } else { &second }, "/api/leads", &body));
    let answers = futures_util::future::join_all(sending).await;
    let bodies: BTreeSet<&str> = answers.iter().map(|answer| answer.body.as_str()).collect();
    assert_eq!((answers[0].status, bodies.len()), (202, 1), "{bodies:?}");
    crm.taken(1).await;
    crm.set(Mood::Hangs);
    let mut ids = Vec::new();
    for number in 0..60 {
        let stoa = if number % 2 == 0 { &first } else { &second };
        let email = format!("{}@example.org", number % 7);
        ids.push(lead(stoa, "/api/leads", json!({ "email": email, "message": number })).await);
    }
    crm.asked(5).await;
    drop(first);
    crm.set(Mood::Well);
    for id in &ids {
        becomes(&second, id, "forwarded").await;
    }
    let taken: Vec<String> = crm.sent().iter().filter(|sent| sent.is_taken()).map(Sent::id).skip(1).collect();
    for email in 0..7 {
        let own: Vec<&String> = ids.iter().skip(email).step_by(7).collect();
        let mut came: Vec<&String> = taken.iter().filter(|id| own.contains(id)).collect();
        came.dedup();
        assert_eq!(came, own, "in the order of their arrival");
    }
    assert_eq!(listed(&second, "?status=forwarded").await.len(), 61);
    assert_eq!(as_admin(&second, Method::DELETE, &format!("/api/leads/{}", ids[0])).await.status, 200);
    assert_eq!(listed(&second, "?status=erased").await.len(), 1);
    let export = as_admin(&second, Method::GET, "/api/leads/export?status=forwarded").await;
    assert_eq!(export.body.lines().count(), 61);
}
