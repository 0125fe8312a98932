//! Questions about some documents only: `documentId` and `documentIds`, over every way of asking.

use super::answers::ask;
use super::mcp::{refused, use_tool};
use e2e::{KnowledgeClient, Stoa, Vendor, reply};
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const QUESTION: &str = "How often must the shaft seal of the pump be replaced?";
const NOBODYS: &str = "01a1de70-0000-7000-8000-000000000000";

/// Three manuals that say different things of the same.
async fn manuals(user: &KnowledgeClient) -> Vec<String> {
    let mut ids = Vec::new();
    for (name, time) in [("north", "month"), ("south", "year"), ("east", "decade")] {
        let text = format!("# Pump {name}\n\nThe shaft seal of the pump must be replaced every {time}.");
        ids.push(user.ingest_text(&format!("{name}.md"), &text).await);
    }
    ids
}

fn documents_of(sources: &Value) -> BTreeSet<&str> {
    sources.as_array().unwrap().iter().map(|source| source["documentId"].as_str().unwrap()).collect()
}

fn set<'a>(ids: &[&'a String]) -> BTreeSet<&'a str> {
    ids.iter().map(|id| id.as_str()).collect()
}

#[tokio::test]
async fn an_answer_is_from_the_named_documents_alone() {
    let stoa = Stoa::start_knowledge().set("CHAT_REQUESTS_PER_MINUTE", 1000).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let ada = admin.invite(&stoa, "ada").await;
    let ids = manuals(&ada).await;
    let all = ask(&ada, json!({ "query": QUESTION })).await;
    assert_eq!(documents_of(&all["sources"]).len(), 3, "{all}");
    let one = ask(&ada, json!({ "query": QUESTION, "documentId": ids[1] })).await;
    assert_eq!(documents_of(&one["sources"]), set(&[&ids[1]]));
    assert!(one["response"].as_str().unwrap().contains("every year"), "{one}");
    let two = ask(&ada, json!({ "query": QUESTION, "documentIds": [ids[0], ids[2], ids[0]] })).await;
    assert_eq!(documents_of(&two["sources"]), set(&[&ids[0], &ids[2]]));
    let both = json!({ "query": QUESTION, "documentId": ids[1], "documentIds": [ids[2]] });
    assert_eq!(documents_of(&ask(&ada, both).await["sources"]), set(&[&ids[1], &ids[2]]));
    let graph = json!({ "query": QUESTION, "documentId": ids[1], "agentType": "graph-analyst" });
    assert_eq!(documents_of(&ask(&ada, graph).await["sources"]), set(&[&ids[1]]));
    let absent = json!({ "query": QUESTION, "documentId": null, "documentIds": null });
    assert_eq!(ask(&ada, absent).await["sources"], all["sources"]);

    let body = json!({ "query": QUESTION, "documentId": ids[1] });
    let request = ada.request(Method::POST, "/api/chat").json(&body).header("accept", "text/event-stream");
    let streamed = reply(request).await.body;
    assert!(streamed.contains("every year") && !streamed.contains("every month"), "{streamed}");
    // An administrator asks for her, with her documents.
    let mut body = json!({ "query": QUESTION, "documentId": ids[1], "userId": ada.id });
    assert_eq!(documents_of(&ask(&admin, body.clone()).await["sources"]), set(&[&ids[1]]));
    body["userId"] = Value::Null;
    assert_eq!(admin.post_json("/api/chat", &body).await.status, 404, "not their own");

    let found = ada.get(&format!("/api/search?query=seal&documentIds={},{}", ids[0], ids[2])).await.json();
    assert_eq!(documents_of(&found["results"]), set(&[&ids[0], &ids[2]]));
}

#[tokio::test]
async fn what_is_not_the_callers_is_as_if_it_were_not_there() {
    let stoa = Stoa::start_knowledge().set("CHAT_REQUESTS_PER_MINUTE", 1000).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let (ada, eve) = (admin.invite(&stoa, "ada").await, admin.invite(&stoa, "eve").await);
    let hers = manuals(&ada).await;
    let own = eve.ingest_text("own.txt", "The shaft seal of the pump is made of rubber.").await;
    let mut answers = BTreeSet::new();
    for ids in
        [json!([hers[0]]), json!([NOBODYS]), json!([own, hers[0]]), json!([own, NOBODYS]), json!(["\0"])]
    {
        for stream in ["application/json", "text/event-stream"] {
            let body = json!({ "query": QUESTION, "documentIds": ids });
            let request = eve.request(Method::POST, "/api/chat").json(&body).header("accept", stream);
            let answer = reply(request).await;
            assert_eq!(answer.status, 404, "{ids}: {answer:?}");
            assert!(!answer.header("x-ratelimit-remaining").is_empty());
            answers.insert(answer.body);
        }
    }
    assert_eq!(answers.len(), 1, "the same words for all: {answers:?}");
    let many: Vec<String> = (0..101).map(|number| format!("{NOBODYS}{number}")).collect();
    for (name, value, fault) in [
        ("documentId", json!(7), "`documentId` is not a string"),
        ("documentIds", json!("x"), "`documentIds` is not an array of strings"),
        ("documentIds", json!([7]), "`documentIds` is not an array of strings"),
        ("documentIds", json!([]), "`documentIds` is empty: leave it out to ask all documents"),
        ("documentIds", json!(many), "`documentIds` names more than 100 documents"),
    ] {
        let mut body = json!({ "query": QUESTION });
        body[name] = value;
        let answer = eve.post_json("/api/chat", &body).await;
        assert_eq!((answer.status, &answer.json()["error"]), (400, &json!(fault)));
    }
    let both = json!({ "query": QUESTION, "documentId": own, "sources": [{ "text": "Rubber." }] });
    let answer = eve.post_json("/api/chat", &both).await;
    assert_eq!(answer.status, 400);
    assert!(answer.json()["error"].as_str().unwrap().contains("exclude each other"), "{answer:?}");
}

