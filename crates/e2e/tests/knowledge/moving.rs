//! Documents that go to a space, back, or to both: everything that is found by them goes along.

use super::archives::zip;
use super::lifecycle::{no_files_are_left, only_these_files_are_left};
use super::spaces::{add, patch, space};
use super::versions::replace;
use e2e::postgres::Postgres;
use e2e::{Form, KnowledgeClient, Reply, Stoa};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

const VAULT: &str = "The vault of Acme Industries in Rotterdam opens at noon.";

async fn move_to(user: &KnowledgeClient, id: &str, body: Value) -> Reply {
    user.post_json(&format!("/api/documents/{id}/move"), &body).await
}

async fn copy_to(user: &KnowledgeClient, id: &str, body: Value) -> Reply {
    user.post_json(&format!("/api/documents/{id}/copy"), &body).await
}

async fn listed(user: &KnowledgeClient, space: Option<&str>) -> Vec<Value> {
    let query = space.map(|id| format!("?spaceId={id}")).unwrap_or_default();
    user.get(&format!("/api/documents{query}")).await.json()["documents"].as_array().unwrap().clone()
}

fn ids(documents: &[Value]) -> BTreeSet<String> {
    documents.iter().map(|document| document["id"].as_str().unwrap().to_owned()).collect()
}

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

/// Fails unless a deep check finds everything right.
fn check_deeply(stoa: &Stoa) {
    let (code, said, _) = Stoa::start_knowledge().data(&stoa.data).run(&["check", "--deep"]);
    assert_eq!(code, 0, "{said}");
}

