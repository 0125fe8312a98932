//! Processes that die while leads are under way.

use crate::{becomes, lead};
use e2e::{Crm, Mood, Stoa};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn a_lead_under_way_when_its_process_dies_is_sent_by_the_next() {
    let crm = Crm::start().await;
    crm.set(Mood::Hangs);
    let stoa = Stoa::start_leads("").with_webhook(&crm).set("CRM_TIMEOUT", "1m").serve();
    let id = lead(&stoa, "/api/leads", json!({ "email": "ada@example.org" })).await;
    crm.asked(1).await;
    let data = stoa.data.clone();
    drop(stoa);
    crm.set(Mood::Well);
    let stoa = Stoa::start_leads("").data(&data).with_webhook(&crm).serve();
    becomes(&stoa, &id, "forwarded").await;
    assert_eq!(crm.taken(1).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clean_stop_hands_back_what_is_under_way() {
    let crm = Crm::start().await;
    crm.set(Mood::Hangs);
    let stoa =
        Stoa::start_leads("").with_webhook(&crm).set("CRM_TIMEOUT", "1m").set("JOB_LEASE", "10m").serve();
    let id = lead(&stoa, "/api/leads", json!({ "email": "ada@example.org" })).await;
    crm.asked(1).await;
    let data = stoa.data.clone();
    stoa.signal("TERM");
    assert_eq!(stoa.wait().0, Some(0));
    crm.set(Mood::Well);
    let stoa = Stoa::start_leads("").data(&data).with_webhook(&crm).serve();
    becomes(&stoa, &id, "forwarded").await;
}
