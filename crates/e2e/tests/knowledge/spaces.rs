//! Spaces: who sees what is in them, over every way of asking, and from when on they no longer do.

use super::answers::ask;
use super::mcp::{refused, use_tool};
use e2e::{Form, KnowledgeClient, Reply, Stoa, reply};
use reqwest::Method;
use serde_json::{Value, json};

const SEAL: &str = "The shaft seal of the pump in Rotterdam must be replaced every month.";

pub async fn patch(user: &KnowledgeClient, path: &str, body: Value) -> Reply {
    reply(user.request(Method::PATCH, path).json(&body)).await
}

/// Makes a space, and returns its id.
pub async fn space(user: &KnowledgeClient, body: Value) -> String {
    let answer = user.post_json("/api/spaces", &body).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()["space"]["id"].as_str().unwrap().to_owned()
}

pub async fn add(user: &KnowledgeClient, space: &str, member: &KnowledgeClient, role: &str) {
    let body = json!({ "user": member.username, "role": role });
    let answer = user.post_json(&format!("/api/spaces/{space}/members"), &body).await;
    assert_eq!((answer.status, &answer.json()["member"]["userId"]), (200, &json!(member.id)), "{answer:?}");
}

async fn add_text(user: &KnowledgeClient, space: &str, name: &str, text: &str) -> Reply {
    let form = Form::new().text("spaceId", space).file("file", name, text.as_bytes());
    user.submit("/api/ingest", form).await
}

