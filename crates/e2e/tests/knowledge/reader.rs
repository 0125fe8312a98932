//! `GET /api/documents/{id}/text`: the text that passages are parts of.

use super::formats::pdf_pages;
use e2e::passages::database_of;
use e2e::postgres::Postgres;
use e2e::{Form, KnowledgeClient, Stoa};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{AnyConnection, Connection, Row};

fn long_section(topic: &str) -> String {
    let sentence =
        |n: usize| format!("Zwölf Maße 😀 der {topic} Nummer {n} wurden heute geprüft und notiert. ");
    (0..120).map(sentence).collect()
}

fn handbook() -> String {
    format!(
        "Vorwort 😀.\n\n# Pumpen\n\n{}\n\n## Glossar\n\n### Kopf\n\nDruck.\n\n### Fluss\n\nMenge.\n\n# Ventile\n\n{}",
        long_section("Pumpe"),
        long_section("Ventile")
    )
}

/// What JavaScript's `slice` returns.
fn slice(text: &str, start: &Value, end: &Value) -> String {
    let units: Vec<u16> = text.encode_utf16().collect();
    let place = |value: &Value| value.as_u64().unwrap() as usize;
    String::from_utf16(&units[place(start)..place(end)]).unwrap()
}

async fn text_of(user: &KnowledgeClient, id: &str) -> Value {
    let answer = user.get(&format!("/api/documents/{id}/text")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

async fn execute(database: &str, statement: &'static str, id: &str) -> i64 {
    sqlx::any::install_default_drivers();
    let mut connection = AnyConnection::connect(database).await.unwrap();
    let row = sqlx::query(statement).bind(id).fetch_optional(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    row.map_or(0, |row| row.try_get(0).unwrap_or(0))
}

/// Compares the text with what searches say of its passages.
async fn check_passages(user: &KnowledgeClient, id: &str, shown: &Value) {
    let text = shown["text"].as_str().unwrap();
    let passages = shown["passages"].as_array().unwrap();
    let found = user.get(&format!("/api/search?query=Pumpe+Ventile+Druck&documentId={id}&topK=100")).await;
    let found = found.json()["results"].as_array().unwrap().clone();
    assert_eq!(found.len(), passages.len());
    for result in &found {
        let passage = passages.iter().find(|passage| passage["id"] == result["id"]).unwrap();
        assert_eq!(passage["index"], result["metadata"]["chunkIndex"]);
        assert_eq!(passage["page"], result["metadata"]["page"]);
        let own = slice(text, &passage["start"], &passage["end"]);
        let whole = result["text"].as_str().unwrap();
        // Tiny sections share a passage that also has their headings.
        let is_joined = whole.starts_with("Kopf") || whole.contains("\nKopf\n");
        assert!(own == whole || (is_joined && own.ends_with("Menge.")), "{own:?} {whole:?}");
        let offset = result["metadata"]["offset"].as_u64().unwrap() as usize;
        let from_offset: String = text.chars().skip(offset).take(5).collect();
        assert!(own.starts_with(&from_offset), "{own:?} at {offset}");
    }
}

async fn passages_are_where_the_text_says(stoa: Stoa, database: String) {
    let user = KnowledgeClient::admin(&stoa).await;
    let id = user.ingest_text("handbuch.md", &handbook()).await;
    let shown = text_of(&user, &id).await;
    assert_eq!((&shown["documentId"], &shown["title"]), (&json!(id), &json!("Pumpen")));
    assert_eq!((&shown["truncated"], &shown["pages"]), (&json!(false), &json!([])));
    assert!(shown["passages"].as_array().unwrap().len() > 10, "{}", shown["passages"]);
    check_passages(&user, &id, &shown).await;
    let text = shown["text"].as_str().unwrap();
    let headings = shown["headings"].as_array().unwrap();
    let names: Vec<(u64, &str)> =
        headings.iter().map(|one| (one["level"].as_u64().unwrap(), one["text"].as_str().unwrap())).collect();
    assert_eq!(names, [(1, "Pumpen"), (2, "Glossar"), (3, "Kopf"), (3, "Fluss"), (1, "Ventile")]);
    let below = |heading: &Value| slice(text, &heading["start"], &json!(text.encode_utf16().count()));
    assert!(below(&headings[0]).starts_with("Zwölf Maße 😀 der Pumpe Nummer 0"));
    assert!(below(&headings[3]).starts_with("Menge."));

    // A document of an earlier version has no text yet. It is read again from its file, once.
    let count = "SELECT COUNT(*) FROM texts WHERE document_id = $1";
    execute(&database, "DELETE FROM texts WHERE document_id = $1", &id).await;
    assert_eq!(execute(&database, count, &id).await, 0);
    let readings = (0..5).map(|_| text_of(&user, &id));
    for again in futures_util::future::join_all(readings).await {
        assert_eq!(again, shown);
    }
    assert_eq!(execute(&database, count, &id).await, 1);

    // The same after it was indexed again, and nothing of it after it was deleted.
    assert_eq!(user.post("/api/documents/reindex").await.json()["documentsReindexed"], 1);
    assert_eq!(text_of(&user, &id).await, shown);
    assert_eq!(user.delete(&format!("/api/documents/{id}")).await.status, 200);
    assert_eq!(user.get(&format!("/api/documents/{id}/text")).await.status, 404);
    assert_eq!(execute(&database, count, &id).await, 0);
}

#[tokio::test]
async fn passages_are_where_the_text_says_on_sqlite() {
    let stoa = Stoa::start_knowledge().serve();
    let database = database_of(&stoa);
    passages_are_where_the_text_says(stoa, database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn passages_are_where_the_text_says_on_postgres() {
    let database = Postgres::shared().await.database().await;
    let stoa = Stoa::start_knowledge().set("DATABASE_URL", &database).serve();
    passages_are_where_the_text_says(stoa, database).await;
}

#[tokio::test]
async fn pages_of_a_pdf_are_where_their_text_begins() {
    let stoa = Stoa::start_knowledge().serve();
    let user = KnowledgeClient::admin(&stoa).await;
    let page = |text: &str| format!("BT /F1 12 Tf 72 700 Td ({text}) Tj ET").into_bytes();
    let pages = [
        page("The turbine hall was built in 1962."),
        page("It holds three steam turbines."),
        page("The end."),
    ];
    let pages: Vec<&[u8]> = pages.iter().map(Vec::as_slice).collect();
    let answer = user.ingest("hall.pdf", &pdf_pages("", &pages)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let shown = text_of(&user, answer.json()["documentId"].as_str().unwrap()).await;
    let text = shown["text"].as_str().unwrap();
    let starts = shown["pages"].as_array().unwrap();
    let numbers: Vec<u64> = starts.iter().map(|page| page["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [1, 2, 3]);
    for (page, words) in starts.iter().zip(["The turbine", "It holds", "The end"]) {
        let rest = slice(text, &page["start"], &json!(text.encode_utf16().count()));
        assert!(rest.starts_with(words), "{words}: {rest}");
    }
    assert_eq!(shown["passages"][0]["page"], 1);
}

#[tokio::test]
async fn a_text_that_is_not_there_is_explained() {
    let stoa = Stoa::start_knowledge().serve();
    let user = KnowledgeClient::admin(&stoa).await;
    let broken = user.ingest("broken.pdf", b"%PDF-").await.json()["documentId"].as_str().unwrap().to_owned();
    let answer = user.get(&format!("/api/documents/{broken}/text")).await;
    assert_eq!(answer.status, 409, "{answer:?}");
    assert!(answer.json()["error"].as_str().unwrap().contains("could not be indexed"), "{answer:?}");
    let form = Form::new().file("file", "long.txt", handbook().repeat(20).as_bytes());
    let request = form.into_request(user.request(Method::POST, "/api/ingest"));
    let queued = e2e::reply(request.header("prefer", "respond-async")).await.json();
    let id = queued["documentId"].as_str().unwrap();
    let answer = user.get(&format!("/api/documents/{id}/text")).await;
    assert_eq!(answer.status, 409, "{answer:?}");
    assert!(answer.json()["error"].as_str().unwrap().contains("not indexed yet"), "{answer:?}");
    for id in ["nothing", "%00", "01a1de70-0000-7000-8000-000000000000"] {
        assert_eq!(user.get(&format!("/api/documents/{id}/text")).await.status, 404, "{id}");
    }
}

#[tokio::test]
async fn a_text_that_was_cut_says_so_and_has_no_passages_beyond() {
    let stoa = Stoa::start_knowledge().serve();
    let user = KnowledgeClient::admin(&stoa).await;
    let id = user.ingest_text("handbuch.md", &handbook()).await;
    let whole = text_of(&user, &id).await;
    let cut = "UPDATE texts SET text = substr(text, 1, 2000), is_cut = 1 WHERE document_id = $1";
    execute(&database_of(&stoa), cut, &id).await;
    let shown = text_of(&user, &id).await;
    assert_eq!(shown["truncated"], true);
    let (passages, all) = (shown["passages"].as_array().unwrap(), whole["passages"].as_array().unwrap());
    assert!(!passages.is_empty() && passages.len() < all.len());
    assert_eq!(passages[0], all[0]);
    let length = shown["text"].as_str().unwrap().encode_utf16().count() as u64;
    assert!(passages.last().unwrap()["end"].as_u64().unwrap() <= length);
    for heading in shown["headings"].as_array().unwrap() {
        assert!(heading["start"].as_u64().unwrap() <= length, "{heading}");
    }
}
