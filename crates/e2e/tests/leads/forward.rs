//! Leads on their way to the CRM.

use crate::{as_admin, becomes, lead, listed, shown};
use e2e::{Crm, Mood, Stoa};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::Duration;

fn from(email: &str, message: &str) -> Value {
    json!({ "email": email, "message": message })
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_crm_leads_wait_and_go_out_once_there_is_one() {
    let stoa = Stoa::start_leads("").serve();
    let mut ids = Vec::new();
    for number in 0..5 {
        ids.push(lead(&stoa, "/api/leads", from("ada@example.org", &number.to_string())).await);
    }
    assert_eq!(listed(&stoa, "?status=queued").await.len(), 5);
    let data = stoa.data.clone();
    drop(stoa);
    let crm = Crm::start().await;
    let stoa = Stoa::start_leads("").data(&data).with_webhook(&crm).serve();
    let taken: Vec<String> = crm.taken(5).await.iter().map(e2e::Sent::id).collect();
    assert_eq!(taken, ids, "in the order of their arrival");
    becomes(&stoa, &ids[4], "forwarded").await;
    assert_eq!(listed(&stoa, "?status=forwarded").await.len(), 5);
    assert_eq!(crm.sent().len(), 5, "each once");
}

#[tokio::test(flavor = "multi_thread")]
async fn hubspot_gets_contacts_by_their_email() {
    let crm = Crm::start().await;
    let stoa = Stoa::start_leads("").with_hubspot(&crm).serve();
    let body = json!({ "name": "Ada Lovelace", "email": "Ada@example.org", "phone": "+44 20 7946 0000", "company": "A & B" });
    let id = lead(&stoa, "/api/leads", body).await;
    let sent = crm.taken(1).await.remove(0);
    assert_eq!((sent.path.as_str(), sent.id()), ("/crm/v3/objects/contacts/batch/upsert", id.clone()));
    let properties = json!({ "firstname": "Ada", "lastname": "Lovelace", "email": "ada@example.org",
        "phone": "+442079460000", "company": "A & B" });
    let input = json!({ "idProperty": "email", "id": "ada@example.org", "properties": properties, "objectWriteTraceId": id });
    assert_eq!(sent.body, json!({ "inputs": [input] }));
    becomes(&stoa, &id, "forwarded").await;
    crm.set(Mood::Faults);
    let refused = lead(&stoa, "/api/leads", from("b@example.org", "x")).await;
    let refused = becomes(&stoa, &refused, "failed").await;
    assert!(refused["error"].as_str().unwrap().contains("no such property"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_crm_refuses_is_kept_and_can_be_sent_again() {
    let crm = Crm::start().await;
    let stoa = Stoa::start_leads("").with_webhook(&crm).serve();
    for status in [400, 401, 403, 404, 409, 410, 422] {
        crm.set(Mood::Says(status));
        let before = crm.sent().len();
        let id = lead(&stoa, "/api/leads", from("ada@example.org", &status.to_string())).await;
        let dead = becomes(&stoa, &id, "failed").await;
        let told = format!("the CRM answered {status}: {{\"message\":\"said the CRM\"}}");
        assert_eq!((&dead["error"], &dead["attempts"]), (&json!(told), &json!(1)));
        assert_eq!(crm.sent().len(), before + 1, "once, and never again");
    }
    crm.set(Mood::Well);
    let dead = listed(&stoa, "?status=failed").await;
    assert_eq!(dead.len(), 7);
    let id = dead[3]["id"].as_str().unwrap();
    let answer = as_admin(&stoa, Method::POST, &format!("/api/leads/{id}/retry")).await;
    assert_eq!((answer.status, answer.json()["status"].as_str()), (200, Some("queued")), "{answer:?}");
    let sent = becomes(&stoa, id, "forwarded").await;
    assert_eq!(sent["error"], Value::Null);
    assert_eq!(crm.taken(1).await[0].id(), id);
    let again = as_admin(&stoa, Method::POST, &format!("/api/leads/{id}/retry")).await;
    assert_eq!((again.status, again.json()["code"].as_str()), (409, Some("CONFLICT")));
    assert_eq!(listed(&stoa, "?status=failed").await.len(), 6);
    assert_eq!(all_again(&stoa, "?form=other").await, 0);
    assert_eq!(all_again(&stoa, "").await, 6);
    assert_eq!(all_again(&stoa, "").await, 0);
    crm.taken(7).await;
    becomes(&stoa, dead[0]["id"].as_str().unwrap(), "forwarded").await;
    let figures = e2e::get(format!("http://{}/metrics", stoa.ops)).await.body;
    for line in [
        r#"leads_received_total{form="default",status="queued"} 7"#,
        "leads_forwarded_total 7",
        "leads_dead_total 7",
        r#"leads_forward_errors_total{cause="refused"} 7"#,
    ] {
        assert!(figures.contains(line), "{line} is not in:\n{figures}");
    }
}

async fn all_again(stoa: &Stoa, query: &str) -> u64 {
    let answer = as_admin(stoa, Method::POST, &format!("/api/leads/failed/retry{query}")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["retried"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lead_that_cannot_be_sent_now_is_sent_later_under_the_same_id() {
    let crm = Crm::start().await;
    let stoa = Stoa::start_leads("").with_webhook(&crm).serve();
    for mood in [
        Mood::Says(500),
        Mood::Says(503),
        Mood::Says(408),
        Mood::Says(425),
        Mood::Says(429),
        Mood::Says(302),
        Mood::Refuses,
        Mood::Hangs,
        Mood::BreaksOff,
    ] {
        crm.set(mood);
        let before = crm.sent().len();
        let id = lead(&stoa, "/api/leads", from("ada@example.org", &format!("{mood:?}"))).await;
        crm.asked(before + 2).await;
        assert_eq!(shown(&stoa, &id).await["status"], "queued", "{mood:?}");
        crm.set(Mood::Well);
        let sent = becomes(&stoa, &id, "forwarded").await;
        assert!(sent["attempts"].as_i64().unwrap() >= 2, "{sent}");
        let tries = crm.sent().split_off(before);
        assert!(tries.iter().all(|sent| sent.id() == id), "{mood:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_that_the_crm_asks_for_is_kept_for_all_leads() {
    let crm = Crm::start().await;
    let stoa = Stoa::start_leads("").with_webhook(&crm).serve();
    crm.set(Mood::Busy(2));
    lead(&stoa, "/api/leads", from("ada@example.org", "x")).await;
    let refused = crm.asked(1).await.remove(0);
    crm.set(Mood::Well);
    tokio::time::sleep(Duration::from_millis(300)).await;
    lead(&stoa, "/api/leads", from("bob@example.org", "x")).await;
    let taken = crm.taken(2).await;
    for sent in &taken {
        let pause = sent.when - refused.when;
        assert!((Duration::from_millis(1900)..Duration::from_secs(5)).contains(&pause), "{pause:?}");
    }
    assert_eq!(crm.sent().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn leads_of_one_email_wait_for_each_other_and_others_do_not() {
    let crm = Crm::start().await;
    let forms =
        "[forms.a]\nfields = [\"email\", \"message\"]\n[forms.b]\nfields = [\"email\", \"message\"]\n";
    let stoa = Stoa::start_leads(forms).with_webhook(&crm).serve();
    crm.set(Mood::Says(500));
    let first = lead(&stoa, "/api/leads/a", from("ada@example.org", "first")).await;
    crm.asked(1).await;
    let second = lead(&stoa, "/api/leads/b", from("ADA@example.org", "second")).await;
    let third = lead(&stoa, "/api/leads/a", from("ada@example.org", "third")).await;
    let other = lead(&stoa, "/api/leads/a", json!({ "message": "no email" })).await;
    crm.asked(8).await;
    let before: Vec<String> = crm.sent().iter().map(e2e::Sent::id).collect();
    assert!(before.contains(&other) && !before.contains(&second) && !before.contains(&third), "{before:?}");
    crm.set(Mood::Well);
    becomes(&stoa, &third, "forwarded").await;
    becomes(&stoa, &other, "forwarded").await;
    let taken: Vec<String> = crm.taken(4).await.iter().map(e2e::Sent::id).filter(|id| *id != other).collect();
    assert_eq!(taken, [first, second, third]);
}
