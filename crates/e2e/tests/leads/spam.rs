//! Forms that no person has filled in.

use crate::{as_admin, becomes, invalid, lead, listed, post, shown};
use e2e::tokens::now;
use e2e::{Crm, Stoa};
use reqwest::Method;
use serde_json::json;

const FORMS: &str =
    "[forms.contact]\nfields = [\"email\"]\nmin_fill_time = \"3s\"\n[forms.patient]\nfields = [\"email\"]\n";

#[tokio::test(flavor = "multi_thread")]
async fn spam_is_answered_alike_kept_and_never_forwarded() {
    let crm = Crm::start().await;
    let stoa = Stoa::start_leads(FORMS).with_webhook(&crm).serve();
    let ms = now() * 1000;
    let filled = lead(&stoa, "/api/leads/contact", json!({ "email": "a@b.cd", "_gotcha": "x" })).await;
    let fast = lead(&stoa, "/api/leads/contact", json!({ "email": "b@b.cd", "_started": ms - 500 })).await;
    let slow = lead(
        &stoa,
        "/api/leads/contact",
        json!({ "email": "c@b.cd", "_started": ms - 9000, "_gotcha": " " }),
    )
    .await;
    let silent = lead(&stoa, "/api/leads/contact", json!({ "email": "d@b.cd" })).await;
    let ahead =
        lead(&stoa, "/api/leads/contact", json!({ "email": "e@b.cd", "_started": ms + 60_000 })).await;
    let patient = lead(&stoa, "/api/leads/patient", json!({ "email": "f@b.cd", "_started": ms })).await;
    for id in [&slow, &silent, &ahead, &patient] {
        becomes(&stoa, id, "forwarded").await;
    }
    for id in [&filled, &fast] {
        assert_eq!(shown(&stoa, id).await["status"], "spam");
    }
    assert_eq!(crm.sent().len(), 4);
    invalid(
        &post(&stoa, "/api/leads/contact", &json!({ "email": "g@b.cd", "_started": "now" })).await,
        "`_started`",
    );
    // Somebody was quick, and tries again at leisure: that is no duplicate of the spam.
    let again = lead(&stoa, "/api/leads/contact", json!({ "email": "b@b.cd", "_started": ms - 9000 })).await;
    assert_ne!(again, fast);
    becomes(&stoa, &again, "forwarded").await;
    assert_eq!(listed(&stoa, "?status=spam").await.len(), 2);
    // An administrator knows better.
    assert_eq!(as_admin(&stoa, Method::POST, &format!("/api/leads/{filled}/retry")).await.status, 200);
    becomes(&stoa, &filled, "forwarded").await;
}
