//! A gateway token that a session has given out ends with the session, and with the rights of its user.

use super::administrators::identity;
use e2e::postgres::Postgres;
use e2e::stoa::Start;
use e2e::supervisor_client::{SupervisorClient, workflow};
use e2e::tokens::{claims, sign, verified};
use e2e::{KnowledgeClient, Stoa, Vendor, reply};
use reqwest::{Client, Method};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// What is known is used for five seconds at most.
const SOON: Duration = Duration::from_secs(12);
const PASSWORD: &str = "correct horse";

fn start() -> Start {
    Stoa::start().only("gateway,knowledge,supervisor,portal")
}

async fn token(client: &KnowledgeClient) -> String {
    let answer = client.post("/api/auth/token").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["token"].as_str().unwrap().to_owned()
}

/// What a user's token opens: through the gateway, and the services directly, with the token or with what the gateway says
/// of it.
async fn doors(stoa: &Stoa, token: &str) -> Vec<(String, u16)> {
    let (bearer, identity) = (format!("Bearer {token}"), identity(&verified(token).1));
    let portal = format!("http://{}/api/portal/updates", stoa.portal.unwrap());
    let supervisor = format!("http://{}/api/projects", stoa.supervisor.unwrap());
    let requests = [
        (stoa.url("/kv/api/portal/updates"), "authorization", &bearer),
        (stoa.url("/build/api/projects"), "authorization", &bearer),
        (stoa.url("/core/api/health"), "authorization", &bearer),
        (portal.clone(), "authorization", &bearer),
        (supervisor.clone(), "authorization", &bearer),
        (portal, "x-gateway-identity", &identity),
        (supervisor, "x-gateway-identity", &identity),
    ];
    let mut statuses = Vec::new();
    for (url, name, value) in requests {
        let status = reply(Client::new().get(&url).header(name, value)).await.status;
        statuses.push((format!("{url} by {name}"), status));
    }
    statuses
}

async fn all_open(stoa: &Stoa, token: &str) {
    let open = doors(stoa, token).await;
    assert!(open.iter().all(|(_, status)| *status == 200), "{open:#?}");
}

