//! What users do with their own account: their name, and where they are signed in.

use e2e::{KnowledgeClient, Stoa, reply};
use reqwest::{Client, Method};
use serde_json::{Value, json};

async fn sessions(client: &KnowledgeClient, path: &str) -> Vec<Value> {
    let answer = client.get(path).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["sessions"].as_array().unwrap().clone()
}

async fn is_in(client: &KnowledgeClient) -> bool {
    client.get("/api/auth/me").await.status == 200
}

#[tokio::test]
async fn every_user_changes_their_own_name_and_nothing_else() {
    let stoa = Stoa::start().only("gateway,knowledge").serve();
    let ada = KnowledgeClient::admin(&stoa).await.invite(&stoa, "ada").await;
    let rename = async |body: Value| reply(ada.request(Method::PATCH, "/api/auth/me").json(&body)).await;
    let answer = rename(json!({ "name": " Ada Solberg " })).await;
    assert_eq!((answer.status, &answer.json()["user"]["name"]), (200, &json!("Ada Solberg")), "{answer:?}");
    let sneaky = json!({ "name": "Ada", "isAdmin": true, "email": "eve@example.org", "username": "admin" });
    assert_eq!(rename(sneaky).await.status, 200, "other fields are ignored");
    let me = ada.get("/api/auth/me").await.json()["user"].clone();
    assert_eq!(
        (&me["name"], &me["isAdmin"], &me["email"]),
        (&json!("Ada"), &json!(false), &json!("ada@example.org"))
    );
    for bad in [json!(""), json!("  "), json!("a".repeat(255)), json!("a\0"), json!(7)] {
        assert_eq!(rename(json!({ "name": bad })).await.status, 400, "{bad}");
    }
    assert_eq!(rename(json!({})).await.status, 200);
    assert_eq!(ada.get("/api/auth/me").await.json()["user"]["name"], "Ada");
}

#[tokio::test]
async fn sessions_are_listed_with_where_they_are_from() {
    let stoa = Stoa::start().only("gateway,knowledge").serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let ada = admin.invite(&stoa, "ada").await;
    let body = json!({ "username": "ada@example.org",
        "password": e2e::knowledge_client::login_digest("ada@example.org", "correct horse") });
    let browser = format!("Firefox{}", "x".repeat(300));
    let login = Client::new().post(stoa.url("/core/api/auth/login")).header("user-agent", &browser);
    assert_eq!(reply(login.json(&body)).await.status, 200);

    let listed = sessions(&ada, "/api/auth/sessions").await;
    assert_eq!(listed.len(), 2, "{listed:?}");
    let current: Vec<bool> = listed.iter().map(|session| session["current"].as_bool().unwrap()).collect();
    assert_eq!(current, [false, true], "the newest first");
    assert_eq!((&listed[0]["address"], &listed[0]["browser"]), (&json!("127.0.0.1"), &json!(browser[..256])));
    assert_eq!(listed[1]["browser"], "");
    for session in &listed {
        let [created, used, expires] =
            ["createdAt", "lastUsedAt", "expiresAt"].map(|name| session[name].as_i64().unwrap());
        assert!(created > 1_700_000_000_000 && used >= created && expires > used, "{session}");
        assert!(!session.to_string().contains(&ada.token), "{session}");
    }
    let seen = sessions(&admin, &format!("/api/users/{}/sessions", ada.id)).await;
    let ids = |list: &[Value]| list.iter().map(|one| one["id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&seen), ids(&listed));

    // A gateway token names the session that it is from.
    let token = admin.post("/api/auth/token").await.json()["token"].as_str().unwrap().to_owned();
    let list = Client::new().get(stoa.url("/core/api/auth/sessions")).bearer_auth(token);
    assert_eq!(reply(list).await.json()["sessions"][0]["current"], true);
}

#[tokio::test]
async fn a_user_ends_one_session_or_all_others() {
    let stoa = Stoa::start().only("gateway,knowledge").serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let ada = admin.invite(&stoa, "ada").await;
    let eve = admin.invite(&stoa, "eve").await;
    let again = async || KnowledgeClient::sign_in(&stoa, "ada@example.org", "correct horse").await;
    let (second, third) = (again().await, again().await);
    let id_of = async |client: &KnowledgeClient| {
        let mine = sessions(client, "/api/auth/sessions").await;
        mine.iter().find(|one| one["current"] == true).unwrap()["id"].as_str().unwrap().to_owned()
    };
    let path = format!("/api/auth/sessions/{}", id_of(&second).await);
    assert_eq!(eve.delete(&path).await.status, 404, "another user's session");
    assert_eq!(ada.delete(&path).await.status, 200);
    assert_eq!(ada.delete(&path).await.status, 404, "it has ended");
    assert_eq!([is_in(&ada).await, is_in(&second).await, is_in(&third).await], [true, false, true]);
    let ended = third.delete("/api/auth/sessions").await;
    assert_eq!((ended.status, &ended.json()["ended"]), (200, &json!(1)));
    assert_eq!([is_in(&ada).await, is_in(&third).await, is_in(&eve).await], [false, true, true]);

    // Administrators do the same for users, and no one else does.
    let of_ada = format!("/api/users/{}/sessions", third.id);
    let one = format!("{of_ada}/{}", id_of(&third).await);
    assert_eq!([eve.get(&of_ada).await.status, eve.delete(&one).await.status], [403, 403]);
    assert_eq!(eve.delete(&of_ada).await.status, 403);
    assert_eq!(
        admin.delete(&format!("/api/users/{}/sessions/{}", eve.id, id_of(&third).await)).await.status,
        404
    );
    assert_eq!(admin.delete(&one).await.status, 200);
    assert!(!is_in(&third).await);
    let fourth = again().await;
    assert_eq!(admin.delete(&of_ada).await.json()["ended"], 1);
    assert!(!is_in(&fourth).await);
    let unknown = "/api/users/5f0c1d9e-8b1a-4c55-9d0e-0a1b2c3d4e5f/sessions";
    assert_eq!([admin.get(unknown).await.status, admin.delete(unknown).await.status], [404, 404]);
}