fn id_of(added: &Reply) -> String {
    assert_eq!(added.status, 200, "{added:?}");
    added.json()["documentId"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn members_find_what_is_in_a_space_and_others_do_not() {
    let stoa = Stoa::start_knowledge().set("CHAT_REQUESTS_PER_MINUTE", 1000).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let (ada, bob) = (admin.invite(&stoa, "ada").await, admin.invite(&stoa, "bob").await);
    let eve = admin.invite(&stoa, "eve").await;
    let pumps = space(&admin, json!({ "name": " Pumps ", "description": "Manuals." })).await;
    add(&admin, &pumps, &ada, "editor").await;
    add(&admin, &pumps, &bob, "reader").await;
    let own = bob.ingest_text("own.txt", "The seal of Bob's pump is made of rubber.").await;
    let document = id_of(&add_text(&ada, &pumps, "seal.txt", SEAL).await);
    let refused_upload = add_text(&bob, &pumps, "b.txt", "Added by a reader.").await;
    assert_eq!((refused_upload.status, refused_upload.json()["code"].clone()), (403, json!("FORBIDDEN")));

    // A reader finds it beside their own documents, and is told where it is from.
    let found = bob.get("/api/search?query=seal+of+the+pump").await.json();
    let places: Vec<(&Value, &Value)> = found["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| (&result["documentId"], &result["metadata"]["spaceName"]))
        .collect();
    assert!(places.contains(&(&json!(document), &json!("Pumps"))), "{found}");
    assert!(places.contains(&(&json!(own), &Value::Null)), "{found}");
    let only = bob.get(&format!("/api/search?query=seal&spaceId={pumps}")).await.json();
    assert_eq!(only["results"].as_array().unwrap().len(), 1, "{only}");
    assert_eq!(only["results"][0]["metadata"]["spaceId"], json!(pumps));
    let mine = bob.get(&format!("/api/search?query=seal&spaceId={}", bob.id)).await.json();
    assert_eq!(mine["results"][0]["documentId"], json!(own));
    assert_eq!(mine["results"].as_array().unwrap().len(), 1, "{mine}");
    let both = bob.get(&format!("/api/search?query=seal&spaceId={}&spaceId={pumps}", bob.id)).await.json();
    assert_eq!(both["results"].as_array().unwrap().len(), 2, "{both}");

    // The answer, the graph and the tools know it, too.
    let question = "How often must the shaft seal of the pump in Rotterdam be replaced?";
    let answer = ask(&bob, json!({ "query": question })).await;
    assert!(answer["response"].as_str().unwrap().contains("every month"), "{answer}");
    assert_eq!(answer["sources"][0]["metadata"]["spaceName"], json!("Pumps"));
    let without = ask(&bob, json!({ "query": question, "spaceIds": [bob.id] })).await;
    assert!(!without["response"].as_str().unwrap().contains("every month"), "{without}");
    let graph = bob.get("/api/graph").await.json();
    let rotterdam = graph["nodes"].as_array().unwrap().iter().find(|node| node["id"] == "rotterdam").unwrap();
    assert_eq!(rotterdam["documentIds"], json!([document]));
    let node = bob.get("/api/graph/nodes/rotterdam").await.json();
    assert_eq!(node["documents"][0]["title"], json!("seal.txt"));
    for named_in in [&node["documents"][0], &node["passages"][0]] {
        assert_eq!(
            (&named_in["spaceId"], &named_in["spaceName"]),
            (&json!(pumps), &json!("Pumps")),
            "{node}"
        );
    }
    let tool = use_tool(&stoa, &bob, "search", json!({ "query": "shaft seal", "spaceId": pumps })).await;
    assert_eq!(tool["structuredContent"]["results"][0]["documentId"], json!(document), "{tool}");
    let listed = use_tool(&stoa, &bob, "list_documents", json!({ "spaceId": pumps })).await;
    assert_eq!(listed["structuredContent"]["documents"][0]["id"], json!(document), "{listed}");

    // Lists of documents are of one owner, so nothing changes for a caller who knows no spaces.
    assert_eq!(bob.documents().await.len(), 1);
    let list = bob.get(&format!("/api/documents?spaceId={pumps}")).await.json();
    let shown = &list["documents"][0];
    assert_eq!(
        (&shown["id"], &shown["spaceId"], &shown["userId"]),
        (&json!(document), &json!(pumps), &json!(ada.id))
    );
    assert_eq!(bob.get(&format!("/api/documents/{document}")).await.status, 200);
    assert_eq!(bob.get(&format!("/api/documents/{document}/content")).await.body, SEAL);
    assert_eq!(bob.get(&format!("/api/documents/{document}/text")).await.status, 200);
    assert_eq!(bob.delete(&format!("/api/documents/{document}")).await.status, 403);
    assert_eq!(bob.post(&format!("/api/documents/{document}/reindex")).await.status, 403);
    assert_eq!(bob.delete(&format!("/api/documents/purge-errors?spaceId={pumps}")).await.status, 403);
    let spaces = bob.get("/api/spaces").await.json();
    assert_eq!(
        (&spaces["spaces"][0]["name"], &spaces["spaces"][0]["role"]),
        (&json!("Pumps"), &json!("reader"))
    );
    assert_eq!((&spaces["spaces"][0]["documents"], &spaces["mayCreate"]), (&json!(1), &json!(false)));

    // To others it is as if it were not there.
    for path in [
        format!("/api/spaces/{pumps}"),
        format!("/api/spaces/{pumps}/members"),
        format!("/api/documents?spaceId={pumps}"),
        format!("/api/documents/events?spaceId={pumps}"),
        format!("/api/documents/{document}"),
        format!("/api/search?query=seal&spaceId={pumps}"),
        format!("/api/graph?spaceId={pumps}"),
        "/api/graph/nodes/rotterdam".to_owned(),
    ] {
        assert_eq!(eve.get(&path).await.status, 404, "{path}");
    }
    assert_eq!(eve.find("shaft seal of the pump").await, Vec::<String>::new());
    assert_eq!(eve.get("/api/graph").await.json()["totals"]["nodes"], json!(0));
    assert_eq!(add_text(&eve, &pumps, "e.txt", "Planted.").await.status, 404);
    for body in
        [json!({ "query": "seal", "spaceId": pumps }), json!({ "query": "seal", "documentId": document })]
    {
        assert_eq!(eve.post_json("/api/chat", &body).await.status, 404, "{body}");
    }
    let message = refused(&stoa, &eve, "search", json!({ "query": "seal", "spaceIds": [pumps] })).await;
    assert!(message.contains("no such space"), "{message}");
    assert_eq!(eve.get("/api/spaces").await.json()["spaces"], json!([]));
}

#[tokio::test]
async fn leaving_and_deletion_count_from_the_next_request_on() {
    let stoa = Stoa::start_knowledge().set("CHAT_REQUESTS_PER_MINUTE", 1000).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let bob = admin.invite(&stoa, "bob").await;
    let pumps = space(&admin, json!({ "name": "Pumps" })).await;
    let document = id_of(&add_text(&admin, &pumps, "seal.txt", SEAL).await);
    add(&admin, &pumps, &bob, "reader").await;
    assert_eq!(bob.find("shaft seal").await, std::slice::from_ref(&document));
    assert_ne!(bob.get("/api/graph").await.json()["totals"]["nodes"], json!(0));
    // A conversation about the space, which is then asked again from outside.
    let conversation = bob.post("/api/conversations").await.json()["id"].as_str().unwrap().to_owned();
    let messages = format!("/api/conversations/{conversation}/messages");
    let asked =
        bob.post_json(&messages, &json!({ "query": "What must be replaced?", "spaceId": pumps })).await;
    assert_eq!(asked.status, 202, "{asked:?}");
    assert_eq!(asked.json()["user"]["spaceIds"], json!([pumps]));
    let sources = || async {
        let content = bob.get(&format!("/api/conversations/{conversation}")).await.json();
        (content["conversation"]["running"] == false).then(|| content["messages"][1]["sources"].clone())
    };
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while sources().await.is_none() {
        assert!(std::time::Instant::now() < deadline, "the answer does not end");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(sources().await.unwrap()[0]["text"], json!(SEAL));
    let export = format!("/api/conversations/{conversation}/export");
    assert!(bob.get(&export).await.body.contains("seal.txt"));
    let events =
        bob.request(Method::GET, &format!("/api/documents/events?spaceId={pumps}")).send().await.unwrap();

    let left = bob.delete(&format!("/api/spaces/{pumps}/members/{}", bob.id)).await;
    assert_eq!(left.status, 200, "{left:?}");
    assert_eq!(bob.find("shaft seal").await, Vec::<String>::new());
    assert_eq!(bob.get("/api/graph").await.json()["totals"]["nodes"], json!(0));
    assert_eq!(bob.get(&format!("/api/documents/{document}")).await.status, 404);
    let withheld = sources().await.unwrap();
    assert_eq!((withheld.as_array().unwrap().len(), &withheld[0]["text"]), (1, &json!("")), "{withheld}");
    assert!(!withheld.to_string().contains(&document) && !bob.get(&export).await.body.contains("seal.txt"));
    assert_eq!(bob.delete(&format!("/api/spaces/{pumps}/members/{}", bob.id)).await.status, 404);
    let ended = tokio::time::timeout(std::time::Duration::from_secs(20), events.text()).await;
    assert!(ended.is_ok(), "the stream of events ends");

    add(&admin, &pumps, &bob, "editor").await;
    assert_eq!(bob.find("shaft seal").await.len(), 1);
    assert_eq!(bob.delete(&format!("/api/spaces/{pumps}")).await.status, 403, "an editor does not manage it");
    assert_eq!(admin.delete(&format!("/api/spaces/{pumps}")).await.status, 200);
    assert_eq!(bob.find("shaft seal").await, Vec::<String>::new());
    assert_eq!(bob.get(&format!("/api/documents/{document}")).await.status, 404);
    assert_eq!(admin.get(&format!("/api/documents/{document}")).await.status, 404);
    assert_eq!(admin.delete(&format!("/api/spaces/{pumps}")).await.status, 404);
    assert_eq!(add_text(&bob, &pumps, "late.txt", "Too late.").await.status, 404);
}

#[tokio::test]
async fn a_space_for_everyone_has_no_members_but_its_maker() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let (ada, bob) = (admin.invite(&stoa, "ada").await, admin.invite(&stoa, "bob").await);
    let rules = space(&admin, json!({ "name": "House rules", "everyone": "reader" })).await;
    let document =
        id_of(&add_text(&admin, &rules, "rules.txt", "Smoking is forbidden in the boiler room.").await);
    assert_eq!(ada.find("smoking boiler room").await, std::slice::from_ref(&document));
    assert_eq!(ada.get(&format!("/api/spaces/{rules}")).await.json()["role"], json!("reader"));
    // A member may have more than everyone has.
    add(&admin, &rules, &bob, "editor").await;
    id_of(&add_text(&bob, &rules, "b.txt", "Lunch is at noon.").await);
    let members = ada.get(&format!("/api/spaces/{rules}/members")).await.json();
    assert_eq!(members["members"].as_array().unwrap().len(), 2, "{members}");
    let private = patch(&admin, &format!("/api/spaces/{rules}"), json!({ "everyone": "none" })).await;
    assert_eq!((private.status, private.json()["space"]["everyone"].clone()), (200, Value::Null));
    assert_eq!(ada.find("smoking boiler room").await, Vec::<String>::new());
    assert_eq!(bob.find("smoking boiler room").await.len(), 2);
    // The account of a space cannot be used as a user.
    assert_eq!(admin.get("/api/users").await.json()["users"].as_array().unwrap().len(), 3);
    assert_eq!(admin.get(&format!("/api/documents?userId={rules}")).await.status, 404);
    assert_eq!(admin.delete(&format!("/api/users/{rules}")).await.status, 404);
    // A removed user is no member any more.
    assert_eq!(admin.delete(&format!("/api/users/{}", bob.id)).await.status, 200);
    let members = admin.get(&format!("/api/spaces/{rules}/members")).await.json();
    assert_eq!(members["members"].as_array().unwrap().len(), 1, "{members}");
}

#[tokio::test]
async fn who_may_make_and_change_spaces() {
    let stoa = Stoa::start_knowledge().set("USERS_CREATE_SPACES", "true").serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let (ada, bob) = (admin.invite(&stoa, "ada").await, admin.invite(&stoa, "bob").await);
    let club = space(&ada, json!({ "name": "Club" })).await;
    add(&ada, &club, &bob, "editor").await;
    for (body, message) in [
        (json!({ "name": "  " }), "`name` is missing"),
        (json!({ "name": "x".repeat(101) }), "`name` is longer than 100 characters"),
        (json!({ "name": "a\nb" }), "`name` has a control character"),
        (json!({ "name": "a", "description": "x".repeat(1001) }), "`description` is longer"),
        (json!({ "name": "a", "everyone": "owner" }), "everyone"),
        (json!({}), "`name` is missing"),
    ] {
        let answer = ada.post_json("/api/spaces", &body).await;
        assert_eq!(answer.status, 400, "{answer:?}");
        assert!(answer.body.contains(message), "{answer:?}");
    }
    // An editor is not a manager.
    assert_eq!(patch(&bob, &format!("/api/spaces/{club}"), json!({ "name": "Bob's" })).await.status, 403);
    let body = json!({ "user": "bob", "role": "reader" });
    assert_eq!(bob.post_json(&format!("/api/spaces/{club}/members"), &body).await.status, 403);
    assert_eq!(bob.delete(&format!("/api/spaces/{club}/members/{}", ada.id)).await.status, 403);
    let unknown = ada
        .post_json(&format!("/api/spaces/{club}/members"), &json!({ "user": "nemo", "role": "reader" }))
        .await;
    assert_eq!((unknown.status, unknown.json()["error"].clone()), (404, json!("no user `nemo`")));
    let renamed = patch(&ada, &format!("/api/spaces/{club}"), json!({ "name": "The club" })).await;
    assert_eq!(renamed.json()["space"]["name"], json!("The club"), "{renamed:?}");
    // An administrator manages every space, but finds nothing there without a role.
    let document = id_of(&add_text(&ada, &club, "c.txt", "The password of the club is marmalade.").await);
    assert_eq!(admin.find("marmalade").await, Vec::<String>::new());
    assert_eq!(admin.get(&format!("/api/search?query=marmalade&spaceId={club}")).await.status, 404);
    assert_eq!(admin.get("/api/spaces").await.json()["spaces"], json!([]));
    let all = admin.get("/api/spaces?all=true").await.json();
    assert_eq!((&all["spaces"][0]["id"], &all["spaces"][0]["role"]), (&json!(club), &Value::Null));
    assert_eq!(ada.get("/api/spaces?all=true").await.json()["spaces"].as_array().unwrap().len(), 1);
    add(&admin, &club, &admin, "reader").await;
    assert_eq!(admin.find("marmalade").await, [document]);
    // The maker who has left manages it no more.
    assert_eq!(ada.delete(&format!("/api/spaces/{club}/members/{}", ada.id)).await.status, 200);
    assert_eq!(patch(&ada, &format!("/api/spaces/{club}"), json!({ "name": "x" })).await.status, 404);
}