async fn all_close_soon(stoa: &Stoa, token: &str, why: &str) {
    let deadline = Instant::now() + SOON;
    loop {
        let doors = doors(stoa, token).await;
        if doors.iter().all(|(_, status)| *status == 403) {
            return;
        }
        assert!(Instant::now() < deadline, "after {why}: {doors:#?}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

async fn change(admin: &KnowledgeClient, id: &str, changes: Value) {
    let answer = reply(admin.request(Method::PATCH, &format!("/api/users/{id}")).json(&changes)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_refused_everywhere_soon_after_whatever_ends_it() {
    let stoa = start().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let mut ended = Vec::new();
    for name in ["out", "others", "one", "all", "password", "reset", "disabled", "removed", "promoted"] {
        let user = admin.invite(&stoa, name).await;
        let token = token(&user).await;
        all_open(&stoa, &token).await;
        let answer = match name {
            "out" => user.post("/api/auth/logout").await,
            "others" => {
                let other = KnowledgeClient::sign_in(&stoa, &user.username, PASSWORD).await;
                other.delete("/api/auth/sessions").await
            }
            "one" => {
                let sessions = user.get("/api/auth/sessions").await.json();
                user.delete(&format!(
                    "/api/auth/sessions/{}",
                    sessions["sessions"][0]["id"].as_str().unwrap()
                ))
                .await
            }
            "all" => admin.delete(&format!("/api/users/{}/sessions", user.id)).await,
            "password" => {
                let body = json!({ "currentPassword": PASSWORD, "newPassword": "battery staple" });
                user.post_json("/api/auth/password", &body).await
            }
            "reset" => {
                let body = json!({ "password": "battery staple" });
                admin.post_json(&format!("/api/users/{}/password", user.id), &body).await
            }
            "disabled" => {
                change(&admin, &user.id, json!({ "disabled": true })).await;
                admin.get("/api/auth/me").await
            }
            "removed" => admin.delete(&format!("/api/users/{}", user.id)).await,
            _ => {
                change(&admin, &user.id, json!({ "isAdmin": true })).await;
                user.get("/api/users").await
            }
        };
        assert_eq!(answer.status, 200, "{name}: {answer:?}");
        ended.push((name, token));
    }
    for (name, token) in &ended {
        all_close_soon(&stoa, token, name).await;
    }
    let refused = reply(Client::new().get(stoa.url("/build/api/projects")).bearer_auth(&ended[0].1)).await;
    assert_eq!(refused.error(), (403, "INVALID_TOKEN".into(), "BUILD".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn new_rights_end_the_tokens_and_not_the_session() {
    let stoa = start().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let ada = admin.invite(&stoa, "ada").await;
    let before = token(&ada).await;
    change(&admin, &ada.id, json!({ "isAdmin": true })).await;
    all_close_soon(&stoa, &before, "the promotion").await;
    // The gateway has no record of her yet, which could end a program's token.
    let promoted =
        ada.post("/api/auth/token?program=true").await.json()["token"].as_str().unwrap().to_owned();
    all_open(&stoa, &promoted).await;
    change(&admin, &ada.id, json!({ "isAdmin": false })).await;
    all_close_soon(&stoa, &promoted, "the demotion").await;
    all_open(&stoa, &token(&ada).await).await;
    // What says nothing of the rights ends nothing.
    let kept = token(&ada).await;
    change(&admin, &ada.id, json!({ "name": "Ada Solberg", "disabled": false, "isAdmin": false })).await;
    assert_eq!(verified(&token(&ada).await).1["grant"], verified(&kept).1["grant"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrators_token_ends_with_its_session_also_if_it_was_renewed() {
    let stoa = start().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let own = token(&admin).await;
    let renewed = reply(Client::new().post(stoa.url("/auth/refresh")).bearer_auth(&own)).await.json();
    let exchanged =
        reply(Client::new().post(stoa.url("/core/api/auth/token")).bearer_auth(&own)).await.json();
    let tokens = [own.as_str(), renewed["token"].as_str().unwrap(), exchanged["token"].as_str().unwrap()];
    for token in tokens {
        all_open(&stoa, token).await;
    }
    // A program goes on with its own until there is a new password.
    let program = "/api/auth/token?program=true";
    let of_program = admin.post(program).await.json()["token"].as_str().unwrap().to_owned();
    assert_eq!(admin.invite(&stoa, "ada").await.post(program).await.status, 403);
    assert_eq!(admin.post("/api/auth/logout").await.status, 200);
    for token in tokens {
        all_close_soon(&stoa, token, "the logout").await;
        let refresh = Client::new().post(stoa.url("/auth/refresh")).bearer_auth(token);
        assert_eq!(reply(refresh).await.status, 403);
    }
    all_open(&stoa, &of_program).await;
    let admin = KnowledgeClient::admin(&stoa).await;
    let body = json!({ "currentPassword": "password", "newPassword": "battery staple" });
    assert_eq!(admin.post_json("/api/auth/password", &body).await.status, 200);
    all_close_soon(&stoa, &of_program, "a new password").await;
}

/// A token of a version that named no session lives ten minutes at most, and is let in until then.
#[tokio::test]
async fn a_token_of_an_earlier_version_and_that_of_a_guest_need_no_session() {
    let stoa = start().serve();
    let mut earlier = claims("CORE", "guest");
    earlier["scopes"] = json!(["guest", "user"]);
    all_open(&stoa, &sign(&earlier)).await;
    earlier["grant"] = json!("that never was");
    all_close_soon(&stoa, &sign(&earlier), "a grant was made up").await;
    let guest = reply(Client::new().post(stoa.url("/auth/guest"))).await.json();
    let projects = Client::new().get(stoa.url("/build/api/projects"));
    assert_eq!(reply(projects.bearer_auth(guest["token"].as_str().unwrap())).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_alone_and_another_process_refuse_it_too() {
    let database = Postgres::shared().await.database().await;
    let objects = tempfile::tempdir().unwrap();
    let shared = || {
        let start = start().set("DATABASE_URL", &database);
        start.set("OBJECT_STORE_URL", format!("file://{}", objects.path().display()))
    };
    let (one, other) = (shared().serve(), shared().serve());
    let portal = format!("http://{}", one.portal.unwrap());
    let gateway = shared().only("gateway").before(&portal).serve();
    let through_gateway = async |token: &str| {
        reply(Client::new().get(gateway.url("/kv/api/portal/updates")).bearer_auth(token)).await.status
    };
    let ada = KnowledgeClient::admin(&one).await.invite(&one, "ada").await;
    let token = token(&ada).await;
    all_open(&other, &token).await;
    assert_eq!(through_gateway(&token).await, 200);
    assert_eq!(ada.post("/api/auth/logout").await.status, 200);
    all_close_soon(&other, &token, "the logout at another process").await;
    let deadline = Instant::now() + SOON;
    while through_gateway(&token).await != 403 {
        assert!(Instant::now() < deadline, "the gateway alone goes on");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_with_the_session_behind_its_token() {
    let vendor = Vendor::start("One word after the other.").await;
    let hanging = workflow(&[("prd", &["name = \"analyst\"\nmodel = \"hang\""])]);
    let stoa = Stoa::start_supervisor(&vendor, &hanging).only("gateway,knowledge,supervisor").serve();
    let ada = KnowledgeClient::admin(&stoa).await.invite(&stoa, "ada").await;
    let client = SupervisorClient::with_token(&stoa, token(&ada).await);
    let id = client.project().await;
    let mut watch = client.execute(&id, "prd").await;
    watch.until("agent_start").await;
    assert_eq!(ada.post("/api/auth/logout").await.status, 200);
    let rest = tokio::time::timeout(SOON, watch.rest()).await;
    assert!(rest.is_ok(), "the stream goes on after the logout");
    let project = SupervisorClient::local(&stoa).get(&format!("/api/projects/{id}")).await.json();
    assert_eq!(project["status"], "running", "the run continues");
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_at_the_same_time_share_the_grant_of_their_session() {
    let stoa = start().serve();
    let ada = std::sync::Arc::new(KnowledgeClient::admin(&stoa).await.invite(&stoa, "ada").await);
    let asking: Vec<_> = (0..12)
        .map(|_| {
            let ada = ada.clone();
            tokio::spawn(async move { token(&ada).await })
        })
        .collect();
    let mut grants = std::collections::HashSet::new();
    for asked in asking {
        let token = asked.await.unwrap();
        all_open(&stoa, &token).await;
        grants.insert(verified(&token).1["grant"].as_str().unwrap().to_owned());
    }
    assert_eq!(grants.len(), 1, "{grants:?}");
}
