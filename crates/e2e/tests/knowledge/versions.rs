//! Files that replace others, former files, dates of expiry and quotas.

use super::spaces::patch;
use e2e::{Form, KnowledgeClient, Reply, Stoa};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

async fn upload(user: &KnowledgeClient, fields: &[(&str, &str)], name: &str, text: &str) -> Reply {
    let form = fields.iter().fold(Form::new(), |form, (name, value)| form.text(name, value));
    user.submit("/api/ingest", form.file("file", name, text.as_bytes())).await
}

/// Uploads a file that takes the place of another with the same name.
pub async fn replace(user: &KnowledgeClient, name: &str, text: &str) -> Reply {
    upload(user, &[("sameName", "replace")], name, text).await
}

async fn versions(user: &KnowledgeClient, id: &str) -> Vec<(i64, String)> {
    let answer = user.get(&format!("/api/documents/{id}/versions")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let of = |file: &Value| (file["version"].as_i64().unwrap(), file["state"].as_str().unwrap().to_owned());
    answer.json()["versions"].as_array().unwrap().iter().map(of).collect()
}

/// Waits until the document is not being processed.
async fn settled(user: &KnowledgeClient, id: &str) -> Value {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let document = user.get(&format!("/api/documents/{id}")).await.json();
        if document["status"] != "processing" {
            return document;
        }
        assert!(Instant::now() < deadline, "{document}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_file_of_the_same_name_takes_the_place_of_the_old_one() {
    let stoa = Stoa::start_knowledge().serve();
    let ada = KnowledgeClient::admin(&stoa).await.invite(&stoa, "ada").await;
    let first = upload(&ada, &[], "rules.txt", "Lunch is at noon in the canteen.").await.json();
    let id = first["documentId"].as_str().unwrap().to_owned();
    let second = replace(&ada, "rules.txt", "Lunch is at one in the garden.").await;
    assert_eq!(
        (second.status, &second.json()["documentId"], &second.json()["version"]),
        (200, &json!(id), &json!(2))
    );
    assert_eq!(ada.documents().await.len(), 1);
    assert_eq!(ada.get(&format!("/api/documents/{id}/content")).await.body, "Lunch is at one in the garden.");
    let found = ada.get("/api/search?query=lunch").await.json();
    assert_eq!(found["results"].as_array().unwrap().len(), 1, "{found}");
    assert!(found["results"][0]["text"].as_str().unwrap().contains("garden"), "{found}");
    assert_eq!(versions(&ada, &id).await, [(2, "current".to_owned()), (1, "former".to_owned())]);
    let old = ada.get(&format!("/api/documents/{id}/content?version=1")).await;
    assert_eq!((old.status, old.body.as_str()), (200, "Lunch is at noon in the canteen."));
    assert_eq!(ada.get(&format!("/api/documents/{id}/content?version=9")).await.status, 404);

    // In another folder, or if nothing is said, it is another document.
    let fields = [("metadata", r#"{"folder": "b"}"#), ("sameName", "replace")];
    let other = upload(&ada, &fields, "rules.txt", "Lunch is at two on the roof.").await.json();
    assert_ne!(other["documentId"], json!(id));
    // A file that replaces another is there, also if a third has its content.
    let same = upload(&ada, &fields, "rules.txt", "Lunch is at one in the garden.").await.json();
    assert_eq!((&same["documentId"], &same["version"]), (&other["documentId"], &json!(2)), "{same}");
    let kept = upload(&ada, &[], "rules.txt", "Lunch is at three in the boat.").await.json();
    assert_ne!(kept["documentId"], json!(id));
    assert_eq!(ada.documents().await.len(), 3);

    // A former file that does not become the current one after all stays a former one.
    let restore = |version: i64| format!("/api/documents/{id}/versions/{version}/restore");
    assert_eq!(ada.post(&restore(1)).await.status, 202);
    assert_eq!(ada.post(&restore(2)).await.status, 202);
    let document = settled(&ada, &id).await;
    assert_eq!(document["status"], json!("indexed"));
    assert!(ada.get(&format!("/api/documents/{id}/content?version=1")).await.body.contains("noon"));

    // The former file comes back as a new version.
    let restored = ada.post(&format!("/api/documents/{id}/versions/1/restore")).await;
    assert_eq!(restored.status, 202, "{restored:?}");
    assert_eq!(settled(&ada, &id).await["version"], json!(3));
    assert_eq!(
        ada.get(&format!("/api/documents/{id}/content")).await.body,
        "Lunch is at noon in the canteen."
    );
    assert_eq!(versions(&ada, &id).await, [(3, "current".to_owned()), (2, "former".to_owned())]);
    for missing in ["1", "7", "x", "-1", "99999999999999999999"] {
        let answer = ada.post(&format!("/api/documents/{id}/versions/{missing}/restore")).await;
        assert_eq!(answer.status, 404, "{missing}: {answer:?}");
    }
}

#[tokio::test]
async fn a_new_file_that_cannot_be_read_leaves_the_old_one() {
    let stoa = Stoa::start_knowledge().serve();
    let ada = KnowledgeClient::admin(&stoa).await.invite(&stoa, "ada").await;
    let id = ada.ingest_text("plan.txt", "The canteen is painted green.").await;
    let broken = replace(&ada, "plan.txt", "PK\x03\x04 neither an archive nor a document").await;
    assert_eq!((broken.status, &broken.json()["documentId"]), (400, &json!(id)), "{broken:?}");
    assert_eq!(ada.get(&format!("/api/documents/{id}")).await.json()["status"], json!("error"));
    // It is found, and read, as before.
    assert_eq!(ada.find("canteen painted green").await, std::slice::from_ref(&id));
    assert_eq!(ada.get(&format!("/api/documents/{id}/content")).await.body, "The canteen is painted green.");
    assert_eq!(versions(&ada, &id).await, [(2, "next".to_owned()), (1, "current".to_owned())]);
    // Removing what has failed removes the broken file only.
    assert_eq!(ada.delete("/api/documents/purge-errors").await.json()["documentsPurged"], json!(1));
    let document = settled(&ada, &id).await;
    assert_eq!((&document["status"], &document["version"]), (&json!("indexed"), &json!(1)));
    assert_eq!(versions(&ada, &id).await, [(1, "current".to_owned())]);
    assert_eq!(replace(&ada, "plan.txt", "PK\x03\x04 again").await.status, 400);
    // The current version is chosen, and the broken file is dropped.
    assert_eq!(ada.post(&format!("/api/documents/{id}/versions/1/restore")).await.status, 202);
    let document = settled(&ada, &id).await;
    assert_eq!((&document["status"], &document["version"]), (&json!("indexed"), &json!(1)));
    assert_eq!(versions(&ada, &id).await, [(1, "current".to_owned())]);
}

#[tokio::test]
async fn the_last_five_former_files_are_kept_and_no_other_objects() {
    let stoa = Stoa::start_knowledge().serve();
    let ada = KnowledgeClient::admin(&stoa).await.invite(&stoa, "ada").await;
    let mut id = String::new();
    for number in 1..=8 {
        let answer = replace(&ada, "log.txt", &format!("Entry {number} of the log book.")).await;
        id = answer.json()["documentId"].as_str().unwrap().to_owned();
    }
    let kept: Vec<i64> = versions(&ada, &id).await.iter().map(|(version, _)| *version).collect();
    assert_eq!(kept, [8, 7, 6, 5, 4, 3]);
    let storage = ada.get("/api/documents").await.json()["storage"].clone();
    assert_eq!((&storage["bytes"], &storage["quota"]), (&json!(6 * 24), &Value::Null), "former files count");
    let objects = stoa.data_folder().join("objects/users").join(&ada.id).join("documents");
    let files = || std::fs::read_dir(&objects).map_or(0, Iterator::count);
    let deadline = Instant::now() + Duration::from_secs(30);
    while files() > 6 {
        assert!(Instant::now() < deadline, "{} files are left", files());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(files(), 6);
    assert_eq!(ada.delete(&format!("/api/documents/{id}")).await.status, 200);
    while files() > 0 {
        assert!(Instant::now() < deadline, "{} files are left", files());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn an_upload_beyond_the_quota_is_refused_and_stores_nothing() {
    let stoa = Stoa::start_knowledge().set("USER_QUOTA_MIB", 1).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let ada = admin.invite(&stoa, "ada").await;
    let large = "The quick brown fox jumps over the lazy dog. ".repeat(20_000);
    ada.ingest_text("a.txt", &large[..700_000]).await;
    let refused = ada.ingest("b.txt", &large.as_bytes()[1..700_000]).await;
    assert_eq!((refused.status, &refused.json()["code"]), (413, &json!("QUOTA_EXCEEDED")), "{refused:?}");
    assert_eq!(ada.documents().await.len(), 1);
    let users = admin.get("/api/users").await.json();
    let listed = users["users"].as_array().unwrap().iter().find(|user| user["id"] == json!(ada.id)).unwrap();
    assert_eq!((&listed["bytes"], &listed["quota"]), (&json!(700_000), &json!(1 << 20)));
    // An administrator gives her more, and takes it back.
    let path = format!("/api/users/{}", ada.id);
    assert_eq!(patch(&admin, &path, json!({ "quota": 3_000_000 })).await.status, 200);
    ada.ingest_text("b.txt", &large[1..700_000]).await;
    assert_eq!(patch(&admin, &path, json!({ "quota": null })).await.status, 200);
    let storage = ada.get("/api/documents").await.json()["storage"].clone();
    assert_eq!(storage["quota"], json!(1 << 20));
    assert_eq!(ada.ingest("c.txt", b"One more.").await.status, 413);
    assert_eq!(patch(&admin, &path, json!({ "quota": -1 })).await.status, 400);
}

#[tokio::test]
async fn a_document_is_removed_when_its_time_has_come() {
    let stoa = Stoa::start_knowledge().serve();
    let ada = KnowledgeClient::admin(&stoa).await.invite(&stoa, "ada").await;
    let now = base::Clock::system().now_ms();
    let later = (now + 3_600_000).to_string();
    let document = upload(&ada, &[("expiresAt", &later)], "offer.txt", "The offer ends soon.").await.json();
    let id = document["documentId"].as_str().unwrap().to_owned();
    let path = format!("/api/documents/{id}");
    assert_eq!(ada.get(&path).await.json()["expiresAt"], json!(now + 3_600_000));
    assert_eq!(
        patch(&ada, &path, json!({ "expiresAt": null })).await.json()["document"]["expiresAt"],
        Value::Null
    );
    assert_eq!(patch(&ada, &path, json!({ "expiresAt": -5 })).await.status, 400);
    assert_eq!(upload(&ada, &[("expiresAt", "soon")], "x.txt", "x").await.status, 400);
    // A file that replaces another has a date of its own.
    let again = [("sameName", "replace"), ("expiresAt", later.as_str())];
    upload(&ada, &again, "offer.txt", "The offer ends later.").await;
    assert_eq!(ada.get(&path).await.json()["expiresAt"], json!(now + 3_600_000));
    replace(&ada, "offer.txt", "The offer does not end.").await;
    assert_eq!(ada.get(&path).await.json()["expiresAt"], Value::Null);
    assert_eq!(patch(&ada, &path, json!({ "expiresAt": now + 500 })).await.status, 200);
    let deadline = Instant::now() + Duration::from_secs(60);
    while ada.get(&path).await.status != 404 {
        assert!(Instant::now() < deadline, "it is still there");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(ada.find("offer").await, Vec::<String>::new());
}