#[tokio::test]
async fn a_document_moves_to_a_space_and_back_with_all_that_belongs_to_it() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let (ada, bob) = (admin.invite(&stoa, "ada").await, admin.invite(&stoa, "bob").await);
    let board = space(&admin, json!({ "name": "Board" })).await;
    add(&admin, &board, &ada, "editor").await;
    add(&admin, &board, &bob, "reader").await;
    let form = Form::new().text("metadata", r#"{"tags": "vault, noon", "folder": "plans"}"#);
    let form = form.text("sameName", "replace");
    let old = form.file("file", "vault.txt", b"The vault is closed.");
    assert_eq!(ada.submit("/api/ingest", old).await.status, 200);
    let form = Form::new().text("metadata", r#"{"tags": "vault, noon", "folder": "plans"}"#);
    let new = form.text("sameName", "replace").file("file", "vault.txt", VAULT.as_bytes());
    let added = ada.submit("/api/ingest", new).await.json();
    let id = added["documentId"].as_str().unwrap().to_owned();
    let kept = ada.ingest_text("own.txt", "The canteen of Acme Industries is green.").await;
    let nodes = async |user: &KnowledgeClient, place: &str| {
        let graph = user.get(&format!("/api/graph?spaceId={place}")).await.json();
        graph["nodes"].to_string().contains(&id)
    };
    // Both indexes and both graphs are in memory before.
    assert_eq!(bob.find("vault at noon").await, Vec::<String>::new());
    assert!(nodes(&ada, &ada.id).await && !nodes(&bob, &board).await);
    assert_eq!(ada.find("vault at noon").await[0], id);

    for round in 0..2 {
        let moved = move_to(&ada, &id, json!({ "spaceId": board })).await;
        assert_eq!(moved.status, 200, "{moved:?}");
        let document = &moved.json()["document"];
        assert_eq!((&document["spaceId"], &document["userId"]), (&json!(board), &json!(ada.id)));
        assert_eq!((&document["version"], &document["metadata"]["tags"]), (&json!(2), &json!("vault, noon")));
        // A second time changes nothing: an answer that was lost may be asked for again.
        assert_eq!(move_to(&ada, &id, json!({ "spaceId": board })).await.status, 200);
        assert_eq!(bob.find("vault at noon").await, std::slice::from_ref(&id), "round {round}");
        assert!(nodes(&bob, &board).await && !nodes(&ada, &ada.id).await, "round {round}");
        let own = format!("/api/search?query=vault+at+noon&spaceId={}", ada.id);
        assert!(!ada.get(&own).await.body.contains(&id), "round {round}");
        assert_eq!(ids(&listed(&ada, None).await), [kept.clone()].into());
        assert_eq!(ids(&listed(&bob, Some(&board)).await), [id.clone()].into());
        let versions = bob.get(&format!("/api/documents/{id}/versions")).await.json();
        assert_eq!(versions["versions"].as_array().unwrap().len(), 2, "{versions}");
        let former = bob.get(&format!("/api/documents/{id}/content?version=1")).await;
        assert_eq!(former.body, "The vault is closed.");
        assert_eq!(bob.get(&format!("/api/documents/{id}/text")).await.json()["text"], json!(VAULT));

        let back = move_to(&ada, &id, json!({})).await;
        assert_eq!((back.status, &back.json()["document"]["spaceId"]), (200, &Value::Null), "{back:?}");
        assert_eq!(back.json()["document"]["userId"], json!(ada.id));
        assert_eq!(ada.find("vault at noon").await[0], id, "round {round}");
        assert_eq!(bob.find("vault at noon").await, Vec::<String>::new(), "round {round}");
        assert!(nodes(&ada, &ada.id).await && !nodes(&bob, &board).await, "round {round}");
        assert_eq!(bob.get(&format!("/api/documents/{id}")).await.status, 404);
    }
    check_deeply(&stoa);

    // Its files are the document's wherever it is: a former one is restored there, and all go with it.
    assert_eq!(move_to(&ada, &id, json!({ "spaceId": board })).await.status, 200);
    assert_eq!(ada.post(&format!("/api/documents/{id}/versions/1/restore")).await.status, 202);
    let restored = settled(&ada, &id).await;
    assert_eq!((&restored["spaceId"], &restored["version"]), (&json!(board), &json!(3)), "{restored}");
    assert_eq!(bob.find("vault is closed").await, std::slice::from_ref(&id));
    assert_eq!(ada.delete(&format!("/api/documents/{id}")).await.status, 200);
    only_these_files_are_left(&stoa, 1).await;
    // What a user has moved into a space stays when the user goes, and goes with the space.
    assert_eq!(move_to(&ada, &kept, json!({ "spaceId": board })).await.status, 200);
    assert_eq!(admin.delete(&format!("/api/users/{}", ada.id)).await.status, 200);
    assert_eq!(bob.find("canteen").await, std::slice::from_ref(&kept));
    assert!(bob.get(&format!("/api/documents/{kept}/content")).await.body.contains("green"));
    assert_eq!(admin.delete(&format!("/api/spaces/{board}")).await.status, 200);
    no_files_are_left(&stoa).await;
}

#[tokio::test]
async fn who_may_move_and_copy() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let (ada, bob) = (admin.invite(&stoa, "ada").await, admin.invite(&stoa, "bob").await);
    let eve = admin.invite(&stoa, "eve").await;
    let (read, edited) =
        (space(&admin, json!({ "name": "Read" })).await, space(&admin, json!({ "name": "Edited" })).await);
    add(&admin, &read, &ada, "editor").await;
    add(&admin, &read, &bob, "reader").await;
    add(&admin, &edited, &bob, "editor").await;
    let id = ada.ingest_text("vault.txt", VAULT).await;
    assert_eq!(move_to(&ada, &id, json!({ "spaceId": read })).await.status, 200);
    let own = bob.ingest_text("bob.txt", "Bob's own document.").await;

    for (user, id, body, moves, copies) in [
        // A reader of the space takes a copy, and leaves the document.
        (&bob, &id, json!({ "spaceId": edited }), 403, 202),
        (&bob, &own, json!({ "spaceId": read }), 403, 403),
        (&bob, &id, json!({ "userId": ada.id }), 403, 403),
        (&ada, &id, json!({ "spaceId": edited }), 404, 404),
        (&ada, &own, json!({}), 404, 404),
        (&eve, &id, json!({}), 404, 404),
        (&eve, &id, json!({ "spaceId": read }), 404, 404),
        (&bob, &own, json!({ "spaceId": "no\u{0}where" }), 404, 404),
        (&bob, &own, json!({ "spaceId": edited, "userId": bob.id }), 400, 400),
        (&bob, &own, json!({ "spaceId": 5 }), 400, 400),
        (&bob, &own, json!([]), 400, 400),
    ] {
        let (moved, copied) = (move_to(user, id, body.clone()).await, copy_to(user, id, body.clone()).await);
        assert_eq!((moved.status, copied.status), (moves, copies), "{body} {moved:?} {copied:?}");
    }
    let copies = listed(&bob, Some(&edited)).await;
    assert_eq!(copies.len(), 1, "{copies:?}");
    assert_eq!(ids(&listed(&ada, Some(&read)).await), [id.clone()].into(), "it is where it was");
    assert_eq!(ids(&listed(&bob, None).await), [own.clone()].into());
    // An administrator gives documents to any user.
    assert_eq!(move_to(&admin, &own, json!({ "userId": eve.id })).await.status, 200);
    assert_eq!(eve.find("Bob's own document").await, [own]);
    assert_eq!(move_to(&admin, &id, json!({ "userId": "nobody" })).await.status, 404);
}

