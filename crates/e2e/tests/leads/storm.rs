//! Five thousand leads, a CRM that fails in every way, and a process that is killed five times: what was acknowledged
//! arrives, and in order.

use crate::listed;
use e2e::{Crm, Mood, Sent, Stoa};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::watch;

const LEADS: usize = 5_000;
const SENDERS: usize = 50;
const KILLS: usize = 5;
/// A lead may be sent again where an answer was lost: by the moods of the CRM, or by a death.
const MOST_TIMES: usize = 6;

#[tokio::test(flavor = "multi_thread")]
async fn every_acknowledged_lead_arrives_and_those_of_one_email_in_order() {
    let crm = Arc::new(Crm::start().await);
    let start = |crm: &Crm| {
        Stoa::start_leads("").with_webhook(crm).set("LOG_LEVEL", "error").set("ACCESS_LOG", "off")
    };
    let mut stoa = start(&crm).serve();
    let data = stoa.data.clone();
    let (tell, address) = watch::channel(stoa.leads);
    let acknowledged = Arc::new(AtomicUsize::new(0));
    let senders: Vec<_> = (0..SENDERS)
        .map(|sender| tokio::spawn(send(sender, address.clone(), acknowledged.clone())))
        .collect();
    let moods = [
        Mood::Refuses,
        Mood::Well,
        Mood::Hangs,
        Mood::Busy(1),
        Mood::Well,
        Mood::Says(500),
        Mood::BreaksOff,
        Mood::Well,
        Mood::Says(503),
        Mood::Well,
    ];
    let moody = tokio::spawn({
        let crm = crm.clone();
        async move {
            for mood in moods.iter().cycle() {
                crm.set(*mood);
                tokio::time::sleep(Duration::from_millis(400)).await;
            }
        }
    });
    for kill in 1..=KILLS {
        while acknowledged.load(Ordering::Relaxed) < LEADS * kill / (KILLS + 1) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let _ = tell.send(None);
        // Dropped is SIGKILL.
        drop(stoa);
        stoa = start(&crm).data(&data).serve();
        let _ = tell.send(stoa.leads);
    }
    let mut acknowledged = Vec::new();
    for sender in senders {
        acknowledged.push(sender.await.unwrap());
    }
    moody.abort();
    crm.set(Mood::Well);
    let total: usize = acknowledged.iter().map(Vec::len).sum();
    assert_eq!(total, LEADS);
    let deadline = Instant::now() + Duration::from_secs(60);
    while !listed(&stoa, "?status=queued&limit=1").await.is_empty() {
        assert!(
            Instant::now() < deadline,
            "{} are left",
            listed(&stoa, "?status=queued&limit=1000").await.len()
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let taken: Vec<Sent> = crm.sent().into_iter().filter(Sent::is_taken).collect();
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    // Of each email, the numbers of its leads as they came, the repeated ones once.
    let mut came: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for sent in &taken {
        *times.entry(sent.id()).or_default() += 1;
        let properties = &sent.body["data"]["properties"];
        let number: usize = properties["message"].as_str().unwrap().parse().unwrap();
        let own = came.entry(properties["email"].as_str().unwrap().to_owned()).or_default();
        if own.last() != Some(&number) {
            own.push(number);
        }
    }
    for id in acknowledged.iter().flatten() {
        assert!(times.contains_key(id), "{id} was acknowledged and never came");
    }
    let most = times.values().max().unwrap();
    assert!(*most <= MOST_TIMES, "one came {most} times");
    assert_eq!(times.len(), LEADS, "a lead whose answer was lost was sent again, and is the same");
    assert_eq!(listed(&stoa, "?status=failed").await.len(), 0);
    for (email, numbers) in came {
        assert!(numbers.is_sorted_by(|one, next| one < next), "{email}: {numbers:?}");
    }
}

/// Sends its share, one after the other, each until it is acknowledged: their ids.
async fn send(
    sender: usize,
    mut address: watch::Receiver<Option<SocketAddr>>,
    count: Arc<AtomicUsize>,
) -> Vec<String> {
    let client = reqwest::Client::builder().timeout(Duration::from_secs(10)).build().unwrap();
    let mut ids = Vec::new();
    for number in 0..LEADS / SENDERS {
        // Ten people share a sender, so that each has several leads.
        let email = format!("{sender}-{}@example.org", number % 10);
        let body = json!({ "email": email, "message": number.to_string() });
        let id = loop {
            let Some(here) = *address.wait_for(Option::is_some).await.unwrap() else { continue };
            let answer = client.post(format!("http://{here}/api/leads")).json(&body).send().await;
            let Ok(answer) = answer else {
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            };
            let status = answer.status();
            let Ok(body) = answer.json::<Value>().await else { continue };
            assert_eq!(status, 202, "{body}");
            break body["leadId"].as_str().unwrap().to_owned();
        };
        ids.push(id);
        count.fetch_add(1, Ordering::Relaxed);
    }
    ids
}
