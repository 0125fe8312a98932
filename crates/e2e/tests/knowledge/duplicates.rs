//! The same file uploaded twice by one user.

use super::ingest::embedded;
use super::lifecycle::only_these_files_are_left;
use e2e::postgres::Postgres;
use e2e::{Form, KnowledgeClient, Reply, Stoa, reply};
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

const TEXT: &[u8] = b"The pump circulates coolant.";

fn id(answer: &Reply) -> String {
    assert!([200, 202].contains(&answer.status), "{answer:?}");
    answer.json()["documentId"].as_str().unwrap().to_owned()
}

async fn ingest_async(user: &KnowledgeClient, filename: &str, bytes: &[u8]) -> Reply {
    let form = Form::new().file("file", filename, bytes);
    let request = form.into_request(user.request(Method::POST, "/api/ingest"));
    reply(request.header("prefer", "respond-async")).await
}

#[tokio::test]
async fn the_first_document_stands_for_the_second_upload() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let first = admin.ingest("pump.txt", TEXT).await;
    assert_eq!(first.json().get("duplicateOf"), None);
    let passages = embedded(&stoa).await;
    let metadata = r#"{"title": "Another", "category": "manual"}"#;
    let form = Form::new().file("file", "other.md", TEXT).text("metadata", metadata);
    let second = admin.submit("/api/ingest", form).await;
    let mut expected = first.json();
    expected["duplicateOf"] = expected["documentId"].clone();
    assert_eq!((second.status, second.json()), (200, expected.clone()));
    assert_eq!((ingest_async(&admin, "x", TEXT).await.status, embedded(&stoa).await), (200, passages));
    let documents = admin.documents().await;
    assert_eq!(documents.len(), 1);
    assert_eq!((&documents[0]["title"], &documents[0]["metadata"]), (&json!("pump.txt"), &json!({})));
    only_these_files_are_left(&stoa, 1).await;

    // Where it is asked for, there is another one.
    let keep = |word: &str| Form::new().file("file", "pump.txt", TEXT).text("duplicate", word);
    let third = admin.submit("/api/ingest", keep("keep")).await;
    assert_ne!(id(&third), id(&first));
    assert_eq!(third.json().get("duplicateOf"), None);
    assert_eq!((admin.documents().await.len(), embedded(&stoa).await), (2, passages), "embedded once");
    assert_eq!(admin.submit("/api/ingest", keep("reuse")).await.json(), expected, "the oldest counts");
    let refused = admin.submit("/api/ingest", keep("drop")).await;
    assert_eq!(refused.status, 400);
    assert_eq!(refused.json()["error"], "unknown `duplicate` `drop`: one of reuse, keep");

    // Another user's file is none of theirs, and what is gone is gone.
    let ada = admin.invite(&stoa, "ada").await;
    let theirs = ada.ingest("pump.txt", TEXT).await;
    assert_eq!(theirs.json().get("duplicateOf"), None);
    assert!(![id(&first), id(&third)].contains(&id(&theirs)));
    for document in admin.documents().await {
        let path = format!("/api/documents/{}", document["id"].as_str().unwrap());
        assert_eq!(admin.delete(&path).await.status, 200);
    }
    let again = admin.ingest("pump.txt", TEXT).await;
    assert_eq!((again.status, again.json().get("duplicateOf")), (200, None));
    assert_eq!(admin.find("coolant").await, [id(&again)]);
}

