//! Sources: documents that come from a folder by themselves, and stay as the folder is.

use super::spaces::{add, patch, space};
use e2e::{KnowledgeClient, Stoa};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

mod keeping;
mod limits;
mod own_listeners;
mod peers;

/// Adds a source, and returns its id.
async fn source(user: &KnowledgeClient, body: Value) -> String {
    let answer = user.post_json("/api/sources", &body).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()["source"]["id"].as_str().unwrap().to_owned()
}

fn folder_body(folder: &Path) -> Value {
    json!({ "name": "Manuals", "settings": { "kind": "folder", "path": folder } })
}

/// Waits until the source is as wanted, and returns it.
async fn until(user: &KnowledgeClient, id: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + Duration::from_secs(90);
    loop {
        let source = user.get(&format!("/api/sources/{id}")).await.json();
        if wanted(&source) {
            return source;
        }
        assert!(Instant::now() < deadline, "{source}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Waits for the end of the run after so many others.
async fn ended(user: &KnowledgeClient, id: &str, after: &Value) -> Value {
    until(user, id, |source| {
        let run = &source["lastRun"];
        run["endedAt"].is_i64() && run["endedAt"] != after["lastRun"]["endedAt"]
    })
    .await
}

/// Returns the names of the files, of two that are the same the one that comes first in the alphabet.
async fn titles(user: &KnowledgeClient) -> Vec<String> {
    let documents = user.settled(Duration::from_secs(60)).await;
    let name = |document: &Value| document["filename"].as_str().unwrap().replace("same.txt", "a.txt");
    let mut titles: Vec<String> = documents.iter().map(name).collect();
    titles.sort();
    titles
}

#[tokio::test]
async fn the_documents_are_what_the_folder_is() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let manuals = root.join("manuals");
    fs::create_dir_all(manuals.join("pumps")).unwrap();
    fs::write(manuals.join("a.txt"), "The shaft seal is replaced every month.").unwrap();
    fs::write(manuals.join("pumps/b.md"), "# Pump\n\nThe impeller is made of bronze.").unwrap();
    fs::write(manuals.join("same.txt"), "The shaft seal is replaced every month.").unwrap();
    fs::write(manuals.join("bad.pdf"), b"%PDF-1.7 broken").unwrap();
    let stoa = Stoa::start_knowledge().set("FOLDER_ROOTS", root.display().to_string()).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let id = source(&admin, folder_body(&manuals)).await;
    let first = ended(&admin, &id, &Value::Null).await;
    assert_eq!(first["lastRun"]["error"], Value::Null, "{first}");
    assert_eq!(first["lastRun"]["added"], json!(4), "{first}");
    // One that cannot be indexed is an error of the source, too.
    let counts = json!({ "stored": 3, "skipped": 0, "error": 1 });
    until(&admin, &id, |source| source["items"] == counts).await;
    let errors = admin.get(&format!("/api/sources/{id}/items?status=error")).await.json()["items"].clone();
    assert_eq!((errors.as_array().unwrap().len(), &errors[0]["path"]), (1, &json!("bad.pdf")), "{errors}");
    assert!(errors[0]["message"].as_str().unwrap().len() > 10, "{errors}");
    assert_eq!(admin.get("/api/sources").await.json()["folderRoots"], json!([root]));
    assert_eq!(titles(&admin).await, ["a.txt", "b.md", "bad.pdf"], "what is there twice is one document");
    let same = admin.get(&format!("/api/sources/{id}/items")).await.json();
    let said = same["items"].as_array().unwrap().iter().filter(|item| item["message"].is_string()).count();
    assert_eq!(said, 2, "the one that has the same content, and the error: {same}");
    let document = &admin.get("/api/documents?title=b.md").await.json()["documents"][0];
    assert_eq!((&document["sourceId"], &document["metadata"]["folder"]), (&json!(id), &json!("pumps")));
    assert_eq!(json!(admin.find("impeller bronze").await[0]), document["id"]);

    // A change is noticed by itself: the document keeps its id, and gets a new version.
    fs::write(manuals.join("pumps/b.md"), "# Pump\n\nThe impeller is made of titanium.").unwrap();
    fs::remove_file(manuals.join("bad.pdf")).unwrap();
    fs::write(manuals.join("c.txt"), "The bearing is greased every week.").unwrap();
    let second = until(&admin, &id, |source| {
        source["items"]["stored"] == json!(4) && source["lastRun"]["removed"] == json!(1)
    })
    .await;
    assert_eq!(
        (&second["lastRun"]["added"], &second["lastRun"]["changed"]),
        (&json!(1), &json!(1)),
        "{second}"
    );
    assert_eq!(titles(&admin).await, ["a.txt", "b.md", "c.txt"]);
    let changed = &admin.get("/api/documents?title=b.md").await.json()["documents"][0];
    assert_eq!((&changed["id"], &changed["version"]), (&document["id"], &json!(2)));

    // What has not changed is not read again.
    assert_eq!(admin.post(&format!("/api/sources/{id}/run")).await.status, 202);
    let third = until(&admin, &id, |source| {
        source["lastRun"]["unchanged"] == json!(4) && source["lastRun"]["endedAt"].is_i64()
    });
    assert_eq!(third.await["lastRun"]["changed"], json!(0));

    // A folder that is gone is an error, and no document is removed for it.
    fs::rename(&manuals, root.join("elsewhere")).unwrap();
    admin.post(&format!("/api/sources/{id}/run")).await;
    let failed = until(&admin, &id, |source| source["status"] == "failed").await;
    assert!(
        failed["lastRun"]["error"].as_str().unwrap().len() > 10 && failed["nextRunAt"].is_i64(),
        "{failed}"
    );
    assert_eq!(titles(&admin).await.len(), 3);
    fs::rename(root.join("elsewhere"), &manuals).unwrap();

    // Paused it does nothing; deleted without its documents, they stay.
    let paused = patch(&admin, &format!("/api/sources/{id}"), json!({ "paused": true })).await;
    assert_eq!((paused.status, &paused.json()["source"]["status"]), (200, &json!("paused")));
    assert_eq!(admin.post(&format!("/api/sources/{id}/run")).await.status, 409);
    assert_eq!(admin.delete(&format!("/api/sources/{id}")).await.status, 200);
    assert_eq!(admin.get(&format!("/api/sources/{id}")).await.status, 404);
    assert_eq!(titles(&admin).await.len(), 3);
    let again = source(&admin, folder_body(&manuals)).await;
    ended(&admin, &again, &Value::Null).await;
    fs::write(manuals.join("d.txt"), "The valve is closed at night.").unwrap();
    until(&admin, &again, |source| source["items"]["stored"] == json!(5)).await;
    assert_eq!(admin.delete(&format!("/api/sources/{again}?documents=true")).await.status, 200);
    let deadline = Instant::now() + Duration::from_secs(30);
    while titles(&admin).await != ["a.txt", "b.md", "c.txt"] {
        assert!(Instant::now() < deadline, "only its own documents go with it");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn a_source_of_a_space_is_for_its_editors() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    fs::write(root.join("a.txt"), "The shaft seal is replaced every month.").unwrap();
    let stoa = Stoa::start_knowledge().set("FOLDER_ROOTS", root.display().to_string()).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let (ada, bob) = (admin.invite(&stoa, "ada").await, admin.invite(&stoa, "bob").await);
    let pumps = space(&admin, json!({ "name": "Pumps" })).await;
    add(&admin, &pumps, &bob, "reader").await;
    let mut body = folder_body(&root);
    body["spaceId"] = json!(pumps);
    let id = source(&admin, body.clone()).await;
    let ran = ended(&admin, &id, &Value::Null).await;
    assert_eq!((&ran["spaceId"], &ran["items"]["stored"]), (&json!(pumps), &json!(1)));
    let deadline = Instant::now() + Duration::from_secs(30);
    while bob.find("shaft seal").await.is_empty() {
        assert!(Instant::now() < deadline, "a member finds what came from the source");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(bob.get(&format!("/api/sources?spaceId={pumps}")).await.json()["sources"][0]["id"], json!(id));
    assert_eq!(bob.post(&format!("/api/sources/{id}/run")).await.status, 403);
    assert_eq!(bob.delete(&format!("/api/sources/{id}")).await.status, 403);
    assert_eq!(bob.post_json("/api/sources", &body).await.status, 403);
    assert_eq!(ada.get(&format!("/api/sources/{id}")).await.status, 404);
    assert_eq!(ada.get(&format!("/api/sources/{id}/items")).await.status, 404);
    assert_eq!(ada.find("shaft seal").await, Vec::<String>::new());
    // Folders of the server are for administrators, below the roots.
    assert_eq!(ada.get("/api/sources").await.json().get("folderRoots"), None);
    let own = folder_body(&root);
    assert_eq!(ada.post_json("/api/sources", &own).await.status, 403);
    for (path, message) in [(json!("/etc"), "FOLDER_ROOTS"), (json!(""), "path"), (json!("relative"), "path")]
    {
        let answer = admin
            .post_json(
                "/api/sources",
                &json!({ "name": "x", "settings": { "kind": "folder", "path": path } }),
            )
            .await;
        assert_eq!(answer.status, 400, "{answer:?}");
        assert!(answer.body.contains(message), "{answer:?}");
    }
    let every = json!({ "name": "x", "every": 5, "settings": { "kind": "folder", "path": root } });
    assert_eq!(admin.post_json("/api/sources", &every).await.status, 400);
    // A secret is never shown.
    let secret = json!({ "name": "Bucket", "secret": "tell-no-one", "settings":
        { "kind": "s3", "bucket": "b", "endpoint": "https://s3.example.org", "accessKeyId": "key" } });
    let answer = ada.post_json("/api/sources", &secret).await;
    assert_eq!((answer.status, &answer.json()["source"]["hasSecret"]), (201, &json!(true)), "{answer:?}");
    assert!(!answer.body.contains("tell-no-one"));
}

#[tokio::test]
async fn a_killed_run_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for number in 0..300 {
        fs::write(root.join(format!("{number}.txt")), format!("Note {number} is about valve V-{number}."))
            .unwrap();
    }
    let start = || {
        let start = Stoa::start_knowledge().set("FOLDER_ROOTS", root.display().to_string());
        start.set("JOB_LEASE", "1s")
    };
    let mut stoa = start().serve();
    let data = stoa.data.clone();
    let admin = KnowledgeClient::admin(&stoa).await;
    let id = source(&admin, folder_body(&root)).await;
    for _ in 0..4 {
        tokio::time::sleep(Duration::from_millis(700)).await;
        stoa.signal("KILL");
        stoa.wait();
        stoa = start().data(&data).serve();
    }
    let admin = KnowledgeClient::admin(&stoa).await;
    let ran = ended(&admin, &id, &Value::Null).await;
    assert_eq!((&ran["items"]["stored"], &ran["lastRun"]["error"]), (&json!(300), &Value::Null), "{ran}");
    let documents = admin.settled(Duration::from_secs(120)).await;
    assert_eq!(documents.len(), 300, "each file is one document");
    assert!(documents.iter().all(|document| document["status"] == "indexed"));
}
