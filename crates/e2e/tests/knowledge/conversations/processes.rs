//! Answers of processes that die, stop, or share a database.

use super::answers::{LONG, follow_in_pieces, texts};
use super::{PUMP, QUESTION, Talk, question, start};
use e2e::postgres::Postgres;
use e2e::{KnowledgeClient, Vendor};
use futures_util::future::join_all;
use serde_json::json;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_a_killed_process_keeps_its_text_and_can_be_retried() {
    let vendor = Vendor::start(LONG).await;
    let stoa = start(&vendor).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    admin.ingest_text("pump.md", PUMP).await;
    let talk = Talk::start(&admin).await;
    let mut stream = talk.stream(&question(QUESTION, "slow")).await;
    let mut seen = Vec::new();
    while texts(&seen).len() < 200 {
        seen.push(stream.next().await.unwrap());
    }
    let (data, id) = (stoa.data.clone(), talk.id.clone());
    drop(stoa);

    let stoa = start(&vendor).data(&data).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let talk = Talk { user: &admin, id };
    let answer = talk.ended().await;
    assert_eq!(answer["status"], "error");
    assert_eq!(answer["error"], "the answer was interrupted");
    let kept = answer["content"].as_str().unwrap();
    assert!(kept.len() > 20 && LONG.starts_with(kept), "{answer}");
    assert_eq!(answer["provider"], "vendor-a");
    // A client that was following it is told, from its last event.
    let rest = talk.follow(Some(seen.last().unwrap().id)).await.rest().await;
    assert_eq!(rest.last().unwrap().name, "error");
    assert_eq!(rest.last().unwrap().data["message"], answer);

    let mut retry = question(QUESTION, "m");
    retry["retryOf"] = answer["id"].clone();
    assert_eq!(talk.ask(&retry).await["content"], LONG);
    assert_eq!(talk.messages().await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_finished_when_the_process_stops() {
    let vendor = Vendor::start(LONG).await;
    let stoa = start(&vendor).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    admin.ingest_text("pump.md", PUMP).await;
    // One is followed, the other is not.
    let (followed, left) = (Talk::start(&admin).await, Talk::start(&admin).await);
    left.send(&question(QUESTION, "slow")).await;
    let mut stream = followed.stream(&question(QUESTION, "slow")).await;
    stream.until("token").await;
    stoa.signal("TERM");
    assert_eq!(stream.rest().await.last().unwrap().data["message"]["content"], LONG);
    let (data, ids) = (stoa.data.clone(), [followed.id.clone(), left.id.clone()]);
    assert_eq!(stoa.wait().0, Some(0));
    let stoa = start(&vendor).data(&data).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    for id in ids {
        let answer = Talk { user: &admin, id }.ended().await;
        assert_eq!((&answer["status"], &answer["content"]), (&json!("complete"), &json!(LONG)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_does_not_end_is_interrupted_when_the_process_stops() {
    let vendor = Vendor::start(LONG).await;
    let stoa = start(&vendor).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    admin.ingest_text("pump.md", PUMP).await;
    let talk = Talk::start(&admin).await;
    let mut stream = talk.stream(&question(QUESTION, "hang")).await;
    stream.until("token").await;
    stoa.signal("TERM");
    let last = stream.rest().await.pop().unwrap();
    assert_eq!((last.name.as_str(), &last.data["error"]), ("error", &json!("the answer was interrupted")));
    assert_eq!(last.data["message"]["content"], "The");
    assert_eq!(stoa.wait().0, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_share_the_answers_of_one_database() {
    let vendor = Vendor::start(LONG).await;
    let database = Postgres::shared().await.database().await;
    let objects = tempfile::tempdir().unwrap();
    let objects = format!("file://{}", objects.path().display());
    let start = || start(&vendor).set("DATABASE_URL", &database).set("OBJECT_STORE_URL", &objects);
    let (here, there) = (start().serve(), start().serve());
    let sign_in = async |stoa| KnowledgeClient::sign_in(stoa, "ada@example.org", "correct horse").await;
    let local = KnowledgeClient::admin(&here).await.invite(&here, "ada").await;
    let remote = sign_in(&there).await;
    local.ingest_text("pump.md", PUMP).await;

    // Followed at the other process, and at both in turns, without loss or repetition.
    let talk = Talk::start(&local).await;
    talk.send(&question(QUESTION, "slow")).await;
    let other = talk.through(&remote);
    let talks = [talk.through(&local), talk.through(&remote)];
    let (whole, pieces) =
        tokio::join!(async { other.follow(None).await.rest().await }, follow_in_pieces(&talks, Vec::new()));
    for events in [&whole, &pieces] {
        assert_eq!(texts(events), LONG);
        assert!(events.is_sorted_by(|one, next| one.id < next.id), "{events:?}");
        assert_eq!(events.last().unwrap().data["message"]["status"], "complete");
    }
    assert!(
        whole.iter().filter(|event| event.name == "token").count() > 2,
        "while it was written: {whole:?}"
    );

    // One question at a time, whichever process takes it.
    let body = question(QUESTION, "hang");
    let posts = (0..6).map(|n| if n % 2 == 0 { talk.through(&local) } else { talk.through(&remote) });
    let posts: Vec<Talk> = posts.collect();
    let statuses = join_all(posts.iter().map(|talk| talk.post(&body))).await;
    assert_eq!(statuses.iter().filter(|answer| answer.status == 202).count(), 1, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|answer| answer.status == 409).count(), 5, "{statuses:?}");
    // Stopped by a process that may not be the one that writes it.
    assert_eq!(other.stop().await["status"], "stopped");
    let asked = talk.send(&body).await;
    let stopped = other.stop().await;
    assert_eq!((&stopped["status"], &stopped["id"]), (&json!("stopped"), &asked["assistant"]["id"]));

    // A follower elsewhere is told that the process has died.
    talk.send(&body).await;
    let mut watch = other.follow(None).await;
    watch.until("token").await;
    drop(here);
    let last = watch.rest().await.pop().unwrap();
    assert_eq!((last.name.as_str(), &last.data["error"]), ("error", &json!("the answer was interrupted")));
    assert_eq!(other.ask(&question(QUESTION, "m")).await["content"], LONG);

    // An answer whose process does not respond is stopped all the same.
    let third = start().set("JOB_LEASE", "60s").serve();
    let user = sign_in(&third).await;
    other.through(&user).send(&body).await;
    third.signal("STOP");
    let stopped = other.stop().await;
    third.signal("CONT");
    assert_eq!(stopped["status"], "stopped", "{stopped}");
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(other.ended().await, stopped, "the process that comes back changes nothing");
}