#[tokio::test]
async fn while_the_first_is_in_work_the_second_waits_for_it() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let text: String =
        (0..3_000).map(|n| format!("Sentence {n} is about pumps of kind {}. ", n % 97)).collect();
    let first = ingest_async(&admin, "long.txt", text.as_bytes()).await;
    let second = ingest_async(&admin, "long.txt", text.as_bytes()).await;
    assert_eq!((first.status, second.status), (202, 202));
    assert_eq!(second.json()["duplicateOf"], id(&first));
    let third = admin.ingest("long.txt", text.as_bytes()).await;
    assert_eq!(
        (&third.json()["status"], &third.json()["duplicateOf"]),
        (&json!("indexed"), &json!(id(&first)))
    );
    assert!(third.json()["chunks"].as_i64().unwrap() > 1);

    // Deleted under the hands of one who waits: the file is not there, and that is said.
    let text = text.replace("pumps", "valves");
    let first = id(&ingest_async(&admin, "long.txt", text.as_bytes()).await);
    let waiting = admin.ingest("long.txt", text.as_bytes());
    let deleting = async {
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        admin.delete(&format!("/api/documents/{first}")).await
    };
    let (gone, deleted) = tokio::join!(waiting, deleting);
    assert_eq!((deleted.status, gone.status), (200, 404), "{gone:?}");
    assert_eq!(gone.json()["duplicateOf"], json!(first));
}

#[tokio::test]
async fn a_document_in_error_stands_for_nothing() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let (first, second) = (admin.ingest("a.pdf", b"%PDF-").await, admin.ingest("a.pdf", b"%PDF-").await);
    assert_eq!((first.status, second.status), (400, 400));
    assert_ne!(first.json()["documentId"], second.json()["documentId"]);
    assert_eq!(second.json().get("duplicateOf"), None);
}

#[tokio::test]
async fn files_of_a_signup_that_are_the_same_are_one_document() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let form =
        Form::new().text("name", "Ada").text("email", "ada@example.org").text("password", "correct horse");
    let form = form.file("files[]", "a.txt", TEXT).file("files[]", "b.txt", TEXT);
    let answer = admin.submit("/api/signup", form).await.json();
    assert_eq!(answer["filesUploaded"], 2, "{answer}");
    let files = answer["files"].as_array().unwrap();
    assert_eq!((&files[0]["filename"], &files[1]["filename"]), (&json!("a.txt"), &json!("b.txt")));
    assert_eq!((files[0].get("duplicateOf"), &files[1]["duplicateOf"]), (None, &files[0]["id"]));
    assert_eq!((&files[1]["id"], &files[1]["objectKey"]), (&files[0]["id"], &files[0]["objectKey"]));
    let ada = KnowledgeClient::sign_in(&stoa, "ada@example.org", "correct horse").await;
    assert_eq!(ada.settled(std::time::Duration::from_secs(20)).await.len(), 1);
}

/// Whichever process takes which.
async fn twenty_at_once_are_one(people: &[&KnowledgeClient]) {
    let uploads = (0..20).map(|number| people[number % people.len()].ingest("pump.txt", TEXT));
    let answers = join_all(uploads).await;
    assert!(answers.iter().all(|answer| answer.status == 200), "{answers:?}");
    let ids: Vec<String> = answers.iter().map(id).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    let news = answers.iter().filter(|answer| answer.json().get("duplicateOf").is_none()).count();
    assert_eq!(news, 1);
    let documents: Vec<Value> = people[0].documents().await;
    assert_eq!((documents.len(), &documents[0]["status"]), (1, &json!("indexed")));
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_at_once_make_one_document_on_sqlite() {
    let stoa = Stoa::start_knowledge().serve();
    twenty_at_once_are_one(&[&KnowledgeClient::admin(&stoa).await]).await;
    only_these_files_are_left(&stoa, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_at_once_make_one_document_in_two_processes_on_postgres() {
    let database = Postgres::shared().await.database().await;
    let objects = tempfile::tempdir().unwrap();
    let start = || {
        let store = format!("file://{}", objects.path().display());
        Stoa::start_knowledge().set("DATABASE_URL", &database).set("OBJECT_STORE_URL", store).serve()
    };
    let (one, other) = (start(), start());
    twenty_at_once_are_one(&[&KnowledgeClient::admin(&one).await, &KnowledgeClient::admin(&other).await])
        .await;
}