#[tokio::test]
async fn a_copy_is_a_document_of_its_own() {
    let stoa = Stoa::start_knowledge().serve();
    let ada = KnowledgeClient::admin(&stoa).await;
    let board = space(&ada, json!({ "name": "Board" })).await;
    let form = Form::new().text("metadata", r#"{"title": "The vault", "tags": "noon"}"#);
    let added = ada.submit("/api/ingest", form.file("file", "vault.txt", VAULT.as_bytes())).await.json();
    let id = added["documentId"].as_str().unwrap().to_owned();
    let copied = copy_to(&ada, &id, json!({ "spaceId": board })).await;
    assert_eq!(copied.status, 202, "{copied:?}");
    let copy = copied.json()["document"]["id"].as_str().unwrap().to_owned();
    assert_ne!(copy, id);
    let document = settled(&ada, &copy).await;
    assert_eq!(
        (&document["status"], &document["spaceId"], &document["title"], &document["metadata"]["tags"]),
        (&json!("indexed"), &json!(board), &json!("The vault"), &json!("noon"))
    );
    // What is there already is not copied again.
    let again = copy_to(&ada, &id, json!({ "spaceId": board })).await;
    assert_eq!((again.status, &again.json()["duplicateOf"]), (200, &json!(copy)), "{again:?}");
    let here = copy_to(&ada, &id, json!({})).await;
    assert_eq!((here.status, &here.json()["duplicateOf"]), (200, &json!(id)), "{here:?}");
    assert_eq!(replace(&ada, "vault.txt", "Another text.").await.status, 200);
    assert_eq!(ada.get(&format!("/api/documents/{copy}/content")).await.body, VAULT);
    assert_eq!(ada.delete(&format!("/api/documents/{id}")).await.status, 200);
    assert_eq!(ada.find("vault at noon").await, [copy]);
    only_these_files_are_left(&stoa, 1).await;
    check_deeply(&stoa);
}

#[tokio::test]
async fn the_quota_of_the_new_owner_counts() {
    let stoa = Stoa::start_knowledge().serve();
    let ada = KnowledgeClient::admin(&stoa).await;
    let board = space(&ada, json!({ "name": "Board" })).await;
    let id = ada.ingest_text("vault.txt", VAULT).await;
    // Two files of it are stored, and both count.
    assert_eq!(replace(&ada, "vault.txt", &VAULT.replace("noon", "nine")).await.status, 200);
    let path = format!("/api/spaces/{board}");
    let quota = async |bytes: usize| {
        let changed = patch(&ada, &path, json!({ "quota": bytes })).await;
        assert_eq!(changed.status, 200, "{changed:?}");
    };
    quota(2 * VAULT.len() - 1).await;
    let moved = move_to(&ada, &id, json!({ "spaceId": board })).await;
    assert_eq!((moved.status, &moved.json()["code"]), (413, &json!("QUOTA_EXCEEDED")), "{moved:?}");
    assert_eq!((listed(&ada, None).await.len(), listed(&ada, Some(&board)).await.len()), (1, 0));
    assert_eq!(ada.find("vault").await, std::slice::from_ref(&id));
    quota(2 * VAULT.len()).await;
    assert_eq!(move_to(&ada, &id, json!({ "spaceId": board })).await.status, 200);
    let storage = |list: Value| list["storage"]["bytes"].clone();
    assert_eq!(
        storage(ada.get(&format!("/api/documents?spaceId={board}")).await.json()),
        json!(2 * VAULT.len())
    );
    assert_eq!(storage(ada.get("/api/documents").await.json()), json!(0));
    let other = ada.ingest_text("other.txt", "One more.").await;
    let copied = copy_to(&ada, &other, json!({ "spaceId": board })).await;
    assert_eq!((copied.status, &copied.json()["code"]), (413, &json!("QUOTA_EXCEEDED")), "{copied:?}");
    only_these_files_are_left(&stoa, 3).await;
}

#[tokio::test]
async fn an_archive_moves_with_its_files_and_a_file_without_its_archive() {
    let stoa = Stoa::start_knowledge().serve();
    let ada = KnowledgeClient::admin(&stoa).await;
    let board = space(&ada, json!({ "name": "Board" })).await;
    let archive = zip(&[
        ("a.txt", b"The shaft seal is replaced every month."),
        ("b.txt", b"The impeller is made of bronze."),
    ]);
    let added = ada.ingest("plant.zip", &archive).await;
    assert_eq!(added.status, 200, "{added:?}");
    let documents = ada.settled(Duration::from_secs(60)).await;
    let of = |name: &str| {
        let found = documents.iter().find(|document| document["filename"] == name);
        found.unwrap()["id"].as_str().unwrap().to_owned()
    };
    let (list, seal, impeller) = (of("plant.zip"), of("a.txt"), of("b.txt"));
    assert_eq!(move_to(&ada, &list, json!({ "spaceId": board })).await.status, 200);
    assert_eq!(listed(&ada, None).await.len(), 0);
    assert_eq!(ids(&listed(&ada, Some(&board)).await), [list.clone(), seal.clone(), impeller.clone()].into());
    assert_eq!(ada.find("shaft seal").await[0], seal);
    assert_eq!(ada.find("impeller of bronze").await[0], impeller);
    // Indexed again, it finds its files where it is.
    assert_eq!(ada.post(&format!("/api/documents/{list}/reindex")).await.status, 202);
    assert_eq!(settled(&ada, &list).await["status"], json!("indexed"));
    assert_eq!((listed(&ada, None).await.len(), listed(&ada, Some(&board)).await.len()), (0, 3));
    // A file that leaves its archive is not touched by it any more.
    assert_eq!(move_to(&ada, &seal, json!({})).await.status, 200);
    assert_eq!(move_to(&ada, &list, json!({})).await.status, 200);
    assert_eq!(listed(&ada, None).await.len(), 3);
    check_deeply(&stoa);
}

#[tokio::test]
async fn what_belongs_to_a_source_or_is_being_read_stays() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::write(root.join("vault.txt"), VAULT).unwrap();
    let stoa = Stoa::start_knowledge().set("FOLDER_ROOTS", root.display().to_string()).serve();
    let ada = KnowledgeClient::admin(&stoa).await;
    let board = space(&ada, json!({ "name": "Board" })).await;
    let body = json!({ "name": "Plans", "settings": { "kind": "folder", "path": root } });
    assert_eq!(ada.post_json("/api/sources", &body).await.status, 201);
    let deadline = Instant::now() + Duration::from_secs(60);
    while ada.find("vault at noon").await.is_empty() {
        assert!(Instant::now() < deadline, "the source brings nothing");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let id = listed(&ada, None).await[0]["id"].as_str().unwrap().to_owned();
    let moved = move_to(&ada, &id, json!({ "spaceId": board })).await;
    assert_eq!((moved.status, &moved.json()["code"]), (409, &json!("CONFLICT")), "{moved:?}");
    assert!(moved.body.contains("source"), "{moved:?}");
    // A copy to where it is changes nothing: the source keeps it.
    let here = copy_to(&ada, &id, json!({})).await;
    assert_eq!((here.status, &here.json()["duplicateOf"]), (200, &json!(id)), "{here:?}");
    assert!(ada.get(&format!("/api/documents/{id}")).await.json()["sourceId"].is_string());
    let copied = copy_to(&ada, &id, json!({ "spaceId": board })).await;
    assert_eq!(copied.status, 202, "{copied:?}");
    let copy = copied.json()["document"]["id"].as_str().unwrap().to_owned();
    assert_eq!(settled(&ada, &copy).await["sourceId"], Value::Null, "no source keeps the copy");

    let long: String =
        (0..20_000).map(|n| format!("Sentence {n} is about pumps of kind {}. ", n % 97)).collect();
    let form = Form::new().file("file", "long.txt", long.as_bytes());
    let request = form.into_request(ada.request(reqwest::Method::POST, "/api/ingest"));
    let slow = e2e::reply(request.header("prefer", "respond-async")).await.json();
    let slow = slow["documentId"].as_str().unwrap().to_owned();
    assert_eq!(move_to(&ada, &slow, json!({ "spaceId": board })).await.status, 409);
    assert_eq!(ada.post(&format!("/api/documents/{slow}/cancel")).await.status, 200);
    // Cancelled, it is moved, and indexed where it is then.
    assert_eq!(move_to(&ada, &slow, json!({ "spaceId": board })).await.status, 200);
    assert_eq!(ada.get(&format!("/api/documents/{slow}")).await.json()["status"], json!("error"));
    check_deeply(&stoa);
}

#[tokio::test(flavor = "multi_thread")]
async fn moves_in_both_directions_at_the_same_time_wait_for_each_other() {
    for database in [None, Some(Postgres::shared().await.database().await)] {
        let start = Stoa::start_knowledge();
        let stoa = match &database {
            Some(url) => start.set("DATABASE_URL", url).serve(),
            None => start.serve(),
        };
        let ada = KnowledgeClient::admin(&stoa).await;
        let board = space(&ada, json!({ "name": "Board" })).await;
        let mut documents = Vec::new();
        for number in 0..8 {
            let id =
                ada.ingest_text(&format!("{number}.txt"), &format!("Pump number {number} is red.")).await;
            if number % 2 == 1 {
                assert_eq!(move_to(&ada, &id, json!({ "spaceId": board })).await.status, 200);
            }
            documents.push(id);
        }
        let crossing = documents.iter().enumerate().map(|(number, id)| {
            let body = if number % 2 == 1 { json!({}) } else { json!({ "spaceId": board }) };
            move_to(&ada, id, body)
        });
        for answer in futures_util::future::join_all(crossing).await {
            assert_eq!(answer.status, 200, "{answer:?}");
        }
        let of = |odd: usize| documents.iter().skip(odd).step_by(2).cloned().collect::<BTreeSet<String>>();
        assert_eq!(ids(&listed(&ada, None).await), of(1));
        assert_eq!(ids(&listed(&ada, Some(&board)).await), of(0));
        assert_eq!(
            ada.find("which pump is red").await.into_iter().collect::<BTreeSet<_>>(),
            of(0).union(&of(1)).cloned().collect()
        );
        // Of two moves of the same document one is first, and the other is told.
        let (one, other) =
            tokio::join!(move_to(&ada, &documents[0], json!({})), move_to(&ada, &documents[0], json!({})));
        assert!(
            [one.status, other.status].iter().all(|status| [200, 404].contains(status)),
            "{one:?} {other:?}"
        );
        assert!(one.status == 200 || other.status == 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_while_they_move_documents_are_in_one_place_each() {
    let mut stoa = Stoa::start_knowledge().serve();
    let data = stoa.data.clone();
    let mut ada = KnowledgeClient::admin(&stoa).await;
    let board = space(&ada, json!({ "name": "Board" })).await;
    let mut documents = BTreeSet::new();
    for number in 0..6 {
        documents.insert(
            ada.ingest_text(&format!("{number}.txt"), &format!("Pump number {number} is red.")).await,
        );
    }
    for round in 0..5_u64 {
        let until = tokio::time::Instant::now() + Duration::from_millis(60 + 37 * round);
        let moving = async {
            for body in [json!({ "spaceId": board }), json!({})].iter().cycle() {
                for id in &documents {
                    let path = format!("/api/documents/{id}/move");
                    let _ = ada.request(reqwest::Method::POST, &path).json(body).send().await;
                }
            }
        };
        let _ = tokio::time::timeout_at(until, moving).await;
        // A kill, as nothing is asked to stop.
        drop(stoa);
        stoa = Stoa::start_knowledge().data(&data).serve();
        ada = KnowledgeClient::admin(&stoa).await;
        let (own, shared) = (ids(&listed(&ada, None).await), ids(&listed(&ada, Some(&board)).await));
        assert!(own.is_disjoint(&shared), "{own:?} {shared:?}");
        assert_eq!(own.union(&shared).cloned().collect::<BTreeSet<_>>(), documents, "round {round}");
        assert_eq!(ada.find("which pump is red").await.into_iter().collect::<BTreeSet<_>>(), documents);
    }
    check_deeply(&stoa);
}
