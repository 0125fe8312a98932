//! The program on the data of an earlier one, which knew no spaces, versions, sources or grants of sessions.

use super::spaces::{add, space};
use super::versions::replace;
use e2e::{KnowledgeClient, Stoa, reply};
use serde_json::json;
use sqlx::Connection;
use std::path::Path;

/// Takes back the migrations after the ninth.
async fn make_older(data: &Path) {
    let url = format!("sqlite://{}", data.join("stoa.db").display());
    let mut connection = sqlx::SqliteConnection::connect(&url).await.unwrap();
    let statements = [
        "DROP TABLE relations",
        "DROP TABLE usage_settings",
        "DROP TABLE called_projects",
        "DROP TABLE model_calls",
        "DROP TABLE model_defaults",
        "DROP TABLE connections",
        "DROP TABLE account_links",
        "ALTER TABLE sessions DROP COLUMN grant_id",
        "ALTER TABLE sessions DROP COLUMN created_at",
        "ALTER TABLE sessions DROP COLUMN last_used_at",
        "ALTER TABLE sessions DROP COLUMN address",
        "ALTER TABLE sessions DROP COLUMN browser",
        "DROP TABLE source_items",
        "DROP TABLE sources",
        "DROP TABLE document_files",
        "DROP TABLE space_members",
        "DROP TABLE spaces",
        "DROP INDEX documents_of_archive",
        "DROP INDEX documents_of_source",
        "DROP INDEX documents_by_filename",
        "DROP INDEX documents_by_expiry",
        "ALTER TABLE documents DROP COLUMN archive_id",
        "ALTER TABLE documents DROP COLUMN added_by",
        "ALTER TABLE documents DROP COLUMN version",
        "ALTER TABLE documents DROP COLUMN source_id",
        "ALTER TABLE documents DROP COLUMN expires_at",
        "ALTER TABLE messages DROP COLUMN without_documents",
        "ALTER TABLE conversations DROP COLUMN files_owner",
        "DROP INDEX users_by_files_of",
        "ALTER TABLE users DROP COLUMN files_of",
        "ALTER TABLE messages DROP COLUMN notices",
        "ALTER TABLE messages DROP COLUMN space_ids",
        "ALTER TABLE users DROP COLUMN is_space",
        "ALTER TABLE users DROP COLUMN quota",
    ];
    for statement in statements {
        sqlx::query(statement).execute(&mut connection).await.unwrap();
    }
    let forget = "DELETE FROM schema_migrations WHERE scope = 'knowledge' AND version > 9";
    assert_eq!(sqlx::query(forget).execute(&mut connection).await.unwrap().rows_affected(), 12);
    connection.close().await.unwrap();
}

#[tokio::test]
async fn documents_of_an_earlier_program_are_there_and_can_do_all_that_is_new() {
    let stoa = Stoa::start_knowledge().serve();
    let data = stoa.data.clone();
    let ada = KnowledgeClient::admin(&stoa).await.invite(&stoa, "ada").await;
    let id = ada.ingest_text("seal.txt", "The shaft seal is replaced every month.").await;
    ada.ingest_text("bearing.txt", "The bearing is greased every week.").await;
    let made = ada.post("/api/conversations").await;
    assert_eq!(made.status, 201, "{made:?}");
    stoa.signal("TERM");
    assert_eq!(stoa.wait().0, Some(0));
    make_older(data.path()).await;

    let stoa = Stoa::start_knowledge().data(&data).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let url = format!("http://{}/api/auth/token", stoa.knowledge.unwrap());
    let token = reply(reqwest::Client::new().post(url).header("x-api-key", &ada.token)).await;
    assert_eq!(token.status, 200, "her session goes on, and gives out tokens: {token:?}");
    let ada = KnowledgeClient::sign_in(&stoa, "ada@example.org", "correct horse").await;
    assert_eq!(ada.find("shaft seal").await[0], id);
    let document = ada.get(&format!("/api/documents/{id}")).await.json();
    assert_eq!((&document["version"], &document["status"]), (&json!(1), &json!("indexed")), "{document}");
    assert_eq!(ada.get("/api/conversations").await.json()["conversations"].as_array().unwrap().len(), 1);
    // A new version of an old document, and a space for an old user.
    let second = replace(&ada, "seal.txt", "The shaft seal is replaced every year.").await;
    assert_eq!((&second.json()["documentId"], &second.json()["version"]), (&json!(id), &json!(2)));
    assert_eq!(ada.documents().await.len(), 2);
    let pumps = space(&admin, json!({ "name": "Pumps" })).await;
    add(&admin, &pumps, &ada, "reader").await;
    assert_eq!(ada.get(&format!("/api/search?query=seal&spaceId={pumps}")).await.status, 200);
}