#[tokio::test]
async fn completions_and_tools_take_documents_as_well() {
    let vendor = Vendor::start("Every year [1].").await;
    let stoa = Stoa::start_knowledge()
        .set("CHAT_REQUESTS_PER_MINUTE", 1000)
        .set("VENDOR_A_API_KEY", "sk-test-0123456789")
        .set("VENDOR_A_BASE_URL", vendor.url())
        .serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let (ada, eve) = (admin.invite(&stoa, "ada").await, admin.invite(&stoa, "eve").await);
    let ids = manuals(&ada).await;
    let body = |model: &str, ids: Value| json!({ "model": model, "messages": [{ "role": "user", "content": QUESTION }], "documentIds": ids });
    let complete =
        async |user: &KnowledgeClient, body: Value| user.post_json("/v1/chat/completions", &body).await;
    for model in ["stoa", "stoa/vendor-a/gpt-x"] {
        let answer = complete(&ada, body(model, json!([ids[1]]))).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(documents_of(&answer.json()["citations"]), set(&[&ids[1]]));
    }
    assert!(!vendor.last("user").contains("every month"), "{}", vendor.last("user"));
    let mut streamed = body("stoa", Value::Null);
    streamed["documentId"] = json!(ids[1]);
    streamed["stream"] = json!(true);
    let streamed = complete(&ada, streamed).await.body;
    assert!(streamed.contains("every year") && !streamed.contains("every month"), "{streamed}");
    assert_eq!(complete(&eve, body("stoa", json!([ids[1]]))).await.status, 404);
    let refused_by_model = complete(&ada, body("vendor-a/gpt-x", json!([ids[1]]))).await;
    assert_eq!(refused_by_model.status, 400);
    assert_eq!(refused_by_model.json()["error"]["param"], "documentIds");

    let asked = use_tool(&stoa, &ada, "ask", json!({ "question": QUESTION, "documentId": ids[1] })).await;
    assert_eq!(documents_of(&asked["structuredContent"]["sources"]), set(&[&ids[1]]));
    let search = json!({ "query": QUESTION, "documentIds": [ids[0], ids[1]] });
    let found = use_tool(&stoa, &ada, "search", search).await;
    assert_eq!(documents_of(&found["structuredContent"]["results"]), set(&[&ids[0], &ids[1]]));
    let stolen = json!({ "question": QUESTION, "documentIds": [ids[1]] });
    let unknown = json!({ "question": QUESTION, "documentIds": [NOBODYS] });
    let words = refused(&stoa, &eve, "ask", stolen).await;
    assert!(words.starts_with("no such document"), "{words}");
    assert_eq!(refused(&stoa, &eve, "ask", unknown).await, words);

    let listed =
        use_tool(&stoa, &ada, "list_documents", json!({ "limit": 2 })).await["structuredContent"].clone();
    assert_eq!(listed["documents"].as_array().unwrap().len(), 2);
    let rest = json!({ "after": listed["next"], "title": "PUMP" });
    let rest = use_tool(&stoa, &ada, "list_documents", rest).await;
    assert_eq!(rest["structuredContent"]["documents"][0]["id"], json!(ids[0]));
    assert_eq!(rest["structuredContent"]["next"], Value::Null);
}

#[tokio::test]
async fn a_question_of_a_conversation_keeps_its_documents() {
    let stoa = Stoa::start_knowledge().set("CHAT_REQUESTS_PER_MINUTE", 1000).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let ada = admin.invite(&stoa, "ada").await;
    let ids = manuals(&ada).await;
    let conversation = ada.post("/api/conversations").await.json()["id"].as_str().unwrap().to_owned();
    let path = format!("/api/conversations/{conversation}");
    let send = |body: Value| {
        let (ada, path) = (&ada, format!("{path}/messages"));
        async move { ada.post_json(&path, &body).await }
    };
    let messages = || async {
        loop {
            let content = ada.get(&path).await.json();
            if content["conversation"]["running"] == false {
                return content["messages"].as_array().unwrap().clone();
            }
            tokio::time::sleep(std::time::Duration::from_millis(30)).await;
        }
    };
    assert_eq!(send(json!({ "query": QUESTION, "documentId": ids[1] })).await.status, 202);
    let first = messages().await;
    assert_eq!((&first[0]["documentIds"], &first[1]["documentIds"]), (&json!([ids[1]]), &json!([])));
    assert_eq!(documents_of(&first[1]["sources"]), set(&[&ids[1]]));
    // A retry asks about the same documents, whatever it says.
    let retry = json!({ "retryOf": first[1]["id"], "documentId": ids[0] });
    assert_eq!(send(retry).await.status, 202);
    let again = messages().await;
    assert_eq!((again.len(), documents_of(&again[1]["sources"])), (2, set(&[&ids[1]])));
    // An edited question may be about others.
    let edit = json!({ "query": QUESTION, "editOf": again[0]["id"], "documentIds": [ids[0], ids[2]] });
    assert_eq!(send(edit).await.status, 202);
    assert_eq!(documents_of(&messages().await[1]["sources"]), set(&[&ids[0], &ids[2]]));

    let others = admin.ingest_text("other.md", "The shaft seal of the pump is grey.").await;
    for (id, status) in [(others.as_str(), 404), (NOBODYS, 404), ("\0", 404)] {
        assert_eq!(send(json!({ "query": QUESTION, "documentIds": [id] })).await.status, status, "{id}");
    }
    assert_eq!(send(json!({ "query": QUESTION, "documentIds": [] })).await.status, 400);
    assert_eq!(messages().await.len(), 2, "a refused question is not stored");
}
