//! Answers belong to the server: they are followed, left, stopped, edited and retried.

use super::super::chat::figure;
use super::{PUMP, QUESTION, Talk, question, start};
use e2e::postgres::Postgres;
use e2e::stoa::Start;
use e2e::{KnowledgeClient, SseEvent, Stoa, Vendor};
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// 60 words of one to four bytes a character, which the model `slow` writes in 1.5 s.
pub const LONG: &str = "The shaft seal [1] is żółty 🦭 東京 every year. The shaft seal [1] is żółty 🦭 東京 every year. \
    The shaft seal [1] is żółty 🦭 東京 every year. The shaft seal [1] is żółty 🦭 東京 every year. \
    The shaft seal [1] is żółty 🦭 東京 every year. The shaft seal [1] is żółty 🦭 東京 every year. End.";

pub fn texts(events: &[SseEvent]) -> String {
    let tokens = events.iter().filter(|event| event.name == "token");
    tokens.map(|event| event.data["text"].as_str().unwrap()).collect()
}

fn names(events: &[SseEvent]) -> Vec<&str> {
    let mut names: Vec<&str> = events.iter().map(|event| event.name.as_str()).collect();
    names.dedup();
    names
}

#[tokio::test]
async fn an_answer_is_sent_as_events_and_stored() {
    let vendor = Vendor::start(LONG).await;
    let stoa = start(&vendor).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    admin.ingest_text("pump.md", PUMP).await;
    let talk = Talk::start(&admin).await;
    let mut body = question(QUESTION, "slow");
    body["agentType"] = "critic".into();
    body["topK"] = 1.into();
    let stream = talk.stream(&body).await;
    assert_eq!(stream.header("x-ratelimit-remaining"), "999");
    let events = stream.rest().await;
    assert_eq!(names(&events), ["message", "sources", "token", "done"]);
    assert!(events.iter().filter(|event| event.name == "token").count() > 20, "it was written in pieces");
    assert!(events.is_sorted_by(|one, next| one.id < next.id), "{events:?}");
    assert!(events.iter().all(|event| event.id < 1 << 53));
    assert_eq!(texts(&events), LONG);

    let (first, last) = (&events[0].data, &events[events.len() - 1].data["message"]);
    assert_eq!((&first["user"]["content"], &first["user"]["role"]), (&json!(QUESTION), &json!("user")));
    assert_eq!(
        (&first["assistant"]["status"], &first["assistant"]["content"]),
        (&json!("running"), &json!(""))
    );
    assert_eq!((&last["status"], &last["content"]), (&json!("complete"), &json!(LONG)));
    assert_eq!((&last["provider"], &last["model"]), (&json!("vendor-a"), &json!("slow")));
    assert_eq!((&last["agentType"], &last["error"]), (&json!("critic"), &Value::Null));
    assert_eq!(last["sources"], events[1].data["sources"]);
    assert_eq!(last["sources"].as_array().unwrap().len(), 1);
    let content = talk.content().await;
    assert_eq!(content["messages"], json!([first["user"], last]));
    let conversation = &content["conversation"];
    assert_eq!((&conversation["title"], &conversation["messages"]), (&json!(QUESTION), &json!(2)));
    assert_eq!((&conversation["running"], &content["earlier"]), (&json!(false), &Value::Null));

    // With the embedded model, too.
    let events =
        talk.stream(&json!({ "query": "How many litres does the pump deliver?" })).await.rest().await;
    assert_eq!(names(&events), ["message", "sources", "token", "done"]);
    let last = &events[events.len() - 1].data["message"];
    assert_eq!(
        (last["content"].as_str().unwrap(), &last["provider"]),
        (texts(&events).as_str(), &json!("edge-ai"))
    );
    assert!(texts(&events).contains("85"), "{events:?}");
}

async fn an_answer_goes_on_without_its_client(start: Start) {
    let stoa = start.serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    admin.ingest_text("pump.md", PUMP).await;
    let talk = Talk::start(&admin).await;
    let mut stream = talk.stream(&question(QUESTION, "slow")).await;
    stream.until("token").await;
    drop(stream);
    tokio::time::sleep(Duration::from_millis(400)).await;
    let content = talk.content().await;
    assert_eq!(content["conversation"]["running"], true);
    let so_far = content["messages"][1]["content"].as_str().unwrap();
    assert!(!so_far.is_empty() && LONG.starts_with(so_far), "the text so far is shown: {content}");
    let answer = talk.ended().await;
    assert_eq!((&answer["status"], &answer["content"]), (&json!("complete"), &json!(LONG)));
    assert_eq!(figure(&stoa, "chat_cancelled_total").await, 0.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_goes_on_without_its_client_on_sqlite() {
    let vendor = Vendor::start(LONG).await;
    an_answer_goes_on_without_its_client(start(&vendor)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_goes_on_without_its_client_on_postgres() {
    let vendor = Vendor::start(LONG).await;
    let database = Postgres::shared().await.database().await;
    an_answer_goes_on_without_its_client(start(&vendor).set("DATABASE_URL", &database)).await;
}

/// Follows an answer over many connections, each from the last event of the one before, with pauses in between.
pub async fn follow_in_pieces(talks: &[Talk<'_>], mut events: Vec<SseEvent>) -> Vec<SseEvent> {
    for talk in talks.iter().cycle() {
        let last = events.last().map(|event| event.id);
        let mut watch = talk.follow(last).await;
        for _ in 0..3 {
            match watch.next().await {
                Some(event) => events.push(event),
                None => return events,
            }
            if events.last().is_some_and(|event| event.name == "done") {
                return events;
            }
        }
        drop(watch);
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    events
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_comes_back_gets_the_rest_once() {
    let vendor = Vendor::start(LONG).await;
    let stoa = start(&vendor).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    admin.ingest_text("pump.md", PUMP).await;
    let talk = Talk::start(&admin).await;
    talk.send(&question(QUESTION, "slow")).await;
    let events = follow_in_pieces(&[talk.through(&admin)], Vec::new()).await;
    assert_eq!(names(&events), ["message", "sources", "token", "done"]);
    assert!(events.is_sorted_by(|one, next| one.id < next.id), "{events:?}");
    assert_eq!(texts(&events), LONG);
    assert!(events.len() > 6, "it was followed while it was written");

    // After its end, from any event: the rest, and nothing after the last.
    for (place, event) in events.iter().enumerate() {
        let rest = talk.events(Some(event.id)).send().await.unwrap();
        if event.name == "done" {
            assert_eq!(rest.status(), 204);
            continue;
        }
        let rest = talk.follow(Some(event.id)).await.rest().await;
        let before = texts(&events[..=place]);
        assert_eq!(before + &texts(&rest), LONG);
        assert_eq!(rest.last().unwrap().name, "done");
        assert_eq!(rest.iter().any(|event| event.name == "sources"), event.name == "message");
    }
    assert_eq!(talk.events(None).send().await.unwrap().status(), 204);
    // An id of another answer says nothing of this one.
    talk.send(&question(QUESTION, "slow")).await;
    let again = talk.follow(Some(events[3].id)).await.rest().await;
    assert_eq!((again[0].name.as_str(), texts(&again).as_str()), ("message", LONG));
    let by_query = admin.get(&talk.path(&format!("/events?lastEventId={}", again.last().unwrap().id))).await;
    assert_eq!(by_query.status, 204);
    for odd in ["x", "-1", "9223372036854775807"] {
        assert_eq!(admin.get(&talk.path(&format!("/events?lastEventId={odd}"))).await.status, 204, "{odd}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_followers_see_the_same_and_a_late_one_all_of_it() {
    let vendor = Vendor::start(LONG).await;
    let stoa = start(&vendor).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    admin.ingest_text("pump.md", PUMP).await;
    let talk = Talk::start(&admin).await;
    talk.send(&question(QUESTION, "slow")).await;
    let one = talk.follow(None).await;
    let mut other = talk.follow(None).await;
    let mut seen = Vec::new();
    while texts(&seen).len() < 100 {
        seen.push(other.next().await.unwrap());
    }
    let late = talk.follow(None).await;
    let (one, late) = tokio::join!(one.rest(), late.rest());
    assert_eq!((texts(&one).as_str(), texts(&late).as_str()), (LONG, LONG));
    assert_eq!(one.last(), late.last());
    let first = late.iter().find(|event| event.name == "token").unwrap().data["text"].as_str().unwrap();
    assert!(first.len() >= 100, "all text so far comes at once: {first}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_answer_keeps_what_is_there() {
    let vendor = Vendor::start(LONG).await;
    let stoa = start(&vendor).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    admin.ingest_text("pump.md", PUMP).await;
    let talk = Talk::start(&admin).await;
    let mut stream = talk.stream(&question(QUESTION, "slow")).await;
    let mut seen = Vec::new();
    while texts(&seen).len() < 60 {
        seen.push(stream.next().await.unwrap());
    }
    let started = Instant::now();
    let answer = talk.stop().await;
    assert!(started.elapsed() < Duration::from_secs(1), "at once, not after {:?}", started.elapsed());
    assert_eq!((&answer["status"], &answer["error"]), (&json!("stopped"), &Value::Null));
    seen.extend(stream.rest().await);
    assert_eq!(answer["content"], texts(&seen));
    assert!(texts(&seen).len() < LONG.len() && LONG.starts_with(&texts(&seen)));
    let last = seen.last().unwrap();
    assert_eq!((last.name.as_str(), &last.data["message"]), ("done", &answer));
    assert_eq!(figure(&stoa, "chat_cancelled_total").await, 1.0);
    assert_eq!(talk.stop().await, answer, "a second time changes nothing");
    assert_eq!(talk.events(None).send().await.unwrap().status(), 204);
    // The history has it, and the next question may come at once.
    assert_eq!(talk.ask(&question(QUESTION, "m")).await["status"], "complete");
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_are_edited_and_answers_retried() {
    let vendor = Vendor::start("It is so [1].").await;
    let stoa = start(&vendor).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    admin.ingest_text("pump.md", PUMP).await;
    let talk = Talk::start(&admin).await;
    let queries = ["What is the shaft seal?", "How old is the shaft seal?", "Who replaces the shaft seal?"];
    for query in queries {
        talk.ask(&question(query, "m")).await;
    }
    let asked = vendor.last("user");
    let expected =
        format!("User: {}\nAssistant: It is so.\nUser: {}\nAssistant: It is so.\n", queries[0], queries[1]);
    assert!(asked.contains(&expected), "{asked}");
    let before = talk.messages().await;
    assert_eq!(before.len(), 6);

    let edited = question("How large is the shaft seal?", "m");
    let with = |body: &Value, name: &str, id: &Value| {
        let mut body = body.clone();
        body[name] = id.clone();
        body
    };
    assert_eq!(talk.post(&with(&edited, "editOf", &before[1]["id"])).await.status, 400);
    assert_eq!(talk.post(&with(&edited, "retryOf", &before[0]["id"])).await.status, 400);
    assert_eq!(talk.post(&with(&edited, "editOf", &json!("none"))).await.status, 404);
    assert_eq!(talk.messages().await, before);

    let answer = talk.ask(&with(&edited, "editOf", &before[2]["id"])).await;
    let after = talk.messages().await;
    assert_eq!(after[..2], before[..2]);
    assert_eq!((after.len(), &after[2]["content"]), (4, &edited["query"]));
    assert!(!before.iter().any(|message| message["id"] == after[2]["id"] || message["id"] == answer["id"]));
    assert!(!vendor.last("user").contains(queries[2]), "what was dropped is not in the history");

    let retry = with(&json!({ "llmConfig": edited["llmConfig"] }), "retryOf", &after[1]["id"]);
    let answer = talk.ask(&retry).await;
    let retried = talk.messages().await;
    assert_eq!((retried.len(), &retried[0]), (2, &before[0]));
    assert_ne!(answer["id"], before[1]["id"]);
    assert!(vendor.last("user").ends_with(&format!("Question: {}", queries[0])), "{}", vendor.last("user"));
    // The title follows the first question, until the user gives one.
    talk.ask(&with(&edited, "editOf", &retried[0]["id"])).await;
    assert_eq!(talk.content().await["conversation"]["title"], edited["query"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_answer_says_why_and_can_be_retried() {
    let vendor = Vendor::start("Half of it.").await;
    let stoa = start(&vendor).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    admin.ingest_text("pump.md", PUMP).await;
    let talk = Talk::start(&admin).await;
    let events = talk.stream(&question(QUESTION, "fail")).await.rest().await;
    assert_eq!(names(&events), ["message", "sources", "error"]);
    let failed = &events[2].data;
    assert!(failed["error"].as_str().unwrap().contains("no such model"), "{failed}");
    assert!(!failed.to_string().contains("sk-test"), "{failed}");
    assert_eq!(
        (&failed["message"]["status"], &failed["message"]["error"]),
        (&json!("error"), &failed["error"])
    );
    let broken = talk.ask(&question(QUESTION, "break")).await;
    assert_eq!((&broken["status"], &broken["content"]), (&json!("error"), &json!("Half")));
    let mut retry = question(QUESTION, "m");
    retry["retryOf"] = broken["id"].clone();
    assert_eq!(talk.ask(&retry).await["content"], "Half of it.");
    assert_eq!(talk.messages().await.len(), 4);
    // An answer without an end is cut off.
    let flood = talk.ask(&question(QUESTION, "flood")).await;
    assert_eq!(
        (&flood["status"], &flood["error"]),
        (&json!("error"), &json!("the answer is longer than 1 MiB"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_question_at_a_time() {
    let vendor = Vendor::start(LONG).await;
    let stoa = start(&vendor).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    admin.ingest_text("pump.md", PUMP).await;
    let talk = Talk::start(&admin).await;
    let body = question(QUESTION, "hang");
    let answers = join_all((0..8).map(|_| talk.post(&body))).await;
    let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [202, 409, 409, 409, 409, 409, 409, 409]);
    let refused = answers.iter().find(|answer| answer.status == 409).unwrap().json();
    assert!(refused["error"].as_str().unwrap().contains("still being written"), "{refused}");
    let messages = talk.messages().await;
    assert_eq!(messages.len(), 2);
    for (name, place) in [("editOf", 0), ("retryOf", 1)] {
        let mut body = body.clone();
        body[name] = messages[place]["id"].clone();
        assert_eq!(talk.post(&body).await.status, 409);
    }
    // Another conversation has an answer of its own.
    let other = Talk::start(&admin).await;
    assert_eq!(other.ask(&question(QUESTION, "m")).await["status"], "complete");
    talk.stop().await;
    assert_eq!(talk.ask(&question(QUESTION, "m")).await["status"], "complete");
    // An answer ends with its conversation.
    let asked = vendor.asked().len();
    let watch = {
        other.send(&body).await;
        other.follow(None).await
    };
    while vendor.asked().len() == asked {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(admin.delete(&other.path("")).await.status, 200);
    assert!(watch.rest().await.iter().all(|event| event.name != "done"));
    let deadline = Instant::now() + Duration::from_secs(5);
    while figure(&stoa, "chat_cancelled_total").await < 2.0 {
        assert!(Instant::now() < deadline, "the model goes on");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_count_against_the_limit_of_the_chat() {
    let stoa = Stoa::start_knowledge().set("CHAT_REQUESTS_PER_MINUTE", 3).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let talk = Talk::start(&admin).await;
    let body = json!({ "query": "Who?" });
    let first = talk.post(&body).await;
    assert_eq!((first.status, first.header("x-ratelimit-remaining")), (202, vec!["2"]));
    talk.ended().await;
    assert_eq!(admin.post_json("/api/chat", &body).await.header("x-ratelimit-remaining"), ["1"]);
    assert_eq!(talk.post(&json!({})).await.header("x-ratelimit-remaining"), ["0"]);
    let refused = talk.post(&body).await;
    let by_chat = admin.post_json("/api/chat", &body).await;
    assert_eq!((refused.status, by_chat.status), (429, 429));
    for name in ["x-ratelimit-remaining", "x-ratelimit-reset"] {
        assert_eq!(refused.header(name), by_chat.header(name));
    }
    let keys = |body: Value| body.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(refused.json()), keys(by_chat.json()));
    assert_eq!(refused.json()["resetAt"], by_chat.json()["resetAt"]);
    assert!(!refused.header("retry-after").is_empty());
    assert_eq!(talk.messages().await.len(), 2);
}
